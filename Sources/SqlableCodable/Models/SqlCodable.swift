import SqlableCore

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
  @inlinable
  public init(row: ReadRow) throws {
    let (decoder, isOuter) = RowDecoder.begin(row, Self.self)
    do { try self.init(from: decoder) } catch { throw decoder.failed(error, Self.self, isOuter) }
    decoder.end(isOuter)
  }

  @inlinable
  public func write(to row: inout RowWriter) throws {
    try withUnsafeMutablePointer(to: &row) { row in
      guard let encoder = RowEncoder.begin(row, self) else { return try writeValues(to: &row.pointee) }
      do { try encode(to: encoder) } catch { return try encoder.fail(error, Self.self) }
      encoder.end()
    }
  }
}

extension RowDecoder {
  /// Begins to decode a model. If a model's `init(from:)` reads another model from the same row, `isOuter` is false for
  /// the inner model. Only the outer model reuses containers.
  @usableFromInline
  static func begin<Model: Sqlable>(_ row: ReadRow, _ model: Model.Type) -> (decoder: RowDecoder, isOuter: Bool) {
    guard row.state.pointee.isCurrent(row.generation) else {
      return (RowDecoder(row: row, columns: KeyedColumns.of(model)), false)
    }
    // Try the model of the previous row first, because most rows have the same model.
    let last = row.state.pointee.decoding.model.map { Unmanaged<KeyedColumns>.fromOpaque($0) }
    guard let last, last._withUnsafeGuaranteedRef({ $0.model == ObjectIdentifier(model) }) else {
      return begin(row, Unmanaged.passUnretained(KeyedColumns.of(model)))
    }
    return begin(row, last)
  }

  @inline(__always)
  private static func begin(_ row: ReadRow, _ columns: Unmanaged<KeyedColumns>) -> (RowDecoder, Bool) {
    columns._withUnsafeGuaranteedRef { columns in
      let isOuter = !row.state.pointee.isDecoding
      if isOuter {
        row.state.pointee.beginDecoding(columns.address, columns: columns.identities, count: columns.count)
      }
      return (RowDecoder(row: row, columns: columns), isOuter)
    }
  }

  @usableFromInline
  func end(_ isOuter: Bool) {
    if isOuter { row.state.pointee.endDecoding() }
    #if DEBUG
    // Mark all columns as read, because decoding deliberately does not read columns without a key.
    for column in columns.table.columns { row.skip(column) }
    #endif
  }

  @usableFromInline
  func failed(_ error: any Error, _ model: Any.Type, _ isOuter: Bool) -> any Error {
    if isOuter { row.state.pointee.endDecoding() }
    return (error as? DecodingError).map { row.located($0, of: model, columns) } ?? error
  }
}

extension ReadRow {
  /// Returns an error with table, column and row for an error of `init(from:)`. Drops the description of that error,
  /// which could contain the value.
  fileprivate func located(_ error: DecodingError, of model: Any.Type, _ columns: KeyedColumns) -> any Error {
    let refused = SqlError.decoding(expected: "\(model)", found: "a value that init(from:) refuses")
    guard let key = error.path.first, let column = try? columns.position(of: key.stringValue),
      let position = try? self.position(ofColumn: column, in: columns.table)
    else { return labelled(refused.at(table: columns.table.name)) }
    return located(refused, column: columns.table.columns[column].definition, position: position)
  }
}

extension RowEncoder {
  /// Begins to encode a model. Returns nil if `valueForColumn(_:)` writes the model.
  @usableFromInline
  static func begin<Model: Sqlable>(_ writer: UnsafeMutablePointer<RowWriter>, _ model: Model) -> RowEncoder? {
    let encoder = reused(for: model, writer.pointee.storage.encoder)
    encoder?.writer.pointee = writer
    return encoder
  }

  @usableFromInline
  func end() {
    #if DEBUG
    writer.pointee?.pointee.noteEncoded()
    #endif
    writer.pointee = nil
  }

  /// Ends encoding because of an error. The statement then throws the first error of the row, `RowWriter.failure`.
  @usableFromInline
  func fail(_ error: any Error, _ model: Any.Type) throws {
    guard let row = writer.pointee else { throw error }
    writer.pointee = nil
    guard row.pointee.failure == nil else { return }
    guard let refused = error as? EncodingError else { throw error }
    row.pointee.fail(refused, of: model, columns)
  }
}

extension RowWriter {
  /// Records an error of `encode(to:)` without its description, which could contain the value.
  fileprivate mutating func fail(_ error: EncodingError, of model: Any.Type, _ columns: KeyedColumns) {
    let refused = SqlError.encoding(
      expected: "a value that encode(to:) of \(model) accepts", found: "a value that encode(to:) rejects")
    if case .invalidValue(_, let context) = error, let key = context.codingPath.first,
      let column = try? columns.position(of: key.stringValue)
    {
      fail(refused, at: column)
    } else {
      failure = refused.at(table: table.name)
    }
  }

  #if DEBUG
  /// Marks the columns without a value as skipped, so that the debug check accepts them: `encode(to:)` may leave out
  /// properties.
  fileprivate func noteEncoded() {
    for position in table.columns.indices where !values[position].isSet { noteSkipped(position) }
  }
  #endif
}
