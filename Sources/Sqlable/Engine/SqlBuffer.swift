/// The bytes of a statement while it is written, reused from one statement to the next.
///
/// The finished bytes are also the key of the statement cache, so a statement that ran before costs no `String`.
final class SqlBuffer {
  private struct State {
    var bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 1024)
    var count = 0
    var capacity = 1024
  }

  @exclusivity(unchecked) private var state = State()

  deinit {
    state.bytes.deallocate()
  }

  var bytes: UnsafePointer<UInt8> { UnsafePointer(state.bytes) }
  var count: Int { state.count }
  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

  /// The text written so far.
  var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Drops everything after the first `count` bytes.
  func truncate(to count: Int = 0) {
    state.count = count
  }

  func append(_ text: StaticString) {
    append(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  func append(_ text: [UInt8]) { text.withUnsafeBufferPointer { append($0) } }

  func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  func append(_ text: UnsafeBufferPointer<UInt8>) {
    if let start = text.baseAddress { append(start, count: text.count) }
  }

  /// Writes a byte: for keys, which are no text.
  @inline(__always)
  func append(byte: UInt8) {
    if state.count == state.capacity { grow(to: state.count + 1) }
    state.bytes[state.count] = byte
    state.count += 1
  }

  /// Writes one of an enum's cases, which without payloads are a byte: for keys.
  @inline(__always)
  func append<Enum>(choice: Enum) { append(byte: unsafeBitCast(choice, to: UInt8.self)) }

  /// Writes a small number in one byte, a larger one in nine: for keys.
  @inline(__always)
  func append(count: Int) {
    guard count < 255 else {
      append(byte: 255)
      return append(bits: UInt64(count))
    }
    append(byte: UInt8(truncatingIfNeeded: count))
  }

  /// Writes the bits of a number: for keys.
  func append(bits: UInt64) {
    withUnsafeBytes(of: bits) { bytes in
      if let start = bytes.bindMemory(to: UInt8.self).baseAddress { append(start, count: bytes.count) }
    }
  }

  private func append(_ start: UnsafePointer<UInt8>, count added: Int) {
    let needed = state.count + added
    if needed > state.capacity { grow(to: needed) }
    (state.bytes + state.count).update(from: start, count: added)
    state.count = needed
  }

  private func grow(to needed: Int) {
    let capacity = max(state.capacity * 2, needed)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: state.bytes, count: state.count)
    state.bytes.deallocate()
    state.bytes = larger
    state.capacity = capacity
  }

  /// A hash of the bytes, eight at a time: identifiers only, never values, so nobody outside can aim at collisions.
  var hash: UInt64 {
    let (bytes, count) = (bytes, count)
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
