import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// The operator REGEXP, which calls the library's function.
@Suite struct RegexpTests {
  private let pattern = "^[A-C].*a$|eo"

  private func isRegistered(_ db: SqliteDatabase) throws -> Bool {
    try db.query("SELECT count(*) FROM pragma_function_list WHERE name = 'regexp'", as: Int.self) == [1]
  }

  @Test func regexpSelectsMatchingRows() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let query = Worker.select(Worker.name).filter(Worker.name.regexp(pattern)).orderBy(Worker.id)
      #expect(query.sql == #"SELECT "name" FROM "worker" WHERE "name" REGEXP ? ORDER BY "id""#)
      #expect(query.bindings == [.text(pattern)])
      #expect(try !isRegistered(db))
      let rows = try query.run(db)
      let byHand = Worker.all.map(\.name).filter { ($0.first ?? "z") <= "C" && $0.hasSuffix("a") || $0.contains("eo") }
      #expect(rows == byHand)
      #expect(rows == ["Ada", "Cleo"])
      #expect(try isRegistered(db))
      #expect(try query.evaluate(over: MemoryTables(Worker.all)) == rows)
      let raw = try db.query("SELECT name FROM worker WHERE name REGEXP \(pattern) ORDER BY id", as: String.self)
      #expect(raw == rows)
      #expect(try db.query("SELECT regexp('b', 'abc') + 2 * regexp('^b', 'abc')", as: Int.self) == [1])
      let terms = Worker.read().filter(
        Worker.name.regexp(Worker.name.substr(1, 1)) && !Worker.name.regexp("n$"))
      #expect(terms.sql.hasSuffix(#"WHERE "name" REGEXP substr("name", 1, 1) AND NOT "name" REGEXP ?"#))
      #expect(try terms.run(db).map(\.name) == ["Ada", "Cleo"])
      let prepared = try db.prepare(Worker.count().filter(Worker.name.regexp(Parameter<String>("pattern"))))
      for (pattern, count) in [("^A", 1), ("n", 2), ("(?i)A", 2), ("^$", 0)] {
        #expect(try prepared.run(["pattern": pattern]) == count)
      }
    }
  }

  @Test func regexpTakesUntypedTermsAndOtherStorageClasses() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let ids = Bicycle.select(Bicycle.id).filter(Bicycle.id.regexp("^[23]$")).orderBy(Bicycle.id)
      #expect(try ids.run(db).map { try $0.get(at: 0, as: Int.self) } == [2, 3])
      let owners = Bicycle.count().filter(Bicycle.ownerId.regexp(".").isNull)
      #expect(try owners.run(db) == 1)
      let values = try db.query(
        "SELECT x'61' REGEXP 'a' UNION ALL SELECT 1.5 REGEXP '^1[.]5$' UNION ALL SELECT NULL REGEXP 'a'", as: Int?.self)
      #expect(values == [0, 1, nil])
      // The text does not end at a NUL.
      #expect(try db.query("SELECT 'a' || char(0) || 'b' REGEXP 'b$'", as: Int.self) == [1])
    }
  }

  @Test func anInvalidExpressionThrows() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let early = expectInvalidStatement { _ = try Worker.read().filter(Worker.name.regexp("a(secret")).run(db) }
      #expect(early?.message == "the regular expression is invalid at character 2: the ( has no matching )")
      #expect(try !isRegistered(db))
      let late = expectInvalidStatement {
        _ = try db.query("SELECT name FROM worker WHERE name REGEXP \("[")", as: String.self)
      }
      #expect(late?.message == "the regular expression is invalid at character 1: the [ has no matching ]")
      #expect(late?.sql?.contains("REGEXP") == true)
      let memory = expectInvalidStatement {
        let pattern = TypedExpression("[").lowercase()
        _ = try Worker.read().filter(Worker.name.regexp(pattern)).evaluate(over: MemoryTables(Worker.all))
      }
      #expect(memory == nil || memory?.message.contains("character 1") == true)
    }
  }

  @Test func aRegisteredRegexpFunctionReplacesTheBuiltInOne() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      try db.register(ScalarFunction("regexp") { (pattern: String, text: String) -> Bool in text == pattern + "!" })
      #expect(try db.query("SELECT 'a!' REGEXP 'a'", as: Int.self) == [1])
      let other = try db.createChild()
      #expect(try other.query("SELECT 'a' REGEXP 'a'", as: Int.self) == [0])
    }
    try withCompany { (db: SqliteDatabase) throws -> Void in
      #expect(try db.query("SELECT 'a' REGEXP 'a'", as: Int.self) == [1])
      try db.register(ScalarFunction("regexp") { (pattern: String, text: String) -> Bool in false })
      #expect(try db.query("SELECT 'a' REGEXP 'a'", as: Int.self) == [0])
    }
    try withCompany { (db: SqliteDatabase) throws -> Void in
      // A schema must not depend on the function, which other programs lack.
      try db.execute("CREATE VIEW short AS SELECT name FROM worker WHERE name REGEXP '^...$'")
      let error = sqlError { _ = try db.query("SELECT name FROM short", as: String.self) }
      #expect(error?.message.lowercased().contains("regexp") == true, "\(String(describing: error))")
    }
  }

  @Test func aDocumentKeepsRegexp() throws {
    let query = Worker.read().filter(Worker.name.regexp("^A"))
    let json = try query.json()
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"read":{"from":"worker","where":{"REGEXP":[{"column":"name"},"^A"]}},"sqlable":1}"#)
    #expect(try Statement<Worker, [Worker]>(json: json) == query)
    for wrong in [#""a(""#, "3", #"{"blob":"AQ=="}"#] {
      let text = #"{"read":{"from":"worker","where":{"REGEXP":[{"column":"name"},\#(wrong)]}},"sqlable":1}"#
      #expect(sqlError { _ = try Statement<Worker, [Worker]>(json: Data(text.utf8)) } != nil, "\(wrong)")
    }
  }

  @Test func aPolicyMustAllowRegularExpressions() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      func policy(_ features: Set<StatementPolicy.Feature>, _ operations: FilterOperation...) -> StatementPolicy {
        let table = TablePolicy(Worker.self).reading(Worker.id, Worker.name)
        return StatementPolicy(
          operations.isEmpty ? table : table.filtering(Worker.name, by: .pattern), features: features)
      }
      let query = Worker.select(Worker.name).filter(Worker.name.regexp("^A"))
      let allowing = policy([.regularExpressions], .pattern)
      let allowed = try allowing.statement(Select<String>.self, json: query.json())
      #expect(try allowed.limited(by: allowing).run(db) == ["Ada"])
      for refusing in [policy([], .pattern), policy([.regularExpressions])] {
        expectInvalidStatement { _ = try refusing.statement(Select<String>.self, json: query.json()) }
      }
      let long = Worker.select(Worker.name).filter(Worker.name.regexp(String(repeating: "a", count: 257)))
      expectInvalidStatement { _ = try allowing.statement(Select<String>.self, json: long.json()) }
    }
  }
}
