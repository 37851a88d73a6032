import Sqlable
import Testing

@testable import SqlableTestSupport

/// The example of a table that is bound to its model, in Docs/Statements.md.
@Suite struct TablesGuide {
  @Test func aTableIsBoundToItsModelAndItsDatabase() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      let bikes = [Bicycle(id: 1, name: "Trek", color: "red"), Bicycle(id: 2, name: "Giant", color: "blue")]
      let archive = db.table(Bicycle.self, named: "archive")
      try archive.insert(bikes).run(archive)
      let red = try archive.read(Bicycle.color == "red").limit(10).run(archive)
      try db.transaction { db in try archive.delete(Bicycle.color == "red").run(db) }
      #expect(red == [bikes[0]])
      #expect(try archive.read().run(archive) == [bikes[1]])
    }
  }
}
