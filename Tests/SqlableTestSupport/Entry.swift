import SqlableCore

/// The declaration of a test table.
protocol TableDeclaration: Sendable {
  static var name: String { get }
  static var columns: [Column] { get }
  static var constraints: [TableConstraint] { get }
  static var indexes: [Index] { get }
  static var options: [TableOption] { get }
  static var fullText: FullTextIndex { get }
}

extension TableDeclaration {
  static var name: String { "t" }
  static var constraints: [TableConstraint] { [] }
  static var indexes: [Index] { [] }
  static var options: [TableOption] { [] }
  static var fullText: FullTextIndex { FullTextIndex() }
}

/// A row of a test table. The values stand in the order of the columns; nil omits a column.
struct Entry<Declaration: TableDeclaration>: Sqlable, Equatable {
  var values: [DatabaseValue?]

  static var tableName: String { Declaration.name }
  static var tableLayout: [Column] { Declaration.columns }
  static var tableConstraints: [TableConstraint] { Declaration.constraints }
  static var tableIndexes: [Index] { Declaration.indexes }
  static var tableOptions: [TableOption] { Declaration.options }
  static var tableFullText: FullTextIndex { Declaration.fullText }

  init(_ values: DatabaseValue?...) { self.values = values }

  init(row: ReadRow) throws {
    values = try Declaration.columns.map { try (row.get($0) as Cell).storage }
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    guard let index = Declaration.columns.firstIndex(of: column), index < values.count else { return nil }
    return values[index].map { Cell(storage: $0) }
  }
}

/// A value of any storage class.
struct Cell: SqlValue {
  var storage: DatabaseValue
  static let columnType = ColumnType.nullable(.blob)
  var databaseValue: DatabaseValue { storage }

  init(storage: DatabaseValue) { self.storage = storage }
  init(databaseValue: DatabaseValue) throws { storage = databaseValue }
}

extension DatabaseValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByFloatLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
}

extension SqliteDatabase {
  /// The SQL text that created a table or index.
  func definition(of name: String) throws -> String? {
    try query("SELECT sql FROM sqlite_schema WHERE name = \(name)", as: String?.self).first ?? nil
  }
}
