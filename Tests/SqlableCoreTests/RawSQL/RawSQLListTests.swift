import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Arrays, sets and other sequences in SQL text.
@Suite struct RawSQLListTests {
  private enum Rank: Int, SqlValue {
    case first = 1
    case second, third
  }

  private struct Tag: Codable, Hashable { var name: String }

  private struct Tags: SqlJSON, Sequence {
    var names: [String]
    func makeIterator() -> IndexingIterator<[String]> { names.makeIterator() }
  }

  private func withPeople(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...5).map { (id: Int) in Person(id: id, name: "n\(id)") }).run(db)
      try body(db)
    }
  }

  private func ids(_ db: SqliteDatabase, _ condition: SQL) throws -> [Int] {
    try db.query(condition, as: Int.self)
  }

  @Test func aSequenceBecomesAListWithAParameterForEachValue() throws {
    try withPeople { db in
      let sql: SQL = "SELECT id FROM person WHERE id IN (\([2, 4, 9])) AND name <> \("x")"
      #expect(sql.text == "SELECT id FROM person WHERE id IN (?, ?, ?) AND name <> ?")
      #expect(sql.bindings == [.integer(2), .integer(4), .integer(9), .text("x")])
      let found = try ids(db, sql)
      #expect(found == [2, 4])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\(Set([3])))") == [3])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\(1...3))") == [1, 2, 3])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\([1, 2, 3][1...]))") == [2, 3])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\([4, 5].lazy.map { $0 - 1 }))") == [3, 4])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\([Rank.first, .third]))") == [1, 3])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\([1, nil, 2] as [Int?]))") == [1, 2])
      #expect(try ids(db, "SELECT id FROM person WHERE name IN (\(["n1", "n2); --"]))") == [1])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\([DatabaseValue.integer(5)]))") == [5])
      try db.execute("DELETE FROM person WHERE id NOT IN (\([1, 5])); DELETE FROM person WHERE id IN (\([5]))")
      #expect(try ids(db, "SELECT id FROM person") == [1])
    }
  }

  @Test func anEmptySequenceBecomesAnEmptyList() throws {
    try withPeople { db in
      let none: [Int] = []
      let sql: SQL = "SELECT id FROM person WHERE id NOT IN (\(none))"
      #expect(sql.text == "SELECT id FROM person WHERE id NOT IN ()")
      let all = try ids(db, sql)
      #expect(all == [1, 2, 3, 4, 5])
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\(none))") == [])
    }
  }

  @Test func sequencesWithAStoredFormBindAsOneValue() throws {
    try withDatabase { db in
      let bytes = Data([1, 2])
      #expect(("\(bytes)" as SQL).bindings == [.blob(bytes)])
      #expect(("\(bytes as Data?)" as SQL).bindings == [.blob(bytes)])
      #expect(("\("abc")" as SQL).bindings == [.text("abc")])
      #expect(("\(Tags(names: ["a"]))" as SQL).bindings == [.text(#"{"names":["a"]}"#)])
      #expect(("\(["a": 1])" as SQL).bindings == [.text(#"{"a":1}"#)])
      let types = try db.query("SELECT typeof(\(bytes))", as: String.self)
      #expect(types == ["blob"])
    }
  }

  @Test func jsonBindsAsOneText() throws {
    try withDatabase { db in
      let (none, tags): ([Tag]?, Set) = (nil, [Tag(name: "x")])
      let sql: SQL = "SELECT \(json: [1, 2]), \(json: tags), \(json: none), \(json: 3), \(json: ["a": true])"
      #expect(
        sql.bindings == [.text("[1,2]"), .text(#"[{"name":"x"}]"#), .null, .text("3"), .text(#"{"a":true}"#)])
      let values = try db.query("SELECT value FROM json_each(\(json: [7, 8]))", as: Int.self)
      #expect(values == [7, 8])
      expectSqlError { _ = try db.query("SELECT \(json: [Double.infinity])", as: String.self) }
    }
  }

  @Test func anOptionalBoxedOrEndlessSequenceIsRefused() throws {
    try withPeople { db in
      let (some, none): ([Int]?, [Int]?) = ([1], nil)
      let boxed: any SqlValue = [1]
      let texts: [SQL] = [
        "DELETE FROM person WHERE id NOT IN (\(some))", "DELETE FROM person WHERE id NOT IN (\(none))",
        "DELETE FROM person WHERE id NOT IN (\(boxed))", "DELETE FROM person WHERE id IN (\(1...))",
      ]
      for text in texts {
        let error = expectInvalidStatement { try db.execute(text) }
        #expect(error?.message.contains("in SQL text") == true)
        expectInvalidStatement { _ = try db.query(text, as: Int.self) }
      }
      let count = try Person.count().run(db)
      #expect(count == 5)
    }
  }

  @Test func anErrorForATooLongListNamesTheLimitAndJSONEach() throws {
    try withPeople { db in
      let options = try db.query("SELECT compile_options FROM pragma_compile_options", as: String.self)
      let limit = options.first { $0.hasPrefix("MAX_VARIABLE_NUMBER=") }.flatMap { Int($0.dropFirst(20)) } ?? 32_766
      #expect(try ids(db, "SELECT id FROM person WHERE id IN (\(4..<limit + 4))") == [4, 5])
      let tooMany: SQL = "DELETE FROM person WHERE id IN (\(0...limit))"
      for error in [
        expectInvalidStatement { try db.execute(tooMany) },
        expectInvalidStatement { _ = try db.query(tooMany, as: Int.self) },
        expectInvalidStatement { try db.transaction { db in try db.execute(tooMany) } },
      ] {
        #expect(error?.message.contains("\(limit)") == true)
        #expect(error?.message.contains("json_each") == true)
      }
      let values = Array(0...limit)
      try db.execute("DELETE FROM person WHERE id IN (SELECT value FROM json_each(\(json: values)))")
      #expect(try Person.count().run(db) == 0)
    }
  }
}
