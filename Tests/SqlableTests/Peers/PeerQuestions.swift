import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// A checker of the questions of Docs/PeerQuestions.md: each has a statement, its SQL, and handwritten SQL with the
/// same result. `PeerQuestionsGuide` compares the guide's table with the calls.
struct PeerQuestions {
  let db: SqliteDatabase

  static let rules = StatementRules(models: [
    Studio.self, Film.self, Artist.self, Credit.self, Screening.self, Review.self, Essay.self, FilmScreenings.self,
  ])

  /// Calls `body` with the questions of a new database of films.
  static func ofCinema(_ body: (PeerQuestions) throws -> Void) throws {
    try withCinema { db in try body(PeerQuestions(db: db)) }
  }

  /// Calls `body` with the questions of a database that also has essays, which require FTS5.
  static func ofEssays(_ body: (PeerQuestions) throws -> Void) throws {
    try withEssays { db in try body(PeerQuestions(db: db)) }
  }

  /// Checks a question that a typed query answers. The query also survives encoding as data.
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

  /// Checks a question that a query with a piece of SQL answers.
  func withSQL(
    _ question: String, _ query: some SelectStatement, _ sql: String, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try compare(query.asSelect().untyped, sql, byHand, sourceLocation)
  }

  /// Checks a question whose result is collected or read by several statements. `result` describes each value as the
  /// text that the handwritten SQL returns.
  func typed(
    _ question: String, _ result: some Collection<String>, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expected = try db.query(byHand, as: String.self)
    #expect(Array(result) == expected, sourceLocation: sourceLocation)
    #expect(!expected.isEmpty, sourceLocation: sourceLocation)
  }

  /// Checks a collected result of a query with a piece of SQL, or of raw SQL.
  func withSQL(
    _ question: String, _ result: some Collection<String>, byHand: SQL,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try typed(question, result, byHand: byHand, sourceLocation: sourceLocation)
  }

  /// Checks a change: the statement and the handwritten SQL change the tables in the same way.
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

  /// Checks a change with a piece of SQL.
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

  /// Returns the rows of all tables after `change`, and rolls the change back.
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
