import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct HandlesGuide {
  @Test func openingCreatesMissingFilesAndDirectories() throws {
    try withDirectory { directory in
      let path = directory + "/not/yet/there/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(label: "main", busyTimeout: 10))
      try db.createTables(Person.self, Bicycle.self)
      try db.close()
      #expect(!db.isOpen)
      let error = sqlError { _ = try Bicycle.count().run(db) }
      #expect(error?.kind == .closed)
      #expect(error?.label == "main")
      let readOnly = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true))
      #expect(try Bicycle.count().run(readOnly) == 0)
      #expect(sqlError { _ = try Bicycle.deleteAll().run(readOnly) }?.kind == .readOnly)
      try readOnly.close()
      try SqliteDatabase.deleteDatabase(at: path)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func aLazyHandleIsOpenButNotConnected() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
      print(db.isOpen, db.isConnected)  // true false
      #expect(db.isOpen)
      #expect(!db.isConnected)
      try db.createTable(Person.self)
      #expect(db.isConnected)
      #expect(sqlError { _ = try SqliteDatabase(filepath: "~/bikes.sqlite") }?.kindIsMisuse == true)
    }
  }

  @Test func onOpenConfiguresEveryConnection() throws {
    try withDirectory { directory in
      let (path, archivePath) = (directory + "/bikes.sqlite", directory + "/archive.sqlite")
      var configuration = Configuration()
      configuration.onOpen("memory map") { db in try db.execute("PRAGMA mmap_size = 268435456") }
      configuration.onOpen("scratch", order: 1) { db in try db.execute("CREATE TEMP TABLE scratch (id INTEGER)") }
      let mapped = try SqliteDatabase(filepath: path, configuration: configuration)
      #expect(try mapped.query("SELECT count(*) FROM scratch", as: Int.self) == [0])
      try mapped.close()
      #expect(SqliteDatabase.canOpen(at: path))
      let files = DatabaseFiles(of: path)
      let size = files.size  // of all files, in bytes; also db.files.size and pool.files.size
      try files.move(to: archivePath)
      try DatabaseFiles(of: archivePath).remove(overwriting: true)
      #expect(size >= 0)
      #expect(SqlableTestSupport.files(in: directory) == [])
    }
  }

  @Test func aBlockMakesOtherHandlesWait() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: Configuration(busyTimeout: 0))
      try db.createTables(Person.self, Bicycle.self)
      let child = try db.createChild()
      do {
        let block = try db.block()
        defer { block.end() }
        try Bicycle(name: "Trek", color: "red").insert().run(block)
        try db.execute("VACUUM")
        expectError(.busy) { _ = try Bicycle.count().run(child) }
      }
      #expect(try Bicycle.count().run(child) == 1)
    }
  }

  @Test func openHandlesAreFound() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(label: "main"))
      let open = try SqliteDatabase.handles(at: path).first ?? SqliteDatabase(filepath: path)
      let main = SqliteDatabase.handles(labelled: "main")
      #expect(open === db)
      #expect(main.contains { $0 === db })
    }
  }

  @Test func closedFilesAreCopiedAndMoved() throws {
    try withDirectory { directory in
      let (path, newPath, copyPath) = (directory + "/bikes.sqlite", directory + "/new", directory + "/copy")
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
      #expect(SqlableTestSupport.files(in: directory) == [])
      try db.createTable(Person.self)
      try db.withClosed { files in
        try files.copy(to: copyPath)
        try files.move(to: newPath)
        try DatabaseFiles(of: newPath).move(to: files.filepath)
      }
      #expect(try Person.count().run(db) == 0)
      #expect(try Person.count().run(SqliteDatabase(filepath: copyPath)) == 0)
      if FileManager.default.fileExists(atPath: "/proc/pressure/memory") {
        SqliteDatabase.releaseMemory()
        let watch = try SqliteDatabase.releaseMemoryUnderPressure { print("memory was released") }
        watch.end()
      }
    }
  }

  @Test func attachedFilesAreReadAndWritten() throws {
    try withDirectory { directory in
      let (path, archivePath) = (directory + "/bikes.sqlite", directory + "/archive.sqlite")
      for file in [path, archivePath] {
        try SqliteDatabase(filepath: file).createTables(Person.self, Bicycle.self)
      }
      let bicycles = [Bicycle(name: "Trek", color: "sold"), Bicycle(name: "Cube", color: "red")]
      try Bicycle.insert(bicycles).run(SqliteDatabase(filepath: path))
      let configuration = Configuration(attached: ["archive": archivePath])
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.transaction { db in
        let sold = Bicycle.color == "sold"
        try Bicycle.insert(from: Bicycle.read().filter(sold)).in(database: "archive").run(db)
        try Bicycle.delete().filter(sold).run(db)
      }
      let old = try Bicycle.read().in(database: "archive").run(db)
      #expect(old.map(\.name) == ["Trek"])
      #expect(try Bicycle.read().run(db).map(\.name) == ["Cube"])
      let copy = Bicycle.insert(from: Bicycle.read().filter(Bicycle.color == "sold")).in(database: "archive")
      #expect(
        copy.sql == """
          INSERT INTO "archive"."bicycle" ("id", "name", "color", "owner_id") \
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?
          """)
      #expect(
        Bicycle.read().in(database: "archive").sql
          == #"SELECT "id", "name", "color", "owner_id" FROM "archive"."bicycle""#)
      #expect(try copy.ignoreOnConflict().run(db) == 0)
    }
  }

  @Test(.needs(36, "a child of a database in memory")) func childrenShareADatabaseInMemory() throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Person.self)
    let child = try db.createChild()
    try Person(id: nil, name: "Anna").insert().run(child)
    let count = try Person.count().run(db)
    #expect(count == 1)
  }

  @Test func customFunctionsAndCollationsRunInSQL() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      let prices = [("Zoe", 9_000.0), ("amber", 4_000), ("Bolt", 12_000)]
      try Car.insert(prices.map { Car(id: nil, name: $0.0, price: $0.1, isElectric: $0.0 != "amber") }).run(db)

      let distance = ScalarFunction("distance", isDeterministic: true) { (a: Double, b: Double) in abs(a - b) }
      try db.register(distance)
      let near = try Car.read().filter(distance(Car.price, Car.price * 2) < 5_000).run(db)
      let distances = try db.query("SELECT distance(price, \(8_000.0)) FROM car", as: Double.self)
      #expect(near.map(\.name) == ["amber"])
      #expect(distances == [1_000, 4_000, 4_000])
      #expect(
        Car.count().filter(distance(Car.price, Car.price * 2) < 5_000).sql
          == #"SELECT count(*) FROM "car" WHERE "distance"("price", "price" * ?) < ?"#)

      let median = AggregateFunction("median", initial: [Double]()) { (values: inout [Double], value: Double) in
        values.append(value)
      } finish: { values in
        values.isEmpty ? nil : values.sorted()[values.count / 2]
      }
      try db.register(median)
      let medians = try Car.select(Car.isElectric, median(Car.price)).groupBy(Car.isElectric).run(db)
      #expect(medians.map(\.1) == [4_000, 12_000])

      let dictionary = Collation("dictionary") { $0.lowercased().compare($1.lowercased()) }
      try db.register(dictionary)
      let sorted = try Car.read().orderBy(Car.name.collate(dictionary)).run(db)
      #expect(sorted.map(\.name) == ["amber", "Bolt", "Zoe"])
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted")) func aDatabaseInMemoryIsSaved() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase.inMemory()
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      let copy = directory + "/saved.sqlite"
      try db.execute("VACUUM INTO \(copy)")
      let saved = try SqliteDatabase(filepath: copy)
      #expect(try Person.read().run(saved).map(\.name) == ["Anna"])
    }
  }

  @Test func statementCacheReportsItsHitRate() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      for id in 1...100 { _ = try Person.byId(id).run(db) }
      let use = try db.statementCacheUse
      let rate = use.hitRate  // near 1 in a service that runs the same statements with other values
      #expect(rate > 0.8)
      #expect(use.statements > 0)
    }
  }

  @Test func eachThreadUsesItsOwnHandle() throws {
    try withDatabase(Configuration(busyTimeout: 600)) { db in
      try db.createTable(Person.self)
      let workers = try (1...4).map { number in
        let child = try db.createChild()
        let thread = Thread {
          do {
            try Person(id: nil, name: "worker \(number)").insert().run(child)
            try child.close()
          } catch { child.fail(error) }
        }
        thread.start()
        return thread
      }
      while !workers.allSatisfy(\.isFinished) { sched_yield() }
      #expect(try Person.count().run(db) == 4)
    }
  }

  @Test func defaultsMatchTheTableOfTheGuide() throws {
    let defaults = Configuration()
    #expect(defaults.label == nil)
    #expect(!defaults.isReadOnly)
    #expect(defaults.createsDirectories)
    #expect(defaults.busyTimeout == 5)
    #expect(defaults.journalMode == .wal)
    #expect(defaults.synchronous == .normal)
    #expect(defaults.foreignKeys)
    #expect(defaults.secureDelete == .fast)
    #expect(defaults.statementCacheBytes == 4 << 20)
    #expect(defaults.cacheSize == 8_192)
    #expect(defaults.walAutocheckpoint == 1_000)
    #expect(defaults.maximumPageCount == nil)
    #expect(defaults.usesPreupdateHook)
    #expect(!defaults.recursiveTriggers)
    #expect(defaults.trustsSchema)
    try withDatabase { db in
      func pragma(_ name: String) throws -> String? {
        try db.query(SQL(verbatim: "PRAGMA \(name)")) { row in try row.get(at: 0, as: SqlText.self).text }.first
      }
      let values = try [
        "journal_mode", "synchronous", "foreign_keys", "secure_delete", "cache_size", "wal_autocheckpoint",
        "trusted_schema",
      ].map(pragma)
      #expect(values == ["wal", "1", "1", "2", "-8192", "1000", "1"])
      #expect(throws: SqlError.self) { try db.query(#"SELECT "nosuch""#, as: String.self) }
      #expect(throws: SqlError.self) { try db.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema") }
    }
  }

  @Test func untrustedSchemaMayNotCallFunctions() throws {
    try withDirectory { directory in
      let path = directory + "/upload.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.execute("CREATE VIEW named AS SELECT json_extract('{\"a\": 1}', '$.a') AS a")
      #expect(try db.query("SELECT a FROM named", as: Int.self) == [1])
      let upload = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true, trustsSchema: false))
      let error = sqlError { _ = try upload.query("SELECT a FROM named", as: Int.self) }
      // Newer SQLite versions mark the function as innocuous, so the view is readable.
      guard let error else { return }
      #expect(error.kind == .schema(.mismatch(error.message)))
      #expect(
        error.message == """
          unsafe use of json_extract() in the schema; use Configuration(trustsSchema: true) for SQLite's functions \
          and virtual tables, or isAllowedInSchema: true for a registered function
          """)
    }
  }

  @Test func writesToADeletedFileFail() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Person.self)
      try FileManager.default.removeItem(atPath: path)
      let error = sqlError { _ = try Person(id: nil, name: "Anna").insert().run(db) }
      #expect(error?.kind == .io)
      #expect(error?.message == "the database file was moved or deleted; a write would be lost")
    }
  }
}

/// A value of any storage class, read as text.
private struct SqlText: SqlValue {
  let text: String
  static let columnType = ColumnType.nullable(.text)
  var databaseValue: DatabaseValue { .text(text) }
  init(databaseValue: DatabaseValue) throws {
    switch databaseValue {
    case .integer(let integer): text = "\(integer)"
    case .text(let text): self.text = text
    default: text = ""
    }
  }
}
