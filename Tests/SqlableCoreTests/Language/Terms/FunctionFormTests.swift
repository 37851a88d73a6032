import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The built-in functions of the library's table, and the methods of typed and untyped terms that write them.
@Suite struct FunctionFormTests {
  /// Returns the lines of the Swift files in every source folder of this name.
  private func lines(of folder: String) throws -> [Substring] {
    let sources = Repository.root.appending(path: "Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var lines: [Substring] = []
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift", file.path.contains("/\(folder)/") else { continue }
      lines += try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }
    return lines
  }

  @Test func everyTypedTermMethodExistsOnUntypedTerms() throws {
    var methods: [Substring: Set<Substring>] = [:]
    var type: Substring?
    for line in try lines(of: "Terms") {
      if let match = line.firstMatch(of: /^(public )?extension (\w+)/) { type = match.2 }
      if line.hasPrefix("}") { type = nil }
      guard let type, let match = line.firstMatch(of: /^  public func (`?\w+`?)/) else { continue }
      methods[type, default: []].insert(match.1)
    }
    let shared = ["FunctionTerm", "NumberTerm", "IntegerTerm", "TextTerm", "DateTerm"].flatMap { methods[$0] ?? [] }
    let typed = try #require(methods["TypedTerm"]).union(shared)
    let untyped = try #require(methods["SqlTerm"]).union(shared)
    #expect(shared.count > 60)
    #expect(typed.count > 90)
    // Only typed decimals have `times`.
    #expect(typed.symmetricDifference(untyped) == ["times"])
  }

  @Test func everyBuiltInFunctionIsUsedByATerm() throws {
    let text = try (lines(of: "Language") + lines(of: "SqlableQueries")).joined(separator: "\n")
    let missing = SqlExpression.Call.BuiltIn.allCases.filter { !text.contains(".\($0)") }
    #expect(missing == [])
  }

  /// `checkIsRepeatable` must know every function whose result varies or depends on the order of rows.
  @Test func everyFunctionWithAVaryingResultIsKnown() throws {
    let db = try SqliteDatabase.inMemory()
    var measured = 0
    for function in SqlExpression.Call.BuiltIn.allCases {
      let facts = function.facts
      guard facts.kind == .scalar || facts.kind == .aggregate else { continue }
      let isAggregate = facts.kind == .aggregate
      let arguments = Array(repeating: isAggregate ? "value" : "1", count: facts.arguments.lowerBound)
      let call = "quote(\(function.name)(\(arguments.joined(separator: ", "))))"
      let sql = ["", " DESC"].map { order in
        "SELECT \(call) FROM (SELECT value FROM json_each('[1,2,3]') ORDER BY value\(order))"
      }
      // Some SQLite builds lack the function, and 1 is not a valid JSON path.
      guard let results = try? sql.map({ try db.query(SQL(stringLiteral: $0), as: String.self) }) else { continue }
      measured += 1
      let isKnown = facts.has(isAggregate ? .takesOrder : .varies)
      #expect((Set(results.joined()).count > 1) == isKnown, "\(function)")
    }
    #expect(measured > 20)
  }
}
