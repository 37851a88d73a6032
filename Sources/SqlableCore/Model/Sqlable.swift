/// A struct whose values are rows of a table.
///
/// ```swift
/// struct Bicycle { let id: Int?; var name: String; var color: String }
///
/// extension Bicycle: Sqlable {
///   static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
///   static let name = Column("name", .text)
///   static let color = Column("color", .text, Default("black"))
///   static let tableLayout = [id, name, color]
///
///   func valueForColumn(_ column: Column) -> SqlValue? {
///     switch column {
///     case Bicycle.id: return id
///     case Bicycle.name: return name
///     case Bicycle.color: return color
///     case _: return nil
///     }
///   }
///
///   init(row: ReadRow) throws {
///     id = try row.get(Bicycle.id)
///     name = try row.get(Bicycle.name)
///     color = try row.get(Bicycle.color)
///   }
/// }
/// ```
public protocol Sqlable: Sendable, SelectableModel {
  /// The table's name; by default the type's name in snake_case. Read once per process.
  static var tableName: String { get }

  /// The table's columns, in order. Read once per process.
  static var tableLayout: [Column] { get }

  /// Constraints of the table. None by default.
  ///
  /// Declare it **with its type**: `static let tableConstraints: [TableConstraint] = […]`. Without the type, Swift
  /// infers a different one for a list of one kind, such as `[Unique(…)]`; the property then does not satisfy this
  /// requirement, and the table gets no constraints. The compiler warns "nearly matches defaulted requirement" if the
  /// property is in the extension that declares the conformance, but not if it is in another extension.
  static var tableConstraints: [TableConstraint] { get }

  /// The table's indexes. None by default.
  static var tableIndexes: [Index] { get }

  /// Options of the table. None by default. Declare it with its type, `[TableOption]`, like `tableConstraints`.
  static var tableOptions: [TableOption] { get }

  /// The full-text index of the table's columns. None by default.
  static var tableFullText: FullTextIndex { get }

  /// Returns the value to store in a column.
  ///
  /// `nil` leaves the column out: an insert stores its default, NULL or the next free key, and an update keeps its
  /// value. ``Null`` stores NULL. It is not needed if the model implements `write(to:)`, which takes precedence.
  func valueForColumn(_ column: Column) -> SqlValue?

  /// Writes all columns at once, which is faster than `valueForColumn(_:)`.
  ///
  /// ```swift
  /// func write(to row: inout RowWriter) throws {
  ///   row.set(Bicycle.id, id)
  ///   row.set(Bicycle.name, name)
  ///   row.set(Bicycle.color, color)
  /// }
  /// ```
  ///
  /// A column that is skipped or not set is left out. In a debug build the first row of a model that is written throws
  /// `.misuse` unless it sets or skips every column. Without this method `valueForColumn(_:)` is called for each
  /// column; writing a model with neither throws `.misuse`.
  func write(to row: inout RowWriter) throws

  /// Makes a struct from a row. A value that does not fit throws `.decoding`, with table, column and row.
  init(row: ReadRow) throws
}

/// A model or optional model, which selects all columns of a table in a query: `Person.self` or, for a left-joined
/// table, `Person?.self`. There is nothing to implement.
public protocol SelectableModel: JoinedOutput {
  /// The model of the columns.
  static var modelOfRow: any Sqlable.Type { get }
}

extension Optional: SelectableModel where Wrapped: Sqlable {
  public static var modelOfRow: any Sqlable.Type { Wrapped.self }
}

extension Sqlable {
  public static var modelOfRow: any Sqlable.Type { Self.self }
}

extension Sqlable {
  public static var tableName: String { snakeCase(String(describing: Self.self)) }
  public static var tableConstraints: [TableConstraint] { [] }
  public static var tableIndexes: [Index] { [] }
  public static var tableOptions: [TableOption] { [] }
  public static var tableFullText: FullTextIndex { FullTextIndex() }

  public func valueForColumn(_ column: Column) -> SqlValue? { UnwrittenValue() }

  public func write(to row: inout RowWriter) throws { try writeValues(to: &row) }

  /// Writes the values that `valueForColumn(_:)` returns.
  func writeValues(to row: inout RowWriter) throws {
    try row.table.checkIsNoView()
    for (position, column) in row.table.columns.enumerated() where !row.isGenerated(position) {
      if let value = valueForColumn(column) { row.set(value, at: position) } else { row.noteSkipped(position) }
    }
  }
}

/// The value of all columns of a model without `valueForColumn(_:)`; storing it throws. nil would leave the columns
/// out.
struct UnwrittenValue: SqlValue {
  static var columnType: ColumnType { .blob }
  var databaseValue: DatabaseValue {
    get throws { throw SqlError.misuse("the model needs valueForColumn(_:) or write(to:)") }
  }

  init() {}
  init(databaseValue: DatabaseValue) throws {}
}
