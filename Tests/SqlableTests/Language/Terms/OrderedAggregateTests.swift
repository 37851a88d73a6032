import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// Aggregates with ORDER BY, which SQLite supports since 3.44, and with DISTINCT.
@Suite struct OrderedAggregateTests {
  private let concatenated = Worker.name.groupConcat("+", orderBy: Worker.salary.desc, Worker.id.asc)

  @Test func orderByFollowsTheArguments() {
    let query = Worker.select(
      Worker.name.groupConcat("+", orderBy: Worker.salary.desc, Worker.id.asc, where: Worker.id < 4),
      Worker.name.groupConcat(distinct: true, orderBy: Worker.name.asc.nullsLast),
      Worker.name.jsonGroupArray(orderBy: Worker.salary.asc),
      Worker.name.jsonGroupArray(distinct: true, orderBy: Worker.name.desc),
      Worker.name.jsonGroupObject(Worker.salary, orderBy: Worker.name.asc))
    #expect(
      query.sql == #"""
        SELECT group_concat("name", ? ORDER BY "salary" DESC, "id") FILTER (WHERE "id" < ?), \#
        group_concat(DISTINCT "name" ORDER BY "name" NULLS LAST), json_group_array("name" ORDER BY "salary"), \#
        json_group_array(DISTINCT "name" ORDER BY "name" DESC), \#
        json_group_object("name", "salary" ORDER BY "name") FROM "worker"
        """#)
    let untyped = Bicycle.select(
      Bicycle.name.groupConcat(orderBy: Bicycle.id.desc),
      Bicycle.name.groupConcat(distinct: true, orderBy: Bicycle.id.asc),
      Bicycle.name.jsonGroupArray(orderBy: Bicycle.id.asc),
      Bicycle.name.jsonGroupObject(Bicycle.id, orderBy: Bicycle.id.asc))
    #expect(
      untyped.sql == #"""
        SELECT group_concat("name", ? ORDER BY "id" DESC), group_concat(DISTINCT "name" ORDER BY "id"), \#
        json_group_array("name" ORDER BY "id"), json_group_object("name", "id" ORDER BY "id") FROM "bicycle"
        """#)
  }

  @Test(.needs(44, "an aggregate with ORDER BY")) func orderedAggregatesTakeRowsInOrder() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      #expect(try Worker.select(concatenated).run(db) == ["Ada+Cleo+Ben+Dan"])
      let byHand = try db.query(
        "SELECT json_group_array(DISTINCT salary ORDER BY salary DESC) FROM worker", as: String.self)
      #expect(
        try Worker.select(Worker.salary.jsonGroupArray(distinct: true, orderBy: Worker.salary.desc)).run(db) == byHand)
    }
  }

  @Test(.disabled(if: SQLiteLibrary.isAtLeast(44), "this SQLite has ORDER BY in aggregates"))
  func anOlderSQLiteReportsTheRequiredVersion() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let needed = "an aggregate with ORDER BY needs SQLite 3.44 or later"
      let error = expectMisuse { _ = try Worker.select(concatenated).run(db) }
      #expect(error?.message.hasPrefix(needed) == true)
      let raw = expectMisuse {
        _ = try db.query("SELECT (SELECT group_concat(name ORDER BY id) FROM worker)", as: String?.self)
      }
      #expect(raw?.message.hasPrefix(needed) == true)
      // Any other misplaced ORDER is a syntax error in every version.
      for wrong in [
        "SELECT name FROM worker ORDER ORDER BY id",
        "SELECT name ORDER BY id ORDER BY id",
        "SELECT rank() OVER (ORDER BY id), name FROM worker ORDER BY BY id ORDER",
      ] {
        expectError(.syntax) { _ = try db.query(SQL(verbatim: wrong), as: DynamicRow.self) }
      }
    }
  }

  @Test func anOrderedAggregateCannotHaveAWindow() {
    let error = expectInvalidStatement { _ = try Worker.select(concatenated.over()).json() }
    #expect(error?.message == "an aggregate with an order of its rows can't be a window function")
  }

  @Test func distinctValuesAreAggregatedOnce() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let query = Worker.select(
        Worker.salary.total(distinct: true),
        Worker.salary.jsonGroupArray(distinct: true),
        Worker.salary.total())
      #expect(
        query.sql
          == #"SELECT total(DISTINCT "salary"), json_group_array(DISTINCT "salary"), total("salary") FROM "worker""#)
      let row = try #require(try query.first(db))
      #expect(row == (22, "[10.0,5.0,7.0]", 27))
      let untyped = Bicycle.select(
        Bicycle.ownerId.total(distinct: true), Bicycle.ownerId.jsonGroupArray(distinct: true))
      #expect(try untyped.first(db)?.values == [.real(3), .text("[1,2,null]")])
      #expect(
        try Worker.select(Worker.salary.total(distinct: true)).evaluate(over: MemoryTables(Worker.all)) == [22])
    }
  }

  @Test func aRegisteredAggregateTakesAnOrder() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let joined = AggregateFunction("joined", initial: "") { (text: inout String, value: String) in
        text += value
      } finish: {
        $0
      }
      try db.register(joined)
      let query = Worker.select(joined(Worker.name, orderBy: Worker.name.desc))
      #expect(query.sql == #"SELECT "joined"("name" ORDER BY "name" DESC) FROM "worker""#)
      if SQLiteLibrary.isAtLeast(44) { #expect(try query.run(db) == ["DanCleoBenAda"]) }
    }
  }

  @Test func aDocumentKeepsTheOrder() throws {
    let query = Worker.select(concatenated)
    let json = try query.json()
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"""
        {"read":{"from":"worker","select":[{"arguments":[{"column":"name"},"+"],"function":"group_concat",\#
        "orderBy":[{"desc":{"column":"salary"}},{"asc":{"column":"id"}}]}]},"sqlable":1}
        """#)
    #expect(try Select<String?>(json: json, rules: StatementRules(models: [Worker.self])) == query)
    for wrong in [
      #"{"function":"countRows","orderBy":[{"asc":{"column":"id"}}]}"#,
      #"{"arguments":[{"column":"name"}],"function":"lower","orderBy":[{"asc":{"column":"id"}}]}"#,
      #"{"arguments":[{"column":"name"}],"function":"group_concat","over":{},"orderBy":[{"asc":{"column":"id"}}]}"#,
    ] {
      let text = #"{"read":{"from":"worker","select":[\#(wrong)]},"sqlable":1}"#
      let error = sqlError {
        _ = try AnyStatement(json: Data(text.utf8), rules: StatementRules(models: [Worker.self]))
      }
      #expect(
        error?.message == #"the key "orderBy" needs an aggregate that depends on the row order, without a window"#,
        "\(wrong)")
    }
  }

  /// The order reveals values of the column that it sorts by.
  @Test func aPolicyChecksTheOrder() throws {
    let policy = StatementPolicy(
      .table(Worker.self).reading(Worker.name, Worker.salary).sorting(Worker.name), features: [.aggregates])
    _ = try policy.statement(
      Select<String?>.self, json: Worker.select(Worker.name.groupConcat(orderBy: Worker.name.asc)).json())
    expectInvalidStatement {
      _ = try policy.statement(
        Select<String?>.self, json: Worker.select(Worker.name.groupConcat(orderBy: Worker.salary.asc)).json())
    }
  }

  @Test func anOrderByAKeyMakesAnAggregateRepeatable() throws {
    func message(_ query: Select<String?>) -> String? {
      sqlError { try AnyStatement(query).checkIsRepeatable() }?.message
    }
    #expect(message(Worker.select(Worker.name.groupConcat(orderBy: Worker.id.asc))) == nil)
    #expect(message(Worker.select(concatenated)) == nil)
    #expect(
      message(Worker.select(Worker.name.groupConcat(orderBy: Worker.salary.asc)))
        == "the order of group_concat() is not repeatable: it has ties; order by the keys of the tables")
  }
}
