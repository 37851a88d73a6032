import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// The description of every statement is its SQL.
@Suite struct DescriptionTests {
  private static let works: [any Runnable] = [
    Bicycle.read().filter(Bicycle.color == "red"), Bicycle.byId(2), Bicycle.count(), Bicycle.exists(),
    Bicycle(name: "Trek", color: "red").insert(), Bicycle.insert([Bicycle(name: "Trek", color: "red")]),
    Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id == 1), Bicycle.deleteAll(),
    Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color),
    Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id), Bicycle.read().union(Bicycle.read().in("archive")),
    Car.deleteAll().returning(Car.id, Car.name), Car.select(Car.name).count(), Car.select(Car.price.max()).only(),
    Car.select(Car.name).first(), Car.read().asDictionary(by: \.id),
    Bicycle.deleteAll().returning(), Bicycle.deleteAll().returning(Bicycle.name).first(),
    Person(id: nil, name: "Anna").insert().orFind(by: Person.name),
    Person.read().including(Person.bikes),
    Bicycle.read().filter(Bicycle.color == Parameter("color")).binding(["color": "red"]),
    Bicycle.read().decoded(as: [String: String].self), Bicycle.read().limited(by: StatementPolicy()),
    try! AnyStatement(json: Bicycle.count().json(), rules: StatementRules(models: [Bicycle.self])),
    SQL("SELECT \(1); SELECT 2"), SQL("SELECT \(1)").rows(as: Int.self),
    Trigger("t", after: .insert, on: Bicycle.self, run: Person.deleteAll()),
    Bicycle.createTable(), Bicycle.createIndex(Index(Bicycle.ownerId)), Bicycle.addColumn(Bicycle.ownerId),
    Bicycle.dropTable(), DropStatement.trigger("t"), AlterStatement.renameTable("a", to: "b"),
    DatabaseStatement.attach("/tmp/a", as: "b"), Pragma.userVersion, Pragma.userVersion.set(to: 3),
    Bicycle.byId(2).explain(),
  ]

  @Test func theDescriptionIsTheSQL() throws {
    for work in Self.works {
      #expect("\(work)" == work.sql)
      #expect(!work.sql.isEmpty && !work.sql.hasPrefix("--"), "\(type(of: work)): \(work.sql)")
      #expect(try work.requests().first?.sql.isEmpty == false, "\(type(of: work))")
    }
  }

  @Test func aPreparedStatementPrintsItsSQL() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let prepared = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
      #expect("\(prepared)" == prepared.sql)
      #expect(prepared.sql.hasSuffix(#"FROM "bicycle" WHERE "color" = ?"#))
    }
  }

  /// A statement that can't run prints a comment with the error.
  @Test func anInvalidStatementPrintsItsError() {
    let works: [any Runnable] = [
      Bicycle.read().filter(Person.name == "Anna"), Bicycle.addColumn(Person.name),
      AlterStatement.renameTable("", to: "b"),
      Trigger("", after: .insert, on: Bicycle.self, run: Person.deleteAll()), DropStatement.table(""),
    ]
    for work in works { #expect("\(work)".hasPrefix("-- "), "\(type(of: work)): \(work)") }
  }

  /// Fails if a public type becomes a statement without an example above.
  @Test func everyStatementTypeHasAnExample() throws {
    let covered = Set(Self.works.map { String(describing: type(of: $0)).prefix { $0 != "<" } })
    let sources = URL(filePath: #filePath).appending(path: "../../../../Sources").standardized
    let pattern = /(?:public struct|extension) (\w+)(?:<[^>]*>)?: [^{\n]*\b(?:Runnable|DefinitionStatement)\b/
    var count = 0
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" {
      for match in try String(contentsOf: file, encoding: .utf8).matches(of: pattern) {
        count += 1
        #expect(covered.contains(match.1), "\(match.1) in \(file.lastPathComponent)")
      }
    }
    #expect(count >= 20)
  }
}
