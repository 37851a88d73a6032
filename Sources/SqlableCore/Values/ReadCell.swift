import CSqlableSQLite
import FoundationEssentials

/// One value of a statement's current row.
///
/// A cell is valid only during the call that receives the cell. After the statement advances, the cell's methods throw
/// `.misuse`.
public struct ReadCell {
  @usableFromInline let value: OpaquePointer?
  @usableFromInline let state: UnsafeMutablePointer<RowState>
  @usableFromInline let generation: UInt64
  /// The type of the declared column, which determines how the value is read.
  public let type: ColumnType

  @inlinable
  package init(value: OpaquePointer?, state: UnsafeMutablePointer<RowState>, generation: UInt64, type: ColumnType) {
    self.value = value
    self.state = state
    self.generation = generation
    self.type = type
  }

  // One sqlite3_column_value followed by sqlite3_value_* is cheaper than repeated sqlite3_column_*. The handle's lock
  // is held, so no other code steps the statement. The row's generation is checked first, because the value of an
  // earlier row might have been freed or reused.

  /// SQLite's type code of the value; 0, which SQLite does not use, if the row is no longer current.
  @inlinable
  var typeCode: Int32 { state.pointee.isCurrent(generation) ? sqlite3_value_type(value) : 0 }

  /// True if the value is NULL; false if the row is no longer current.
  @inlinable
  public var isNull: Bool { typeCode == SQLITE_NULL }

  /// The storage class of the value; NULL if the row is no longer current.
  public var storageClass: StorageClass { StorageClass(rawValue: typeCode) ?? .null }

  /// Returns the integer. Throws `.decoding` if the value has another storage class.
  @inlinable
  public func integer() throws -> Int64 {
    guard typeCode == SQLITE_INTEGER else { throw mismatch("INTEGER") }
    return sqlite3_value_int64(value)
  }

  /// Returns the number. An INTEGER is converted if a `Double` represents the integer exactly. Throws `.decoding` for
  /// any other value.
  @inlinable
  public func real() throws -> Double {
    let type = typeCode
    if type == SQLITE_FLOAT { return sqlite3_value_double(value) }
    guard type == SQLITE_INTEGER, let exact = Double(exactly: sqlite3_value_int64(value)) else {
      throw mismatch("REAL")
    }
    return exact
  }

  /// Returns the text, including NUL bytes. Throws `.decoding` for another storage class and for invalid UTF-8.
  public func text() throws -> String {
    guard typeCode == SQLITE3_TEXT else { throw mismatch("TEXT") }
    return try SqliteValue(value).text()
  }

  /// Returns the stored bytes of a text, which can be invalid UTF-8.
  public func textBytes() throws -> [UInt8] {
    guard typeCode == SQLITE3_TEXT else { throw mismatch("TEXT") }
    return try [UInt8](SqliteValue(value).textBytes())
  }

  /// The bytes of a text in SQLite's memory, valid until the next row; nil for any other value.
  var borrowedTextBytes: UnsafeRawBufferPointer? {
    guard typeCode == SQLITE3_TEXT else { return nil }
    return (try? SqliteValue(value).textBytes()).map { UnsafeRawBufferPointer($0) }
  }

  /// Returns the bytes of a BLOB.
  public func blob() throws -> Data {
    guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
    return try SqliteValue(value).blob()
  }

  /// The bytes of a BLOB in SQLite's memory, valid until the next row.
  var blobBytes: UnsafeRawBufferPointer {
    get throws {
      guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
      return try SqliteValue(value).blobBytes()
    }
  }

  /// Returns the value, of any storage class.
  public func databaseValue() throws -> DatabaseValue {
    guard state.pointee.isCurrent(generation) else { throw mismatch("a value") }
    return try SqliteValue(value).storage()
  }

  @usableFromInline
  func mismatch(_ expected: String) -> any Error {
    guard state.pointee.isCurrent(generation) else {
      return SqlError.misuse("a value was read after its statement advanced or was reset")
    }
    return SqlError.decoding(expected: expected, found: "\(storageClass)")
  }
}
