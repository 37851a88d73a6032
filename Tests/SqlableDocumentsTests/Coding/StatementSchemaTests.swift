import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// `Docs/StatementFormat.schema.json`: the schema allows every document of the library and refuses unknown keys.
@Suite struct StatementSchemaTests {
  private func object(_ json: Data) throws -> Any {
    try JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed)
  }

  @Test func everyFormIsAllowed() throws {
    let schema = try JSONSchema.ofStatements()
    for document in try StatementCorpus.all() {
      let isAllowed = try schema.allows(object(document.json))
      #expect(isAllowed, "\(document.name): \(String(decoding: document.json, as: UTF8.self))")
    }
  }

  @Test(arguments: [false, true]) func randomQueriesAreAllowed(isHostile: Bool) throws {
    let schema = try JSONSchema.ofStatements()
    let world = isHostile ? QueryWorld.hostile : .harmless
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed &+ 11)
    var (written, refused) = (0, 0)
    for _ in 0..<times(200) {
      var builder = QueryBuilder(world: world)
      let select = builder.select(generator.query())
      // The encoder refuses queries that are nested too deeply.
      guard let json = try? select.json() else { continue }
      written += 1
      let document = try object(json)
      #expect(schema.allows(document), "seed \(seed): \(String(decoding: json, as: UTF8.self))")
      guard let other = changed(document, &generator.random) else { continue }
      refused += 1
      #expect(!schema.allows(other), "seed \(seed): \(other)")
    }
    #expect(written > times(100))
    #expect(refused > times(50))
  }

  @Test func unknownKeysAreRefusedEverywhere() throws {
    let schema = try JSONSchema.ofStatements()
    for document in try StatementCorpus.all() {
      let object = try object(document.json)
      for place in 0..<places(object) {
        var place = place
        let other = added(object, at: &place)
        #expect(!schema.allows(other), "\(document.name): \(other)")
      }
    }
  }

  @Test func invalidStatementsAreRefused() throws {
    let schema = try JSONSchema.ofStatements()
    for text in [
      "{}", "[]", "1", #"{"sqlable":1}"#, #"{"read":{"from":"bicycle"}}"#, #"{"read":{"from":"bicycle"},"sqlable":2}"#,
      #"{"count":{"from":"bicycle"},"read":{"from":"bicycle"},"sqlable":1}"#, #"{"read":{},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","values":[[1]]},"sqlable":1}"#, #"{"delete":{"from":"bicycle"},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":true},"sqlable":1}"#, #"{"read":{"from":"bicycle","where":1.5},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":null},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"null":false}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"=":[1]}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"not":1,"and":[]}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"function":"load_extension","arguments":["x"]}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"function":"lower"}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"function":"random","arguments":[1]}},"sqlable":1}"#,
      #"{"read":{"from":"bicycle","where":{"function":"json_type","arguments":["{}","$.a"]}},"sqlable":1}"#,
      #"{"read":{"from":["bicycle",{"table":"person"}],"select":[1]},"sqlable":1}"#,
      #"{"read":{"from":[{"query":{"values":[[1]]},"columns":["number"],"as":"x"}]},"sqlable":1}"#,
      #"""
      {"read":{"from":"bicycle","compounds":[{"union":{"from":"bicycle"},"except":{"from":"bicycle"}}]},\#
      "sqlable":1}
      """#,
      #"{"read":{"from":[{"table":"bicycle","indexedBy":"a","notIndexed":true}]},"sqlable":1}"#,
      #"{"delete":{"from":"bicycle","row":{"id":1},"notIndexed":true},"sqlable":1}"#,
      #"{"update":{"table":"bicycle","row":{},"set":[]},"sqlable":1}"#,
      #"{"insert":{"into":"bicycle","row":{"id":{"column":"id"}}},"sqlable":1}"#,
    ] {
      #expect(try !schema.allows(object(Data(text.utf8))), "\(text)")
    }
  }

  @Test func everyWordOfTheFormatIsInAGoldenFile() throws {
    var words: Set<String> = []
    func collect(_ value: Any) {
      switch value {
      case let members as [String: Any]:
        words.formUnion(members.keys)
        members.values.forEach(collect)
      case let list as [Any]: list.forEach(collect)
      case let text as String: words.insert(text)
      default: break
      }
    }
    for name in try GoldenTests.names() {
      collect(try object(Data(contentsOf: GoldenTests.directory.appending(path: name + ".json"))))
    }
    let known = try JSONSchema.ofStatements().words
    #expect(known.subtracting(words).sorted() == [])
    for name in ["TermForm", "DocumentOperation", "DocumentKey"] {
      let cases = try cases(of: name)
      #expect(cases.count > 7, "\(name)")
      #expect(cases.subtracting(words).sorted() == [], "\(name)")
      #expect(cases.subtracting(known).sorted() == [], "\(name)")
    }
  }

  /// Returns the cases of one of the library's enums of document keys.
  private func cases(of name: String) throws -> Set<String> {
    let folder = Repository.root.appending(path: "Sources/SqlableDocuments/Coding")
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      guard let start = text.range(of: "enum \(name): ") else { continue }
      let lines = text[start.upperBound...].split(separator: "\n").prefix { $0 != "}" }
      return Set(
        lines.filter { $0.hasPrefix("  case ") }.flatMap { $0.dropFirst(7).split(separator: ",") }
          .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) })
    }
    return []
  }

  // MARK: Documents with an unknown key

  /// Counts the objects with a fixed set of keys. A row is not counted: its keys are the names of columns.
  private func places(_ value: Any, isRow: Bool = false) -> Int {
    switch value {
    case let members as [String: Any]:
      members.reduce(isRow ? 0 : 1) { $0 + places($1.value, isRow: holdsRows($1.key, $1.value)) }
    case let list as [Any]: list.reduce(0) { $0 + places($1, isRow: isRow) }
    default: 0
    }
  }

  private func holdsRows(_ key: String, _ value: Any) -> Bool { key == "row" || (key == "rows" && !isFrame(value)) }

  /// A window's frame has the key `rows` too, like the rows of an insert.
  private func isFrame(_ value: Any) -> Bool {
    guard let bounds = value as? [Any], bounds.count == 2 else { return false }
    return bounds.contains { $0 is String || ($0 as? [String: Any])?["preceding"] != nil }
  }

  private func added(_ value: Any, at place: inout Int, isRow: Bool = false) -> Any {
    if let list = value as? [Any] { return list.map { added($0, at: &place, isRow: isRow) } }
    guard var members = value as? [String: Any] else { return value }
    if !isRow { place -= 1 }
    if place == -1, !isRow { members["colour"] = 1 }
    for key in members.keys.sorted() where key != "colour" {
      members[key] = members[key].map { added($0, at: &place, isRow: holdsRows(key, $0)) }
    }
    return members
  }

  private func changed(_ value: Any, _ random: inout SeededGenerator) -> Any? {
    var place = Int.random(in: 0..<places(value), using: &random)
    return added(value, at: &place)
  }
}
