import Foundation
import SqlableCore
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

/// Interior pages are often behind the leaf pages that they list. If both a table's interior pages and the root of
/// another table are behind a cut, the leaf pages before the cut match both tables.
@Suite("Salvage: files that were cut", .needsPlainFiles("it damages pages by their contents"))
struct SalvageCutTests {
  private func fill(_ db: SqliteDatabase, _ table: String, _ ids: ClosedRange<Int>, column: String = "id") throws {
    try db.execute(
      SQL(
        verbatim: """
          WITH RECURSIVE c(i) AS (SELECT \(ids.lowerBound) UNION ALL SELECT i + 1 FROM c WHERE i < \(ids.upperBound))
            INSERT INTO \(table)(\(column), word) SELECT i + 100000, '\(table) ' || i || ' of its words' FROM c
          """))
  }

  private func words(_ path: String, _ table: String) throws -> Set<String> {
    Set(try literals(path, ["word"], from: table))
  }

  /// Cuts the file before the first interior page that is not the root of a table. Returns the number of rows of each
  /// table on the leaf pages before the cut.
  private func cut(_ file: DamagedDatabase, _ tables: [String], above roots: [Int]) throws -> [Int] {
    let interior = try (file.pages(ofType: 2) + file.pages(ofType: 5)).filter { !roots.contains($0) }
    return try cut(file, tables, before: #require(interior.min()))
  }

  private func cut(_ file: DamagedDatabase, _ tables: [String], before page: Int) throws -> [Int] {
    let leaves = try (file.pages(ofType: 10) + file.pages(ofType: 13)).filter { $0 < page }
    let counts = try tables.map { table in
      try leaves.reduce(0) { count, leaf in
        let bytes = try file.bytes(ofPage: leaf)
        let isOfTable = String(decoding: bytes, as: UTF8.self).contains("\(table) ")
        return count + (leaf > 1 && isOfTable ? Int(bytes[3]) << 8 | Int(bytes[4]) : 0)
      }
    }
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file.path))
    try handle.truncate(atOffset: UInt64((page - 1) * file.pageSize))
    try handle.close()
    return counts
  }

  /// The arguments are the key columns of the table whose rows remain, and of the table whose root is behind the cut.
  @Test(arguments: [
    ("id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY", ""), ("id TEXT", "id TEXT", ""),
    ("id TEXT PRIMARY KEY", "id TEXT PRIMARY KEY", "WITHOUT ROWID"), ("id INTEGER PRIMARY KEY", "id TEXT", ""),
  ])
  func rowsThatMatchSeveralTablesAreSetAsideAndReported(key: String, otherKey: String, suffix: String) throws {
    try withDirectory { directory in
      let file = try DamagedDatabase(directory + "/a.sqlite", pageSize: 512) { db in
        try db.execute(SQL(verbatim: "CREATE TABLE one(\(key), word TEXT) \(suffix)"))
        try fill(db, "one", 1...2_000)
        try db.execute(SQL(verbatim: "CREATE TABLE other(\(otherKey), word TEXT) \(suffix)"))
        try fill(db, "other", 1...50)
      }
      let all = try words(file.path, "one")
      let intact = try cut(file, ["one"], above: [file.root(of: "one")])[0]
      let report = try Salvage(damaged: file.path).recover(into: directory + "/b.sqlite")
      let found = try words(directory + "/b.sqlite", "one")
      #expect(intact > 200)
      #expect(found.count + report.rowsOfUnknownTables >= intact, "\(report)")
      #expect(found.isSubset(of: all))
      #expect(report[table: "other"]?.rowsFromPages == 0, "\(report)")
      #expect(!report.isComplete)
      #expect(
        report.problems.contains("\(report.rowsOfUnknownTables) rows could belong to each of the tables one, other"),
        "\(report)")
    }
  }

  /// The pages of the dropped table are before the root of the table `other`, which uses these pages again.
  @Test(arguments: [("INTEGER PRIMARY KEY", ""), ("TEXT PRIMARY KEY", "WITHOUT ROWID")])
  func rowsOnReusedPagesAreNotPutIntoAnotherTable(key: String, suffix: String) throws {
    try withDirectory { directory in
      let columns = "(id \(key), word TEXT) \(suffix)"
      let file = try DamagedDatabase(directory + "/a.sqlite", pageSize: 512) { db in
        for name in ["one", "dropped"] { try db.execute(SQL(verbatim: "CREATE TABLE \(name)\(columns)")) }
        for name in ["dropped", "one"] { try fill(db, name, 1...400) }
        try db.execute(SQL(verbatim: "CREATE TABLE other\(columns)"))
        try db.execute("DROP TABLE dropped")
        // The keys of the two tables do not overlap.
        try fill(db, "other", 5_001...5_300)
        try fill(db, "one", 10_001...11_600)
      }
      let all = try ["one", "other"].map { try words(file.path, $0) }
      let intact = try cut(file, ["one", "other"], before: file.root(of: "other"))
      let report = try Salvage(damaged: file.path).recover(into: directory + "/b.sqlite")
      let found = try ["one", "other"].map { try words(directory + "/b.sqlite", $0) }
      #expect(intact.allSatisfy { $0 > 200 })
      #expect(found[0].isSubset(of: all[0]), "\(report)")
      #expect(found[1].isSubset(of: all[1]), "\(report)")
      #expect(found[0].count + report.rowsOfUnknownTables >= intact[0] + intact[1], "\(report)")
      #expect(report.rowsOfUnknownTables > 0, "\(report)")
    }
  }

  @Test func pointerMapShowsTheTableOfPagesBelowACutPage() throws {
    try withDirectory { directory in
      let file = try DamagedDatabase(directory + "/a.sqlite", pageSize: 512, pragmas: ["auto_vacuum = 1"]) { db in
        for table in ["one", "other"] {
          try db.execute(SQL(verbatim: "CREATE TABLE \(table)(id INTEGER PRIMARY KEY, word TEXT)"))
        }
        for start in stride(from: 1, through: 2_000, by: 100) {
          for table in ["one", "other"] { try fill(db, table, start...start + 99) }
        }
      }
      let all = try ["one", "other"].map { try words(file.path, $0) }
      let intact = try cut(file, ["one", "other"], above: [file.root(of: "one"), file.root(of: "other")])
      let report = try Salvage(damaged: file.path).recover(into: directory + "/b.sqlite")
      for (place, table) in ["one", "other"].enumerated() {
        let found = try words(directory + "/b.sqlite", table)
        #expect(intact[place] > 500)
        #expect(found.count == intact[place], "\(report)")
        #expect(found.isSubset(of: all[place]))
      }
    }
  }

  /// The list of free pages is before the cut. The first and the last of the listed pages are on both sides of the cut.
  @Test func deletedRowsStayAwayIfSomeFreePagesAreBehindTheCut() throws {
    try withDirectory { directory in
      let file = try DamagedDatabase(directory + "/a.sqlite", pageSize: 512, pragmas: ["secure_delete = 0"]) { db in
        try db.execute("CREATE TABLE one(id INTEGER PRIMARY KEY, word TEXT)")
        try fill(db, "one", 1...2_000)
        try db.execute("DELETE FROM one WHERE id - 100000 BETWEEN 100 AND 300")
        try db.execute("DELETE FROM one WHERE id - 100000 BETWEEN 1800 AND 1900")
      }
      let all = try words(file.path, "one")
      let intact = try cut(file, ["one"], above: [file.root(of: "one")])[0]
      let report = try Salvage(damaged: file.path).recover(into: directory + "/b.sqlite")
      let found = try words(directory + "/b.sqlite", "one")
      #expect(found.isSubset(of: all), "\(found.subtracting(all).count) deleted rows")
      #expect(found.count > 300)
      #expect(found.count <= intact)
      #expect(!report.problems.contains("the freelist is damaged"), "\(report)")
    }
  }
}
