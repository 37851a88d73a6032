import CSqlableSQLite
import FoundationEssentials

/// One value of the row that a statement stands on.
///
/// It is valid during the call that it is handed to only; read later, its methods throw `.misuse`.
public struct ReadCell {
  @usableFromInline let value: OpaquePointer?
  @usableFromInline let state: UnsafeMutablePointer<RowState>
  @usableFromInline let generation: UInt64
  /// The type of the column that the value is read for.
  public let type: ColumnType

  @inlinable
  init(value: OpaquePointer?, state: UnsafeMutablePointer<RowState>, generation: UInt64, type: ColumnType) {
    self.value = value
    self.state = state
    self.generation = generation
    self.type = type
  }

  // One sqlite3_column_value and then sqlite3_value_* is cheaper than repeated sqlite3_column_*. It is sound because
  // the handle's lock is held and nothing else steps the statement, and because the row's generation is looked at
  // first: the value of an earlier row may be another's, or gone.

  /// SQLite's code for the class of the value; 0, which stands for none, when the row is no longer there.
  @inlinable
  var typeCode: Int32 { state.pointee.isCurrent(generation) ? sqlite3_value_type(value) : 0 }

  /// Whether the value is NULL; false when the row is no longer there.
  @inlinable
  public var isNull: Bool { typeCode == SQLITE_NULL }

  /// The class of the value; NULL when the row is no longer there.
  public var storageClass: StorageClass { StorageClass(rawValue: typeCode) ?? .null }

  /// The integer; throws when the value is of another class.
  @inlinable
  public func integer() throws -> Int64 {
    guard typeCode == SQLITE_INTEGER else { throw mismatch("INTEGER") }
    return sqlite3_value_int64(value)
  }

  /// The number; an integer is taken when a `Double` holds it exactly.
  @inlinable
  public func real() throws -> Double {
    let type = typeCode
    if type == SQLITE_FLOAT { return sqlite3_value_double(value) }
    guard type == SQLITE_INTEGER, let exact = Double(exactly: sqlite3_value_int64(value)) else {
      throw mismatch("REAL")
    }
    return exact
  }

  /// The text, NUL bytes included; throws when it is no valid UTF-8.
  public func text() throws -> String {
    guard typeCode == SQLITE3_TEXT else { throw mismatch("TEXT") }
    return try SqliteValue(value).text()
  }

  /// The bytes of a text as they are stored, valid UTF-8 or not.
  public func textBytes() throws -> [UInt8] {
    guard typeCode == SQLITE3_TEXT else { throw mismatch("TEXT") }
    return try [UInt8](SqliteValue(value).textBytes())
  }

  /// The bytes of a blob.
  public func blob() throws -> Data {
    guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
    return try SqliteValue(value).blob()
  }

  /// The bytes of a blob where SQLite keeps them, valid until the next row.
  var blobBytes: UnsafeRawBufferPointer {
    get throws {
      guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
      return try SqliteValue(value).blobBytes()
    }
  }

  /// The value, whatever its class.
  public func databaseValue() throws -> DatabaseValue {
    guard state.pointee.isCurrent(generation) else { throw mismatch("a value") }
    return try SqliteValue(value).storage()
  }

  @usableFromInline
  func mismatch(_ expected: String) -> any Error {
    guard state.pointee.isCurrent(generation) else {
      return SqlError.misuse("a value was read after its statement had gone on")
    }
    return SqlError.decoding(expected: expected, found: "\(storageClass)")
  }
}
