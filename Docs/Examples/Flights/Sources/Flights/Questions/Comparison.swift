import Foundation
import Sqlable

/// Three answers to one question.
struct Comparison {
  let statement: Answer
  /// The answer of the statement's SQL, run as text: shows the cost of the typed form.
  let asText: Answer
  let byHand: Answer
  /// The first row that differs between the answers, counted from 1; nil if there is none. Order counts.
  let difference: Int?

  init(statement: Answer, asText: Answer, byHand: Answer) {
    self.statement = statement
    self.asText = asText
    self.byHand = byHand
    let differences = [asText, byHand].compactMap { Comparison.difference(of: statement.rows, from: $0.rows) }
    difference = differences.min()
  }

  private static func difference(of rows: [[Answer.Cell]], from others: [[Answer.Cell]]) -> Int? {
    let index = zip(rows, others).enumerated().first { !isSame($0.element.0, $0.element.1) }?.offset
    return index.map { $0 + 1 } ?? (rows.count == others.count ? nil : min(rows.count, others.count) + 1)
  }

  static func isSame(_ left: [Answer.Cell], _ right: [Answer.Cell]) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
  }

  /// Whether two values are stored alike. The last digits of a sum may depend on the order of the rows.
  private static func isSame(_ left: Answer.Cell, _ right: Answer.Cell) -> Bool {
    guard let left = try? left.databaseValue, let right = try? right.databaseValue else { return false }
    if case (.real(let left), .real(let right)) = (left, right) {
      return left == right || abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    }
    return left == right
  }

  /// The first rows of the answer, the times, and whether all answers are the same.
  func lines(of question: Question, count: Int) -> [String] {
    var table = TextTable(columns: question.places.map { isNumber($0) ? .right : .left })
    table.add(question.columns)
    for row in statement.rows.prefix(count) { table.add(question.places.map { Comparison.text(row[$0]) }) }
    let rest = statement.rows.count - count
    let more = rest > 0 ? "  and \(rest.grouped) more" : statement.rows.isEmpty ? "  nothing" : ""
    let outcome = difference.map { "DIFFERENT ANSWER from row \($0) on" } ?? "same answer"
    let times = zip(["", "as text ", "by hand "], [statement, asText, byHand])
      .map { "\($0)\($1.duration.inMilliseconds) ms" }.joined(separator: ", ")
    return table.lines + (more.isEmpty ? [] : [more]) + ["  (\(times): \(outcome))"]
  }

  private func isNumber(_ column: Int) -> Bool {
    statement.rows.contains { $0[column] is Int || $0[column] is Double || $0[column] is Int? || $0[column] is Double? }
  }

  /// A value as text to show.
  static func text(_ value: Answer.Cell) -> String {
    switch value {
    case let date as Date: return date.formattedHour
    case let text as String: return text
    default: break
    }
    switch try? value.databaseValue {
    case .integer(let integer): return String(integer)
    case .real(let real): return real.rounded(to: 2)
    case .text(let text): return text
    default: return "–"
    }
  }
}

extension Double {
  /// With a number of decimals, independent of the locale.
  fileprivate func rounded(to digits: Int) -> String { String(format: "%.\(digits)f", self) }
}

extension Date {
  /// `2013-07-28 19:00` in UTC.
  fileprivate var formattedHour: String {
    String(ISO8601Format().prefix(16)).replacingOccurrences(of: "T", with: " ")
  }
}

extension Duration {
  /// With one decimal.
  fileprivate var inMilliseconds: String { (seconds * 1000).rounded(to: 1) }
}
