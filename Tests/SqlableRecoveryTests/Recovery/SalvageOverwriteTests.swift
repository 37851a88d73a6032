import Foundation
import SqlableCore
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: pages written over others", .needsPlainFiles("it damages pages by their contents"))
struct SalvageOverwriteTests {
  private func table(_ name: String, _ rows: Int, _ suffix: String = "") -> SQL {
    SQL(
      verbatim: """
        CREATE TABLE \(name)(id INTEGER PRIMARY KEY, word TEXT);
        WITH RECURSIVE c(i) AS (SELECT 1 WHERE \(rows) > 0 UNION ALL SELECT i + 1 FROM c WHERE i < \(rows))
          INSERT INTO \(name) SELECT i, '\(name) word ' || i FROM c;
        \(suffix)
        """)
  }

  private func salvaged(_ damaged: DamagedDatabase) throws -> SalvageReport {
    try Salvage(damaged: damaged.path).recover(into: damaged.path + "-new")
  }

  /// The leaf overwrites the only page of a table, so no trace of that table's rows is left.
  @Test func theRootThatIsACopyOfAnotherTablesLeafHasNoRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(self.table("small", 12))
        try db.execute(self.table("large", 1_000))
      }
      let leaf = try #require(
        damaged.pages(ofType: 13).last { try $0 != damaged.root(of: "small") && damaged.bytes(ofPage: $0)[4] > 10 })
      try damaged.overwrite(page: damaged.root(of: "small"), with: damaged.bytes(ofPage: leaf))
      let report = try salvaged(damaged)
      #expect(report[table: "small"]?.rowsFromPages == 0)
      #expect(report[table: "large"]?.rowsFromPages == 1_000)
      #expect(!report.isComplete, "\(report)")
      #expect(report.rowsOfUnknownTables == 0, "\(report)")
      #expect(
        report.problems == ["1 pages were overwritten with copies of other pages; the original contents are lost"])
      #expect(abs(report.share - 1_000.0 / 1_012) < 0.05, "\(report)")
    }
  }

  /// Salvage can't know the right place of two equal pages, so both tables keep the rows.
  @Test func twoRootsThatAreTheSameAreReported() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(self.table("one", 12))
        try db.execute(self.table("other", 3))
      }
      try damaged.overwrite(page: damaged.root(of: "one"), with: damaged.bytes(ofPage: damaged.root(of: "other")))
      let report = try salvaged(damaged)
      #expect(!report.isComplete, "\(report)")
      #expect(report[table: "other"]?.rowsFromPages == 3)
    }
  }

  @Test func aTableThatWasFilledFromAnotherIsComplete() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(self.table("one", 1_000))
        try db.execute("CREATE TABLE copy(id INTEGER PRIMARY KEY, word TEXT); INSERT INTO copy SELECT * FROM one")
      }
      let report = try salvaged(damaged)
      #expect(report.isComplete, "\(report)")
      #expect(report.share == 1, "\(report)")
    }
  }

  /// An empty page looks like an empty table. Only the index shows that rows are missing.
  @Test func aTableWithFewerRowsThanItsIndexIsNotComplete() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(self.table("full", 12, "CREATE INDEX by_word ON full(word);"))
        try db.execute(self.table("empty", 0))
      }
      try damaged.overwrite(page: damaged.root(of: "full"), with: damaged.bytes(ofPage: damaged.root(of: "empty")))
      let report = try salvaged(damaged)
      #expect(report[table: "full"]?.estimatedRowsLost == 12)
      #expect(report[table: "full"]?.isLossExact == true)
      #expect(!report.isComplete, "\(report)")
      #expect(report.share == 0, "\(report)")
    }
  }

  /// The keys of another table's index don't show how many rows a table had.
  /// Of 256 pages of random bytes, four start like a page of a b-tree. `kind` is the first byte.
  @Test(arguments: [2, 5, 10, 13] as [UInt8], [1_024, 4_096, 16_384])
  func aRootOfRandomBytesLosesNoRowsOfOtherPages(kind: UInt8, pageSize: Int) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pageSize: pageSize) { db in
        try db.execute("CREATE TABLE plain(id TEXT, number REAL, word TEXT)")
        try db.execute("CREATE TABLE keyed(id TEXT PRIMARY KEY, number INTEGER)")
        try db.execute("CREATE TABLE bare(id TEXT PRIMARY KEY, number INTEGER, price REAL) WITHOUT ROWID")
        let filler = String(repeating: "y", count: pageSize / 20)
        try db.transaction { _ in
          for id in 1...100 {
            try db.execute("INSERT INTO plain VALUES (\("\(id)"), \(Double(id) + 0.5), \(filler))")
            try db.execute("INSERT INTO keyed VALUES (\(filler + "\(id)"), \(id))")
            try db.execute("INSERT INTO bare VALUES (\(filler + "\(id)"), \(id), \(Double(id) + 0.5))")
          }
        }
      }
      let roots = try ["plain", "keyed", "bare"].map { try damaged.root(of: $0) }
      // Without a rowid, the root contains rows, too.
      let rowsOfRoot = try damaged.bytes(ofPage: roots[2])[3...4].reduce(0) { $0 << 8 | Int($1) }
      for number in 1...20 {
        for root in roots {
          let bytes = (1..<pageSize).map { _ in UInt8.random(in: 0...255, using: &random) }
          try damaged.overwrite(page: root, with: [kind] + bytes)
        }
        let report = try Salvage(damaged: damaged.path).recover(into: directory + "/\(number).sqlite")
        for (table, count) in [("plain", 100), ("keyed", 100), ("bare", 100 - rowsOfRoot)] {
          #expect(report[table: table]?.rowsFromPages == count, "\(number): \(report)")
          #expect(report[table: table]?.problem == nil, "\(number): \(report)")
        }
      }
    }
  }

  /// The keys of the index have the types of the table's first columns.
  @Test func aRootSwappedWithARootOfAnIndexLosesNoRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute("CREATE TABLE t(id TEXT PRIMARY KEY, number INTEGER, word TEXT)")
        try db.transaction { _ in
          for id in 1...500 { try db.execute("INSERT INTO t VALUES (\("key \(id)"), \(-id), \("word \(id)"))") }
        }
        try db.execute("CREATE INDEX by_word ON t(word)")
      }
      let all = try literals(damaged.path, ["id", "number", "word"], from: "t")
      try damaged.swap(damaged.root(of: "t"), damaged.root(of: "by_word"))
      let report = try salvaged(damaged)
      #expect(try literals(damaged.path + "-new", ["id", "number", "word"], from: "t") == all, "\(report)")
    }
  }

  @Test func theSwappedRootsOfTwoIndexesLoseNoRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(self.table("one", 40, "CREATE INDEX by_one ON one(word);"))
        try db.execute(self.table("other", 3, "CREATE INDEX by_other ON other(word);"))
      }
      try damaged.swap(damaged.root(of: "by_one"), damaged.root(of: "by_other"))
      let report = try salvaged(damaged)
      #expect(report.share == 1, "\(report)")
      #expect(report.tables.allSatisfy { $0.estimatedRowsLost == 0 }, "\(report)")
    }
  }

  @Test(arguments: [0, 1])
  func twoSwappedPagesOfATableLoseNoRows(vacuum: Int) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pragmas: ["auto_vacuum = \(vacuum)"]) { db in
        try db.execute(self.table("large", 4_000))
        try db.execute(self.table("small", 12))
      }
      let (leaves, root) = (try damaged.pages(ofType: 13), try damaged.root(of: "small"))
      try damaged.swap(leaves[3], leaves[40])
      try damaged.swap(leaves[7], root)
      let report = try salvaged(damaged)
      let rows = report.tables.reduce(0) { $0 + $1.rowsFromPages } + report.rowsOfUnknownTables
      #expect(rows == 4_012, "\(report)")
      #expect(report.tables.reduce(0) { $0 + $1.estimatedRowsLost } <= 12, "\(report)")
    }
  }

  /// A leaf's header has the number of its cells at offset 3. A smaller number loses the rows of the other cells.
  /// A larger number loses no rows.
  @Test(arguments: [-3, 3, 40])
  func aChangedNumberOfCellsLosesAsManyRowsAsAreMissing(change: Int) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pageSize: 4_096) { db in
        try db.execute(self.table("large", 4_000))
      }
      let leaf = try damaged.pages(ofType: 13)[5]
      let count = try damaged.bytes(ofPage: leaf)[3..<5].reduce(0) { $0 << 8 | Int($1) }
      try damaged.overwrite(page: leaf, at: 3, with: [UInt8((count + change) >> 8), UInt8((count + change) & 255)])
      let report = try salvaged(damaged)
      let lost = max(-change, 0)
      #expect(report[table: "large"]?.rowsFromPages == 4_000 - lost, "\(report)")
      #expect(report[table: "large"]?.estimatedRowsLost == lost, "\(report)")
      #expect(report.isComplete == (lost == 0), "\(report)")
    }
  }

  /// Only the definitions of the tables beyond the cut are left.
  @Test func tablesBeyondACutAreEstimatedByTheMissingPages() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        for number in 1...4 { try db.execute(self.table("t\(number)", 2_000)) }
      }
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: damaged.path))
      try handle.truncate(atOffset: UInt64(damaged.size / 2))
      try handle.close()
      let report = try salvaged(damaged)
      let rows = report.tables.reduce(0) { $0 + $1.rowsFromPages }
      #expect(abs(report.share - Double(rows) / 8_000) < 0.05, "\(report)")
    }
  }

  @Test func theRowsOfTablesWhoseDefinitionsWereCutAreEstimated() throws {
    try withDirectory { directory in
      // The schema has several pages; the cut removes the later ones.
      let comment = String(repeating: "x", count: 300)
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        for number in 1...20 {
          try db.execute(SQL(verbatim: "CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, word TEXT /* \(comment) */)"))
          try db.execute(
            SQL(
              verbatim: """
                WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 500)
                  INSERT INTO t\(number) SELECT i, 'the word ' || i FROM c
                """))
        }
      }
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: damaged.path))
      try handle.truncate(atOffset: UInt64(damaged.size / 2))
      try handle.close()
      let report = try salvaged(damaged)
      let rows = report.tables.reduce(0) { $0 + $1.rowsFromPages }
      #expect(report.estimatedRowsOfLostTables > 0, "\(report)")
      #expect(!report.isComplete, "\(report)")
      #expect(abs(report.share - Double(rows) / 10_000) < 0.1, "\(report)")
    }
  }
}
