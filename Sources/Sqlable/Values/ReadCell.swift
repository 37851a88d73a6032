import CSQLite
import FoundationEssentials
import Glibc

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
    // A text of a UTF-16 database is converted first, which takes memory.
    guard let start = sqlite3_value_text(value) else { throw SqlError.withoutMemory }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    // Decoding repairs what is invalid; only then do the bytes differ. That is half the time of String(validating:as:),
    // whose generic code looks up metadata for every call.
    let text = String(decoding: bytes, as: UTF8.self)
    let isSame = text.utf8.withContiguousStorageIfAvailable { own in
      guard own.count == bytes.count else { return false }
      guard let first = own.baseAddress, let second = bytes.baseAddress else { return true }
      return memcmp(first, second, own.count) == 0
    }
    guard isSame == true else {
      throw SqlError.decoding(expected: "TEXT", found: "TEXT that is no valid UTF-8")
    }
    return text
  }

  /// The bytes of a text as they are stored, valid UTF-8 or not.
  public func textBytes() throws -> [UInt8] {
    guard typeCode == SQLITE3_TEXT else { throw mismatch("TEXT") }
    guard let start = sqlite3_value_text(value) else { throw SqlError.withoutMemory }
    return [UInt8](UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
  }

  /// The bytes of a blob.
  @inlinable
  public func blob() throws -> Data {
    guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
    guard let start = sqlite3_value_blob(value) else {
      // An empty blob has no address, and neither has one of zeros that there was no memory for.
      guard sqlite3_value_bytes(value) == 0 else { throw SqlError.withoutMemory }
      return Data()
    }
    return Data(bytes: start, count: Int(sqlite3_value_bytes(value)))
  }

  /// The bytes of a blob where SQLite keeps them, valid until the next row.
  var blobBytes: UnsafeRawBufferPointer {
    get throws {
      guard typeCode == SQLITE_BLOB else { throw mismatch("BLOB") }
      let start = sqlite3_value_blob(value)
      return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
    }
  }

  /// The value, whatever its class.
  public func storage() throws -> SqlStorage {
    switch typeCode {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: .real(sqlite3_value_double(value))
    case SQLITE3_TEXT: .text(try text())
    default: .blob(try blob())
    }
  }

  @usableFromInline
  func mismatch(_ expected: String) -> any Error {
    guard state.pointee.isCurrent(generation) else {
      return SqlError.misuse("a value was read after its statement had gone on")
    }
    return SqlError.decoding(expected: expected, found: "\(storageClass)")
  }
}
