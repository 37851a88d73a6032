// The schema as tables: SQLite's pragmas as table-valued functions.

import SqlableCore

/// A column of a table or view, as a row of `pragma_table_info`.
///
/// ```swift
/// let column = SchemaColumn.of("bicycle")
/// let names = try column.read().filter(column[SchemaColumn.isNotNull]).run(db).map(\.name)
/// // SELECT … FROM "pragma_table_info"(?) AS "column" WHERE "column"."notnull"
/// ```
///
/// `of` returns an ``Alias``, for joins, subqueries and groups. Generated columns have no row. A statement that reads a
/// schema table can't be encoded as data.
public struct SchemaColumn: Sqlable, Hashable {
  public let position: Int
  public let name: String
  /// The declared type, such as `INTEGER`.
  public let type: String
  public let isNotNull: Bool
  /// The default, in SQL.
  public let defaultValue: String?
  /// The position in the primary key, from 1; 0 for a column outside the primary key.
  public let keyPosition: Int

  public static let tableName = "pragma_table_info"
  public static let position = column("cid", Int.self)
  public static let name = column("name", String.self)
  public static let type = column("type", String.self)
  public static let isNotNull = column("notnull", Bool.self)
  public static let defaultValue = column("dflt_value", String?.self)
  public static let keyPosition = column("pk", Int.self)
  public static let tableLayout = [
    position.column, name.column, type.column, isNotNull.column, defaultValue.column, keyPosition.column,
  ]

  public init(row: ReadRow) throws {
    position = try row.get(SchemaColumn.position)
    name = try row.get(SchemaColumn.name)
    type = try row.get(SchemaColumn.type)
    isNotNull = try row.get(SchemaColumn.isNotNull)
    defaultValue = try row.get(SchemaColumn.defaultValue)
    keyPosition = try row.get(SchemaColumn.keyPosition)
  }

  /// The columns of a table; no rows if the table does not exist.
  public static func of(_ table: String, database: String? = nil, as name: String = "column") -> Alias<SchemaColumn> {
    of(TypedExpression(table), database: database, as: name)
  }

  /// The columns of a table whose name is the value of a term. The term can be a column of an earlier table of the
  /// query.
  public static func of(
    _ table: some TypedTerm<String>, database: String? = nil, as name: String = "column"
  ) -> Alias<SchemaColumn> { Alias(name, calling: table.expression, database) }
}

/// An index of a table, as a row of `pragma_index_list`.
public struct SchemaIndex: Sqlable, Hashable {
  public let name: String
  public let isUnique: Bool
  /// The origin of the index: `c` for CREATE INDEX, `u` for a UNIQUE constraint, `pk` for a primary key.
  public let origin: String
  /// True if the index contains only the rows that satisfy a condition.
  public let isPartial: Bool

  public static let tableName = "pragma_index_list"
  public static let name = column("name", String.self)
  public static let isUnique = column("unique", Bool.self)
  public static let origin = column("origin", String.self)
  public static let isPartial = column("partial", Bool.self)
  public static let tableLayout = [name.column, isUnique.column, origin.column, isPartial.column]

  public init(row: ReadRow) throws {
    name = try row.get(SchemaIndex.name)
    isUnique = try row.get(SchemaIndex.isUnique)
    origin = try row.get(SchemaIndex.origin)
    isPartial = try row.get(SchemaIndex.isPartial)
  }

  /// The indexes of a table.
  public static func of(_ table: String, database: String? = nil, as name: String = "index") -> Alias<SchemaIndex> {
    of(TypedExpression(table), database: database, as: name)
  }

  /// The indexes of the table that a term names. The term can be a column of an earlier table of the query.
  public static func of(
    _ table: some TypedTerm<String>, database: String? = nil, as name: String = "index"
  ) -> Alias<SchemaIndex> { Alias(name, calling: table.expression, database) }
}

/// A part of an index, as a row of `pragma_index_info`.
///
/// ```swift
/// let (index, part) = (SchemaIndex.of("bicycle"), SchemaIndexPart.of(index[SchemaIndex.name]))
/// let parts = index.read().join(part, on: .all([]))     // one for each column of each index
/// ```
public struct SchemaIndexPart: Sqlable, Hashable {
  /// The position in the index, from 0.
  public let position: Int
  /// The column's name; nil for an expression or the rowid.
  public let column: String?

  public static let tableName = "pragma_index_info"
  public static let position = column("seqno", Int.self)
  public static let column = column("name", String?.self)
  public static let tableLayout = [position.column, column.column]

  public init(row: ReadRow) throws {
    position = try row.get(SchemaIndexPart.position)
    column = try row.get(SchemaIndexPart.column)
  }

  /// The parts of an index.
  public static func of(_ index: String, database: String? = nil, as name: String = "part") -> Alias<SchemaIndexPart> {
    of(TypedExpression(index), database: database, as: name)
  }

  /// The parts of an index whose name is the value of a term. The term can be a column of an earlier table of the
  /// query.
  public static func of(
    _ index: some TypedTerm<String>, database: String? = nil, as name: String = "part"
  ) -> Alias<SchemaIndexPart> { Alias(name, calling: index.expression, database) }
}

/// A column of a foreign key, as a row of `pragma_foreign_key_list`.
public struct SchemaReference: Sqlable, Hashable {
  /// The number of the foreign key. All columns of a foreign key have the same number.
  public let id: Int
  public let table: String
  public let from: String
  /// The referenced column; nil for the primary key of the referenced table.
  public let to: String?
  public let onUpdate: String
  public let onDelete: String

  public static let tableName = "pragma_foreign_key_list"
  public static let id = column("id", Int.self)
  public static let table = column("table", String.self)
  public static let from = column("from", String.self)
  public static let to = column("to", String?.self)
  public static let onUpdate = column("on_update", String.self)
  public static let onDelete = column("on_delete", String.self)
  public static let tableLayout = [
    id.column, table.column, from.column, to.column, onUpdate.column, onDelete.column,
  ]

  public init(row: ReadRow) throws {
    id = try row.get(SchemaReference.id)
    table = try row.get(SchemaReference.table)
    from = try row.get(SchemaReference.from)
    to = try row.get(SchemaReference.to)
    onUpdate = try row.get(SchemaReference.onUpdate)
    onDelete = try row.get(SchemaReference.onDelete)
  }

  /// The foreign keys of a table.
  public static func of(
    _ table: String, database: String? = nil, as name: String = "reference"
  ) -> Alias<SchemaReference> { of(TypedExpression(table), database: database, as: name) }

  /// The foreign keys of the table that a term names. The term can be a column of an earlier table of the query.
  public static func of(
    _ table: some TypedTerm<String>, database: String? = nil, as name: String = "reference"
  ) -> Alias<SchemaReference> { Alias(name, calling: table.expression, database) }
}
