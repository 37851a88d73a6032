/// A row of a ``Table``: values by column name.
///
/// ```swift
/// let people = Table("person", "id", "full_name")
/// try people.insert(["full_name": "Ann Smith"]).run(db)     // INSERT INTO "person" ("full_name") VALUES (?)
/// for row in try people.read().run(db) { print(try row.get("full_name", as: String.self)) }
/// ```
///
/// If the row does not contain a column, an insert stores the column's default. If the row contains a value that can't
/// be stored, such as NaN, writing the row throws.
public struct TableRow: Sqlable {
  private var row: DynamicRow
  /// The error for the first value that can't be stored.
  private var failure: SqlError?

  /// Makes a row with these values; nil becomes NULL.
  public init(_ values: KeyValuePairs<String, (any SqlValue)?> = [:]) {
    row = DynamicRow(columns: [], values: [])
    for (column, value) in values { set(column, value) }
  }

  /// The names of the columns that have values.
  public var columns: [String] { row.columns }
  /// The values, in the order of the columns.
  public var values: [DatabaseValue] { row.values }

  /// Returns the value of a column.
  ///
  /// Throws `.decoding` when the value does not fit `Value`, and `.schema` if the row has no such column. NULL fits
  /// only an optional type.
  public func get<Value: SqlValue>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
    try row.get(column)
  }

  /// The stored value of a column; nil if the row does not contain the column.
  public subscript(_ column: String) -> DatabaseValue? {
    get { columns.firstIndex(where: column.isExactly).map { values[$0] } }
    set {
      if let newValue { set(column, newValue) } else { remove(column) }
    }
  }

  /// Sets a column; nil stores NULL. A date is stored as seconds since 1970; to store another format, assign a term.
  public mutating func set(_ column: String, _ value: (any SqlValue)?) {
    do { set(column, try (value?.databaseValue ?? .null).checked()) } catch {
      let error = error as? SqlError ?? .misuse("SQLite can't store the value")
      failure = failure ?? error.at(table: nil, column: column)
    }
  }

  private mutating func set(_ column: String, _ value: DatabaseValue) {
    guard let position = columns.firstIndex(where: column.isExactly) else {
      row = DynamicRow(columns: columns + [column], values: values + [value])
      return
    }
    var values = values
    values[position] = value
    row = DynamicRow(columns: columns, values: values)
  }

  private mutating func remove(_ column: String) {
    guard let position = columns.firstIndex(where: column.isExactly) else { return }
    var (columns, values) = (columns, values)
    columns.remove(at: position)
    values.remove(at: position)
    row = DynamicRow(columns: columns, values: values)
  }

  // MARK: As a model

  public static var tableLayout: [Column] { [] }

  public init(row: ReadRow) throws { self.row = try row.dynamic() }

  public func write(to row: inout RowWriter) throws {
    if let failure { throw failure.at(table: row.table.name) }
    for (column, value) in zip(columns, values) { try row.set(value, ofColumn: column) }
  }
}

extension TableRow: Hashable, CustomStringConvertible, ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, (any SqlValue)?)...) {
    row = DynamicRow(columns: [], values: [])
    for (column, value) in elements { set(column, value) }
  }

  public var description: String { row.description }
}

extension ReadRow {
  fileprivate func dynamic() throws -> DynamicRow {
    let (names, range) = (try columnNames, state.pointee.named)
    return DynamicRow(
      columns: names.indices == range ? names : Array(names[range]), values: try range.map(databaseValue(at:)))
  }
}

extension RowWriter {
  /// Sets a column to a value of a `TableRow`. Skips a generated column, and a key column whose value is NULL.
  fileprivate mutating func set(_ value: DatabaseValue, ofColumn name: String) throws {
    let position = try position(named: name)
    guard !isGenerated(position), value != .null || !cells[position].isKey else { return }
    put(bytes.pointee.parameter(for: value), at: position)
  }
}
