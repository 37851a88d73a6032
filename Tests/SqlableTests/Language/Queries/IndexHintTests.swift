import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// Index hints: INDEXED BY and NOT INDEXED.
@Suite struct IndexHintTests {
  private let byColor = Index(Bicycle.color)

  private func plan(_ db: SqliteDatabase, _ statement: Select<DynamicRow>) throws -> String {
    try statement.explain(db).description
  }

  @Test func aReadNamesItsIndex() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let reds = Bicycle.read().indexed(by: byColor).filter(Bicycle.color == "red").orderBy(Bicycle.id)
      #expect(
        reds.sql == #"""
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ? \#
          ORDER BY "id"
          """#)
      let byHand = try db.query(
        "SELECT name FROM bicycle INDEXED BY bicycle_color WHERE color = 'red' ORDER BY id", as: String.self)
      let found = try reds.run(db)
      #expect(found.map(\.name) == byHand)
      #expect(byHand == ["Norco", "Giant"])
      // The statement cache must keep the two hints apart, because their plans differ.
      let none = Bicycle.read().notIndexed().filter(Bicycle.color == "red").orderBy(Bicycle.id)
      #expect(none.sql.contains(#"FROM "bicycle" NOT INDEXED WHERE"#))
      #expect(try none.run(db) == found)
      #expect(try reds.explain(db).description.contains("bicycle_color"))
      #expect(try !none.explain(db).description.contains("bicycle_color"))
    }
  }

  @Test func countsAndFirstRowsNameAnIndex() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let count = Bicycle.count().indexed(by: byColor).filter(Bicycle.color == "red")
      #expect(count.sql == #"SELECT count(*) FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?"#)
      #expect(try count.run(db) == 2)
      let exists = Bicycle.exists().notIndexed().filter(Bicycle.color == "red")
      #expect(
        exists.sql == #"SELECT EXISTS (SELECT 1 FROM "bicycle" NOT INDEXED WHERE "color" = ?)"#)
      #expect(try exists.run(db))
      let first = Bicycle.read().indexed(by: "bicycle_color").filter(Bicycle.color > "b").orderBy(Bicycle.color).first()
      #expect(try first.run(db)?.name == "Trek")
    }
  }

  @Test func updatesAndDeletesNameAnIndex() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let update = Bicycle.update(Bicycle.name.set(to: "x")).indexed(by: byColor).filter(Bicycle.color == "red")
      #expect(update.sql == #"UPDATE "bicycle" INDEXED BY "bicycle_color" SET "name" = ? WHERE "color" = ?"#)
      let few = Bicycle.update(Bicycle.name.set(to: "y")).indexed(by: byColor).filter(Bicycle.color == "red")
        .orderBy(Bicycle.id).limit(1)
      #expect(
        few.sql == #"""
          UPDATE "bicycle" SET "name" = ? WHERE "id" IN (SELECT "id" FROM "bicycle" INDEXED BY "bicycle_color" \#
          WHERE "color" = ? ORDER BY "id" LIMIT ?)
          """#)
      let joined = Bicycle.update(Bicycle.color.set(to: Person.name)).notIndexed()
        .from(Person.self, on: Bicycle.ownerId == Person.id)
      #expect(
        joined.sql == #"""
          UPDATE "bicycle" NOT INDEXED SET "color" = "person"."name" FROM "person" \#
          WHERE "bicycle"."owner_id" = "person"."id"
          """#)
      let delete = Bicycle.delete(Bicycle.color == "green").indexed(by: byColor)
      #expect(delete.sql == #"DELETE FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?"#)
      let all = Bicycle.deleteAll().notIndexed()
      #expect(all.sql == #"DELETE FROM "bicycle" NOT INDEXED"#)
      #expect(try few.run(db) == 1)
      #expect(try joined.run(db) == 3)
      #expect(try delete.run(db) == 1)
      #expect(try all.run(db) == 3)
      #expect(try update.run(db) == 0)
    }
  }

  @Test func anIndexHintAppliesToTheModelThatDeclaresIt() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let query = Person.select(Person.name.typed(as: String.self)).joining(
        Bicycle.self, on: Bicycle.ownerId == Person.id
      )
      .indexed(by: byColor).filter(Bicycle.color == "red").distinct()
      #expect(
        query.sql == #"""
          SELECT DISTINCT "person"."name" FROM "person" JOIN "bicycle" INDEXED BY "bicycle_color" \#
          ON "bicycle"."owner_id" = "person"."id" WHERE "bicycle"."color" = ?
          """#)
      #expect(try query.run(db) == ["Anna"])
      let other = Alias(Bicycle.self, "other").indexed(by: byColor)
      let pairs = Bicycle.select(Bicycle.id.typed(as: Int.self), other[Bicycle.id].typed(as: Int.self))
        .joining(other, on: other[Bicycle.color] == Bicycle.color && other[Bicycle.id] > Bicycle.id)
        .notIndexed()
      #expect(
        pairs.sql == #"""
          SELECT "bicycle"."id", "other"."id" FROM "bicycle" NOT INDEXED JOIN "bicycle" AS "other" \#
          INDEXED BY "bicycle_color" ON "other"."color" = "bicycle"."color" AND "other"."id" > "bicycle"."id"
          """#)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == [1])
      #expect(rows.map(\.1) == [3])
      let plain = Alias(Bicycle.self, "plain").notIndexed()
      #expect(plain.read().sql.hasSuffix(#"FROM "bicycle" AS "plain" NOT INDEXED"#))
      let twice = Bicycle.join(Alias(Bicycle.self, "other"), on: Bicycle.id == Bicycle.id).indexed(by: byColor)
      #expect(
        sqlError { _ = try twice.run(db) }?.message
          == "several tables of the query declare this index; call indexed(by:) on an alias of one table")
      let unknown = sqlError { _ = try Person.select(Person.name).indexed(by: byColor).run(db) }
      #expect(unknown?.message == "no model of the query declares the index; pass the name of the index")
    }
  }

  @Test func aMissingIndexThrows() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      for statement in [Bicycle.read().indexed(by: "bicycle_size"), Bicycle.read().indexed(by: #"a" WHERE 1 --"#)] {
        let error = sqlError { _ = try statement.run(db) }
        guard case .schema(.mismatch(let text)) = error?.kind else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(text.hasPrefix("no such index: "))
      }
      try db.execute("CREATE INDEX part ON bicycle (name) WHERE color = 'red'")
      let error = expectInvalidStatement { _ = try Bicycle.read().indexed(by: "part").run(db) }
      #expect(error?.message == "SQLite can't use the index that INDEXED BY requires for this statement")
      expectInvalidStatement { _ = try Bicycle.read().indexed(by: "a\0b").run(db) }
      let insert = sqlError { _ = try Bicycle(name: "a", color: "b").insert().notIndexed().run(db) }
      #expect(insert?.message == "an insert can't have an index to use")
      let query = Alias(Worker.self, "some") { _ in Worker.read() }.notIndexed().read()
      let hint = sqlError { _ = try query.run(db) }
      #expect(hint?.message == "an index hint needs a table, but some is a named query or function")
      expectInvalidStatement { _ = try values([1]).notIndexed().run(db) }
      let combined = Worker.select(Worker.id).union(Worker.select(Worker.id)).notIndexed()
      expectInvalidStatement { _ = try combined.run(db) }
    }
  }

  @Test func aDocumentKeepsTheIndexHint() throws {
    let rules = StatementRules(models: [Bicycle.self, Person.self])
    let reds = Bicycle.read().indexed(by: byColor).filter(Bicycle.color == "red")
    let json = try reds.json()
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"""
        {"read":{"from":[{"indexedBy":"bicycle_color","table":"bicycle"}],\#
        "where":{"=":[{"column":"color"},"red"]}},"sqlable":1}
        """#)
    #expect(try Statement<Bicycle, [Bicycle]>(json: json, rules: rules) == reds)
    let delete = Bicycle.deleteAll().notIndexed()
    #expect(
      String(decoding: try delete.json(), as: UTF8.self)
        == #"{"delete":{"all":true,"from":"bicycle","notIndexed":true},"sqlable":1}"#)
    #expect(try Statement<Bicycle, Int>(json: delete.json(), rules: rules) == delete)
    let update = Bicycle.update(Bicycle.name.set(to: "x")).indexed(by: byColor).filter(Bicycle.color == "red")
    #expect(try Statement<Bicycle, Int>(json: update.json(), rules: rules) == update)
    for wrong in [
      #""read":{"from":[{"table":"bicycle","indexedBy":"a","notIndexed":true}]}"#,
      #""delete":{"from":"bicycle","row":{"id":1},"notIndexed":true}"#,
      #""update":{"table":"bicycle","row":{"id":1,"name":"x"},"indexedBy":"a"}"#,
    ] {
      expectInvalidStatement { _ = try AnyStatement(json: Data(#"{"sqlable":1,\#(wrong)}"#.utf8), rules: rules) }
    }
  }

  /// The error of a missing index would reveal which indexes exist.
  @Test func aPolicyRefusesIndexHints() throws {
    let policy = StatementPolicy(
      .table(Worker.self).readingAll().filtering(Worker.id, by: .equality).setting(Worker.name),
      kinds: Set(StatementKind.allCases))
    let read = Worker.read().filter(Worker.id == 1)
    let update = Worker.update(Worker.name.set(to: "x")).filter(Worker.id == 1)
    let delete = Worker.delete(Worker.id == 1)
    _ = try policy.statement(AnyStatement.self, json: read.json())
    _ = try policy.statement(AnyStatement.self, json: update.json())
    _ = try policy.statement(AnyStatement.self, json: delete.json())
    for json in [
      try read.notIndexed().json(), try read.indexed(by: "a").json(), try update.notIndexed().json(),
      try delete.indexed(by: "a").json(),
    ] {
      let error = expectInvalidStatement { _ = try policy.statement(AnyStatement.self, json: json) }
      #expect(error?.message == "the policy does not allow this")
    }
  }

  /// An index never changes the rows of a result.
  @Test func inMemoryEvaluationIgnoresIndexHints() throws {
    let tables = try MemoryTables(Worker.all)
    #expect(try Worker.read().notIndexed().evaluate(over: tables) == Worker.all)
  }
}
