/// A model that reads and writes rows by its `Codable` conformance. The model declares only its columns.
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
/// The column of a coding key has the key's name, or the key's name in snake_case. A key without a column throws
/// `.misuse`, except for an optional property that is nil: a read returns nil for a property without a column. Inserts
/// and updates leave out a column without a key. Two keys for one column throw `.misuse`.
///
/// A ``SqlValue`` is stored as in any other model. An ``SqlEmbedded`` struct is stored in columns with the key and an
/// underscore as the prefix. Any other `Codable` type is stored as a single value if the type encodes a single value,
/// and otherwise as JSON. `nil` stores NULL, but leaves out a column of the primary key.
///
/// If the model implements `init(row:)`, `write(to:)` or `valueForColumn(_:)`, that method takes precedence over
/// `Codable`. A model that implements only reading still writes by `Codable`, and vice versa. Other uses of `Codable`,
/// such as JSON, do not change.
public protocol SqlCodable: Sqlable, Codable {}

extension SqlCodable {
  public init(row: ReadRow) throws {
    let columns = KeyedColumns.of(Self.self)
    // A model can read another model of the same row in `init(from:)`. Only the outer model reuses containers.
    let isOuter = row.beginDecoding(columns)
    defer { if isOuter { row.state.pointee.endDecoding() } }
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
    let encoder = RowEncoder.reused(for: columns, in: row.storage)
    do {
      try withUnsafeMutablePointer(to: &row) { row in
        encoder.row.writer.pointee = row
        defer { encoder.row.writer.pointee = nil }
        try encode(to: encoder)
      }
    } catch {
      // After this call the statement throws the first error, `row.failure`.
      guard row.failure == nil else { return }
      if let error = error as? EncodingError { return row.fail(error, of: Self.self, columns) }
      throw error
    }
    row.noteEncoded()
  }
}

extension ReadRow {
  /// Begins to decode a model. Returns false if the row is stale, or if another model of the row is being decoded.
  fileprivate func beginDecoding(_ columns: KeyedColumns) -> Bool {
    guard state.pointee.isCurrent(generation), !state.pointee.isDecoding else { return false }
    let table = columns.table
    state.pointee.beginDecoding(columns.address, columns: table.identities, count: table.count)
    return true
  }

  /// Adds table, column and row to an error of `init(from:)`. Drops its description, which could contain the value.
  fileprivate func located(_ error: DecodingError, of model: Any.Type, _ columns: KeyedColumns) -> any Error {
    let refused = SqlError.decoding(expected: "\(model)", found: "a value that init(from:) refuses")
    guard let key = error.path.first, let column = try? columns.position(of: key.stringValue),
      let position = try? self.position(ofColumn: column, in: columns.table)
    else { return labelled(refused.at(table: columns.table.name)) }
    return located(refused, column: columns.table.columns[column].definition, position: position)
  }

  /// Marks all columns as read or skipped. Decoding deliberately does not read columns without a key.
  fileprivate func noteDecoded(_ table: TableInfo) {
    #if DEBUG
    for column in table.columns { skip(column) }
    #endif
  }
}

extension DecodingError {
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
  /// Records an error of `encode(to:)` without its description, which could contain the value.
  fileprivate mutating func fail(_ error: EncodingError, of model: Any.Type, _ columns: KeyedColumns) {
    let refused = SqlError.encoding(
      expected: "a value that \(model) can encode", found: "a value that can't be encoded")
    if case .invalidValue(_, let context) = error, let key = context.codingPath.first,
      let column = try? columns.position(of: key.stringValue)
    {
      fail(refused, at: column)
    } else {
      failure = refused.at(table: table.name)
    }
  }

  /// Marks the columns without a value as skipped. Encoding deliberately leaves out columns without a key.
  fileprivate func noteEncoded() {
    #if DEBUG
    for position in table.columns.indices where !values[position].isSet { noteSkipped(position) }
    #endif
  }
}
