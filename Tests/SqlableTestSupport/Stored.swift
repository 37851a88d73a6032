import Foundation
import SqlableCore
import SqlableSchema
import Testing

/// The type of a column as a Swift type, a parameter of a generic model.
protocol ColumnForm: Sendable { static var type: ColumnType { get } }

enum IntegerForm: ColumnForm { static let type = ColumnType.integer }
enum RealForm: ColumnForm { static let type = ColumnType.real }
enum TextForm: ColumnForm { static let type = ColumnType.text }
enum BlobForm: ColumnForm { static let type = ColumnType.blob }
enum BooleanForm: ColumnForm { static let type = ColumnType.boolean }
enum UnixSeconds: ColumnForm { static let type = ColumnType.date(.unixSeconds) }
enum UnixMilliseconds: ColumnForm { static let type = ColumnType.date(.unixMilliseconds) }
enum ISO8601: ColumnForm { static let type = ColumnType.date(.iso8601) }
enum SQLiteText: ColumnForm { static let type = ColumnType.date(.sqliteText) }
enum OwnForm<Value: SqlValue>: ColumnForm { static var type: ColumnType { Value.columnType } }
enum OrNull<Form: ColumnForm>: ColumnForm { static var type: ColumnType { .nullable(Form.type) } }

/// A row with a key and one value of any type, in a column of any form. Each access creates new columns.
struct Stored<Value: SqlValue, Form: ColumnForm>: Sqlable {
  var id: Int?
  var value: Value

  static var tableName: String { "stored" }
  static var id: Column { Column("id", .integer, PrimaryKey()) }
  static var value: Column { Column("value", Form.type) }
  static var tableLayout: [Column] { [id, value] }

  init(_ value: Value, id: Int? = nil) {
    self.id = id
    self.value = value
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Self.id: id
    case Self.value: value
    case _: nil
    }
  }

  init(row: ReadRow) throws {
    id = try row.get(Self.id)
    value = try row.get(Self.value)
  }
}

/// Expects that a table returns every value unchanged, also as an optional and as nil, and that filters find it.
func expectRoundTrip<Value: SqlValue & Equatable>(
  _ values: [Value], sourceLocation: SourceLocation = #_sourceLocation
) throws {
  try expectRoundTrip(values, in: OwnForm<Value>.self, sourceLocation: sourceLocation)
}

func expectRoundTrip<Value: SqlValue & Equatable, Form: ColumnForm>(
  _ values: [Value], in form: Form.Type, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  try withDatabase { db in
    typealias Row = Stored<Value, Form>
    try db.createTable(Row.self)
    try Row.insert(values.map { Row($0) }).run(db)
    let read = try Row.read().orderBy(Row.id).run(db).map(\.value)
    #expect(read.count == values.count, sourceLocation: sourceLocation)
    for (value, read) in zip(values, read) { #expect(read == value, sourceLocation: sourceLocation) }
    for (index, value) in values.enumerated() {
      let found = try Row.read().filter(Row.value == value).run(db).compactMap(\.id)
      #expect(found.contains(index + 1), "\(value)", sourceLocation: sourceLocation)
    }
  }
  try withDatabase { db in
    typealias Row = Stored<Value?, OrNull<Form>>
    try db.createTable(Row.self)
    let optionals = values.map(Optional.some) + [nil]
    // An insert leaves nil out; a column without a default is then NULL.
    try Row.insert(optionals.map { Row($0) }).run(db)
    #expect(try Row.read().orderBy(Row.id).run(db).map(\.value) == optionals, sourceLocation: sourceLocation)
    #expect(try Row.count().filter(Row.value.isNull).run(db) == 1, sourceLocation: sourceLocation)
  }
}

/// Returns the error that storing a value throws, and checks that nothing is stored.
func errorStoring<Value: SqlValue, Form: ColumnForm>(
  _ value: Value, in form: Form.Type, sourceLocation: SourceLocation = #_sourceLocation
) throws -> SqlError? {
  try withDatabase { db in
    typealias Row = Stored<Value, Form>
    try db.createTable(Row.self)
    let error = sqlError { try Row(value).insert().run(db) }
    #expect(try Row.count().run(db) == 0, sourceLocation: sourceLocation)
    return error
  }
}

/// Stores a value by raw SQL as row 7 and returns the error that reading the value throws.
func errorReading<Value: SqlValue, Form: ColumnForm>(
  _ sql: String, as type: Value.Type, in form: Form.Type
) throws -> SqlError? {
  try withDatabase { db in
    try db.execute("CREATE TABLE stored (id INTEGER PRIMARY KEY, value)" as String)
    try db.execute("INSERT INTO stored VALUES (7, \(sql))" as String)
    return sqlError { _ = try Stored<Value, Form>.read().run(db) }
  }
}

extension SqlError {
  var isEncoding: Bool { if case .encoding = kind { true } else { false } }
  var isDecoding: Bool { if case .decoding = kind { true } else { false } }

  /// The expected and the found type, if the error is a mismatch.
  var mismatch: Mismatch? {
    switch kind {
    case .decoding(let mismatch), .encoding(let mismatch): mismatch
    default: nil
    }
  }
}
