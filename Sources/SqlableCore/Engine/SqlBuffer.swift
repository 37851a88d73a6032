/// A buffer for the SQL text of a statement, or for the key that finds the statement in the cache.
///
/// The same calls write the text and the key. A key contains the same parts as the text, in a shorter form. A key
/// represents a constant piece of SQL by its address in the program. A key represents a table or column by the address
/// of its declaration. All other parts are written as text. So two statements with the same key have the same text, and
/// a statement that ran before is found without writing its text.
package final class SqlBuffer {

  package init() {}
  private struct State {
    var bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 1024)
    var count = 0
    var capacity = 1024
    var isKey = false
    var hasKey = true
    var qualifiesColumns = false
  }

  @exclusivity(unchecked) private var state = State()

  deinit {
    state.bytes.deallocate()
  }

  var bytes: UnsafePointer<UInt8> { UnsafePointer(state.bytes) }
  var count: Int { state.count }
  var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

  package var text: String { String(decoding: buffer, as: UTF8.self) }

  var isKey: Bool { state.isKey }

  /// True if the statement can be found by its key, because every part of the statement can be written into a key.
  var hasKey: Bool { state.hasKey }

  /// True if every column is written with its table's name, as for a remote SQLite. The remote SQLite might read an
  /// unknown column `"nosuch"` as a string, but rejects `"bicycle"."nosuch"`.
  var qualifiesColumns: Bool {
    get { state.qualifiesColumns }
    set { state.qualifiesColumns = newValue }
  }

  package func begin() {
    state.count = 0
    state.isKey = false
  }

  func begin(key kind: KeyKind) {
    state.count = 0
    state.isKey = true
    state.hasKey = true
    // The first byte of a key is NUL. No text begins with NUL, so a key never equals a text.
    append(word: UInt64(kind.rawValue) << 8)
  }

  /// A kind of key. Keys of different kinds are never equal.
  enum KeyKind: UInt8 {
    case statement = 1
    case row = 2
    case query = 3
  }

  /// Marks the statement as a statement without a cache key. The cache is then searched by the SQL text.
  func refuseKey() { state.hasKey = false }

  func truncate(to count: Int) {
    state.count = count
  }

  // MARK: Texts and keys

  @inline(__always)
  package func append(_ piece: StaticString) {
    if state.isKey { return append(word: UInt64(UInt(bitPattern: piece.utf8Start))) }
    append(piece.utf8Start, count: piece.utf8CodeUnitCount)
  }

  /// Writes a piece of SQL that was built at run time.
  @inline(never)
  package func append(text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  func append(_ text: [UInt8]) { text.withUnsafeBufferPointer { append($0) } }

  @inline(never)
  func append(_ text: UnsafeBufferPointer<UInt8>) {
    // Bit 62 distinguishes this word of the key from an address. The lower bits are the length of the text.
    if state.isKey { append(word: 1 << 62 | UInt64(truncatingIfNeeded: text.count)) }
    if let start = text.baseAddress { append(start, count: text.count) }
  }

  /// Writes the name of a table or column. For a key of the statement cache, writes the declaration's address instead.
  @inline(__always)
  func append(_ name: [UInt8], of declaration: AnyObject) {
    if state.isKey { return append(address: declaration) }
    name.withUnsafeBufferPointer { append($0) }
  }

  // MARK: Keys

  /// Adds an object's address to the cache key. The object must never be deallocated.
  @inline(__always)
  func append(address object: AnyObject) { append(word: UInt64(UInt(bitPattern: ObjectIdentifier(object)))) }

  @inline(__always)
  func append(word: UInt64) {
    let needed = state.count + 8
    if needed > state.capacity { grow(to: needed) }
    UnsafeMutableRawPointer(state.bytes + state.count).storeBytes(of: word, as: UInt64.self)
    state.count = needed
  }

  // Not inlined, like `grow`, because some 400 callers would each contain a copy of this function.
  @inline(never)
  private func append(_ start: UnsafePointer<UInt8>, count added: Int) {
    let needed = state.count + added
    if needed > state.capacity { grow(to: needed) }
    (state.bytes + state.count).update(from: start, count: added)
    state.count = needed
  }

  @inline(never)
  private func grow(to needed: Int) {
    let capacity = max(state.capacity * 2, needed)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: state.bytes, count: state.count)
    state.bytes.deallocate()
    state.bytes = larger
    state.capacity = capacity
  }

  /// A hash that mixes eight bytes at a time. The bytes contain no values, so external input can't force collisions.
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
