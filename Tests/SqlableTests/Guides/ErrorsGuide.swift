import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct ErrorsGuide {
  private func register(_ bike: Bicycle, _ db: SqliteDatabase) throws -> String {
    do {
      let id = try bike.insert().run(db)
      return "stored as \(id)"
    } catch let error as SqlError {
      switch error.kind {
      case .constraint(.unique): return "there is one already"
      case .constraint(.foreignKey): return "its owner is unknown"
      case .busy where error.isRetryable: return "try again later"
      default: throw error
      }
    }
  }

  @Test func errorKindsAreMatchedInASwitch() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      #expect(try register(Bicycle(name: "Norco", color: "red"), db) == "stored as 1")
      #expect(try register(Bicycle(name: "Norco", color: "red"), db) == "there is one already")
      #expect(try register(Bicycle(name: "Trek", color: "red", ownerId: 9), db) == "its owner is unknown")
    }
  }

  @Test func errorNamesItsKindPlaceAndTransactionState() throws {
    try withDatabase(Configuration(label: "main")) { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let error = try #require(sqlError { _ = try Bicycle(name: "Norco", color: "red").insert().run(db) })
      #expect(error.kind == .constraint(.unique))
      #expect(error.code == 19)
      #expect(error.extendedCode == 2067)
      #expect(error.table == "bicycle")
      #expect(error.column == "name")
      #expect(error.rowId == nil)
      #expect(error.label == "main")
      #expect(error.transaction == SqlError.TransactionFate.none)
      #expect(!error.isRetryable)
      #expect(
        error.description == """
          SqlError.constraint(unique) [main]: UNIQUE constraint failed: bicycle.name, bicycle.color (at bicycle.name) \
          (code 2067); in: INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)
          """)
    }
  }

  @Test func schemaErrorsNameMissingTablesAndColumns() throws {
    try withDatabase { db in
      let noTable = sqlError { _ = try Person.read().run(db) }
      #expect(noTable?.kind == .schema(.missingTable("person")))
      try db.createTable(Bicycle.self)
      let noParent = sqlError { _ = try Bicycle(name: "Norco", color: "red").insert().run(db) }
      #expect(noParent?.kind == .schema(.missingTable("person")))
      #expect(noParent?.table == "person")
      try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
      let noColumn = sqlError { _ = try Person.read().run(db) }
      #expect(noColumn?.kind == .schema(.missingColumn("name")))
    }
  }

  @Test(.needsPlainFiles("with a key no file is another format")) func nonDatabaseFileThrows() throws {
    try withDirectory { directory in
      #expect(sqlError { _ = try SqliteDatabase(filepath: directory) }?.kind == .cannotOpen)
      let path = directory + "/notes.txt"
      try String(repeating: "not a database, ", count: 100).write(toFile: path, atomically: true, encoding: .utf8)
      #expect(sqlError { _ = try SqliteDatabase(filepath: path) }?.kind == .notADatabase)
    }
  }

  @Test func misuseThrows() throws {
    try withDatabase { db in
      try db.createTable(Bicycle.self)
      let early = sqlError { try db.commitTransaction() }
      #expect(early?.kind == .misuse("can't commit: no transaction is open"))
      let message = "the struct has no value for its key bicycle.id; insert the struct first"
      let error = sqlError { _ = try Bicycle(name: "Norco", color: "red").update().run(db) }
      #expect(error?.kind == .misuse(message))
    }
  }

  @Test func fullDatabaseThrowsAndRollsBack() throws {
    try withDatabase(Configuration(maximumPageCount: 16)) { db in
      try db.createTable(Person.self)
      let error = sqlError {
        try db.transaction { db in
          for number in 1...10_000 { try Person(id: nil, name: "person \(number)").insert().run(db) }
        }
      }
      #expect(error?.kind == .full)
      #expect(error?.transaction == .rolledBack)
      #expect(try Person.count().run(db) == 0)
    }
  }
}
