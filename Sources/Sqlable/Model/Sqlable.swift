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
  /// The table's name; the type's name in snake_case unless you say otherwise. Asked once a process.
  static var tableName: String { get }

  /// The table's columns, in their order. Asked once a process.
  static var tableLayout: [Column] { get }

  /// Rules that span several columns. None by default.
  ///
  /// Declare it **with its type**: `static let tableConstraints: [TableConstraint] = […]`. Without it Swift takes a
  /// list of one kind, such as `[Unique(…)]`, for a property of another type, which is not this one: the table gets no
  /// constraints. The compiler says "nearly matches defaulted requirement" where the property stands in the conformance
  /// itself, and nothing where it stands in another extension.
  static var tableConstraints: [TableConstraint] { get }

  /// The table's indexes. None by default.
  static var tableIndexes: [Index] { get }

  /// Properties of the whole table. None by default. Declare it with its type, `[TableOption]`, as `tableConstraints`.
  static var tableOptions: [TableOption] { get }

  /// The full-text index of the table's columns. None by default.
  static var tableFullText: FullTextIndex { get }

  /// The value that goes into a column.
  ///
  /// `nil` leaves the column out: an insert stores its default, NULL or the next free key, an update leaves it as it
  /// is. ``Null`` stores NULL. Not needed beside `write(to:)`, which is preferred where both are there.
  func valueForColumn(_ column: Column) -> SqlValue?

  /// Writes all columns at once; faster than being asked for one after the other.
  ///
  /// ```swift
  /// func write(to row: inout RowWriter) throws {
  ///   row.set(Bicycle.id, id)
  ///   row.set(Bicycle.name, name)
  ///   row.set(Bicycle.color, color)
  /// }
  /// ```
  ///
  /// A column that is not set, or set to `nil`, is left out. Without it `valueForColumn(_:)` is asked; a model with
  /// neither throws `.misuse` when it is written.
  func write(to row: inout RowWriter) throws

  /// Makes a struct of a row. What does not fit throws `.decoding`, which names table, column and row.
  init(row: ReadRow) throws
}

/// A model, or an optional one: what stands for all columns of a table in the row of a query, `Person.self` or, behind
/// a left join, `Person?.self`. There is nothing to implement.
public protocol SelectableModel: SelectOutput {
  /// The model that the columns are of.
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

  public func write(to row: inout RowWriter) throws {
    for (position, column) in row.table.columns.enumerated() where !row.isGenerated(position) {
      if let value = valueForColumn(column) { row.set(value, at: position) }
    }
  }
}

/// What a model that says nothing about its values gives for every column: not nothing, which would be stored as such.
private struct UnwrittenValue: SqlValue {
  static var columnType: ColumnType { .blob }
  var databaseValue: DatabaseValue {
    get throws { throw SqlError.misuse("the model has neither valueForColumn(_:) nor write(to:)") }
  }

  init() {}
  init(databaseValue: DatabaseValue) throws {}
}

/// `BicycleShop` becomes `bicycle_shop`, `HTTPServer` becomes `http_server`.
func snakeCase(_ name: String) -> String {
  // A generic type's arguments, and the "Unknown context at $7f…" of a type inside a function, are no part of the name.
  let characters = Array(name.prefix { $0 != "<" })
  var result = ""
  for (index, character) in characters.enumerated() {
    if character.isUppercase, index > 0 {
      let previous = characters[index - 1]
      let startsWord = previous.isLowercase || previous.isNumber
      let endsAcronym = previous.isUppercase && index + 1 < characters.count && characters[index + 1].isLowercase
      if startsWord || endsAcronym { result += "_" }
    }
    result += character.lowercased()
  }
  return result
}
