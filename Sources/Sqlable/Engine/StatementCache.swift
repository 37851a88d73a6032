import Glibc

/// The compiled statements of one connection, by their text or a shorter key, the least recently used one leaving
/// first.
///
/// It is bounded by what SQLite says that they take in memory: a look-up by key takes two kilobytes, a report with ten
/// joins a hundred. A statement that is being read stays in here, marked as in use, and does not leave; the same text
/// run meanwhile is compiled a second time, and that copy is not kept.
final class StatementCache {
  private final class Entry {
    let key: [UInt8]
    let statement: PreparedStatement
    /// What it takes, in bytes.
    let size: Int
    /// Which use of the cache was its latest.
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

  /// How many bytes the statements may take together.
  let capacity: Int
  @exclusivity(unchecked) private var state = State()
  /// What the objects around a statement and its key take.
  private static let overhead = 384

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { state.entries.count }
  /// How many bytes the statements took when they were compiled.
  var size: Int { state.size }
  var hits: Int { state.hits }
  var misses: Int { state.misses }
  /// How many statements left to make room.
  var evictions: Int { state.evictions }

  /// The statement with that text, if it is compiled and nobody uses it.
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

  /// Keeps a statement that was just compiled, unless it alone takes more than there is. The one with the same hash, if
  /// any, makes room.
  func insert(_ statement: PreparedStatement, key: [UInt8], hash: UInt64) {
    guard capacity > 0 else { return }
    if let entry = state.entries[hash] {
      // In use: the other text, or the same one further up the call stack, keeps its place.
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

  /// Drops every statement, from the cache if not from whoever uses it.
  func removeAll() { (state.entries, state.size) = ([:], 0) }

  private func evict(_ hash: UInt64) {
    state.size -= state.entries.removeValue(forKey: hash)?.size ?? 0
    state.evictions += 1
  }

  /// Has those leave that were used longest ago: of many an eighth at once, since all are looked at to find them.
  private func makeRoom(for size: Int) {
    guard self.size > capacity - size else { return }
    let room = max(size, count > 64 ? capacity / 8 : 0)
    let idle = state.entries.lazy.filter { !$0.value.statement.isInUse }
      .sorted { $0.value.latestUse < $1.value.latestUse }
    for (hash, _) in idle where self.size > capacity - room { evict(hash) }
  }
}
