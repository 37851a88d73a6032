import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct JSONFunctionTests {
  static let doc = #"{"name":"Ada","pets":[{"age":3,"kind":"cat"},{"age":5}],"none":null,"half":0.5}"#

  @Test(.needs(38, "->")) func valuesAreFoundByTheirPath() throws {
    try withStays(Stay(id: 1, at: Stay.moment, doc: Self.doc), Stay(id: 2, at: Stay.moment)) { db in
      let query = Stay.select(
        Stay.doc.json("pets", 0),
        Stay.doc.jsonValue("pets", 0, "kind", as: String.self),
        Stay.doc.jsonExtract("pets", -1, "age", as: Int.self),
        Stay.doc.jsonArrayLength("pets"),
        Stay.doc.jsonType("none"),
        Stay.doc.jsonValue("none", as: Int.self),
        Stay.doc.jsonType("nowhere"),
        Stay.doc.jsonValue("half", as: Double.self)
      ).orderBy(Stay.id)
      #expect(
        query.sql == #"""
          SELECT "doc" -> '$.pets[0]', "doc" ->> '$.pets[0].kind', json_extract("doc", '$.pets[#-1].age'), \#
          json_array_length("doc", '$.pets'), json_type("doc", '$.none'), "doc" ->> '$.none', \#
          json_type("doc", '$.nowhere'), "doc" ->> '$.half' \#
          FROM "stay" ORDER BY "id"
          """#)
      let rows = try query.run(db)
      #expect(rows[0].0 == #"{"age":3,"kind":"cat"}"#)
      #expect(rows[0].1 == "cat")
      #expect(rows[0].2 == 5)
      #expect(rows[0].3 == 2)
      #expect(rows[0].4 == "null")
      #expect(rows[0].5 == nil)
      #expect(rows[0].6 == nil)
      #expect(rows[0].7 == 0.5)
      #expect(rows[1].0 == nil)
      #expect(rows[1].1 == nil)
      #expect(rows[1].3 == nil)
      #expect(rows[1].4 == nil)
      #expect(try Stay.count().filter(Stay.doc.jsonValue("pets", 1, "age", as: Int.self) == 5).run(db) == 1)
      #expect(
        try Stay.select(
          Stay.doc.column.json("pets", 1),
          Stay.doc.column.jsonValue("name"),
          Stay.doc.column.jsonExtract("half"),
          Stay.doc.column.jsonArrayLength(),
          Stay.doc.column.jsonType()
        ).first(db)?.values == [.text(#"{"age":5}"#), .text("Ada"), .real(0.5), .integer(0), .text("object")])
      // The operators -> and ->> bind tighter than the others.
      let sum = Stay.doc.jsonValue("pets", 0, "age", as: Int.self) + 1 == 4
      #expect(try Stay.count().filter(sum).run(db) == 1)
    }
  }

  @Test(.needs(38, "->")) func positionsOutsideSQLitesRangeAreNull() throws {
    try withStays(Stay(id: 1, at: Stay.moment, doc: "[10,20]")) { db in
      for position in [2, 1 << 32, (1 << 32) + 1, .max, -3, -(1 << 32) - 1, .min] {
        let found = try Stay.select(Stay.doc.jsonValue(.position(position), as: Int.self)).run(db)
        #expect(found == [nil], "\(position)")
      }
      #expect(try Stay.select(Stay.doc.jsonValue(-2, as: Int.self)).run(db) == [10])
    }
  }

  @Test func aPathAsAKeyIsRefusedWithTheRemedy() throws {
    try withDatabase { db in
      try db.createTable(Stay.self)
      for key in ["$.x", "$[0]", "$.a.b"] {
        let error = sqlError { _ = try Stay.select(Stay.doc.jsonExtract(.key(key), as: Int.self)).run(db) }
        #expect(error?.message.contains("pass each step of a path") == true, "\(key)")
      }
      for key in ["$", "$x", "x$.y"] {
        #expect(try Stay.count().filter(Stay.doc.jsonType(.key(key)) == "a").run(db) == 0)
      }
    }
  }

  @Test(.needs(38, "->")) func hostileKeysNeverChangeThePath() throws {
    try withDatabase { db in
      try db.createTable(Stay.self)
      for (index, key) in (textsLikeSQL + ["a.b", "a[0]", "a/b", "0", "#", "*"]).enumerated() {
        let object = try JSONSerialization.data(
          withJSONObject: [key: index, "b": -1, "a": ["b": -2]], options: .withoutEscapingSlashes)
        try Stay(id: index, at: Stay.moment, doc: String(decoding: object, as: UTF8.self)).insert().run(db)
        let query = Stay.select(Stay.doc.jsonValue(.key(key), as: Int.self)).filter(Stay.id == index)
        let isRefused = key.contains("\"") || key.contains("\\") || key.hasPrefix("$.")
        #expect(query.sql.contains("\"doc\" ->> '$.") || isRefused)
        if isRefused {
          expectInvalidStatement { _ = try query.run(db) }
        } else {
          #expect(try query.run(db) == [index], "\(key)")
        }
      }
      for key in ["a\nb", "a\0b", "\u{1}"] {
        expectInvalidStatement { _ = try Stay.select(Stay.doc.json(.key(key))).run(db) }
      }
    }
  }

  @Test func jsonObjectsAndArraysAreBuilt() throws {
    try withCompany { db in
      let query = Worker.select(
        jsonObject(["it's": Worker.name, "\"": Worker.bossId]), jsonArray(Worker.id, Worker.salary)
      ).orderBy(Worker.id)
      #expect(
        query.sql
          == #"SELECT json_object(?, "name", ?, "boss_id"), json_array("id", "salary") FROM "worker" ORDER BY "id""#)
      let row = try #require(try query.first(db))
      #expect(row.0 == #"{"it's":"Ada","\"":null}"#)
      #expect(row.1 == "[1,10.0]")
      let groups = Worker.select(Worker.bossId, Worker.id.jsonGroupArray(where: Worker.id > 2)).groupBy(Worker.bossId)
        .orderBy(Worker.bossId)
      #expect(
        groups.sql == #"""
          SELECT "boss_id", json_group_array("id") FILTER (WHERE "id" > ?) FROM "worker" \#
          GROUP BY "boss_id" ORDER BY "boss_id"
          """#)
      #expect(try groups.run(db).map(\.1) == ["[]", "[3]", "[4]"])
      #expect(try Bicycle.select(Bicycle.id.jsonGroupArray()).run(db).count == 1)
    }
  }

  @Test(.needs(38, "->")) func malformedJSONThrows() throws {
    try withStays(Stay(id: 1, at: Stay.moment, doc: "{")) { db in
      #expect(sqlError { _ = try Stay.select(Stay.doc.json("a")).run(db) }?.message == "malformed JSON")
    }
  }
}
