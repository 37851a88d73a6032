import FoundationEssentials
import SqlableCore

final class NamedColumns {
  private let names: [String?]
  private let types: [ColumnType?]
  /// The positions of the columns, keyed by name; `severalNamed` if several columns have the name.
  private var positions: [ByteComparedName: Int] = [:]

  private static let severalNamed = -1

  init(_ names: [String?], types: [ColumnType?] = []) {
    (self.names, self.types) = (names, types)
    for (position, name) in names.enumerated() where name != nil {
      let key = ByteComparedName(wrappedValue: name)
      positions[key] = positions[key] == nil ? position : NamedColumns.severalNamed
    }
  }

  /// Returns the position of the column with the key's name. If there is no such column, returns the position of the
  /// column with the name in snake_case.
  fileprivate func lookup(_ key: String) -> Int? {
    positions[ByteComparedName(wrappedValue: key)] ?? positions[ByteComparedName(wrappedValue: snakeCase(key))]
  }

  fileprivate func position(of key: any CodingKey) throws -> Int {
    let name = key.stringValue
    guard let position = lookup(name) else {
      let snake = snakeCase(name)
      let tried = name == snake ? name : "\(name) or \(snake)"
      var message = "the result has no column \(tried)"
      if names.contains(nil) { message += "; to read computed terms by name, name all columns of the query" }
      throw SqlError(.schema(.missingColumn(name)), message: message, column: name)
    }
    guard position != NamedColumns.severalNamed else {
      throw SqlError.severalColumns(named: name)
    }
    return position
  }

  fileprivate var keys: [String] { names.compactMap(\.self) }
  fileprivate var count: Int { names.count }

  fileprivate func cell(of row: ReadRow, at position: Int, key: (any CodingKey)?) -> CodedCell {
    CodedCell(row: row, position: position, type: position < types.count ? types[position] : nil, key: key)
  }
}

/// A decoder of values from a result's columns by name. A single value needs exactly one column.
struct NamedRowDecoder: Decoder {
  let row: ReadRow
  let columns: NamedColumns
  let type: Any.Type

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(NamedKeys(row: row, columns: columns, type: self.type))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw row.labelled(.misuse("\(type) decodes an unkeyed container; a row needs a keyed container"))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard columns.count == 1 else {
      throw row.labelled(
        .misuse("\(type) decodes a single-value container, but the result has \(columns.count) columns"))
    }
    return columns.cell(of: row, at: 0, key: nil).container(of: type)
  }
}

extension ReadRow {
  /// Decodes a value from the result's columns. Replaces an error of `init(from:)`, which can contain the value.
  func decode<Value: Decodable>(_ type: Value.Type, from columns: NamedColumns) throws -> Value {
    do {
      return try Value(from: NamedRowDecoder(row: self, columns: columns, type: type))
    } catch let error as DecodingError {
      let refused = SqlError.decoding(expected: "\(type)", found: "a value that init(from:) refuses")
      guard let key = error.path.first, let position = try? columns.position(of: key) else { throw labelled(refused) }
      throw located(refused, column: nil, position: position)
    } catch is StructuredValue {
      throw labelled(.misuse("\(type) decodes a single-value container, and then a keyed or unkeyed container"))
    }
  }
}

private struct NamedKeys<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: ReadRow
  let columns: NamedColumns
  let type: Any.Type

  var codingPath: [any CodingKey] { [] }

  var allKeys: [Key] {
    columns.keys.compactMap { name in
      [name, camelCase(name)].lazy.compactMap(Key.init(stringValue:)).first
    }
  }

  func contains(_ key: Key) -> Bool { columns.lookup(key.stringValue) != nil }

  private func cell(_ key: Key) throws -> CodedCell {
    do {
      try row.checkCurrent()
      return columns.cell(of: row, at: try columns.position(of: key), key: key)
    } catch let error as SqlError {
      throw row.labelled(error)
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool { try cell(key).isNull }

  func decode<Value: SqlValue & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try cell(key).stored()
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try cell(key).value(as: type)
  }

  // MARK: Unsupported containers

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw nested(key) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw nested(key) }

  private func nested(_ key: Key) -> any Error {
    row.labelled(
      .misuse("\(type) decodes a nested container at \(key.stringValue); use a property of a Codable type"))
  }

  func superDecoder() throws -> any Decoder { throw superclass }

  func superDecoder(forKey key: Key) throws -> any Decoder { throw superclass }

  private var superclass: any Error {
    row.labelled(
      .misuse("\(type) calls superDecoder(), which a row does not have; use super.init(from:)"))
  }
}
