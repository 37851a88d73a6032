import Foundation
import Sqlable

enum ColumnDefault: Equatable {
  case none
  case constant(DatabaseValue)
  /// An expression that SQLite evaluates for each row, such as CURRENT_TIMESTAMP.
  case expression(String)

  /// - Parameter text: The SQL of the default; nil if the column has no default.
  init(_ text: SchemaText?, _ db: SqliteDatabase) throws {
    guard let text else {
      self = .none
      return
    }
    let tokens = SQLTokenList(text.text)
    if tokens.count == 1, tokens.isQuotedName(0) {
      // SQLite treats a quoted name as text in a DEFAULT clause.
      self = .constant(.text(tokens.name(0) ?? ""))
    } else if (0..<tokens.count).allSatisfy(tokens.isConstant) {
      let rows = try db.query(SQL(verbatim: "SELECT (\(text.text))"), as: DynamicRow.self)
      self = rows.first?.values.first.map { .constant($0) } ?? .expression(text.text)
    } else {
      self = .expression(text.text)
    }
  }

  /// True if the column can't be a Bool, because it has a default other than 0, 1 and NULL.
  var isNoTruth: Bool {
    switch self {
    case .none, .constant(.integer(0...1)), .constant(.null): false
    default: true
    }
  }
}

extension SQLTokenList {
  /// True if the token is part of a literal or of a constant expression.
  fileprivate func isConstant(_ index: Int) -> Bool {
    guard isWord(index) else { return !isQuotedName(index) }
    return ["NULL", "TRUE", "FALSE", "CAST", "AS", "TEXT", "INTEGER", "REAL", "BLOB"].contains(
      text(index).uppercased())
  }
}

extension ValueType {
  /// Returns the default as a column option; nil if the type can't store the value.
  func defaultOption(_ value: DatabaseValue) -> String? {
    literal(value).map { "Default(\($0))" }
  }

  private func literal(_ value: DatabaseValue) -> String? {
    switch (value, sqlName) {
    case (.null, _): "Null()"
    case (.integer(let integer), "INTEGER"):
      base == .boolean ? (0...1).contains(integer) ? "\(integer == 1)" : nil : "\(integer)"
    case (.integer(let integer), "REAL"): Double(exactly: integer) == nil ? nil : "\(integer)"
    case (.integer(let integer), "TEXT"): "\(integer)".swiftLiteral
    case (.real(let real), "REAL"):
      real.isFinite ? "\(real)" : real < 0 ? "-Double.infinity" : "Double.infinity"
    case (.real(let real), "INTEGER"): Int64(exactly: real).flatMap { literal(.integer($0)) }
    case (.text(let text), "TEXT"): text.swiftLiteral
    // In a column of numbers, SQLite converts a text that looks like a number to this number.
    case (.text(let text), "INTEGER"): Int64(text).flatMap { literal(.integer($0)) }
    case (.text(let text), "REAL"): Double(text).flatMap { literal(.real($0)) }
    case (.blob(let data), "BLOB"):
      "Data([\(data.map { String(format: "0x%02x", $0) }.joined(separator: ", "))])"
    default: nil
    }
  }
}
