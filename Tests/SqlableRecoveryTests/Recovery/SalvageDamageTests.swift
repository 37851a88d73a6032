import Foundation
import SqlableCore
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: definitions, texts and ends of files", .needsPlainFiles("it damages pages by their contents"))
struct SalvageDamageTests {
  /// SQLite fills pages from their ends, so a file that is cut within a page loses that page's oldest cells.
  @Test func rowCutOffByTheEndOfTheFileIsNotInvented() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pageSize: 4_096) { db in
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b BLOB)")
        for id in 1...60 { try db.execute("INSERT INTO t VALUES (\(id), \(id * 1_000_003), randomblob(300))") }
      }
      let all = try literals(damaged.path, ["id", "a", "b"], from: "t")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: damaged.path))
      for end in stride(from: bytes.count - 1, to: bytes.count - 4_000, by: -333) {
        let path = directory + "/\(end).sqlite"
        try bytes.prefix(end).write(to: URL(fileURLWithPath: path))
        let report = try Salvage(damaged: path).recover(into: path + "-new")
        let found = try literals(path + "-new", ["id", "a", "b"], from: "t")
        #expect(Set(found).isSubset(of: all), "\(end)")
        #expect(!report.isComplete, "\(found.count) at \(end)")
        #expect(found.count >= all.count - 13, "\(found.count) at \(end)")
      }
    }
  }

  /// Each argument is a word of the table's definition in which one byte is damaged.
  @Test(arguments: ["CREATE", "WITHOUT", "PRIMARY", "(key"])
  func withoutRowidTableKeepsItsRowsIfItsDefinitionIsDamaged(place: String) throws {
    try withDirectory { directory in
      let text = "CREATE TABLE w(key TEXT PRIMARY KEY, number INTEGER, word TEXT) WITHOUT ROWID"
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try DamagedDatabase.bicycles(db, 500)
        try db.execute(SQL(verbatim: text))
        try db.transaction { _ in
          for id in 1...1_000 { try db.execute("INSERT INTO w VALUES (\("key \(id)"), \(-id), \("word \(id)"))") }
        }
      }
      let page = try damaged.bytes(ofPage: 1)
      let start = try #require(page.indices.first { page[$0...].starts(with: Array(text.utf8)) })
      let offset = try #require(
        text.range(of: place).map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) })
      try damaged.overwrite(page: 1, at: start + offset, with: [0x01])
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(!report.isComplete)
      let kept = (report[table: "w"]?.rowsFromPages ?? 0) + (try lost(directory + "/b.sqlite"))
      #expect(kept == 1_000, "\(report)")
      let share = (500 + Double(report[table: "w"]?.rowsFromPages ?? 0)) / 1_500
      #expect(abs(report.share - share) < 0.05, "\(report)")
      #expect(try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle").count == 500)
    }
  }

  @Test func keysOfALostIndexAreNotSalvagedAsRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try DamagedDatabase.bicycles(db, 2_000)
        try db.execute("CREATE INDEX by_name ON bicycle(name)")
      }
      let page = try damaged.bytes(ofPage: 1)
      let text = Array("CREATE INDEX by_name".utf8)
      let start = try #require(page.indices.first { page[$0...].starts(with: text) })
      try damaged.overwrite(page: 1, at: start, with: [0x01])
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(report.rowsOfUnknownTables == 0, "\(report)")
      #expect(report.share == 1, "\(report)")
      #expect(!report.isComplete, "\(report)")
    }
  }

  /// Three ways in which rows differ from keys of an index whose root is lost, too: by their number of values, by the
  /// types of the values, and by the pointer map alone.
  @Test(arguments: [
    ("number INTEGER, word TEXT", "name", false), ("number INTEGER", "price", false), ("number INTEGER", "name", true),
  ])
  func rowsWithoutRowidStayInTheirTableBesideALostIndex(columns: String, indexed: String, hasMap: Bool) throws {
    try withDirectory { directory in
      let pragmas = hasMap ? ["auto_vacuum = 1"] : []
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pragmas: pragmas) { db in
        try DamagedDatabase.bicycles(db, 1_000)
        try db.execute(SQL(verbatim: "CREATE INDEX lost ON bicycle(\(indexed))"))
        try db.execute(SQL(verbatim: "CREATE TABLE w(key TEXT PRIMARY KEY, \(columns)) WITHOUT ROWID"))
        let rest = columns.contains("word") ? ", 'a word'" : ""
        try db.transaction { _ in
          for id in 1...1_000 { try db.execute(SQL(verbatim: "INSERT INTO w VALUES ('key \(id)', \(id)\(rest))")) }
        }
      }
      let all = try literals(damaged.path, ["key", "number"], from: "w")
      // The root of `w` contains some of its rows.
      let root = try damaged.bytes(ofPage: damaged.root(of: "w"))
      let rowsOfRoot = Int(root[3]) << 8 | Int(root[4])
      for name in ["w", "lost"] { try damaged.zero(page: damaged.root(of: name)) }
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let found = try literals(directory + "/b.sqlite", ["key", "number"], from: "w")
      #expect(Set(found).isSubset(of: all))
      #expect(found.count == 1_000 - rowsOfRoot, "\(report)")
      #expect(report.rowsOfUnknownTables == 0, "\(report)")
    }
  }

  @Test(arguments: [true, false], ["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY", "TEXT"])
  func aDamagedTextIsReplacedByTheBackupsIntactRow(hasBackup: Bool, key: String) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        let suffix = key == "TEXT PRIMARY KEY" ? " WITHOUT ROWID" : ""
        try db.execute(SQL(verbatim: "CREATE TABLE t(id \(key), number INTEGER, name TEXT)\(suffix)"))
        for id in 1...300 { try db.execute("INSERT INTO t VALUES (\(id), \(id), \("the name \(id)"))") }
      }
      let all = try literals(damaged.path, ["id", "number", "name"], from: "t")
      let backup = directory + "/backup.sqlite"
      try FileManager.default.copyItem(atPath: damaged.path, toPath: backup)
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: damaged.path)))
      let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("the name 177".utf8)) })
      try damaged.overwrite(page: 1, at: place + 2, with: [0xFF, 0xFE])
      let report = try Salvage(damaged: damaged.path, backup: hasBackup ? backup : nil)
        .recover(into: directory + "/b.sqlite")
      let table = try #require(report[table: "t"])
      #expect(!report.isComplete)
      #expect(table.rowsFromBackup == (hasBackup ? 1 : 0))
      #expect(table.rowsWithInvalidText == (hasBackup ? 0 : 1))
      if hasBackup {
        #expect(try literals(directory + "/b.sqlite", ["id", "number", "name"], from: "t") == all)
        #expect(try lost(directory + "/b.sqlite") == 1)
      } else {
        #expect(try literals(directory + "/b.sqlite", ["id", "number"], from: "t").count == 300)
        #expect("\(report)".contains("1 with invalid text"))
      }
    }
  }

  /// If no column holds the rowid, the backup may have another row under the same rowid.
  @Test func backupRowThatSharesOnlyTheRowidIsNotUsed() throws {
    try withDirectory { directory in
      let path = directory + "/backup.sqlite"
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute("CREATE TABLE t(number INTEGER, name TEXT); INSERT INTO t VALUES (1, 'the name 1')")
      }
      let backup = try DamagedDatabase(path) { db in
        try db.execute("CREATE TABLE t(number INTEGER, name TEXT); INSERT INTO t VALUES (77, 'other')")
      }
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: damaged.path)))
      let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("the name 1".utf8)) })
      try damaged.overwrite(page: 1, at: place, with: [0xFF])
      let report = try Salvage(damaged: damaged.path, backup: backup.path).recover(into: directory + "/b.sqlite")
      #expect(report[table: "t"]?.rowsWithInvalidText == 1)
      #expect(try literals(directory + "/b.sqlite", ["number"], from: "t") == ["1"])
    }
  }

  @Test func anEmptyTableHasNoLostRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        for number in 0..<12 {
          try db.execute(SQL(verbatim: "CREATE TABLE e\(number)(id INTEGER PRIMARY KEY, name TEXT)"))
        }
        try db.execute("CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
        try DamagedDatabase.bicycles(db, 100)
      }
      let backup = directory + "/backup.sqlite"
      try FileManager.default.copyItem(atPath: damaged.path, toPath: backup)
      for name in ["e1", "e5", "n"] { try damaged.zero(page: damaged.root(of: name)) }
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(report[table: "n"]?.estimatedRowsLost == 0, "\(report)")
      #expect(report.share > 0.95, "\(report)")
      #expect(!report.isComplete, "\(report)")
      let completed = try Salvage(damaged: damaged.path, backup: backup).recover(into: directory + "/c.sqlite")
      #expect(completed.tables.allSatisfy { $0.estimatedRowsLost == 0 }, "\(completed)")
    }
  }

  @Test(arguments: ["UTF-16le", "UTF-16be", "UTF-8"], ["UTF-16le", "UTF-8"])
  func rowsAreMergedIntoADatabaseOfAnyTextEncoding(damagedEncoding: String, encoding: String) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", encoding: damagedEncoding) {
        try DamagedDatabase.bicycles($0, 300)
      }
      let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      let backup = directory + "/backup.sqlite"
      try FileManager.default.copyItem(atPath: damaged.path, toPath: backup)
      for backup in [nil, backup] {
        let path = directory + "/new.sqlite"
        let new = try DamagedDatabase(path, encoding: encoding) { db in
          try DamagedDatabase.bicycles(db, 1)
          try db.execute("DELETE FROM bicycle")
        }
        let db = try SqliteDatabase(filepath: new.path)
        let merged = try Salvage(damaged: damaged.path, backup: backup).merge(into: db)
        #expect(merged.first { $0.table == "bicycle" }?.added == 300)
        try db.close()
        #expect(try literals(path, SalvageTests.columns, from: "bicycle") == all)
        try SqliteDatabase.deleteDatabase(at: path)
      }
      #expect(files(in: directory) == ["a.sqlite", "backup.sqlite"])
    }
  }

  @Test func aFileThatLooksEncryptedIsRefused() throws {
    try withDirectory { directory in
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for size in [4_096, 100_000] {
        let path = directory + "/\(size)"
        try Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }).write(to: URL(filePath: path))
        expectMisuse { try Salvage(damaged: path).recover(into: directory + "/b.sqlite") }
      }
    }
  }

  /// The rows in `lost_and_found`.
  private func lost(_ path: String) throws -> Int {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(isReadOnly: true))
    defer { try? db.close() }
    guard try db.schema().tables.contains(where: { $0.name == "lost_and_found" }) else { return 0 }
    return try db.query("SELECT count(*) FROM lost_and_found", as: Int.self).first ?? 0
  }
}
