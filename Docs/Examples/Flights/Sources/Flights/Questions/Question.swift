import Foundation
import Sqlable

/// A question about the flights, with a statement that answers it and hand-written SQL that must give the same answer.
struct Question {
  let title: String
  /// The titles of the columns that are shown.
  let columns: [String]
  /// Their positions among all columns; all are compared.
  let places: [Int]
  /// The SQL of the statement.
  let sql: String
  let byHand: SQL
  /// Runs the statement, its SQL as text, and the hand-written SQL.
  fileprivate let run: (SqliteDatabase) throws -> Comparison

  static var all: [Question] { delays + planes + places + weather + rankings + sequences }
}

/// The rows of an answer, and the time it took to read them as structs or tuples.
struct Answer {
  typealias Cell = any SqlValue

  let rows: [[Cell]]
  let duration: Duration
}

extension Question {
  /// A query of columns and terms. The hand-written SQL is read into the same types.
  init<each Value: SqlValue>(
    _ title: String, _ columns: [String], _ statement: Select<(repeat each Value)>, byHand: SQL
  ) {
    func cells(_ row: (repeat each Value)) -> [Answer.Cell] {
      var cells: [Answer.Cell] = []
      for value in repeat each row { cells.append(value) }
      return cells
    }
    func answer(_ db: SqliteDatabase) throws -> Answer { try .measured({ try statement.run(db) }, cells) }
    func answer(_ db: SqliteDatabase, of sql: SQL) throws -> Answer { try .measured({ try db.query(sql, row) }, cells) }
    func row(_ row: ReadRow) throws -> (repeat each Value) {
      var position = -1
      func next<Cell: SqlValue>(_ type: Cell.Type) throws -> Cell {
        position += 1
        return try row.get(at: position)
      }
      return (repeat try next((each Value).self))
    }
    self.init(
      title: title, columns: columns, places: Array(columns.indices), sql: statement.sql, asText: "\(statement)",
      byHand: byHand, answer: answer, answerOfSQL: answer)
  }

  /// A statement that reads structs, and the columns to show.
  init<Model: Sqlable>(
    _ title: String, _ columns: [Column], _ statement: Statement<Model, [Model]>, byHand: SQL
  ) {
    func cells(_ model: Model) -> [Answer.Cell] { Model.tableLayout.map { model.valueForColumn($0) ?? Null() } }
    let places = columns.compactMap { column in Model.tableLayout.firstIndex { $0.name == column.name } }
    self.init(
      title: title, columns: columns.map(\.name), places: places, sql: statement.sql, asText: "\(statement)",
      byHand: byHand,
      answer: { db in try .measured({ try statement.run(db) }, cells) },
      answerOfSQL: { db, sql in try .measured({ try db.query(sql, as: Model.self) }, cells) })
  }

  private init(
    title: String, columns: [String], places: [Int], sql: String, asText: SQL, byHand: SQL,
    answer: @escaping (SqliteDatabase) throws -> Answer,
    answerOfSQL: @escaping (SqliteDatabase, SQL) throws -> Answer
  ) {
    self.title = title
    self.columns = columns
    self.places = places
    self.sql = sql
    self.byHand = byHand
    run = { db in
      Comparison(statement: try answer(db), asText: try answerOfSQL(db, asText), byHand: try answerOfSQL(db, byHand))
    }
  }

  /// Runs the statement and the SQL, and compares all rows.
  func compare(_ db: SqliteDatabase) throws -> Comparison { try run(db) }
}

extension Answer {
  /// Reads twice and takes the shorter time: the first read may find the shared pages uncached.
  fileprivate static func measured<Row>(_ read: () throws -> [Row], _ cells: (Row) -> [Cell]) rethrows -> Answer {
    func timed() throws -> (rows: [Row], duration: Duration) {
      let start = ContinuousClock.now
      let rows = try read()
      return (rows, ContinuousClock.now - start)
    }
    let first = try timed().duration
    let (rows, second) = try timed()
    return Answer(rows: rows.map(cells), duration: min(first, second))
  }
}
