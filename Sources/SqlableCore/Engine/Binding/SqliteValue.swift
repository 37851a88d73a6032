import CSqlableSQLite
import FoundationEssentials
import Glibc

/// A reference to a value in SQLite's memory, which SQLite can free or overwrite.
@usableFromInline
package struct SqliteValue {
  @usableFromInline package let pointer: OpaquePointer?

  @inlinable
  package init(_ pointer: OpaquePointer?) { self.pointer = pointer }

  /// SQLite's code for the value's storage class.
  @inlinable
  var typeCode: Int32 { sqlite3_value_type(pointer) }

  @inlinable
  package var isNull: Bool { typeCode == SQLITE_NULL }

  /// The integer; nil if the value has another storage class.
  @inlinable
  package var integer: Int64? { typeCode == SQLITE_INTEGER ? sqlite3_value_int64(pointer) : nil }

  /// The floating-point number; nil if the value has another storage class.
  @inlinable
  package var real: Double? { typeCode == SQLITE_FLOAT ? sqlite3_value_double(pointer) : nil }

  /// A copy of the text; nil if the value has another storage class or is not valid UTF-8.
  package var validText: String? { typeCode == SQLITE3_TEXT ? try? text() : nil }

  /// Returns a copy of the value. Throws if memory runs out, and for invalid UTF-8, which a `String` can't contain.
  func storage() throws -> DatabaseValue {
    switch typeCode {
    case SQLITE_INTEGER: .integer(sqlite3_value_int64(pointer))
    case SQLITE_FLOAT: .real(sqlite3_value_double(pointer))
    case SQLITE3_TEXT: .text(try text())
    case SQLITE_BLOB: .blob(try blob())
    default: .null
    }
  }

  /// A copy of the value, with invalid UTF-8 repaired. An empty text or blob if memory runs out.
  var repaired: DatabaseValue {
    if let storage = try? storage() { return storage }
    return typeCode == SQLITE3_TEXT ? .text((try? String(decoding: textBytes(), as: UTF8.self)) ?? "") : .blob(Data())
  }

  /// Returns the bytes of a text in SQLite's memory. The bytes can be invalid UTF-8.
  @inline(__always)
  func textBytes() throws -> UnsafeBufferPointer<UInt8> {
    // SQLite returns nil if memory runs out, for example while it converts the text of a UTF-16 database.
    guard let start = sqlite3_value_text(pointer) else { throw SqlError.withoutMemory }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(pointer)))
  }

  /// Returns a copy of a text, including NUL bytes.
  @inline(__always)
  func text() throws -> String {
    let bytes = try textBytes()
    // The two paths before `decoded` take 120 instructions fewer than decoding.
    if bytes.isShortASCII {
      return String(unsafeUninitializedCapacity: bytes.count) { target in
        if let target = target.baseAddress, let source = bytes.baseAddress { memcpy(target, source, bytes.count) }
        return bytes.count
      }
    }
    // Read up to the NUL byte with which SQLite ends each text. If the text itself contains a NUL byte, the string is
    // shorter than the text, and `decoded` reads the text.
    if let start = bytes.baseAddress,
      let text = String(validatingCString: UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)),
      text.utf8.count == bytes.count
    {
      return text
    }
    return try decoded(bytes)
  }

  @inline(never)
  private func decoded(_ bytes: UnsafeBufferPointer<UInt8>) throws -> String {
    // Decoding repairs invalid UTF-8, so the decoded bytes differ only if the text is invalid.
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.utf8.elementsEqual(bytes) else {
      throw SqlError.decoding(expected: "TEXT", found: "TEXT that is not valid UTF-8")
    }
    return text
  }

  /// Returns the bytes of a blob in SQLite's memory.
  func blobBytes() throws -> UnsafeRawBufferPointer {
    let (start, count) = (sqlite3_value_blob(pointer), Int(sqlite3_value_bytes(pointer)))
    // The address is nil for an empty blob, and for a zeroblob if memory ran out.
    guard start != nil || count == 0 else { throw SqlError.withoutMemory }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  func blob() throws -> Data {
    let bytes = try blobBytes()
    return bytes.baseAddress.map { Data(bytes: $0, count: bytes.count) } ?? Data()
  }

  /// True if both values have the same storage class and are equal. Texts and blobs are compared by bytes.
  func isSame(as other: SqliteValue) -> Bool {
    let type = typeCode
    guard type == other.typeCode else { return false }
    switch type {
    case SQLITE_NULL: return true
    case SQLITE_INTEGER: return sqlite3_value_int64(pointer) == sqlite3_value_int64(other.pointer)
    case SQLITE_FLOAT: return sqlite3_value_double(pointer) == sqlite3_value_double(other.pointer)
    default:
      let (left, right) = (sqlite3_value_blob(pointer), sqlite3_value_blob(other.pointer))
      let count = sqlite3_value_bytes(pointer)
      guard count == sqlite3_value_bytes(other.pointer) else { return false }
      guard let left, let right else { return count == 0 }
      return memcmp(left, right, Int(count)) == 0
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// True for at most 15 bytes, all of them ASCII. A `String` stores such a text without allocating memory.
  @inline(__always)
  fileprivate var isShortASCII: Bool {
    guard count <= 15 else { return false }
    var bits: UInt64 = 0
    if count >= 8, let start = baseAddress.map({ UnsafeRawPointer($0) }) {
      // The two loads can overlap.
      bits = start.loadUnaligned(as: UInt64.self) | start.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    } else {
      for index in 0..<count { bits |= UInt64(self[index]) }
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
