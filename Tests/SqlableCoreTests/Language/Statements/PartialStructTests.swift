import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Required: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let size = Column("size", .real, Default(1.5))
  static let columns = [id, name, size]
}

/// Partial reads of structs, and updates of selected rows from some columns of a struct.
@Suite struct PartialStructTests {
  @Test func unreadColumnsAreTheirDefaultOrNull() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Person(id: 3, name: "Ann").insert().run(db)
      try Bicycle(name: "a", color: "red", ownerId: 3).insert().run(db)
      let read = Bicycle.read(only: Bicycle.id, Bicycle.name)
      #expect(read.sql == #"SELECT "id", "name", ?, ? FROM "bicycle""#)
      #expect(try read.run(db) == [Bicycle(id: 1, name: "a", color: "black")])
      let filtered = Bicycle.read(only: Bicycle.name).filter(Bicycle.color == "red").orderBy(Bicycle.color)
      #expect(try filtered.run(db) == [Bicycle(name: "a", color: "black")])
      try db.createTable(Entry<Required>.self)
      try Entry<Required>(1, "x", 2.0).insert().run(db)
      #expect(try Entry<Required>.read(only: Required.name).run(db) == [Entry(.null, "x", 1.5)])
      let error = sqlError { _ = try Entry<Required>.read(only: Required.id).run(db) }
      #expect(error?.message == "column name can't be left out: it can't be NULL, and has no constant default")
      expectError(.schema(.missingColumn("color"))) { _ = try Person.read(only: Bicycle.color, Person.name).run(db) }
    }
  }

  @Test func leftOutColumnsAreTheirDefaultOrNull() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Person(id: 3, name: "Ann").insert().run(db)
      try Bicycle(name: "a", color: "red", ownerId: 3).insert().run(db)
      let read = Bicycle.read(without: Bicycle.color, Bicycle.ownerId)
      #expect(read == Bicycle.read(only: Bicycle.id, Bicycle.name))
      #expect(try read.run(db) == [Bicycle(id: 1, name: "a", color: "black")])
      #expect(Bicycle.read(without: Bicycle.color).sql == #"SELECT "id", "name", ?, "owner_id" FROM "bicycle""#)
      let error = sqlError { _ = try Entry<Required>.read(without: Required.name).run(db) }
      #expect(error?.message == "column name can't be left out: it can't be NULL, and has no constant default")
      expectError(.schema(.missingColumn("color"))) { _ = try Person.read(without: Bicycle.color).run(db) }
    }
  }

  @Test func chosenColumnsOfAStructAreWrittenToSelectedRows() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Person(id: 3, name: "Ann").insert().run(db)
      try Bicycle.insert([
        Bicycle(name: "a", color: "red", ownerId: 3),
        Bicycle(name: "b", color: "red", ownerId: 3),
        Bicycle(name: "c", color: "red", ownerId: 3),
      ]).run(db)
      let bike = Bicycle(name: "x", color: "blue")
      let update = Bicycle.update(Bicycle.color, Bicycle.ownerId, from: bike).filter(Bicycle.id > 1)
      #expect(try update.run(db) == 2)
      #expect(
        try Bicycle.read().orderBy(Bicycle.id).run(db) == [
          Bicycle(id: 1, name: "a", color: "red", ownerId: 3),
          Bicycle(id: 2, name: "b", color: "blue"),
          Bicycle(id: 3, name: "c", color: "blue"),
        ])
      #expect(try Bicycle.update(Bicycle.color, from: bike).limit(1).run(db) == 1)
      expectMisuse { try Bicycle.update(Bicycle.color, from: bike).run(db) }
      expectError(.schema(.missingColumn("name"))) {
        try Bicycle.update(Person.name, from: bike).filter(Bicycle.id > 0).run(db)
      }
      expectInvalidStatement { try Bicycle.update(Bicycle.color, Bicycle.color, from: bike).limit(1).run(db) }
      let wrong = sqlError {
        try Entry<Required>.update(Required.size, from: Entry(1, "x", "y")).limit(1).run(db)
      }
      #expect(wrong?.column == "size", "\(String(describing: wrong))")
    }
  }
}
