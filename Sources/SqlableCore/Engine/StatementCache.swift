import Glibc

/// A cache of one connection's compiled statements, keyed by SQL text or a shorter key. The least recently used
/// statements are evicted first.
///
/// The capacity limits the memory of the statements and their keys. A SELECT by primary key takes two kilobytes, and a
/// report with ten joins takes a hundred kilobytes. A statement in use is marked `isInUse`, and is not evicted. If the
/// same text runs while the statement is in use, a second copy is compiled and not cached.
package final class StatementCache {
  private final class Entry {
    let key: [UInt8]
    let statement: PreparedStatement
    /// The statement's memory, in bytes.
    let size: Int

    init(key: [UInt8], statement: PreparedStatement, size: Int) {
      self.key = key
      self.statement = statement
      self.size = size
    }

    func matches(_ buffer: SqlBuffer) -> Bool {
      key.count == buffer.count
        && key.withUnsafeBufferPointer { key in
          key.baseAddress.map { memcmp($0, buffer.bytes, key.count) == 0 } ?? true
        }
    }
  }

  /// The hash of a key. Dictionaries use the hash as it is, without a random seed: a key contains no values, so
  /// external input can't force collisions.
  private struct KeyHash: Hashable {
    let value: UInt64

    func _rawHashValue(seed: Int) -> Int { Int(truncatingIfNeeded: value) }
  }

  private struct State {
    var entries: [KeyHash: Entry] = [:]
    /// The statements that lookups with short keys have found: for each slot, the statement of the last such lookup.
    /// All of them are in `entries`, too.
    let recent = UnsafeMutableBufferPointer<Recent>.allocate(capacity: 1 << ShortKey.slotBits)
    var size = 0
    var uses = 0
    var hits = 0
    var misses = 0
    var evictions = 0
  }

  private struct Recent {
    let key: ShortKey
    let statement: Unmanaged<PreparedStatement>?

    static var none: Recent { Recent(key: .none, statement: nil) }
  }

  /// The memory limit for all statements together, in bytes.
  let capacity: Int
  @exclusivity(unchecked) private var state = State()
  /// The memory of the objects around a statement and its key, in bytes.
  private static let overhead = 384

  init(capacity: Int) {
    self.capacity = capacity
    forgetRecent()
  }

  deinit { state.recent.deallocate() }

  var count: Int { state.entries.count }
  /// The memory of all statements, in bytes, measured when the statements were compiled.
  var size: Int { state.size }
  var hits: Int { state.hits }
  var misses: Int { state.misses }
  var evictions: Int { state.evictions }

  /// Returns the statement with this key, marked as in use; nil if the statement is not cached or is already in use.
  func take(_ key: SqlBuffer, hash: UInt64) -> PreparedStatement? {
    guard let entry = state.entries[KeyHash(value: hash)], !entry.statement.isInUse, entry.matches(key) else {
      state.misses += 1
      return nil
    }
    noteUse(of: entry.statement)
    // The caller can bind a limit other than 1.
    entry.statement.holdsLimitOfOne = false
    return entry.statement
  }

  /// Returns the statement that the last lookup with this key found, marked as in use. Nil if there is no such
  /// statement, or if the statement is already in use.
  @inline(__always)
  func takeRecent(_ key: ShortKey) -> PreparedStatement? {
    let recent = state.recent[key.slot]
    guard recent.key == key, let statement = recent.statement?.takeUnretainedValue(), !statement.isInUse else {
      return nil
    }
    noteUse(of: statement)
    return statement
  }

  private func noteUse(of statement: PreparedStatement) {
    state.uses += 1
    statement.latestUse = state.uses
    state.hits += 1
    statement.isInUse = true
  }

  /// If a statement is in the cache, makes the statement available to `takeRecent(_:)`.
  func noteRecent(_ statement: PreparedStatement, _ key: ShortKey) {
    guard statement.isCached else { return }
    forgetRecent(statement)
    statement.recentSlot = key.slot
    state.recent[key.slot] = Recent(key: key, statement: .passUnretained(statement))
  }

  private func forgetRecent(_ statement: PreparedStatement) {
    guard let slot = statement.recentSlot else { return }
    // Leave the slot unchanged if another statement with another key has taken it.
    if let other = state.recent[slot].statement, other.toOpaque() == Unmanaged.passUnretained(statement).toOpaque() {
      state.recent[slot] = .none
    }
    statement.recentSlot = nil
  }

  private func forgetRecent() { state.recent.initialize(repeating: .none) }

  /// Caches a statement, and replaces an unused statement with the same hash. Does nothing if statements in use leave
  /// no room, or if a statement in use has the same hash.
  func insert(_ statement: PreparedStatement, key: [UInt8], hash: UInt64) {
    guard capacity > 0 else { return }
    let hash = KeyHash(value: hash)
    if let entry = state.entries[hash] {
      // Don't replace a statement in use: an outer call runs the same text, or another text with the same hash.
      guard !entry.statement.isInUse else { return }
      evict(hash)
    }
    let size = statement.memoryUsed + key.count + StatementCache.overhead
    guard size <= capacity else { return }
    makeRoom(for: size)
    guard self.size <= capacity - size else { return }
    state.uses += 1
    statement.latestUse = state.uses
    statement.isCached = true
    state.entries[hash] = Entry(key: key, statement: statement, size: size)
    state.size += size
  }

  /// Removes every statement. A statement in use is finalized when its run ends.
  func removeAll() {
    for entry in state.entries.values { entry.statement.isCached = false }
    forgetRecent()
    (state.entries, state.size) = ([:], 0)
  }

  private func evict(_ hash: KeyHash) {
    state.evictions += 1
    guard let entry = state.entries.removeValue(forKey: hash) else { return }
    state.size -= entry.size
    entry.statement.isCached = false
    forgetRecent(entry.statement)
  }

  /// Evicts the least recently used statements. Frees an eighth of the capacity, because each search scans all entries.
  private func makeRoom(for size: Int) {
    guard self.size > capacity - size else { return }
    let room = max(size, count > 64 ? capacity / 8 : 0)
    let idle = state.entries.lazy.filter { !$0.value.statement.isInUse }
      .sorted { $0.value.statement.latestUse < $1.value.statement.latestUse }
    for (hash, _) in idle where self.size > capacity - room { evict(hash) }
  }
}
