import CSqlableSQLite
import Foundation
import Sqlable
import SqlableCluster
import Testing

@testable import SqlableTestSupport

/// Tokens and statements of SQL text, compared with SQLite's parser.
@Suite struct SQLTokenTests {
  /// The number of texts that each test generates.
  private static let count = ProcessInfo.processInfo.environment["SQLABLE_TOKENS"].flatMap(Int.init) ?? 50_000

  @Test func tokensMatchSQLite() throws {
    let sqlite = try SQLiteParser()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for number in 0..<SQLTokenTests.count {
      let text = SQLTexts.soup(&generator)
      let tokens = SQLTokenList(text)
      var position = 0
      for place in 0..<tokens.count {
        let found = sqlite.token(of: text, from: position)
        let own = SQLiteParser.Token(range: tokens.range(place), isIllegal: tokens.isIllegal(place))
        guard found == own else {
          Issue.record("\(number): \(text.debugDescription) has \(own) where SQLite reads \(String(describing: found))")
          return
        }
        position = own.range.upperBound
        // SQLite stops at an illegal token.
        if own.isIllegal { break }
      }
      let isWhole = (0..<tokens.count).allSatisfy { !tokens.isIllegal($0) }
      if isWhole, let missed = sqlite.token(of: text, from: position) {
        Issue.record("\(number): \(text.debugDescription) lacks \(missed)")
        return
      }
      let appended = SQLTokenList(text + "+zq")
      let isLast = appended.count > 0 && appended.text(appended.count - 1) == "zq"
      if isWhole || text.endsInQuotes { #expect(isLast != text.endsInQuotes, "\(text.debugDescription)") }
    }
  }

  @Test(arguments: [
    ("\u{FEFF}COMMIT", ["COMMIT"]), ("a\u{FEFF}b", ["a\u{FEFF}b"]), (" \u{0B}a", ["a"]), ("\u{0B}a", ["\u{0B}", "a"]),
    ("\u{A0}a", ["\u{A0}a"]), ("$a(;b) c", ["$a(;b)", "c"]), ("a->>'b'", ["a", "->>", "'b'"]), ("/*/ x */a", ["a"]),
    ("/*", ["/", "*"]), ("x'12''34'", ["x'12'", "'34'"]), ("1.5e+3e", ["1.5e+3e"]), (".5.5", [".5", ".5"]),
    ("?1a", ["?1", "a"]), (":a::b", [":a::b"]), ("[a]]", ["[a]", "]"]), ("\"a\"\"b\"", ["\"a\"\"b\""]),
    ("1_0.5_0", ["1_0.5_0"]), (".5_5e-1_0", [".5_5e-1_0"]), ("0x1_F+0X_F", ["0x1_F", "+", "0X_F"]),
    ("1_a.5", ["1_a", ".5"]),
    ("?1_0", ["?1", "_0"]), ("0x1G", ["0x1", "G"]), ("5.", ["5."]), ("1._5", ["1._5"]), ("_1", ["_1"]),
  ])
  func oddTextHasTheExpectedTokens(_ text: String, _ expected: [String]) {
    let tokens = SQLTokenList(text)
    #expect((0..<tokens.count).map(tokens.text) == expected)
  }

  @Test func statementsEndWhereSQLiteEndsThem() throws {
    let sqlite = try SQLiteParser()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for number in 0..<SQLTokenTests.count / 10 {
      let (text, isKnownToComplete) = SQLTexts.script(&generator)
      let own = text.statementRanges
      let ends = sqlite.statementEnds(of: text)
      let isSame =
        own.count == ends.count
        && zip(own, zip([0] + ends, ends)).allSatisfy { $0.lowerBound >= $1.0 && $0.upperBound <= $1.1 }
      guard isSame else {
        Issue.record("\(number): \(text.debugDescription) has \(own), SQLite ends at \(ends)")
        return
      }
      guard isKnownToComplete else { continue }
      let tokens = SQLTokenList(text)
      for place in 0..<tokens.count where tokens.isSign(place, UInt8(ascii: ";")) {
        let end = tokens.range(place).upperBound
        let isInside = own.contains { $0.lowerBound < end && end < $0.upperBound }
        guard sqlite.isComplete(String(decoding: Array(text.utf8)[..<end], as: UTF8.self)) != isInside else {
          Issue.record("\(number): \(text.debugDescription): sqlite3_complete differs at \(end)")
          return
        }
      }
    }
  }

  /// A cluster's client must send one statement, which must not change the connection or the transaction.
  @Test func textSentToAClusterHasOnlyTheEffectsOfItsTokens() throws {
    let sqlite = try SQLiteParser()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    var sent = 0
    for number in 0..<SQLTokenTests.count / 5 {
      let text = SQLTexts.mutated(&generator)
      let statement = ClusterStatement(of: text)
      guard statement.refusal == nil else { continue }
      let effects = sqlite.effects(of: statement.sentSql ?? text)
      sent += effects.statements
      guard effects.statements <= 1, effects.refused.isEmpty, effects.isReadOnly || !statement.isQuery,
        effects.declaredTypes.isDisjoint(with: ["BOOLEAN", "DATE", "DATETIME", "TIMESTAMP"])
      else {
        Issue.record("\(number): \(text.debugDescription) is sent, but \(effects)")
        return
      }
    }
    #expect(sent > SQLTokenTests.count / 100)
  }

  @Test(arguments: [
    "\u{FEFF}COMMIT", ";\u{FEFF}\u{FEFF}PRAGMA journal_mode = DELETE", "/**/\u{FEFF}ATTACH 'a' AS b",
    "\u{FEFF}SAVEPOINT a", "CREATE TABLE t (trigger); COMMIT", "CREATE TABLE trigger (a); COMMIT",
    "CREATE INDEX trigger ON t (a); ROLLBACK",
    "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; COMMIT", "CREATE TABLE 'temp'.t (a)",
    "EXPLAIN \u{FEFF}PRAGMA page_size = 512", "SELECT $a(;COMMIT",
  ])
  func harmfulTextIsNotSentToACluster(_ text: String) {
    let isBroken = text.hasPrefix("SELECT $")
    #expect((ClusterStatement(of: text).refusal == nil) == isBroken)
  }

  @Test func triggersAndTablesNamedTriggerAreSentToACluster() {
    for text in [
      "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; DELETE FROM t; END;", "CREATE TABLE trigger (a)",
      "EXPLAIN QUERY PLAN CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
      "CREATE VIRTUAL TABLE v USING m(a; b)",
    ] {
      #expect(ClusterStatement(of: text).refusal == nil, "\(text)")
    }
  }

  @Test func quotedTypesOfColumnsAreReplacedForACluster() {
    let text = "CREATE TABLE t (a 'DATETIME', \"b\" \"date\" long, c [TIMESTAMP] NOT NULL, d DATETIME (10), e Boolean)"
    let sent = "CREATE TABLE t (a NUMERIC, \"b\" NUMERIC long, c NUMERIC NOT NULL, d DATETIME (10), e NUMERIC)"
    #expect(ClusterStatement(of: text).sentSql == sent)
    #expect(ClusterStatement(of: "\u{FEFF}ALTER TABLE t ADD x 'DATE'").sentSql == "\u{FEFF}ALTER TABLE t ADD x NUMERIC")
    #expect(ClusterStatement(of: "ALTER TABLE main.\"add\" ADD a DATE").sentSql?.hasSuffix("ADD a NUMERIC") == true)
  }

  @Test func theKindOfAStatementFollowsTheVerbAfterWith() {
    #expect(ClusterStatement(of: "WITH replace AS (SELECT 1) SELECT * FROM replace").isQuery)
    #expect(ClusterStatement(of: "WITH a(b) AS NOT MATERIALIZED (SELECT 1), c AS (SELECT 2) VALUES (1)").isQuery)
    #expect(!ClusterStatement(of: "WITH [select] AS (SELECT 1) DELETE FROM t").isQuery)
  }
}
