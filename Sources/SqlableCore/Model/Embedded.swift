/// A struct that is stored in several columns of a model's table.
///
/// ```swift
/// struct Address: SqlEmbedded {
///   var street: String
///   var city: String?
///   static let street = field("street", String.self)
///   static let city = field("city", String?.self)
///   static let fields = [street.column, city.column]
///
///   init(row: EmbeddedRow) throws {
///     street = try row.get(Address.street)
///     city = try row.get(Address.city)
///   }
///
///   func write(to row: inout EmbeddedWriter) throws {
///     row.set(Address.street, street)
///     row.set(Address.city, city)
///   }
/// }
///
/// extension Person: Sqlable {
///   static let home = embedded("home", Address.self)          // "home_street" TEXT NOT NULL, "home_city" TEXT
///   static let work = embedded("work", Address?.self)         // the same, all of which may be NULL
///   static let tableLayout = [id.column] + home.columns + work.columns
///   …
/// }
/// Person.read().filter(Person.home[Address.city] == "Oslo")   // … WHERE "home_city" = ?
/// ```
public protocol SqlEmbedded: Sendable {
  /// The struct's columns, with unprefixed names. The property is read each time a model embeds the struct.
  static var fields: [Column] { get }

  /// Makes a value from the struct's columns. A value that does not fit throws `.decoding` with table, column and row.
  init(row: EmbeddedRow) throws

  /// Sets or skips every column. An insert or update leaves out a skipped column. In a debug build, a column that is
  /// neither set nor skipped throws `.misuse`.
  func write(to row: inout EmbeddedWriter) throws
}

/// A column of an embedded struct, independent of the embedding model.
public struct Field<Owner: SqlEmbedded, Value: SqlValue>: Sendable, Hashable {
  /// The column, with an unprefixed name.
  public let column: Column
}

extension SqlEmbedded {
  /// Declares a field. `Value` determines the SQL type; an optional type makes the column nullable.
  public static func field<Value: SqlValue>(
    _ name: String, _ type: Value.Type, _ options: any ColumnOption..., file: StaticString = #fileID,
    line: UInt = #line
  ) -> Field<Self, Value> {
    Field(column: Column(name, Value.columnType, options: options, file: file, line: line))
  }

  /// Declares a field with an explicit column type, such as `.date(.iso8601)`.
  public static func field<Value: SqlValue>(
    _ name: String, _ type: Value.Type, as columnType: ColumnType, _ options: any ColumnOption...,
    file: StaticString = #fileID, line: UInt = #line
  ) -> Field<Self, Value> {
    let type = Value.columnType.isNullable ? .nullable(columnType) : columnType
    return Field(column: Column(name, type, options: options, file: file, line: line))
  }
}

/// The columns of a model's table that store an embedded struct.
public struct Embedded<Model: Sqlable, Value: SqlEmbedded>: Sendable {
  /// The columns, for `tableLayout`.
  public let columns: [Column]
  let fields: [Column]

  fileprivate init(_ prefix: String, _ isOptional: Bool, _ file: StaticString, _ line: UInt) {
    fields = Value.fields
    columns = fields.map { field in
      Column(
        ColumnDefinition(
          embedding: field.definition, name: prefix + "_" + field.name, isOptional: isOptional, file: file, line: line))
    }
  }

  /// The model's column for a field.
  public subscript<Part>(_ field: Field<Value, Part>) -> TypedColumn<Model, Part> {
    TypedColumn(column(of: field.column))
  }

  /// Returns the table's column for a field. If `fields` lacks the field, statements with the column throw `.schema`.
  fileprivate func column(of field: Column) -> Column {
    fields.position(of: field.definition).map { columns[$0] } ?? field
  }
}

/// The columns of a model's table that store an optional embedded struct. For nil, every column stores NULL.
public struct EmbeddedOptional<Model: Sqlable, Value: SqlEmbedded>: Sendable {
  @usableFromInline let embedded: Embedded<Model, Value>

  /// The columns, for `tableLayout`.
  public var columns: [Column] { embedded.columns }

  /// The model's nullable column for a field.
  public subscript<Part>(_ field: Field<Value, Part>) -> TypedColumn<Model, Part?> {
    TypedColumn(embedded.column(of: field.column))
  }

  /// The model's nullable column for a field.
  public subscript<Part>(_ field: Field<Value, Part?>) -> TypedColumn<Model, Part?> {
    TypedColumn(embedded.column(of: field.column))
  }
}

