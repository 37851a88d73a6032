import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Batch inserts with chosen columns.
@Suite struct ChosenColumnsTests {
  @Test func manyStructsAreInsertedWithChosenColumns() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let bikes = [Bicycle(id: 7, name: "Norco", color: "red"), Bicycle(id: 8, name: "Trek", color: "blue")]
      let statement = Bicycle.insert(bikes, Bicycle.name)
      #expect(statement.sql == #"INSERT INTO "bicycle" ("name") VALUES (?)"#)
      #expect(try statement.run(db) == [1, 2])
      #expect(try Bicycle.read().run(db).map(\.color) == ["black", "black"])
      let sent = try JSONEncoder().encode(statement)
      let received = try JSONDecoder().decode(Statement<Bicycle, [Int]>.self, from: sent)
      #expect(received.sql == statement.sql)
      #expect(throws: SqlError.self) { try Bicycle.insert(bikes, Person.name).run(db) }
      #expect(try Bicycle.insert([], Bicycle.name).run(db) == [])
      let returned = try Bicycle.insert([Bicycle(name: "Kona", color: "x")], Bicycle.name).returning().run(db)
      #expect(returned.map(\.color) == ["black"])
    }
  }
}
