import Foundation
import SqlableCodable
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Changes of JSON, and JSON built from groups.
@Suite struct JSONChangeTests {
  private struct Folder: SqlCodable, Equatable {
    var id: Int
    var doc: String?
    var tags: [String]
    var bytes: [String]

    static let id = column("id", Int.self, PrimaryKey())
    static let doc = column("doc", String?.self)
    static let tags = column("tags", [String].self)
    static let bytes = column("bytes", [String].self, as: .blob)
    static let tableLayout = [id.column, doc.column, tags.column, bytes.column]
  }

  private func withDocket(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Folder.self)
      try Folder(id: 1, doc: #"{"a":1,"pets":["cat"]}"#, tags: ["x", "y"], bytes: ["b"]).insert().run(db)
      try Folder(id: 2, doc: nil, tags: [], bytes: []).insert().run(db)
      try body(db)
    }
  }

  @Test func jsonColumnsAreNestedAsJSONInNewJSON() throws {
    try withDocket { db throws in
      let object = jsonObject(["id": Folder.id, "tags": Folder.tags, "bytes": Folder.bytes, "doc": Folder.doc])
      let all = Folder.select(object, jsonArray(Folder.tags, jsonArray(Folder.id))).filter(Folder.id == 1)
      #expect(
        all.sql == #"""
          SELECT json_object(?, "id", ?, json("tags"), ?, json(CAST("bytes" AS TEXT)), ?, "doc"), \#
          json_array(json("tags"), json_array("id")) \#
          FROM "folder" WHERE "id" = ?
          """#)
      let row = try #require(try all.first(db))
      #expect(row.0 == #"{"id":1,"tags":["x","y"],"bytes":["b"],"doc":"{\"a\":1,\"pets\":[\"cat\"]}"}"#)
      #expect(row.1 == #"[["x","y"],[1]]"#)
      let group = Folder.select(Folder.tags.jsonGroupArray())
      #expect(group.sql == #"SELECT json_group_array(json("tags")) FROM "folder""#)
      #expect(try group.first(db) == #"[["x","y"],[]]"#)
      #expect(try Folder.select(jsonArray(Folder.doc)).filter(Folder.id == 2).first(db) == "[null]")
    }
  }

  @Test(.needs(38, "->")) func jsonFunctionsChangeValuesAtPaths() throws {
    try withDocket { db throws in
      let doc = Folder.doc
      for (term, sql, expected) in [
        (doc.jsonSet("a", to: 2), #"json_set("doc", '$.a', ?)"#, #"{"a":2,"pets":["cat"]}"#),
        (doc.jsonSet("b", to: "x\"y"), #"json_set("doc", '$.b', ?)"#, #"{"a":1,"pets":["cat"],"b":"x\"y"}"#),
        (doc.jsonSet("a", to: true), #"json_set("doc", '$.a', json(?))"#, #"{"a":true,"pets":["cat"]}"#),
        (doc.jsonSet("a", to: false as Bool?), #"json_set("doc", '$.a', json(?))"#, #"{"a":false,"pets":["cat"]}"#),
        (doc.jsonSet("a", to: nil as Bool?), #"json_set("doc", '$.a', ?)"#, #"{"a":null,"pets":["cat"]}"#),
        (doc.jsonSet("a", to: ["p", "q"]), #"json_set("doc", '$.a', json(?))"#, #"{"a":["p","q"],"pets":["cat"]}"#),
        (doc.jsonSet("a", to: ["k": 1]), #"json_set("doc", '$.a', json(?))"#, #"{"a":{"k":1},"pets":["cat"]}"#),
        (doc.jsonSet("a", to: 1.5), #"json_set("doc", '$.a', ?)"#, #"{"a":1.5,"pets":["cat"]}"#),
        (doc.jsonSet("a", to: Folder.id), #"json_set("doc", '$.a', "id")"#, #"{"a":1,"pets":["cat"]}"#),
        (
          doc.jsonSet("a", to: Folder.tags), #"json_set("doc", '$.a', json("tags"))"#,
          #"{"a":["x","y"],"pets":["cat"]}"#
        ),
        (
          doc.jsonSet("a", to: Folder.bytes), #"json_set("doc", '$.a', json(CAST("bytes" AS TEXT)))"#,
          #"{"a":["b"],"pets":["cat"]}"#
        ),
        (
          doc.jsonSet("a", to: doc.json("pets")), #"json_set("doc", '$.a', "doc" -> '$.pets')"#,
          #"{"a":["cat"],"pets":["cat"]}"#
        ),
        (doc.jsonSet("pets", 1, to: "dog"), #"json_set("doc", '$.pets[1]', ?)"#, #"{"a":1,"pets":["cat","dog"]}"#),
        (doc.jsonInsert("a", value: 9), #"json_insert("doc", '$.a', ?)"#, #"{"a":1,"pets":["cat"]}"#),
        (doc.jsonInsert("b", value: Folder.id), #"json_insert("doc", '$.b', "id")"#, #"{"a":1,"pets":["cat"],"b":1}"#),
        (
          doc.jsonInsert("pets", .end, value: "dog"), #"json_insert("doc", '$.pets[#]', ?)"#,
          #"{"a":1,"pets":["cat","dog"]}"#
        ),
        (doc.jsonReplace("b", with: 9), #"json_replace("doc", '$.b', ?)"#, #"{"a":1,"pets":["cat"]}"#),
        (
          doc.jsonReplace("a", with: Folder.tags), #"json_replace("doc", '$.a', json("tags"))"#,
          #"{"a":["x","y"],"pets":["cat"]}"#
        ),
        (doc.jsonRemove("pets", 0), #"json_remove("doc", '$.pets[0]')"#, #"{"a":1,"pets":[]}"#),
        (doc.jsonPatch(#"{"a":null,"b":[1]}"#), #"json_patch("doc", ?)"#, #"{"pets":["cat"],"b":[1]}"#),
        (
          doc.jsonPatch(doc.jsonSet("c", to: 3)), #"json_patch("doc", json_set("doc", '$.c', ?))"#,
          #"{"a":1,"pets":["cat"],"c":3}"#
        ),
      ] {
        let query = Folder.select(term).orderBy(Folder.id)
        #expect(query.sql == #"SELECT \#(sql) FROM "folder" ORDER BY "id""#)
        // NULL stays NULL.
        #expect(try query.run(db) == [expected, nil], "\(sql)")
        let decoded = try Select<String?>(json: try query.json(), rules: StatementRules(models: [Folder.self]))
        #expect(decoded.sql == query.sql)
        #expect(decoded.bindings == query.bindings)
      }
      let untyped = Folder.select(Folder.doc.column.jsonSet("a", to: true)).filter(Folder.id == 1)
      #expect(untyped.sql == #"SELECT json_set("doc", '$.a', json(?)) FROM "folder" WHERE "id" = ?"#)
    }
  }

  @Test func theResultIsAssignedInTheFormOfTheColumn() throws {
    try withDocket { db throws in
      let tags = Folder.update(Folder.tags.set(to: Folder.tags.jsonSet(0, to: "new"))).filter(Folder.id == 1)
      let bytes = Folder.update(Folder.bytes.set(to: Folder.bytes.jsonInsert(1, value: "c"))).filter(Folder.id == 1)
      #expect(tags.sql == #"UPDATE "folder" SET "tags" = json_set("tags", '$[0]', ?) WHERE "id" = ?"#)
      #expect(
        bytes.sql == """
          UPDATE "folder" SET "bytes" = CAST(json_insert(CAST("bytes" AS TEXT), '$[1]', ?) AS BLOB) WHERE "id" = ?
          """)
      #expect(try tags.run(db) == 1)
      #expect(try bytes.run(db) == 1)
      let folder = try #require(try Folder.byId(1).run(db))
      #expect(folder.tags == ["new", "y"])
      #expect(folder.bytes == ["b", "c"])
      let classes = try db.query("SELECT typeof(tags) || typeof(bytes) FROM folder WHERE id = 1", as: String.self)
      #expect(classes == ["textblob"])
    }
  }

  @Test func groupsBecomeJSONObjects() throws {
    try withDocket { db throws in
      let query = Folder.select(
        Folder.id.cast(to: String.self).jsonGroupObject(Folder.tags),
        Folder.id.cast(to: String.self).jsonGroupObject(Folder.id, where: Folder.doc == nil))
      #expect(
        query.sql == """
          SELECT json_group_object(CAST("id" AS TEXT), json("tags")), \
          json_group_object(CAST("id" AS TEXT), "id") FILTER (WHERE "doc" IS NULL) FROM "folder"
          """)
      let row = try #require(try query.run(db).first)
      #expect(row.0 == #"{"1":["x","y"],"2":[]}"#)
      #expect(row.1 == #"{"2":2}"#)
    }
  }

  @Test func malformedJSONThrows() throws {
    try withDocket { db throws in
      try db.execute("UPDATE folder SET doc = 'no JSON' WHERE id = 1")
      let error = sqlError { _ = try Folder.select(Folder.doc.jsonSet("a", to: 1)).run(db) }
      #expect(error?.message.contains("malformed JSON") == true)
      expectInvalidStatement { _ = try Folder.select(Folder.doc.jsonSet(.key("a\"b"), to: 1)).run(db) }
    }
  }

  @Test func documentsPairEveryPathWithAValue() {
    let rules = StatementRules(models: [Folder.self])
    func error(_ function: String, _ arguments: String) -> SqlError? {
      let term = #"{"arguments":\#(arguments),"function":"\#(function)"}"#
      let json = Data(#"{"read":{"from":"folder","select":[\#(term)]},"sqlable":1}"#.utf8)
      return sqlError { _ = try Select<DynamicRow>(json: json, rules: rules) }
    }
    #expect(error("json_set", #"[{"column":"doc"},["a"],1]"#) == nil)
    #expect(error("json_set", #"[{"column":"doc"},["a"]]"#) != nil)
    #expect(error("json_set", #"[{"column":"doc"},["a"],1,["b"]]"#) != nil)
    #expect(error("json_set", #"[{"column":"doc"},"$.a",1]"#) != nil)
    #expect(error("printf", #"["%s",{"column":"doc"}]"#) == nil)
    #expect(error("printf", #"[{"column":"doc"}]"#) != nil)
  }
}
