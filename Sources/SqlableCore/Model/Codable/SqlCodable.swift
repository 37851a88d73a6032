/// A model that its `Codable` conformance reads and writes: it declares its columns and nothing else.
///
/// ```swift
/// struct Boat: SqlCodable {
///   var id: Int?
///   var name: String
///   var launchedAt: Date?
///
///   static let id = column("id", Int.self, PrimaryKey())
///   static let name = column("name", String.self)
///   static let launchedAt = column("launched_at", Date?.self)
///   static let tableLayout = [id.column, name.column, launchedAt.column]
/// }
/// ```
///
/// A coding key is stored in the column of the same name, or else in the column of its name in snake_case. A key
/// without a column throws `.misuse`, unless its property is optional: such a property is not stored, and nil when
/// read. A column without a key is left out of inserts and updates. Two keys for one column throw `.misuse`.
///
/// A ``SqlValue`` is stored as in any other model, an ``SqlEmbedded`` struct in the columns whose names begin with the
/// key and an underscore. Any other `Codable` type is stored as the single value that it encodes, or else as JSON.
/// `nil` stores NULL, except in a column of the primary key, which is left out.
///
/// An `init(row:)`, a `write(to:)` or a `valueForColumn(_:)` that the model implements itself takes precedence; the
/// other direction still uses `Codable`. The model's other uses of `Codable` are unaffected.
public protocol SqlCodable: Sqlable, Codable {}

extension SqlCodable {
  public init(row: ReadRow) throws {
    let columns = KeyedColumns.of(Self.self)
    do {
      try self.init(from: RowDecoder(row: row, columns: columns))
    } catch let error as DecodingError {
      throw row.located(error, of: Self.self, columns)
    }
    row.noteDecoded(columns.table)
  }

  public func write(to row: inout RowWriter) throws {
    let columns = KeyedColumns.of(Self.self)
    if columns.hasValueForColumn(self) { return try writeValues(to: &row) }
    let encoder = RowEncoder(columns)
    do {
      try withUnsafeMutablePointer(to: &row) { row in
        encoder.row = row
        defer { encoder.row = nil }
        try encode(to: encoder)
      }
    } catch {
      // The first error, `row.failure`, is thrown after this call.
      guard row.failure == nil else { return }
      if let error = error as? EncodingError { return row.fail(error, of: Self.self, columns) }
      throw error
    }
    row.noteEncoded()
  }
}

extension ReadRow {
  /// Returns an error that a model's `init(from:)` has thrown, with its place and without the value, which its
  /// description may quote.
  fileprivate func located(_ error: DecodingError, of model: Any.Type, _ columns: KeyedColumns) -> any Error {
    let refused = SqlError.decoding(expected: "\(model)", found: "a value that init(from:) refuses")
    guard let key = error.path.first, let column = try? columns.position(of: key.stringValue),
      let position = try? self.position(ofColumn: column, in: columns.table)
    else { return labelled(refused.at(table: columns.table.name)) }
    return located(refused, column: columns.table.columns[column].definition, position: position)
  }

  /// Columns without a key are not read on purpose: writing leaves them out.
  fileprivate func noteDecoded(_ table: TableInfo) {
    #if DEBUG
    for column in table.columns { skip(column) }
    #endif
  }
}

extension DecodingError {
  /// The keys that lead to the value that was refused.
  var path: [any CodingKey] {
    switch self {
    case .keyNotFound(_, let context), .valueNotFound(_, let context), .typeMismatch(_, let context),
      .dataCorrupted(let context):
      context.codingPath
    @unknown default: []
    }
  }
}

extension RowWriter {
  /// Records an error that a model's `encode(to:)` has thrown, without the value, which its description may quote.
  fileprivate mutating func fail(_ error: EncodingError, of model: Any.Type, _ columns: KeyedColumns) {
    let refused = SqlError.encoding(expected: "a value that \(model) encodes", found: "another value")
    if case .invalidValue(_, let context) = error, let key = context.codingPath.first,
      let column = try? columns.position(of: key.stringValue)
    {
      fail(refused, at: column)
    } else {
      failure = refused.at(table: table.name)
    }
  }

  /// Columns without a key are left out on purpose.
  fileprivate func noteEncoded() {
    #if DEBUG
    for position in table.columns.indices where !values[position].isSet { noteSkipped(position) }
    #endif
  }
}
