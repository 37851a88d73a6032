import Foundation
import SqlableCore
import SqlablePool
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

/// Damage that one handle has found is known to all handles and pools of the process on the same file.
@Suite(.needsPlainFiles("it damages pages by their contents")) struct SharedDamageTests {
  private func damagedFile(_ directory: String) throws -> String {
    let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 3_000) }
    let leaves = try damaged.pages(ofType: 13)
    try damaged.zero(page: leaves[leaves.count / 2])
    return damaged.path
  }

  private func findDamage(_ db: some SqlExecutor) {
    expectError(.corrupt) { _ = try db.query("SELECT count(name) FROM bicycle", as: Int.self) }
  }

  @Test func allHandlesAndPoolsOfAFileLearnOfItsDamage() throws {
    try withDirectory { directory in
      let path = try damagedFile(directory)
      let configuration = Configuration(stopsWritesWhenDamaged: true)
      let finder = try SqliteDatabase(filepath: path)
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let pool = try SqlitePool(filepath: path, configuration: PoolConfiguration(handles: configuration))
      let lazy = try SqliteDatabase(
        filepath: path, configuration: Configuration(opensLazily: true, stopsWritesWhenDamaged: true))
      let other = try SqliteDatabase(filepath: directory + "/b.sqlite", configuration: configuration)
      let reports = Collected<[String]>()
      pool.onCorruption { report in reports.append(report.tables) }
      #expect(db.corruption == nil)
      findDamage(finder)
      let later = try SqliteDatabase(filepath: path, configuration: configuration)
      for handle in [db, later, lazy] {
        expectError(.corrupt) { try handle.execute("DELETE FROM bicycle WHERE id = 1") }
        #expect(handle.corruption?.kind == .corrupt)
      }
      #expect(pool.corruption?.kind == .corrupt)
      expectError(.corrupt) { try pool.execute("DELETE FROM bicycle WHERE id = 1") }
      waitUntil(within: .seconds(900)) { reports.values == [["bicycle"]] }
      #expect(other.corruption == nil)
      try other.execute("CREATE TABLE t (x)")
      // The mark is removed for all.
      pool.forgetCorruption()
      for handle in [finder, db, later, lazy] { #expect(handle.corruption == nil) }
      try db.execute("DELETE FROM bicycle WHERE id = 1")
      // The next error notifies again.
      findDamage(db)
      waitUntil(within: .seconds(900)) { reports.values.count == 2 }
      #expect(finder.corruption?.kind == .corrupt)
      try pool.close()
    }
  }

  @Test func damageFoundAtOpeningIsSharedWithAllHandles() throws {
    try withDirectory { directory in
      let path = try damagedFile(directory)
      let configuration = Configuration(stopsWritesWhenDamaged: true)
      for isPool in [false, true] {
        let earlier = try SqliteDatabase(filepath: path, configuration: configuration)
        let earlierPool = try SqlitePool(filepath: path, configuration: PoolConfiguration(handles: configuration))
        #expect(earlier.corruption == nil)
        var finding = configuration
        finding.onOpen("count") { db in findDamage(db) }
        let finder: any Sendable =
          isPool
          ? try SqlitePool(filepath: path, configuration: PoolConfiguration(handles: finding))
          : try SqliteDatabase(filepath: path, configuration: finding)
        let later = try SqliteDatabase(filepath: path, configuration: configuration)
        for handle in [earlier, later] {
          #expect(handle.corruption?.kind == .corrupt)
          expectError(.corrupt) { try handle.execute("DELETE FROM bicycle WHERE id = 1") }
        }
        #expect(earlierPool.corruption?.kind == .corrupt)
        withExtendedLifetime(finder) {}
        later.forgetCorruption()
        try earlierPool.close()
      }
    }
  }

  @Test func anotherFileAtThePathIsNotMarked() throws {
    try withDirectory { directory in
      let path = try damagedFile(directory)
      let db = try SqliteDatabase(filepath: path)
      findDamage(db)
      try FileManager.default.moveItem(atPath: path, toPath: directory + "/aside.sqlite")
      let new = try SqliteDatabase(filepath: path, configuration: Configuration(stopsWritesWhenDamaged: true))
      #expect(new.corruption == nil)
      try new.execute("CREATE TABLE t (x)")
      #expect(db.corruption?.kind == .corrupt)
      // A closed handle tells nobody.
      try db.close()
      let aside = try SqliteDatabase(filepath: directory + "/aside.sqlite")
      #expect(aside.corruption == nil)
    }
  }
}
