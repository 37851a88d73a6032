import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Rows that `including` reads with their parents: of one parent, in an order, up to a limit.
@Suite struct IncludedRowsTests {
  @Test func firstOnlyAndByIdIncludeAssociatedRows() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let people = Person.read().orderBy(Person.id).including(Person.bikes, Person.courses.count())
      let first: (Person, [Bicycle], Int)? = try people.first(db)
      #expect(first?.0.name == "Anna")
      #expect(first?.1.count == 2)
      #expect(first?.2 == 2)
      #expect(people.first().sql == #"SELECT "id", "name" FROM "person" ORDER BY "id" LIMIT ?"#)
      #expect(try Person.read(Person.id == 9).including(Person.bikes).first(db) == nil)
      let only: (Person, [Bicycle]) = try Person.read(Person.id == 2).including(Person.bikes).only().run(db)
      #expect(only.1.map(\.name) == ["Trek"])
      let bo = try Person.byId(2).including(Person.bikes, Person.courses.count()).run(db)
      #expect(bo?.1.map(\.name) == ["Trek"])
      #expect(bo?.2 == 1)
      #expect(try Person.byId(9).including(Person.bikes).run(db) == nil)
      let last = try Person.read().orderBy(Person.id, .desc).first().including(Person.bikes).run(db)
      #expect(last?.0.name == "Cid")
      #expect(last?.1.isEmpty == true)
      #expect(sqlError { _ = try people.only().run(db) }?.kind == .notUnique)
      #expect(
        sqlError { _ = try Person.read(Person.id == 9).including(Person.bikes).only().run(db) }?.kind == .notFound)
    }
  }

  @Test func orderAndLimitMayFollowIncluding() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let bikes = Person.bikes.including(Bicycle.repairs).orderBy(Bicycle.name).limit(1)
      let rows: [(Person, [(Bicycle, [Repair])])] = try Person.read().orderBy(Person.id).including(bikes).run(db)
      #expect(rows.map { $0.1.map(\.0.name) } == [["Giant"], ["Trek"], []])
      #expect(bikes == Person.bikes.orderBy(Bicycle.name).limit(1).including(Bicycle.repairs))
      let sorted = Person.bikes.including(Bicycle.repairs).orderBy(Bicycle.repairs.count().desc, Bicycle.id.asc)
      #expect(try Person.read().filter(Person.id == 1).including(sorted).run(db)[0].1.map(\.0.id) == [1, 3])
    }
  }
}
