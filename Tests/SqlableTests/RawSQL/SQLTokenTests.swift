import CSqlableSQLite
import Foundation
import Sqlable
import SqlableCluster
import Testing

@testable import SqlableTestSupport

/// Tokens and statements of SQL text, compared with SQLite's parser. `Tests/Record` compares more of them.
@Suite struct SQLTokenTests {
  @Test func tokensMatchSQLite() throws {
    let trial = try SQLTokenTrial()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<10_000 { try #require(trial.defect(ofTokens: SQLTexts.soup(&generator)) == nil) }
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
    let trial = try SQLTokenTrial()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<2_000 {
      let (text, isKnown) = SQLTexts.script(&generator)
      try #require(trial.defect(ofScript: text, isKnownToComplete: isKnown) == nil)
    }
  }

  /// A cluster's client must send one statement, which must not change the connection or the transaction.
  @Test func textSentToAClusterHasOnlyTheEffectsOfItsTokens() throws {
    let sqlite = try SQLiteParser()
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    let count = 10_000
    var sent = 0
    for number in 0..<count {
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
    #expect(sent > count / 20)
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
