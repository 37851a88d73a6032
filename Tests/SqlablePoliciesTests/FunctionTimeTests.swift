import Foundation
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableDocuments
@testable import SqlableTestSupport

/// Processor time of functions and operators on long texts. One call of a function is a single step, and no limit stops
/// a step. So no function that a policy can allow may take long on the longest texts within the policy's limits.
@Suite(.enabled(if: !isSanitized, "a sanitizer makes every step ten times as slow"))
struct FunctionTimeTests {
  /// The limit, in seconds of processor time: some ten times the slowest call on the tests' machine.
  private static let most = 8.0
  private static let (length, shortLength) = (1 << 20, 1 << 17)

  /// All functions of the library, so that the tests measure a new function too.
  private static let functions = SqlExpression.Call.BuiltIn.allCases.map(\.rawValue)

  /// Texts that need much work: equal letters, and JSON that is wide, deep or escaped.
  private static let contents: [@Sendable (Int) -> String] = [
    { String(repeating: "a", count: $0) },
    { String(repeating: "é", count: $0 / 2) },
    { String(repeating: "1", count: $0) },
    { "[" + String(repeating: "1,", count: $0 / 2 - 1) + "1]" },
    { "{" + (0..<($0 / 12)).map { #""k\#($0 % 10)":[]"# }.joined(separator: ",") + "}" },
    { "\"" + String(repeating: "\\u0061", count: $0 / 6 - 1) + "\"" },
    { _ in String(repeating: "[", count: 900) + String(repeating: "]", count: 900) },
  ]

  private static var policy: StatementPolicy {
    var policy = StatementPolicy(
      .table(Account.self).readingAll().filtering(Account.note, Account.owed, by: .equality, .comparison, .pattern)
        .sorting(Account.note),
      .table(Memo.self).readingAll().filtering(Memo.title, Memo.body, Memo.stars, by: .pattern),
      features: Set(StatementPolicy.Feature.allCases).subtracting([.excerpts, .regularExpressions]),
      functions: Set(functions))
    (policy.limits.time, policy.limits.steps, policy.limits.scannedRows) = (nil, nil, nil)
    return policy
  }

  /// Returns the seconds that a document runs, or nil if the policy refuses the document.
  private func time(_ document: String, _ policy: StatementPolicy, _ db: SqliteDatabase) -> Double? {
    guard let statement = try? policy.statement(json: Data(document.utf8)) else { return nil }
    let work = statement.limited(by: policy)
    return threadSeconds { _ = try? work.run(db) }
  }

  private func check(_ document: String, _ policy: StatementPolicy, long: SqliteDatabase, short: SqliteDatabase) -> Bool
  {
    guard let time = time(document, policy, long) else { return false }
    #expect(time < FunctionTimeTests.most, "\(time) s: \(document.prefix(300))")
    if time > 0.2 {
      // The long text is eight times the short one: linear time grows 8 times, quadratic time 64 times.
      // A loaded machine can slow one of the runs, so both run again if the time seems to grow too much.
      var (most, least) = (time, self.time(document, policy, short) ?? 0)
      for _ in 1...3 where most / max(least, 0.000_1) >= 30 {
        most = min(most, self.time(document, policy, long) ?? most)
        least = max(least, self.time(document, policy, short) ?? 0)
      }
      let growth = most / max(least, 0.000_1)
      #expect(growth < 30, "\(growth) times for \(document.prefix(300))")
    }
    return true
  }

  @Test(arguments: contents.indices) func noFunctionTakesLong(_ content: Int) throws {
    let (content, policy) = (FunctionTimeTests.contents[content], FunctionTimeTests.policy)
    let (long, short) = try (
      database(content(FunctionTimeTests.length)), database(content(FunctionTimeTests.shortLength))
    )
    for name in FunctionTimeTests.functions {
      let function = try #require(SqlExpression.Call.BuiltIn(rawValue: name))
      let measured = documents(function).count { check($0, policy, long: long, short: short) }
      #expect(measured > 0, "\(name)")
    }
  }

  @Test func noOperatorTakesLong() throws {
    let policy = FunctionTimeTests.policy
    let column = #"{"column":"note"}"#
    let pattern = String(repeating: "%a", count: 127) + "b"
    var terms = [
      #"{"like":[\#(column),"\#(pattern)"]}"#, #"{"GLOB":[\#(column),"\#(pattern.replacing("%", with: "*"))"]}"#,
      #"{"like":[\#(column),\#(column)]}"#, #"{"case":[[\#(column),\#(column)]]}"#,
      #"{"between":[\#(column),\#(column),\#(column)]}"#, #"{"cast":\#(column),"as":"integer"}"#,
      #"{"cast":\#(column),"as":"blob"}"#,
    ]
    for operation in SqlExpression.BinaryOperator.allCases.map(\.rawValue) {
      terms.append(#"{"\#(operation)":[\#(column),\#(column)]}"#)
      terms.append(#"{"\#(operation)":[\#(column),["k1","k2",0]]}"#)
      terms.append(#"{"\#(operation)":[\#(column),1]}"#)
    }
    var measured = 0
    for content in FunctionTimeTests.contents {
      let (long, short) = try (
        database(content(FunctionTimeTests.length)), database(content(FunctionTimeTests.shortLength))
      )
      for term in terms {
        let document = #"{"sqlable":1,"read":{"from":"account","select":[{"isNull":\#(term)}]}}"#
        if check(document, policy, long: long, short: short) { measured += 1 }
      }
      try long.close()
      try short.close()
    }
    // The library refuses arithmetic with a text, so some terms are not measured.
    #expect(measured >= 15 * FunctionTimeTests.contents.count)
  }

  @Test(.needsFullText) func noSearchTakesLong() throws {
    let policy = FunctionTimeTests.policy
    func memos(_ length: Int) throws -> SqliteDatabase {
      let db = try SqliteDatabase.inMemory()
      try db.createTable(Memo.self)
      try Memo(1, "a", String(repeating: "a ", count: length / 2)).insert().run(db)
      return db
    }
    let (long, short) = try (memos(FunctionTimeTests.length), memos(FunctionTimeTests.shortLength))
    let words = String(repeating: "a ", count: 32)
    var measured = 0
    for query in [
      words, #""\#(words.dropLast(2))""#.replacing("\"", with: #"\""#), "NEAR(\(words.dropLast(14)),999)",
      String(repeating: "a*OR ", count: 12) + "a",
    ] {
      for order in ["", #","orderBy":[{"asc":{"rank":"memo"}}]"#] {
        let document =
          #"{"sqlable":1,"read":{"from":[{"search":true,"table":"memo"}],"select":[{"rank":"memo"}],"#
          + #""where":{"for":"\#(query)","search":"memo"}\#(order)}}"#
        measured += check(document, policy, long: long, short: short) ? 1 : 0
      }
    }
    #expect(measured == 8)
  }

  /// The time of an excerpt grows with the square of the matches, so excerpts need a separate feature.
  @Test(.needsFullText) func excerptsAndLongSearchesAreRefused() throws {
    let policy = FunctionTimeTests.policy
    func error(_ term: String, _ query: String, _ policy: StatementPolicy) -> String? {
      let document =
        #"{"sqlable":1,"read":{"from":[{"search":true,"table":"memo"}],"select":[\#(term)],"#
        + #""where":{"for":"\#(query)","search":"memo"}}}"#
      return sqlError { _ = try policy.statement(json: Data(document.utf8)) }?.message
    }
    let snippet = #"{"snippet":"memo","marks":["<",">","…"],"tokens":4}"#
    let highlight = #"{"highlight":"memo","text":"body","marks":["<",">"]}"#
    var open = policy
    open.features.insert(.excerpts)
    for term in [snippet, highlight] {
      #expect(error(term, "a", policy) == "the policy does not allow this")
      #expect(error(term, "a", open) == nil)
    }
    open.features.remove(.fullText)
    #expect(error(snippet, "a", open) == "the policy does not allow this")
    let rank = #"{"rank":"memo"}"#
    #expect(error(rank, String(repeating: "a", count: 64), policy) == nil)
    #expect(error(rank, String(repeating: "a", count: 65), policy) == "the policy does not allow this")
    open = policy
    open.limits.searchBytes = nil
    #expect(error(rank, String(repeating: "a", count: 65), open) == nil)
  }

  /// SQLite loops a thousand million times for `%.1000000000c`, whatever the result.
  @Test func longConversionsOfAFormatAreRefused() throws {
    let policy = FunctionTimeTests.policy
    func message(_ format: String) -> String? {
      let call = #"{"function":"printf","arguments":["\#(format)",1,2]}"#
      let document = #"{"sqlable":1,"read":{"from":"account","select":[\#(call)]}}"#
      return sqlError { _ = try policy.statement(json: Data(document.utf8)) }?.message
    }
    for format in ["%.10000c", "%10000d", "%-010000d", "%,.99999f", "%*d", "%.*c", "%%%.10000c", "%d%.123456c"] {
      #expect(message(format) == "the policy does not allow this", "\(format)")
    }
    for format in ["%d", "%5.2f%%10000", "10000 %d", "%d*", "%s 100000", "%9999d", "%%10000%d"] {
      #expect(message(format) == nil, "\(format)")
    }
  }

  private func database(_ text: String) throws -> SqliteDatabase {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Account.self)
    try Account(id: 1, tenant: 1, name: "", owed: 0, note: text).insert().run(db)
    return db
  }

  /// Returns calls with few and with many arguments; the first argument is a long text.
  private func documents(_ function: SqlExpression.Call.BuiltIn) -> [String] {
    let column = #"{"column":"\#(function.facts.has(.takesNumbers) ? "owed" : "note")"}"#
    if function.facts.kind == .table {
      let name = function.rawValue == "json_each" ? "jsonEach" : "jsonTree"
      return [
        #"""
        {"sqlable":1,"read":{"from":["account",\#
        {"\#(name)":{"column":"note","of":"account"},"as":"j","join":"cross"}],\#
        "select":[{"column":"key","of":"j"}],"limit":1}}
        """#
      ]
    }
    let match = String(repeating: "a", count: 127)
    let values = [column, #""\#(match)""#, #""\#(match.dropFirst())b""#, "1000000000"]
    let first =
      function.facts.constants == .format ? [#""%s""#, #""%9999c%.9999c%9999d%.9999f""#, #""%q%w%Q""#] : [column]
    var calls: [[String]] = []
    let counts = function.facts.arguments
    for count in Set([counts.lowerBound, counts.lowerBound + 1, min(counts.upperBound, 3), counts.upperBound])
    where counts.contains(count) {
      guard count > 0 else {
        calls.append([])
        continue
      }
      for start in first {
        // With step 0 all further arguments are equal; with step 1 each differs from the next.
        for offset in values.indices {
          for step in 0...1 {
            calls.append([start] + (1..<max(count, 1)).map { values[(offset + $0 * step) % values.count] })
          }
        }
      }
    }
    let paths = [#"["k9"]"#, "[null]", "[" + Array(repeating: "0", count: 500).joined(separator: ",") + "]"]
    let over = function.facts.kind == .window ? #","over":{}"# : ""
    return Set(calls).flatMap { arguments in
      ([.paths, .pathsOfValues].contains(function.facts.constants) ? paths : [""]).map { path in
        let call = SqlExpression.Call(function: .builtIn(function), arguments: [])
        let written = arguments.enumerated().map { call.takesPath($0) ? path : $1 }
        let list = written.joined(separator: ",")
        return #"""
          {"sqlable":1,"read":{"from":"account","select":[\#
          {"isNull":{"function":"\#(function.rawValue)","arguments":[\#(list)]\#(over)}}]}}
          """#
      }
    }
  }
}
