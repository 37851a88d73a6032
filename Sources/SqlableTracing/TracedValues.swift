import FoundationEssentials
import SqlableCore

/// Columns of a model whose values a trace's events contain.
///
/// ```swift
/// pool.trace(.init(values: [.of(Bicycle.self, Bicycle.color, Bicycle.id)])) { event in print(event.values) }
/// // [bicycle.color = 'red']
/// ```
public struct TracedColumns: Sendable, Hashable {
  let table: String
  let columns: [String]

  /// Returns the given columns of a model.
  public static func of<Model: Sqlable>(
    _ model: Model.Type, _ columns: any ColumnConvertible...
  ) -> TracedColumns {
    TracedColumns(table: model.tableName, columns: columns.map(\.column.name))
  }
}

/// A value that was bound in a traced statement.
public struct TracedValue: Sendable, Hashable, CustomStringConvertible {
  /// The table of the column that the value was compared with or stored in.
  public let table: String
  public let column: String
  public let value: DatabaseValue

  public var description: String { "\(table).\(column) = \(value.literal)" }
}

extension [TracedColumns] {
  /// Returns the values that a statement bound for these columns. `expanded` is the SQL with literals instead of
  /// parameters.
  func values(in sql: String, expanded: String?) -> [TracedValue] {
    guard let expanded else { return [] }
    return values(in: sql) { ExpandedValues(sql, expanded)?.values ?? [] }
  }

  /// Returns the values that a statement bound for these columns. `bound` returns the values of all parameters in
  /// order, nil for an unknown value.
  package func values(in sql: String, _ bound: () -> [DatabaseValue?]) -> [TracedValue] {
    let parameterColumns = ParameterColumns.cache.value(of: sql).columns
    let wanted = parameterColumns.map { parameterColumn in parameterColumn.flatMap(column) }
    guard wanted.contains(where: { $0 != nil }) else { return [] }
    let values = bound()
    guard values.count == parameterColumns.count else { return [] }
    return zip(wanted, values).compactMap { wanted, value in
      guard let (table, column) = wanted, let value else { return nil }
      return TracedValue(table: table, column: column, value: value)
    }
  }

  private func column(_ parameterColumn: ParameterColumns.TableColumn) -> (table: String, column: String)? {
    for traced in self where traced.table.foldedName == parameterColumn.table {
      if let column = traced.columns.first(where: { $0.foldedName == parameterColumn.column }) {
        return (traced.table, column)
      }
    }
    return nil
  }
}

private struct ExpandedValues {
  /// The values in the order of the SQL; nil for a value that is not a literal.
  private(set) var values: [DatabaseValue?] = []

  /// Returns nil if the texts differ outside the parameters.
  init?(_ sql: String, _ expanded: String) {
    var (sql, expanded) = (sql, expanded)
    let isRead = sql.withUTF8 { sql in
      expanded.withUTF8 { expanded in read(SQLTokenizer(sql), SQLTokenizer(expanded)) }
    }
    guard isRead else { return nil }
  }

  private mutating func read(_ tokens: SQLTokenizer, _ expanded: SQLTokenizer) -> Bool {
    var expanded = expanded
    for token in tokens {
      guard var other = expanded.next() else { return false }
      guard token.kind == .parameter else {
        guard token.bytes.elementsEqual(other.bytes) else { return false }
        continue
      }
      let isNegative = other.isSymbol("-")
      if isNegative {
        guard let number = expanded.next() else { return false }
        other = number
      }
      values.append(DatabaseValue(literal: (isNegative ? "-" : "") + other.text))
    }
    return expanded.next() == nil
  }
}

extension DatabaseValue {
  /// Parses a literal in SQLite's format; returns nil for other text.
  fileprivate init?(literal: String) {
    let bytes = Array(literal.utf8)
    switch bytes.first {
    case UInt8(ascii: "'") where bytes.count >= 2:
      // The text is read byte by byte, because a quote and a following combining accent are one `Character`.
      var (content, isQuoted) = ([UInt8](), false)
      for byte in bytes.dropFirst().dropLast() {
        isQuoted = byte == UInt8(ascii: "'") && !isQuoted
        if !isQuoted { content.append(byte) }
      }
      self = .text(String(decoding: content, as: UTF8.self))
    case UInt8(ascii: "x") where bytes.count >= 3:
      let digits = bytes.dropFirst(2).dropLast().map { Character(UnicodeScalar($0)).hexDigitValue ?? 0 }
      let starts = stride(from: 0, to: digits.count - 1, by: 2)
      self = .blob(Data(starts.map { UInt8(truncatingIfNeeded: digits[$0] * 16 + digits[$0 + 1]) }))
    default:
      if literal == "NULL" {
        self = .null
      } else if let integer = Int64(literal) {
        self = .integer(integer)
      } else if let real = Double(literal) {
        self = .real(real)
      } else {
        return nil
      }
    }
  }

  fileprivate var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): text.quotedText
    case .blob(let data): "x'" + data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "'"
    }
  }
}