extension Sqlable {
  /// Embeds a struct. A column's name is the prefix, an underscore and the field's name.
  public static func embedded<Value: SqlEmbedded>(
    _ prefix: String, _ type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) -> Embedded<Self, Value> { Embedded(prefix, false, file, line) }

  /// Embeds an optional struct. For nil, every column stores NULL.
  public static func embedded<Value: SqlEmbedded>(
    _ prefix: String, _ type: Value?.Type, file: StaticString = #fileID, line: UInt = #line
  ) -> EmbeddedOptional<Self, Value> { EmbeddedOptional(embedded: Embedded(prefix, true, file, line)) }
}

// MARK: - Reading

/// The values of an embedded struct in the row that is being read. An `EmbeddedRow` is valid as long as its
/// ``ReadRow``.
public struct EmbeddedRow {
  fileprivate let row: ReadRow
  fileprivate let fields: [Column]
  fileprivate let columns: [Column]

  /// Returns the value of a field. A value that does not fit throws `.decoding`. NULL fits only an optional type.
  public func get<Owner, Value>(_ field: Field<Owner, Value>) throws -> Value {
    guard let position = fields.position(of: field.column.definition) else {
      throw SqlError.misuse(
        "the embedded row has no field \(field.column.name); add the field to \(Owner.self).fields")
    }
    return try row.get(columns[position])
  }
}

extension EmbeddedRow {
  /// Declares that `init(row:)` deliberately does not read a field; see ``ReadRow``.
  public func skip<Owner, Value>(_ field: Field<Owner, Value>) {
    if let position = fields.position(of: field.column.definition) { row.skip(columns[position]) }
  }
}

extension ReadRow {
  /// Returns the embedded struct.
  public func get<Model, Value>(_ embedded: Embedded<Model, Value>) throws -> Value {
    try self.embedded(Value.self, fields: embedded.fields, columns: embedded.columns)
  }

  package func embedded<Value: SqlEmbedded>(_ type: Value.Type, fields: [Column], columns: [Column]) throws -> Value {
    try Value(row: EmbeddedRow(row: self, fields: fields, columns: columns))
  }

  /// Returns the embedded struct; nil if every column of the struct is NULL.
  public func get<Model, Value>(_ embedded: EmbeddedOptional<Model, Value>) throws -> Value? {
    try areNull(embedded.columns) ? nil : try get(embedded.embedded)
  }

  package func areNull(_ columns: [Column]) throws -> Bool {
    try columns.allSatisfy { isNull(at: try position(of: $0)) }
  }
}

// MARK: - Writing

/// The receiver of an embedded struct's values. A writer is valid only during `write(to:)`.
public struct EmbeddedWriter {
  fileprivate var row: RowWriter
  fileprivate let fields: [Column]
  fileprivate let columns: [Column]

  /// Sets a field.
  public mutating func set<Owner, Value>(_ field: Field<Owner, Value>, _ value: Value) {
    row.assign(column(of: field), value)
  }

  /// Sets a nullable field; `nil` stores NULL.
  public mutating func set<Owner, Value>(_ field: Field<Owner, Value?>, _ value: Value?) {
    row.set(column(of: field), value)
  }

  /// Leaves a field out: an insert stores the column's default, an update keeps the stored value.
  public mutating func skip<Owner, Value>(_ field: Field<Owner, Value>) { row.skip(column(of: field)) }

  /// Returns the table's column for a field. If `fields` lacks the field, returns the field's own column, so that
  /// writing the row throws.
  private func column<Owner, Value>(of field: Field<Owner, Value>) -> Column {
    fields.position(of: field.column.definition).map { columns[$0] } ?? field.column
  }
}

extension RowWriter {
  /// Sets the columns of an embedded struct.
  public mutating func set<Model, Value>(_ embedded: Embedded<Model, Value>, _ value: Value) {
    set(value, fields: embedded.fields, columns: embedded.columns)
  }

  package mutating func set<Value: SqlEmbedded>(_ value: Value, fields: [Column], columns: [Column]) {
    var writer = EmbeddedWriter(row: self, fields: fields, columns: columns)
    do { try value.write(to: &writer) } catch { writer.row.failure = writer.row.failure ?? error }
    self = writer.row
  }

  /// Sets the columns of an optional embedded struct; `nil` stores NULL in every column.
  public mutating func set<Model, Value>(_ embedded: EmbeddedOptional<Model, Value>, _ value: Value?) {
    if let value { return set(embedded.embedded, value) }
    for column in embedded.columns { setNull(column) }
  }
}
