/// A row with columns that are known only at run time: a result of selecting untyped columns and expressions.
///
/// ```swift
/// for row in try Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color).run(db) {
///   print(try row.get(at: 0, as: String.self), try row.get(at: 1, as: Int.self))
/// }
/// ```
///
/// Two rows are equal when their values are equal; the column names are ignored. `print(row)` shows names and values:
/// `color: red, count("id"): 2`.
public struct DynamicRow: JoinedOutput, Sendable, Hashable, CustomStringConvertible {
  /// The same type: for a missing match in a join, all values of the row are NULL.
  public typealias Unmatched = DynamicRow

  /// The names of the columns: an alias, a column's name, or the text of an expression.
  public let columns: [String]
  /// The values, in the order of the columns.
  public let values: [DatabaseValue]

  package init(columns: [String], values: [DatabaseValue]) { (self.columns, self.values) = (columns, values) }

  /// Returns the value at a position, counted from 0.
  ///
  /// Throws `.decoding` when the value does not fit `Value`, and `.misuse` for a position outside the row. NULL fits
  /// only an optional type.
  public func get<Value: SqlValue>(at position: Int, as type: Value.Type = Value.self) throws -> Value {
    guard values.indices.contains(position) else {
      throw SqlError.misuse("the result has no column at position \(position)")
    }
    do { return try Value(databaseValue: values[position]) } catch {
      guard var error = error as? SqlError, error.column == nil, position < columns.count else { throw error }
      error.column = columns[position]
      if case .decoding(let mismatch) = error.kind {
        error.message = "\(columns[position]) should hold \(mismatch.expected), but holds \(mismatch.found)"
      }
      throw error
    }
  }

  @available(*, deprecated, renamed: "get(at:as:)")
  public func get<Value: SqlValue>(_ position: Int, as type: Value.Type = Value.self) throws -> Value {
    try get(at: position)
  }

  /// Returns the value of the column with a name.
  ///
  /// Throws `.decoding` when the value does not fit `Value`. Throws `.schema` if no column has the name, and `.misuse`
  /// if several columns have the name.
  public func get<Value: SqlValue>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    guard let position = columns.firstIndex(where: name.isExactly) else {
      throw SqlError(.schema(.missingColumn(name)), message: "the result has no column \(name)", column: name)
    }
    guard !columns[(position + 1)...].contains(where: name.isExactly) else {
      throw SqlError.severalColumns(named: name)
    }
    return try get(at: position)
  }

  public var description: String {
    values.enumerated().map { position, value in
      let text = value.text
      return position < columns.count ? "\(columns[position]): \(text)" : text
    }.joined(separator: ", ")
  }

  public static func == (left: DynamicRow, right: DynamicRow) -> Bool { left.values == right.values }

  public func hash(into hasher: inout Hasher) { hasher.combine(values) }

  public static func next(of row: inout ResultRow) throws -> DynamicRow {
    let first = row.position
    let values = try row.rest()
    let names = row.columnNames
    return DynamicRow(columns: first == 0 ? names : Array(names.dropFirst(first)), values: values)
  }

  public static func isAbsent(in row: inout ResultRow) throws -> Bool { false }

  public static func describe(in description: inout ResultDescription) throws { try description.addRest() }
}

extension SqlError {
  package static func severalColumns(named name: String) -> SqlError {
    SqlError.misuse("several columns of the result are named \(name); give them different names")
  }
}

extension ResultRow {
  fileprivate mutating func rest() throws -> [DatabaseValue] {
    var values: [DatabaseValue] = []
    while position < row.count {
      values.append(try row.databaseValue(at: position))
      position += 1
    }
    return values
  }

  fileprivate var columnNames: [String] { state.pointee.statement?.takeUnretainedValue().columnNames ?? [] }
}

extension DatabaseValue {
  /// The text that `print` shows: text without quotes, and a blob's size in bytes.
  fileprivate var text: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): text
    case .blob(let data): "\(data.count) bytes"
    }
  }
}
