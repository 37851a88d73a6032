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
public protocol Sqlable: Sendable, SelectableModel, UniqueList, PrimaryKeysList, CheckList, ForeignKeysList,
  MisnamedLists, MisnamedValues
{
  /// The table's name; by default the type's name in snake_case. The property is read once per process.
  static var tableName: String { get }

  /// The table's columns, in order. The property is read once per process.
  static var tableLayout: [Column] { get }

  /// The table's constraints. Empty by default.
  ///
  /// ```swift
  /// static let tableConstraints = [Unique(name, color), Unique(serial)]
  /// static let tableConstraints: [TableConstraint] = [Unique(name, color), Check(price > 0)]
  /// ```
  ///
  /// Declare a list of several kinds with the type `[TableConstraint]`, because Swift does not infer this type.
  static var tableConstraints: [TableConstraint] { get }

  /// The table's indexes. Empty by default.
  static var tableIndexes: [Index] { get }

  /// The table's options. Empty by default. Declare the property with its type, `[TableOption]`.
  static var tableOptions: [TableOption] { get }

  /// The full-text index of the table's columns. By default the table has no full-text index.
  static var tableFullText: FullTextIndex { get }

  /// Returns the value to store in a column.
  ///
  /// `nil` leaves the column out. An insert then stores the column's default, NULL or the next key. An update keeps
  /// the stored value. ``Null`` stores NULL. A model that implements `write(to:)` does not need this method,
  /// because `write(to:)` takes precedence.
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
  /// A column that this method skips or does not set is left out. In a debug build the model's first written row throws
  /// `.misuse` unless the method sets or skips every column. The default implementation calls `valueForColumn(_:)` for
  /// each column. Writing a model that has neither method throws `.misuse`.
  func write(to row: inout RowWriter) throws

  /// Makes a struct from a row. A value that does not fit the property's type throws `.decoding` with table, column and
  /// row.
  init(row: ReadRow) throws
}

/// A model or optional model that selects all columns of a table in a query. Pass `Person.self`, or `Person?.self` for
/// a left-joined table. Every model conforms automatically.
public protocol SelectableModel: JoinedOutput {
  /// The model that declares the columns.
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

  @usableFromInline
  package func writeValues(to row: inout RowWriter) throws {
    try row.table.checkIsNoView()
    for (position, column) in row.table.columns.enumerated() where !row.isGenerated(position) {
      if let value = valueForColumn(column) { row.set(value, at: position) } else { row.noteSkipped(position) }
    }
  }
}

/// The result of the default `valueForColumn(_:)`. Storing this value throws. The default can't return nil, because nil
/// would silently leave the column out.
package struct UnwrittenValue: SqlValue {
  package static var columnType: ColumnType { .blob }
  package var databaseValue: DatabaseValue {
    get throws { throw SqlError.misuse("the model must implement valueForColumn(_:) or write(to:)") }
  }

  init() {}
  package init(databaseValue: DatabaseValue) throws {}
}
