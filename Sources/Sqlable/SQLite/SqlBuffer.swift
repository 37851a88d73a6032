/// The bytes of a statement while it is written, reused from one statement to the next.
///
/// The finished bytes are also the key of the statement cache, so a statement that ran before costs no `String`.
final class SqlBuffer {
  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  private var capacity = 1024

  init() {
    bytes = .allocate(capacity: capacity)
  }

  deinit {
    bytes.deallocate()
  }

  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

  /// The text written so far.
  var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Drops everything after the first `count` bytes.
  func truncate(to count: Int = 0) {
    self.count = count
  }

  func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  func append(_ text: [UInt8]) {
    text.withUnsafeBufferPointer { text in
      if let start = text.baseAddress { append(start, count: text.count) }
    }
  }

  func append(_ text: String) {
    var text = text
    text.withUTF8 { text in
      if let start = text.baseAddress { append(start, count: text.count) }
    }
  }

  /// Writes an identifier in double quotes, with the quotes inside it doubled.
  func appendIdentifier(_ name: String) {
    append(SqlBuffer.quoted(name))
  }

  /// An identifier in double quotes, with the quotes inside it doubled.
  static func quoted(_ name: String) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    var bytes: [UInt8] = [quote]
    for byte in name.utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
    return bytes
  }

  private func append(_ start: UnsafePointer<UInt8>, count added: Int) {
    if count + added > capacity { grow(to: count + added) }
    (bytes + count).update(from: start, count: added)
    count += added
  }

  private func grow(to needed: Int) {
    capacity = max(capacity * 2, needed)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: bytes, count: count)
    bytes.deallocate()
    bytes = larger
  }

  /// A hash of the bytes, eight at a time: identifiers only, never values, so nobody outside can aim at collisions.
  var hash: UInt64 {
    var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: count)
    let raw = UnsafeRawPointer(bytes)
    var offset = 0
    while offset + 8 <= count {
      hash = SqlBuffer.mix(hash ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < count {
      tail = tail << 8 | UInt64(bytes[offset])
      offset += 1
    }
    return SqlBuffer.mix(hash ^ tail)
  }

  private static func mix(_ word: UInt64) -> UInt64 {
    let product = word.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
  }
}
