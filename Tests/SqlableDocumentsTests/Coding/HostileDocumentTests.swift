import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Hostile documents: each is refused with an error that names the place.
@Suite struct HostileDocumentTests {
  private func refusal(_ text: String) -> SqlError? { refusal(Data(text.utf8)) }

  private func refusal(_ data: Data) -> SqlError? {
    sqlError { _ = try AnyStatement(json: data, rules: StatementRules(models: documentModels)) }
  }

  private func body(_ text: String) -> String { #"{\#(text),"sqlable":1}"# }

  @Test func invalidJSONIsRefused() {
    for text in [
      "", " ", "{", "}", "[", "nul", "tru", "01", "-", "1.", "1e", ".5", "+1", "\"", #""\x""#, #""\u12""#, #""\ud800""#,
      #""\ud800\u0041""#, #""\udc00""#, "\"\u{1}\"", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "{a:1}", "1 2",
      #"{"a":1,"a":2}"#, "\u{FEFF}{}", "// x", "{'a':1}", "NaN", "1e999", "[1 2]", "{\"a\":1 \"b\":2}",
    ] {
      let error = refusal(text)
      #expect(
        error?.message.hasPrefix("the document is not valid JSON") == true, "\(text): \(String(describing: error))")
    }
    #expect(refusal(Data([0x22, 0xFF, 0x22]))?.message.contains("UTF-8") == true)
    #expect(refusal(Data([0x22, 0xC0, 0x80, 0x22]))?.message.contains("UTF-8") == true)
    // Deeply nested, long and wide documents.
    for open in ["[", #"{"a":"#] {
      #expect(refusal(String(repeating: open, count: 1_000_000))?.message.contains("nested") == true)
    }
    #expect(refusal("[" + String(repeating: "0,", count: 1_000_000) + "0]") != nil)
    let keys = (0..<100_000).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(refusal("{\(keys)}")?.message.contains("version") == true)
    #expect(refusal("{\(keys),\"k7\":1}")?.message.contains("duplicate key") == true)
  }

