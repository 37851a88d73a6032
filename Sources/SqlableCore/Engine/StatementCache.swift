import Glibc

/// The compiled statements of one connection, by SQL text or a shorter key; the least recently used are evicted first.
///
/// The limit is on the memory that SQLite reports for the statements. A lookup by key takes two kilobytes, a report
/// with ten joins a hundred. A statement in use stays in the cache, marked `isInUse`, and is not evicted. Running the
/// same text meanwhile compiles a second copy, which is not cached.
package final class StatementCache {
  private final class Entry {
    let key: [UInt8]
    let statement: PreparedStatement
    /// The statement's memory, in bytes.
    let size: Int
    /// The value of `State.uses` at its latest use.
    @exclusivity(unchecked) var latestUse: Int

    init(key: [UInt8], statement: PreparedStatement, size: Int, latestUse: Int) {
      self.key = key
      self.statement = statement
      self.size = size
      self.latestUse = latestUse
    }

    func matches(_ buffer: SqlBuffer) -> Bool {
      key.count == buffer.count
        && key.withUnsafeBufferPointer { key in
          key.baseAddress.map { memcmp($0, buffer.bytes, key.count) == 0 } ?? true
        }
    }
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var size = 0
    var uses = 0
    var hits = 0
    var misses = 0
    var evictions = 0
  }

  /// The memory limit for all statements together, in bytes.
  let capacity: Int
  @exclusivity(unchecked) private var state = State()
  /// The memory of the objects around a statement and its key, in bytes.
  private static let overhead = 384

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { state.entries.count }
  /// The memory of all statements, in bytes, as of their compilation.
  var size: Int { state.size }
  var hits: Int { state.hits }
  var misses: Int { state.misses }
  /// The number of evicted statements.
  var evictions: Int { state.evictions }

  /// The statement with this key, marked as in use; nil if it is not cached or already in use.
  func take(_ key: SqlBuffer, hash: UInt64) -> PreparedStatement? {
    guard let entry = state.entries[hash], !entry.statement.isInUse, entry.matches(key) else {
      state.misses += 1
      return nil
    }
    state.uses += 1
    entry.latestUse = state.uses
    state.hits += 1
    entry.statement.isInUse = true
    return entry.statement
  }

  /// Caches a newly compiled statement, unless the statement alone exceeds the capacity. A statement with the same hash
  /// is replaced, unless it is in use.
  func insert(_ statement: PreparedStatement, key: [UInt8], hash: UInt64) {
    guard capacity > 0 else { return }
    if let entry = state.entries[hash] {
      // A statement in use keeps its entry: it has the same text, further up the call stack, or another text with this
      // hash.
      guard !entry.statement.isInUse else { return }
      evict(hash)
    }
    let size = statement.memoryUsed + key.count + StatementCache.overhead
    guard size <= capacity else { return }
    makeRoom(for: size)
    guard self.size <= capacity - size else { return }
    state.uses += 1
    state.entries[hash] = Entry(key: key, statement: statement, size: size, latestUse: state.uses)
    state.size += size
  }

  /// Removes every statement; a statement in use lives until its run ends.
  func removeAll() { (state.entries, state.size) = ([:], 0) }

  private func evict(_ hash: UInt64) {
    state.size -= state.entries.removeValue(forKey: hash)?.size ?? 0
    state.evictions += 1
  }

  /// Evicts the least recently used statements. A large cache evicts an eighth of its capacity at once, because finding
  /// them scans all entries.
  private func makeRoom(for size: Int) {
    guard self.size > capacity - size else { return }
    let room = max(size, count > 64 ? capacity / 8 : 0)
    let idle = state.entries.lazy.filter { !$0.value.statement.isInUse }
      .sorted { $0.value.latestUse < $1.value.latestUse }
    for (hash, _) in idle where self.size > capacity - room { evict(hash) }
  }
}
