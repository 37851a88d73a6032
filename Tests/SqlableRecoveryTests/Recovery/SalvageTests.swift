import Foundation
import SqlableCore
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: what comes back from damaged pages", .needsPlainFiles("it damages pages by their contents"))
struct SalvageTests {
  static let columns = ["id", "name", "color", "price"]

  @Test(arguments: [512, 1_024, 4_096, 65_536])
  func anIntactFileComesBackWholeWithEveryPageSize(pageSize: Int) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pageSize: pageSize) { db in
        try DamagedDatabase.bicycles(db, 2_000)
        try db.execute("CREATE TABLE blob(data BLOB, text TEXT)")
        for size in [0, 100, 5_000, 300_000] {
          try db.execute("INSERT INTO blob VALUES (randomblob(\(size)), \(String(repeating: "é", count: size)))")
        }
        try db.execute("PRAGMA user_version = 7; PRAGMA application_id = -3")
      }
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(report.isComplete)
      #expect(report.share == 1)
      #expect(report[table: "bicycle"]?.rowsFromPages == 2_000)
      for (table, columns) in [("bicycle", SalvageTests.columns), ("blob", ["rowid", "data", "text"])] {
        #expect(
          try literals(directory + "/b.sqlite", columns, from: table)
            == literals(damaged.path, columns, from: table))
      }
      #expect(try integrity(directory + "/b.sqlite") == ["ok"])
      let db = try SqliteDatabase(filepath: directory + "/b.sqlite")
      #expect(try db.query("SELECT name FROM sqlite_schema WHERE type = 'index'", as: String.self) == ["by_color"])
      #expect(try db.query("PRAGMA user_version", as: Int.self) == [7])
      #expect(try db.query("PRAGMA application_id", as: Int.self) == [-3])
    }
  }

  @Test func asyncCodeAwaitsASalvage() async throws {
    try await withDirectoryAsync { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 100) }
      let report = try await Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(report[table: "bicycle"]?.rowsFromPages == 100)
    }
  }

  /// A row of the schema contains the table's name three times: as `name`, as `tbl_name` and in the SQL text.
  @Test(arguments: [0, 1, 2])
  func aTableKeepsItsNameIfOneOfThreePlacesIsDamaged(place: Int) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try DamagedDatabase.bicycles(db, 2_000)
        try db.execute("CREATE TABLE vicycle(id INTEGER PRIMARY KEY); INSERT INTO vicycle VALUES (1)")
      }
      let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      try damaged.zero(page: try damaged.root(of: "bicycle"))
      let page = try damaged.bytes(ofPage: 1)
      let first = try #require(page.indices.first { page[$0...].starts(with: Array("tablebicyclebicycle".utf8)) })
      let text = try #require(page.indices.first { page[$0...].starts(with: Array("TABLE bicycle".utf8)) })
      try damaged.overwrite(page: 1, at: [first + 5, first + 12, text + 6][place], with: Array("v".utf8))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle") == all, "\(report)")
      #expect(try literals(directory + "/b.sqlite", ["id"], from: "vicycle") == ["1"])
      #expect(try integrity(directory + "/b.sqlite") == ["ok"])
    }
  }

  @Test func aLostLeafCostsItsRowsOnlyAndTheReportSaysHowMany() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 5_000) }
      let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      let leaves = try damaged.pages(ofType: 13)
      for leaf in [leaves[10], leaves[20], leaves[21]] { try damaged.zero(page: leaf) }
      let before = try Data(contentsOf: URL(fileURLWithPath: damaged.path))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let found = try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle")
      let table = try #require(report[table: "bicycle"])
      #expect(table.rowsFromPages == found.count)
      #expect(table.estimatedRowsLost == all.count - found.count)
      #expect(table.unreadablePages == 3)
      #expect(!table.isComplete)
      #expect(!report.isComplete)
      #expect(Set(found).isSubset(of: all))
      #expect(found.count > 4_800)
      #expect(try Data(contentsOf: URL(fileURLWithPath: damaged.path)) == before)
      #expect(files(in: directory) == ["a.sqlite", "b.sqlite"])
    }
  }

  @Test func leavesBelowALostRootAreFoundByTheirRows() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try DamagedDatabase.bicycles(db, 5_000)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, bicycle INTEGER, text TEXT)")
        try db.transaction { _ in
          for id in 1...3_000 { try db.execute("INSERT INTO note VALUES (\(id), \(id * 2), \("a note of \(id)"))") }
        }
      }
      let all = try ["bicycle", "note"].map { try literals(damaged.path, ["id"], from: $0) }
      let names = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      for name in ["bicycle", "note"] { try damaged.zero(page: damaged.root(of: name)) }
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let found = try ["bicycle", "note"].map { try literals(directory + "/b.sqlite", ["id"], from: $0) }
      #expect(found == all)
      #expect(try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle") == names)
      #expect(report.share > 0.98)
      #expect(report.rowsOfUnknownTables == 0)
    }
  }

  @Test(arguments: [false, true]) func rootReplacedByItsLeafIsReportedIncomplete(keys: Bool) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute(
          SQL(verbatim: "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)\(keys ? " WITHOUT ROWID" : "")"))
        try db.transaction { _ in
          for id in 1...2_000 { try db.execute("INSERT INTO t VALUES (\(id), \("name \(id)"))") }
        }
      }
      let leaf = try #require(try damaged.pages(ofType: keys ? 10 : 13).last { $0 > 2 })
      try damaged.overwrite(page: try damaged.root(of: "t"), with: try damaged.bytes(ofPage: leaf))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(!report.isComplete)
      #expect(keys || abs(report.share - Double(report[table: "t"]?.rowsFromPages ?? 0) / 2_000) < 0.05)
    }
  }

  @Test func lossOfAllInteriorPagesLosesNoRow() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 20_000) }
      let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      for page in try damaged.pages(ofType: 5) { try damaged.zero(page: page) }
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle") == all)
      #expect(report.share > 0.98)
    }
  }

  @Test func damagedHeaderIsReconstructed() throws {
    try withDirectory { directory in
      for (place, bytes) in [(0, [UInt8](repeating: 0, count: 100)), (16, [0x80, 0]), (56, [9, 9, 9, 9]), (20, [77])] {
        let damaged = try DamagedDatabase(directory + "/a\(place).sqlite", pageSize: 2_048, encoding: "UTF-16le") {
          try DamagedDatabase.bicycles($0, 3_000)
        }
        let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
        try damaged.overwrite(page: 1, at: place, with: bytes)
        let output = directory + "/b\(place).sqlite"
        let report = try Salvage(damaged: damaged.path).recover(into: output)
        #expect(try literals(output, SalvageTests.columns, from: "bicycle") == all)
        #expect(!report.problems.isEmpty)
      }
    }
  }

  @Test func aLostSchemaComesFromTheModelsOrTheBackup() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.createTables(Person.self, Bicycle.self, Car.self)
        try db.transaction { _ in
          for id in 1...500 {
            try Person(id: id, name: "person \(id)").insert().run(db)
            try Bicycle(id: id, name: "name \(id)", color: "red", ownerId: id).insert().run(db)
            try Car(id: id, name: "car \(id)", price: Double(id), isElectric: true).insert().run(db)
          }
        }
      }
      try FileManager.default.copyItem(atPath: damaged.path, toPath: directory + "/backup.sqlite")
      let tables = [
        ("person", ["id", "name"]), ("bicycle", ["id", "name", "color", "owner_id"]), ("car", ["id", "price"]),
      ]
      let all = try tables.map { try literals(damaged.path, $0.1, from: $0.0) }
      try damaged.zero(page: 1)
      let schema = Schema(Person.self, Bicycle.self, Car.self)
      let byModels = try Salvage(damaged: damaged.path, schema: schema).recover(into: directory + "/b.sqlite")
      let foundB = try tables.map { try literals(directory + "/b.sqlite", $0.1, from: $0.0) }
      #expect(foundB == all)
      #expect(byModels[table: "car"]?.schemaSource == .models)
      let byBackup = try Salvage(damaged: damaged.path, backup: directory + "/backup.sqlite")
        .recover(into: directory + "/c.sqlite")
      let foundC = try tables.map { try literals(directory + "/c.sqlite", $0.1, from: $0.0) }
      #expect(foundC == all)
      #expect(byBackup.tables.allSatisfy { $0.schemaSource == .backup && $0.source == .pages })
      // Without models and backup, every row is kept with its id and values.
      let byNothing = try Salvage(damaged: damaged.path).recover(into: directory + "/d.sqlite")
      #expect(byNothing.rowsOfUnknownTables >= 1_500)
      #expect(try literals(directory + "/d.sqlite", ["id"], from: "lost_and_found").count >= 1_500)
      #expect(byNothing.share == 0)
    }
  }

  @Test func rowsOnFreePagesDoNotComeBack() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", pragmas: ["secure_delete = 0"]) { db in
        try DamagedDatabase.bicycles(db, 4_000)
        try db.execute("DELETE FROM bicycle WHERE id > 1000")
      }
      let kept = try literals(damaged.path, ["id"], from: "bicycle")
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", ["id"], from: "bicycle") == kept)
      #expect(report.isComplete)
      // The free-list is lost, but the table misses no row.
      try damaged.overwrite(page: 1, at: 32, with: [0, 0, 0, 0])
      let blind = try Salvage(damaged: damaged.path).recover(into: directory + "/c.sqlite")
      #expect(try literals(directory + "/c.sqlite", ["id"], from: "bicycle") == kept)
      #expect(blind.lostAndFound == nil)
      var keeping = Salvage(damaged: damaged.path)
      keeping.keepsPossiblyDeleted = true
      // The deleted rows fit into this gap of row ids.
      try damaged.overwrite(page: 1, at: 32, with: [0, 0, 0, 0])
      let found = try keeping.recover(into: directory + "/d.sqlite")
      #expect(try literals(directory + "/d.sqlite", ["id"], from: "bicycle") == kept)
      #expect(found[table: "bicycle"]?.isComplete == true)
    }
  }

  @Test func aLostOverflowPageCostsItsRow() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB)")
        for id in 1...20 {
          try db.execute(
            "INSERT INTO t VALUES (\(id), \("a \(id)"), CAST(\(String(repeating: "x", count: 5_000)) AS BLOB))")
        }
      }
      let isOverflow = { (page: Int) in try damaged.bytes(ofPage: page)[10...20].allSatisfy { $0 == UInt8(ascii: "x") }
      }
      let pages = try (2...damaged.pageCount).filter(isOverflow)
      try damaged.zero(page: pages[7])
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let table = try #require(report[table: "t"])
      #expect(table.rowsFromPages == 19)
      #expect(table.estimatedRowsLost == 1)
      #expect(table.isLossExact)
      // The part of the row that its leaf page holds.
      let rows = try literals(directory + "/b.sqlite", ["table", "id", "c1"], from: "lost_and_found")
      #expect(rows.count == 1)
      #expect(rows.first?.contains("'a ") == true)
    }
  }

  @Test func aCutFileKeepsItsBeginning() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 5_000) }
      let size = try damaged.size
      try FileHandle(forUpdating: URL(fileURLWithPath: damaged.path)).truncate(atOffset: UInt64(size / 2 + 77))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", ["id"], from: "bicycle").count > 2_000)
      #expect(report.problems.contains { $0.contains("the file lacks the last") })
    }
  }

  @Test func nonDatabaseIsRefusedAndLeavesNoFile() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      for bytes in [Data(), Data(repeating: 0, count: 10_000), Data("hello".utf8)] {
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(sqlError { try Salvage(damaged: path).recover(into: directory + "/b.sqlite") }?.kind == .notADatabase)
      }
      #expect(sqlError { try Salvage(damaged: path + "x").recover(into: directory + "/b.sqlite") }?.kind == .cannotOpen)
      let damaged = try DamagedDatabase(directory + "/c.sqlite") { try DamagedDatabase.bicycles($0, 10) }
      let refused = sqlError { try Salvage(damaged: damaged.path).recover(into: path) }
      guard case .misuse = refused?.kind else {
        Issue.record("\(String(describing: refused))")
        return
      }
      #expect(files(in: directory) == ["a.sqlite", "c.sqlite"])
    }
  }
}
