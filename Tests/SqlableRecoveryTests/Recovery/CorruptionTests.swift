import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite("Corruption: noticed once, and named", .needsPlainFiles("it damages pages by their contents"))
struct CorruptionTests {
  /// Reports, received on another thread.
  private final class Reports: Sendable {
    private let list = Mutex<[CorruptionReport]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func receive(_ report: CorruptionReport) {
      list.withLock { $0.append(report) }
      semaphore.signal()
    }

    var all: [CorruptionReport] { list.withLock { $0 } }

    /// The next report, or nil after a timeout.
    func next(within seconds: Double = 600) -> CorruptionReport? {
      semaphore.wait(timeout: .now() + seconds) == .success ? all.last : nil
    }
  }

  private func damagedDatabase(_ directory: String) throws -> DamagedDatabase {
    let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 3_000) }
    let leaves = try damaged.pages(ofType: 13)
    try damaged.zero(page: leaves[leaves.count / 2])
    return damaged
  }

  @Test func theFirstErrorMarksTheWholeFamilyAndNotifiesOnce() throws {
    try withDirectory { directory in
      let damaged = try damagedDatabase(directory)
      let db = try SqliteDatabase(filepath: damaged.path)
      let child = try db.createChild()
      let reports = Reports()
      db.onCorruption { reports.receive($0) }
      #expect(db.corruption == nil)
      #expect(try child.query("SELECT name FROM bicycle WHERE id = 1", as: String.self) == ["bicycle 1"])
      #expect(child.corruption == nil)
      for _ in 0..<3 {
        #expect(sqlError { _ = try child.query("SELECT count(name) FROM bicycle", as: Int.self) }?.kind == .corrupt)
      }
      #expect(db.corruption?.kind == .corrupt)
      let report = try #require(reports.next())
      #expect(report.error?.kind == .corrupt)
      #expect(report.tables == ["bicycle"])
      #expect(report.indexes.allSatisfy { $0 == "by_color" })
      #expect(report.pages.count == 1)
      #expect(!report.messages.isEmpty)
      #expect(!report.isSound)
      #expect(!report.isMendedByReindex)
      #expect(reports.next(within: 0.3) == nil)
      // Writes continue unless the configuration stops them.
      try db.execute("INSERT INTO bicycle VALUES (9999, 'new', NULL, 0)")
    }
  }

  @Test func aPoolStopsItsWritesIfItsConfigurationSaysSo() throws {
    try withDirectory { directory in
      let damaged = try damagedDatabase(directory)
      let pool = try SqlitePool(
        filepath: damaged.path, configuration: .init(handles: .init(stopsWritesWhenDamaged: true)))
      let reports = Reports()
      pool.onCorruption(exclusively: true) { reports.receive($0) }
      try pool.withWriter { try $0.execute("INSERT INTO bicycle VALUES (9999, 'new', NULL, 0)") }
      #expect(sqlError { try pool.read { _ = try $0.query("SELECT count(name) FROM bicycle", as: Int.self) } } != nil)
      let refused = sqlError { try pool.withWriter { try $0.execute("DELETE FROM bicycle") } }
      #expect(refused?.kind == .corrupt)
      #expect(refused?.message.hasPrefix("the database is damaged, and writes are stopped") == true)
      #expect(reports.next()?.isExclusive == true)
      func isDamaged() -> Bool {
        pool.health(within: .seconds(60)).problems.contains { if case .damaged = $0 { true } else { false } }
      }
      #expect(isDamaged())
      // Reads continue.
      let names = try pool.read { try $0.query("SELECT name FROM bicycle WHERE id = 9999", as: String.self) }
      #expect(names == ["new"])
      pool.forgetCorruption()
      #expect(!isDamaged())
      try pool.withWriter { try $0.execute("INSERT INTO bicycle VALUES (9998, 'new', NULL, 0)") }
      try pool.close()
    }
  }

  @Test func restoreClearsTheCorruptionMark() throws {
    try withDirectory { directory in
      let whole = try SqliteDatabase(filepath: directory + "/whole.sqlite")
      try DamagedDatabase.bicycles(whole, 10)
      try whole.backup(to: directory + "/backup.sqlite")
      let damaged = try damagedDatabase(directory)
      let db = try SqliteDatabase(
        filepath: damaged.path, configuration: Configuration(stopsWritesWhenDamaged: true))
      #expect(sqlError { _ = try db.query("SELECT count(name) FROM bicycle", as: Int.self) }?.kind == .corrupt)
      expectError(.corrupt) { try db.execute("DELETE FROM bicycle") }
      // Statements without a transaction are refused too.
      let stopped = ["VACUUM", "PRAGMA user_version = 3", "PRAGMA incremental_vacuum"].map { statement in
        sqlError { try db.execute(SQL(verbatim: statement)) }?.message.contains("writes are stopped") == true
      }
      #expect(stopped == [true, true, true])
      #expect(try db.userVersion() == 0)
      try db.execute("PRAGMA cache_size = 100")
      try db.restore(from: directory + "/backup.sqlite")
      #expect(db.corruption == nil)
      try db.execute("INSERT INTO bicycle VALUES (9999, 'new', NULL, 0)")
      #expect(try db.query("SELECT count(*) FROM bicycle", as: Int.self) == [11])
    }
  }

  @Test func damageInAnotherFileMarksNoHandle() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/own.sqlite"
      let pool = try SqlitePool(
        filepath: path, configuration: PoolConfiguration(handles: Configuration(stopsWritesWhenDamaged: true)))
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(stopsWritesWhenDamaged: true))
      try db.execute("CREATE TABLE t(a)")
      let (text, damaged) = (directory + "/text", try damagedDatabase(directory).path)
      try Data("no database".utf8).write(to: URL(fileURLWithPath: text))
      func isRefused(_ body: () async throws -> Void, _ place: Int = #line) async {
        do { try await body() } catch let error as SqlError {
          #expect(error.kind == .notADatabase || error.kind == .corrupt, "\(place): \(error)")
        } catch { Issue.record(error) }
        #expect(db.corruption == nil, "\(place)")
        #expect(pool.corruption == nil, "\(place)")
      }
      await isRefused { try db.restore(from: text) }
      await isRefused { try db.restore(from: damaged) }
      await isRefused { try await pool.restore(from: text) }
      await isRefused { try await pool.restore(from: damaged) }
      await isRefused { try await pool.backup(to: text) }
      await isRefused { try db.execute("ATTACH \(text) AS other") }
      await isRefused {
        try db.execute("ATTACH \(damaged) AS other")
        defer { try? db.execute("DETACH other") }
        _ = try db.query("SELECT count(name) FROM other.bicycle", as: Int.self)
      }
      try db.execute("INSERT INTO t VALUES (1)")
      try await pool.execute("INSERT INTO t VALUES (2)")
      try await pool.close()
      try db.close()
    }
  }

  /// With an attached database, the failed statement shows which of the two files is damaged.
  @Test func damageIsDetectedWithAnAttachedDatabase() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: damagedDatabase(directory).path)
      defer { try? db.close() }
      try db.execute("ATTACH \(directory + "/other.sqlite") AS other; CREATE TABLE other.t(a)")
      let error = sqlError { _ = try db.query("SELECT count(name) FROM bicycle, other.t", as: Int.self) }
      #expect(error?.kind == .corrupt || error == nil)
      #expect(sqlError { _ = try db.query("SELECT count(name) FROM bicycle", as: Int.self) }?.kind == .corrupt)
      #expect(db.corruption?.kind == .corrupt)
    }
  }

  /// The schema fits on one page, but not on page 1, which has less room. Page 1 is therefore without cells.
  @Test func anIntactFileWithoutCellsOnItsFirstPageIsSound() throws {
    try withDirectory { directory in
      let file = try DamagedDatabase(directory + "/a.sqlite", pageSize: 4_096) { db in
        try db.execute("CREATE TABLE gone(a); CREATE INDEX gone_a ON gone(a)")
        let text = String(repeating: "x", count: 3_900)
        try db.execute(SQL(verbatim: "CREATE TABLE t(a TEXT DEFAULT '\(text)')"))
        try db.execute("INSERT INTO t VALUES ('1'), ('2')")
      }
      let backup = directory + "/backup.sqlite"
      try FileManager.default.copyItem(atPath: file.path, toPath: backup)
      let db = try SqliteDatabase(filepath: file.path, configuration: Configuration(journalMode: .delete))
      try db.execute("DROP TABLE gone")
      let first = try file.bytes(ofPage: 1)
      try #require(first[100] == 5)
      try #require(first[103..<105] == [0, 0])
      #expect(try db.checkForCorruption().isSound)
      try db.close()
      let report = try Salvage(damaged: file.path, backup: backup).recover(into: directory + "/new.sqlite")
      #expect(report.isComplete, "\(report)")
      #expect(report.tables.map(\.name) == ["t"], "\(report)")
    }
  }

  /// Returns a database of bicycles with a wrong value of one key in the index `by_color`.
  private func damagedIndex(in directory: String) throws -> DamagedDatabase {
    let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 100) }
    let root = try damaged.root(of: "by_color")
    let leaf = try damaged.bytes(ofPage: root)[0] == 10 ? root : try damaged.pages(ofType: 10)[0]
    let bytes = try damaged.bytes(ofPage: leaf)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("red".utf8)) })
    try damaged.overwrite(page: leaf, at: place, with: Array("rod".utf8))
    return damaged
  }

  @Test func anIndexThatContradictsItsTableIsBuiltAgain() throws {
    try withDirectory { directory in
      let damaged = try damagedIndex(in: directory)
      let db = try SqliteDatabase(filepath: damaged.path)
      let report = try db.checkForCorruption()
      #expect(report.isMendedByReindex)
      #expect(report.indexes == ["by_color"])
      #expect(report.tables.isEmpty)
      #expect(report.pages.isEmpty)
      #expect(try db.reindex(report).isSound)
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test func aPoolRebuildsAnIndexInAsyncCode() async throws {
    try await withDirectoryAsync { directory in
      let damaged = try damagedIndex(in: directory)
      let pool = try SqlitePool(filepath: damaged.path)
      let report = try await pool.checkForCorruption()
      #expect(report.indexes == ["by_color"])
      #expect(try await pool.reindex(report).isSound)
      #expect(try await pool.checkForCorruption().isSound)
      let inside = await #expect(throws: SqlError.self) {
        try await pool.transaction { _ in _ = try pool.checkForCorruption() }
      }
      #expect(inside?.message == "can't check the file inside a closure that the pool runs")
      try await pool.close()
      let closed = await #expect(throws: SqlError.self) { _ = try await pool.checkForCorruption() }
      #expect(closed?.kind == .closed)
    }
  }

  @Test func anIntactFileIsSound() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 1_000) }
      let db = try SqliteDatabase(filepath: damaged.path)
      let report = try db.checkForCorruption()
      #expect(report.isSound, "\(report)")
      #expect(db.corruption == nil)
    }
  }

  @Test func fileReplacedByAnotherFormatIsDetected() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 1_000) }
      let db = try SqliteDatabase(filepath: damaged.path, configuration: Configuration(journalMode: .delete))
      let reports = Reports()
      db.onCorruption { reports.receive($0) }
      try damaged.zero(page: 1)
      let error = sqlError { _ = try db.query("SELECT count(*) FROM bicycle", as: Int.self) }
      #expect(error?.kind == .notADatabase || error?.kind == .corrupt)
      #expect(reports.next()?.isSchemaDamaged == true)
    }
  }
}
