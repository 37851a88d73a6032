/// What a result can hold beside others: the value of a column or term, or a model, made of all its columns.
///
/// All ``SqlValue`` types and all ``Sqlable`` models conform, and optionals of both: a model that a left join has not found
/// is nil. There is nothing to implement.
public protocol SelectOutput: SendableMetatype {
  /// Reads itself from the result's columns at the place where `row` stands, and moves on behind them.
  static func next(of row: inout ResultRow) throws -> Self

  /// Whether there is nothing of it at that place: a value that is NULL, a model that a left join found no row for, and
  /// whose columns are all NULL. It is passed over then.
  static func isAbsent(in row: inout ResultRow) throws -> Bool

  /// Says which columns it takes. Throws when the model contradicts itself.
  static func describe(in description: inout ResultDescription) throws
}

/// What columns a result is read from, where no query says so.
public struct ResultDescription {
  private(set) var columns: [ResultColumn] = []

  @usableFromInline
  mutating func addValue() { columns.append(ResultColumn()) }

  @usableFromInline
  mutating func add(_ model: (some Sqlable).Type) throws {
    columns += try TableInfo.of(model).columns.map { ResultColumn($0) }
  }
}

extension ResultLayout {
  /// The columns of these things, one after the other.
  @usableFromInline
  convenience init<each Output: SelectOutput>(of type: repeat (each Output).Type) throws {
    var description = ResultDescription()
    repeat try (each type).describe(in: &description)
    self.init(description.columns)
  }
}

/// A row of a query, read from left to right.
public struct ResultRow {
  @usableFromInline let row: ReadRow
  @usableFromInline let types: UnsafePointer<ColumnType?>
  @usableFromInline var position = 0

  @inlinable
  init(_ row: ReadRow, types: UnsafePointer<ColumnType?>) {
    self.row = row
    self.types = types
  }

  /// The next column's value.
  @inlinable
  mutating func value<Value: SqlValue>() throws -> Value {
    defer { position += 1 }
    return try row.value(at: position, type: types[position] ?? Value.columnType)
  }

  /// The model whose columns come next.
  @inlinable
  mutating func model<Model: Sqlable>() throws -> Model {
    let count = try TableInfo.of(Model.self).count
    row.beginModel(at: position, count: count)
    position += count
    return try Model(row: row)
  }
}

extension SqlValue {
  @inlinable
  public static func next(of row: inout ResultRow) throws -> Self { try row.value() }

  @inlinable
  public static func isAbsent(in row: inout ResultRow) throws -> Bool { row.skipNulls(1) }

  @inlinable
  public static func describe(in description: inout ResultDescription) throws { description.addValue() }
}

extension Sqlable {
  @inlinable
  public static func next(of row: inout ResultRow) throws -> Self { try row.model() }

  @inlinable
  public static func isAbsent(in row: inout ResultRow) throws -> Bool {
    row.skipNulls(try TableInfo.of(Self.self).count)
  }

  @inlinable
  public static func describe(in description: inout ResultDescription) throws { try description.add(Self.self) }
}

extension Optional: SelectOutput where Wrapped: SelectOutput {
  @inlinable
  public static func next(of row: inout ResultRow) throws -> Self {
    try Wrapped.isAbsent(in: &row) ? nil : Wrapped.next(of: &row)
  }

  @inlinable
  public static func isAbsent(in row: inout ResultRow) throws -> Bool { try Wrapped.isAbsent(in: &row) }

  @inlinable
  public static func describe(in description: inout ResultDescription) throws {
    try Wrapped.describe(in: &description)
  }
}

extension ResultRow {
  /// Passes over so many columns when all of them are NULL.
  @usableFromInline
  mutating func skipNulls(_ count: Int) -> Bool {
    for index in position..<(position + count) where !row.isNull(at: index) { return false }
    position += count
    return true
  }
}

/// A row whose columns are known when it is read only: what untyped columns and expressions give.
///
/// ```swift
/// for row in try Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color).run(db) {
///   print(try row.get(0, as: String.self), try row.get(1, as: Int.self))
/// }
/// ```
public struct DynamicRow: SelectOutput, Sendable, Hashable {
  /// The values, in the order of the columns.
  public let values: [SqlStorage]

  /// The value at a position, counted from 0. NULL fits an optional only; what does not fit throws `.decoding`.
  public func get<Value: SqlValue>(_ position: Int, as type: Value.Type = Value.self) throws -> Value {
    guard values.indices.contains(position) else {
      throw SqlError.misuse("the result has no column at position \(position)")
    }
    return try Value(sqlStorage: values[position])
  }

  public static func next(of row: inout ResultRow) throws -> DynamicRow {
    DynamicRow(values: try row.rest())
  }

  public static func isAbsent(in row: inout ResultRow) throws -> Bool { false }

  public static func describe(in description: inout ResultDescription) throws {}
}

extension ResultRow {
  fileprivate mutating func rest() throws -> [SqlStorage] {
    var values: [SqlStorage] = []
    while position < row.count {
      values.append(try row.storage(at: position))
      position += 1
    }
    return values
  }
}
