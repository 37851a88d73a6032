/// A part of a result row: the value of a column or term, or a model decoded from all its columns.
///
/// All ``SqlValue`` types, all ``Sqlable`` models and their optionals conform. An optional model is nil if a left join
/// finds no match. ``SqlValue`` and ``Sqlable`` implement all requirements.
public protocol SelectOutput: SendableMetatype {
  /// Reads a value from the result's columns at the current position of `row`, and advances past these columns.
  static func next(of row: inout ResultRow) throws -> Self

  /// Returns true if all columns of the output at the current position are NULL. In this case, also advances past these
  /// columns. The columns are NULL for a NULL value, and for a model without a match in a left join.
  static func isAbsent(in row: inout ResultRow) throws -> Bool

  /// Adds the output's columns to `description`. Throws if the model's declarations are inconsistent.
  static func describe(in description: inout ResultDescription) throws
}

/// A part of a result row that can be missing after a right or full join: a model or an optional. A value that is
/// selected before such a join must be an optional: `Car.select(Car.name.typed(as: String?.self)).fullJoin(…)`.
// Not a part of `SelectOutput`, from which `SqlValue` inherits: models write `SqlValue?` without `any`, and Swift would
// refuse this if `SelectOutput` had an associated type.
public protocol JoinedOutput: SelectOutput {
  /// The type after a right or full join. A model becomes an optional, and an optional stays unchanged.
  associatedtype Unmatched: SelectOutput = Self?
}

/// A list of the columns of a result, for a result that no query describes.
public struct ResultDescription {
  package private(set) var columns: [ResultColumn] = []
  package var models: [ObjectIdentifier] = []
  package var modelColumns: [ModelColumns] = []
  package private(set) var takesRest = false

  package init() {}

  /// Adds the columns of the next output. Throws if an earlier output reads all remaining columns.
  mutating func add(_ next: [ResultColumn]) throws {
    try checkIsOpen()
    columns += next
  }

  mutating func addRest() throws {
    try checkIsOpen()
    takesRest = true
  }

  private func checkIsOpen() throws {
    guard !takesRest else {
      throw SqlError.misuse("a DynamicRow reads all remaining columns, and must come last")
    }
  }
}

extension ResultLayout {
  @usableFromInline
  convenience init<each Output: SelectOutput>(of type: repeat (each Output).Type) throws {
    var description = ResultDescription()
    repeat try (each type).describe(in: &description)
    self.init(description.columns, models: description.modelColumns, takesRest: description.takesRest)
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

extension Optional: JoinedOutput where Wrapped: SelectOutput {
  public typealias Unmatched = Self
}
