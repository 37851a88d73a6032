/// The bytes of a statement while it is written, reused from one statement to the next.
///
/// The finished bytes are also the key of the statement cache, so a statement that ran before costs no `String`.
final class SqlBuffer {
  private struct State {
    var bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 1024)
    var count = 0
    var capacity = 1024
  }

  private let state = Unchecked(State())

  deinit {
    state.value.bytes.deallocate()
    state.free()
  }

  var bytes: UnsafePointer<UInt8> { UnsafePointer(state.value.bytes) }
  var count: Int { state.value.count }
  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

  /// The text written so far.
  var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Drops everything after the first `count` bytes.
  func truncate(to count: Int = 0) {
    state.value.count = count
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
    if state.value.count == state.value.capacity { grow(to: state.value.count + 1) }
    state.value.bytes[state.value.count] = byte
    state.value.count += 1
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
    let needed = state.value.count + added
    if needed > state.value.capacity { grow(to: needed) }
    (state.value.bytes + state.value.count).update(from: start, count: added)
    state.value.count = needed
  }

  private func grow(to needed: Int) {
    let capacity = max(state.value.capacity * 2, needed)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: state.value.bytes, count: state.value.count)
    state.value.bytes.deallocate()
    state.value.bytes = larger
    state.value.capacity = capacity
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
