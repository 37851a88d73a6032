import Foundation
import Sqlable
import Testing

/// The questions of Docs/PeerQuestions.md, each with a statement, its SQL, and SQL written by hand that has the same
/// result. `PeerQuestionsGuide` compares the guide's table with their calls.
struct PeerQuestions {
  let db: SqliteDatabase

  static let rules = StatementRules(models: [
    Studio.self, Film.self, Artist.self, Credit.self, Screening.self, Review.self, Essay.self, FilmScreenings.self,
  ])

  /// A question that a query answers without any SQL text: it also survives as data.
  func typed(
    _ question: String, _ query: some SelectStatement, _ sql: String, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let query = query.asSelect().untyped
    try compare(query, sql, byHand, sourceLocation)
    let decoded = try Select<DynamicRow>(json: query.json(), rules: PeerQuestions.rules)
    #expect(decoded == query, sourceLocation: sourceLocation)
    #expect(decoded.sql == sql, sourceLocation: sourceLocation)
  }

  /// A question that a query answers with a piece of SQL.
  func withSQL(
    _ question: String, _ query: some SelectStatement, _ sql: String, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try compare(query.asSelect().untyped, sql, byHand, sourceLocation)
  }

  /// A question whose result is collected, or read by several statements: each value is described as the text that the
  /// SQL by hand makes of it.
  func typed(
    _ question: String, _ result: some Collection<String>, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expected = try db.query(byHand, as: String.self)
    #expect(Array(result) == expected, sourceLocation: sourceLocation)
    #expect(!expected.isEmpty, sourceLocation: sourceLocation)
  }

  /// The same with a piece of SQL, or SQL text by itself.
  func withSQL(
    _ question: String, _ result: some Collection<String>, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try typed(question, result, byHand: byHand, sourceLocation: sourceLocation)
  }

  /// A change: it and the SQL by hand leave the same rows in all tables, and not those from before.
  func typed(
    _ question: String, changing statement: some Runnable, _ sql: String, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(statement.sql == sql, sourceLocation: sourceLocation)
    let before = try rows()
    let (done, byHand) = (
      try undone { _ = try statement.run(db) }, try undone { try db.execute(byHand) }
    )
    #expect(done == byHand, sourceLocation: sourceLocation)
    #expect(done != before, sourceLocation: sourceLocation)
    #expect(try rows() == before)
  }

  /// The same with a piece of SQL.
  func withSQL(
    _ question: String, changing statement: some Runnable, _ sql: String, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try typed(question, changing: statement, sql, byHand: byHand, sourceLocation: sourceLocation)
  }

  private func compare(
    _ query: Select<DynamicRow>, _ sql: String, _ byHand: SQL, _ sourceLocation: SourceLocation
  ) throws {
    #expect(query.sql == sql, sourceLocation: sourceLocation)
    let (rows, expected) = (try query.run(db), try db.query(byHand, as: DynamicRow.self))
    #expect(rows.map(\.values) == expected.map(\.values), sourceLocation: sourceLocation)
    #expect(!rows.isEmpty, sourceLocation: sourceLocation)
  }

  /// The rows of all tables after `change`, which is rolled back.
  private func undone(_ change: () throws -> Void) throws -> [[DatabaseValue]] {
    struct Undo: Error {}
    var after: [[DatabaseValue]] = []
    do {
      try db.transaction { _ in
        try change()
        after = try rows()
        throw Undo()
      }
    } catch is Undo {}
    return after
  }

  private func rows() throws -> [[DatabaseValue]] {
    try ["studio", "film", "artist", "credit", "screening", "review"].flatMap { table in
      try db.query("SELECT * FROM \(table: table) ORDER BY 1, 2", as: DynamicRow.self).map(\.values)
    }
  }
}
