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
  var columns: [ResultColumn] = []
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
  @usableFromInline let state: UnsafeMutablePointer<RowState>
  @usableFromInline let generation: UInt64
  @usableFromInline let types: UnsafePointer<ColumnType?>
  @usableFromInline var position = 0
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
