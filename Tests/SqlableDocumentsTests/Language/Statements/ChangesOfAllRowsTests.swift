import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Changes of all rows, which must be explicit: one letter separates `bike.delete()` from `Bicycle.delete()`.
@Suite struct ChangesOfAllRowsTests {
  private func withThree(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...3).map { Bicycle(name: "b\($0)", color: "red") }).run(db)
      try body(db)
    }
  }

  @Test func aChangeWithoutAFilterAndALimitIsRefused() throws {
    try withThree { db in
      let (delete, update) = (Bicycle.delete(), Bicycle.update(Bicycle.color.set(to: "blue")))
      for statement in [delete, update, delete.orderBy(Bicycle.id), update.orderBy(Bicycle.id)] {
        let error = expectMisuse { try statement.run(db) }
        #expect(error?.message.contains("without a filter or limit would change every row of table bicycle") == true)
        #expect(error?.table == "bicycle")
        expectMisuse { _ = try db.prepare(statement) }
        expectMisuse { _ = try statement.explain(db) }
        #expect(statement.sql.hasPrefix("--"))
      }
      expectMisuse { _ = try delete.returning().run(db) }
      expectMisuse { _ = try delete.in("bicycle").run(db) }
      let reds = try Bicycle.count().filter(Bicycle.color == "red").run(db)
      #expect(reds == 3)
      // A limit, an offset or a filter makes the change valid.
      #expect(try delete.limit(1).run(db) == 1)
      #expect(try update.orderBy(Bicycle.id).limit(10, offset: 1).run(db) == 1)
      #expect(try delete.filter(Bicycle.color == "blue").run(db) == 1)
    }
  }

  /// Both have the same SQL, so a cached statement must not bypass the check.
  @Test func anUnfilteredChangeDoesNotReuseACachedChangeOfAllRows() throws {
    try withThree { db in
      #expect(try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db) == 3)
      expectMisuse { try Bicycle.update(Bicycle.color.set(to: "green")).run(db) }
      #expect(try Bicycle.deleteAll().run(db) == 3)
      try Bicycle(name: "x", color: "y").insert().run(db)
      expectMisuse { try Bicycle.delete().run(db) }
      #expect(try Bicycle.count().run(db) == 1)
      #expect(try Bicycle.deleteAll().returning().run(db).map(\.name) == ["x"])
    }
  }

  @Test func aChangeOfAllRowsTakesNoSelection() throws {
    try withThree { db in
      for statement in [Bicycle.deleteAll(), Bicycle.updateAll(Bicycle.color.set(to: "blue"))] {
        for selecting in [
          statement.filter(Bicycle.id == 1),
          statement.limit(1),
          statement.orderBy(Bicycle.id),
        ] {
          let error = expectMisuse { try selecting.run(db) }
          #expect(error?.message.contains("can't have a filter, order or limit") == true)
        }
      }
      let reds = try Bicycle.count().filter(Bicycle.color == "red").run(db)
      #expect(reds == 3)
    }
  }

  @Test func documentsDistinguishChangesOfAllRows() throws {
    // A statement that can't run can't be encoded.
    expectMisuse { _ = try JSONEncoder().encode(Bicycle.delete()) }
    let deleteAll = try Bicycle.deleteAll().json()
    #expect(try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: deleteAll).kind == .deleteAll)
    let text = try #require(String(data: deleteAll, encoding: .utf8))
    let delete = Data(text.replacing(#""all":true,"#, with: "").utf8)
    expectMisuse { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: delete) }
    let updateAll = try JSONEncoder().encode(Bicycle.updateAll(Bicycle.color.set(to: "x")))
    #expect(try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: updateAll).kind == .updateAll)
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = StatementRules(kinds: [.delete, .update])
    for data in [deleteAll, updateAll] {
      expectInvalidStatement { _ = try decoder.decode(Statement<Bicycle, Int>.self, from: data) }
    }
  }
}
