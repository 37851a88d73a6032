/// A part of a result row: the value of a column or term, or a model read from all its columns.
///
/// All ``SqlValue`` types and ``Sqlable`` models conform, and optionals of both: a model without a match in a left join
/// is nil. There is nothing to implement.
public protocol SelectOutput: SendableMetatype {
  /// Reads a value from the result's columns at the current position of `row`, and advances past them.
  static func next(of row: inout ResultRow) throws -> Self

  /// True if all of its columns at the current position are NULL: a NULL value, or a model for which a left join found
  /// no row. If so, advances past them.
  static func isAbsent(in row: inout ResultRow) throws -> Bool

  /// Adds its columns to `description`. Throws if the model's declarations are inconsistent.
  static func describe(in description: inout ResultDescription) throws
}

/// A part of a result row for which a right or full join may find no row: a model, or an optional. A value that is
/// selected before such a join must be an optional: `Car.select(Car.name.typed(as: String?.self)).fullJoin(…)`.
// A protocol of its own: one with an associated type is written with `any`, and models return `SqlValue?`.
public protocol JoinedOutput: SelectOutput {
  /// Its type after a right or full join: an optional. An optional stays as it is.
  associatedtype Unmatched: SelectOutput = Self?
}

/// The columns that a result is read from, when no query describes them.
public struct ResultDescription {
  package private(set) var columns: [ResultColumn] = []
  /// The models that are read.
  package var models: [ObjectIdentifier] = []
  /// True if the last output takes all columns that are left.
  package private(set) var takesRest = false

  package init() {}

  /// Adds the columns of the next output. Throws if the one before takes all that are left.
  mutating func add(_ next: [ResultColumn]) throws {
    try checkIsOpen()
    columns += next
  }

  /// Adds all columns that are left.
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
  /// The columns of these types, in order.
  @usableFromInline
  convenience init<each Output: SelectOutput>(of type: repeat (each Output).Type) throws {
    var description = ResultDescription()
    repeat try (each type).describe(in: &description)
    self.init(description.columns, takesRest: description.takesRest)
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
