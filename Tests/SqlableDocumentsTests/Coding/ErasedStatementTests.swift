import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Statements of all types as `AnyStatement`.
@Suite struct ErasedStatementTests {
  @Test func anErasedStatementWritesTheSameDocument() throws {
    for document in try StatementCorpus.all() {
      let erased = document.erased
      let decoded = try AnyStatement(json: document.json, rules: StatementCorpus.rules)
      #expect(try erased.json() == document.json, "\(document.name)")
      #expect(erased == decoded, "\(document.name)")
      #expect(erased.hashValue == decoded.hashValue, "\(document.name)")
      #expect(erased.sql == document.sql, "\(document.name)")
      #expect(erased.kind == decoded.kind, "\(document.name)")
      #expect(try AnyStatement(erased) == erased, "\(document.name)")
    }
  }

  @Test func anErasedStatementRunsAsItsOriginal() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let bikes = [Bicycle(name: "Norco", color: "red"), Bicycle(name: "Trek", color: "blue")]
      #expect(try AnyStatement(Bicycle.insert(bikes)).run(db) == .ids([1, 2]))
      #expect(try AnyStatement(Bicycle(name: "Kona", color: "red").insert()).run(db) == .number(3))
      #expect(try AnyStatement(Bicycle.exists(Bicycle.color == "green")).run(db) == .exists(false))
      guard case .rows(let rows) = try AnyStatement(Bicycle.byId(2)).run(db) else { throw CancellationError() }
      #expect(rows.map(\.values) == [[.integer(2), .text("Trek"), .text("blue"), .null]])
      #expect(try AnyStatement(Bicycle.delete(Bicycle.color == "red")).run(db) == .number(2))
    }
  }

  @Test func erasingRawSQLOrAnAssociatedReadIsMisuse() {
    let text: SQL = "DELETE FROM person WHERE name = \("hunter2")"
    for error in [
      expectMisuse { _ = try AnyStatement(text) }, expectMisuse { _ = try AnyStatement(text.rows(as: Int.self)) },
      expectMisuse { _ = try AnyStatement(Person.read().including(Bicycle.read(), by: Bicycle.ownerId)) },
    ] {
      #expect(error?.message.hasPrefix("an AnyStatement needs a statement or a query, not a ") == true)
      #expect(error?.message.contains("hunter2") == false)
    }
  }

  @Test func aStatementThatCannotRunIsRefused() {
    expectMisuse { _ = try AnyStatement(Bicycle.delete()) }
    expectInvalidStatement { _ = try AnyStatement(Bicycle.read().limit(-1)) }
    expectError(.schema(.missingColumn("name"))) { _ = try AnyStatement(Car.read().filter(Bicycle.name == "x")) }
  }
}