  @Test func tooManyTablesAreRefusedBeforeTheirNamesAreCompared() {
    let tables = (0..<20_000).map { #"{"table":"bicycle","as":"b\#($0)","join":"cross"}"# }
    let error = refusal(body(#""count":{"from":["bicycle",\#(tables.joined(separator: ","))],"select":[1]}"#))
    #expect(error?.message == "a query can't have more than 64 tables")
    #expect(error?.documentPath == "count.from")
  }

  /// The library never frees the layouts of named queries, so their number is limited.
  @Test func aNamedQueryWithTooManyColumnsIsRefused() {
    let types = Array(repeating: #""integer""#, count: 200_001).joined(separator: ",")
    let query = #"{"as":"q","columns":[\#(types)],"query":{"from":"bicycle"}}"#
    let error = refusal(body(#""read":{"from":[\#(query)],"select":[1]}"#))
    #expect(
      error?.message == "decoded named queries have more than 20000 lists of column types, or 200000 columns")
  }

  @Test func theVersionIsRequired() {
    let read = #""read":{"from":"person"}"#
    for text in [
      "{\(read)}", #"{"sqlable":1}"#, #"{"sqlable":0,\#(read)}"#, #"{"sqlable":"1",\#(read)}"#,
      #"{"sqlable":1.0,\#(read)}"#, #"{"sqlable":1,\#(read),"more":1}"#, #"{"sqlable":1,"reed":{}}"#, "null", "[]", "1",
    ] { #expect(refusal(text) != nil, "\(text)") }
    let newer = refusal(#"{"sqlable":2,\#(read)}"#)
    #expect(newer?.message == "the statement has version 2, but this library reads up to 1")
    #expect(refusal(#"{ "sqlable" : 1 , \#(read) }"#) == nil)
  }

  @Test func valuesHaveOneSpelling() {
    func count(_ value: String) -> String {
      body(#""count":{"from":"seat","where":{"=":[{"column":"price"},\#(value)]}}"#)
    }
    for value in [
      "null", "true", "1.5", "1e2", "[]", #"{"real":"nan"}"#, #"{"real":"1"}"#, #"{"integer":1}"#, #"{"integer":"01"}"#,
      #"{"integer":"9223372036854775808"}"#, #"{"null":false}"#, #"{"null":null}"#, #"{"blob":"*"}"#, #"{"blob":1}"#,
      #"{"real":1,"integer":"1"}"#, #"{"text":"x"}"#, "{}",
    ] { #expect(refusal(count(value)) != nil, "\(value)") }
    for value in ["1", #"{"real":1}"#, #"{"real":1.5}"#, #"{"real":"-inf"}"#, #"{"integer":"1"}"#, #"{"null":true}"#] {
      #expect(refusal(count(value)) == nil, "\(value)")
    }
  }

  /// An earlier version decoded each of these documents, or ran it as another statement.
  @Test func meaninglessDocumentsAreRefusedWithTheirPath() {
    for (text, place) in [
      // A count did not check the parts that it does not use.
      (#""count":{"from":"person","select":[{"column":"price","model":"seat"}]}"#, "count"),
      (#""exists":{"from":["person",{"as":"x","join":"cross","table":"person"}]}"#, "exists"),
      (#""first":{"from":"person"}"#, "first"), (#""first":{"from":"person","limit":2}"#, "first"),
      (#""count":{"from":"person","where":{"registered":"a\u0000b","arguments":[]}}"#, "count.where.registered"),
      (#""read":{"from":[{"as":"a\u0000b","table":"person"}]}"#, "read.from[0].as"),
      (#""count":{"from":"person","where":{"collate":{"column":"name"},"as":"a\u0000b"}}"#, "count.where.as"),
      // The name of a recursive query could be the name of any table.
      (#""read":{"from":[{"as":"sqlite_master","recursive":true,"model":"person"}]}"#, "read.from[0]"),
      (
        #""count":{"from":"person","where":{"exists":{"from":[{"as":"secret","recursive":true,"columns":["text"]}]}}}"#,
        "count.where.exists.from[0]"
      ),
      (#""delete":{"from":"person","limit":0,"row":{"id":1}}"#, "delete"), (#""delete":{"from":"person"}"#, "delete"),
      (#""delete":{"from":"person","were":1}"#, "delete.were"), (#""update":{"set":[],"table":"person"}"#, "update"),
      (#""update":{"row":{"name":"x"},"table":"person"}"#, "update"),
      (#""count":{"from":"person","where":{"like":[{"column":"name"},"x"],"escape":"ab"}}"#, "count"),
      (#""read":{"from":"person","where":{"like":[{"column":"name"},"x"],"escape":"ab"}}"#, "read"),
      (#""read":{"from":"person","where":{"=":[{"column":"name","table":"person"},"x"]}}"#, "read.where.=[0].table"),
      (#""read":{"from":"person","where":{"==":[{"column":"name"},"x"]}}"#, "read.where"),
      (#""read":{"from":"person","select":[{"function":"rank","over":{"order":[]}}]}"#, "read.select[0].over.order"),
      (#""update":{"table":"person","orderBy":[{"asc":{"column":"id"}}],"row":{"id":1,"name":"x"}}"#, "update"),
      (#""delete":{"all":true,"from":"person","returning":[]}"#, "delete.returning"),
      (#""read":{"from":"person","select":[{"column":"name","of":"x","model":"person"}]}"#, "read.select[0].model"),
      (#""save":{"into":"person","row":{"id":1},"onConflict":"ignore"}"#, "save"),
      (#""read":{"from":"person","limit":-1}"#, "read.limit"),
      (#""read":{"from":"person","where":{"and":[]}}"#, "read.where.and"),
      (#""read":{"from":"person","select":[{"function":"row_number"}]}"#, "read.select[0].function"),
      (
        #""read":{"from":"person","select":[{"function":"lower","arguments":[{"column":"name"}],"distinct":true}]}"#,
        "read.select[0].distinct"
      ),
      (#""read":{"from":"person","select":[{"function":"countRows","distinct":true}]}"#, "read.select[0]"),
      (#""read":{"from":"person","select":[{"function":"countRows","distinct":true,"over":{}}]}"#, "read.select[0]"),
      (
        #""read":{"from":"person","select":[{"registered":"median","arguments":[1,2],"distinct":true}]}"#,
        "read.select[0]"
      ),
      (#""read":{"from":"person","select":[{"function":"json_each","arguments":["[]"]}]}"#, "read.select[0].arguments"),
      (#""read":{"from":"person","select":[{"function":"lower"}]}"#, "read.select[0].function"),
      (
        #"""
        "read":{"from":"person","select":[{"function":"rank",\#
        "over":{"frame":{"rows":["unboundedFollowing","currentRow"]}}}]}
        """#,
        nil
      ),
      (#""read":{"from":"person","where":{"->>":[{"column":"name"},"$.a' OR 1=1"]}}"#, "read.where.->>[1]"),
      (#""read":{"from":"person","where":{"->>":[{"column":"name"},["a\"b"]]}}"#, "read.where.->>[1]"),
      (#""read":{"from":"person\" --"}"#, "read.from"),
      (#""read":{"from":["person",{"table":"person","join":"inner","on":1}]}"#, nil),
    ] {
      let error = refusal(body(text))
      #expect(error != nil, "\(text) \(String(describing: error))")
      #expect(error?.documentPath?.hasPrefix(place ?? "") != false, "\(text) \(String(describing: error))")
      #expect(place == nil || error?.documentPath != nil, "\(text) \(String(describing: error))")
    }
  }

  /// A query of one table has two documents, which decode as the same statement.
  @Test(arguments: ["1", #"{"=":[{"column":"id"},3]}"#, #"{"and":[1,{"isNull":{"column":"name"}}]}"#])
  func aListOfOneTableIsTheTable(condition: String) throws {
    let rules = StatementRules(models: documentModels)
    let statements = try [#""person""#, #"["person"]"#].map { from in
      let text = body(#""read":{"from":\#(from),"where":\#(condition)}"#)
      return try AnyStatement(json: Data(text.utf8), rules: rules)
    }
    #expect(statements[0] == statements[1])
    for statement in statements {
      #expect(try AnyStatement(json: statement.json(), rules: rules) == statement)
    }
  }

  /// The test puts strings that could inject SQL into every position where a document has a string.
  @Test func noStringChangesTheShapeOfTheSQL() throws {
    let strings = [
      "' OR 1=1 --", "\" OR \"\"=\"", "'; DROP TABLE person; --", "\"; DROP TABLE person; --", "]", "`", "/*", "--",
      "?1", ":p", "@x", "$.a", "x'00'", "\\", "%", "\0", "\u{1F600}", "e\u{301}", "rowid", "person.name", "main.person",
      "sqlite_master", "name COLLATE NOCASE", "id, name", "(SELECT 1)", "1) OR (1=1",
    ]
    let template = body(
      #"""
      "read":{"from":[{"table":"person","as":"%"}],"select":[{"column":"name","of":"%"}],"where":{"or":[\#
      {"=":[{"column":"name","of":"%"},"%"]},\#
      {"like":[{"column":"name","of":"%"},"%"],"escape":"%"},\#
      {"->>":[{"column":"name","of":"%"},["%"]]},\#
      {"collate":{"column":"name","of":"%"},"as":"%"},\#
      {"registered":"%","arguments":["%"]},\#
      {"function":"trim","arguments":["%","%"]},\#
      {"in":[{"column":"name","of":"%"},["%"]]},\#
      {"parameter":"%"}]},\#
      "orderBy":[{"asc":{"column":"name","of":"%"}}]}
      """#)
    let plain = template.replacing("%", with: "x")
    let shape = try AnyStatement(json: Data(plain.utf8), rules: StatementRules(models: documentModels)).sql.shape
    var decoded = 0
    for string in strings {
      let quoted = String(decoding: try JSONEncoder().encode(string), as: UTF8.self).dropFirst().dropLast()
      let text = template.replacing("%", with: quoted).replacing(#""escape":"\#(quoted)""#, with: #""escape":"!""#)
      guard
        let statement = try? AnyStatement(json: Data(text.utf8), rules: StatementRules(models: documentModels))
      else { continue }
      decoded += 1
      #expect(statement.sql.shape == shape, "\(statement.sql)")
    }
    #expect(decoded > strings.count / 2, "\(decoded)")
  }
}

extension String {
  /// The SQL without its quoted parts.
  fileprivate var shape: String {
    var shape = ""
    var quote: Character?
    // Iterate over scalars: a quote and a combining accent form one character.
    for scalar in unicodeScalars {
      let character = Character(scalar)
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "\"" || character == "'" {
        // A doubled quote within a name continues it.
        if shape.last != character { shape.append(character) }
        quote = character
      } else {
        shape.append(character)
      }
    }
    return shape
  }
}
