import Glibc

/// The compiled statements of one connection, by their text or a shorter key, the least recently used one leaving
/// first.
///
/// It is bounded by what SQLite says that they take in memory: a look-up by key takes two kilobytes, a report with ten
/// joins a hundred. A statement that is being read stays in here, marked as in use, and does not leave; the same text
/// run meanwhile is compiled a second time, and that copy is not kept.
final class StatementCache {
  fileprivate final class Entry {
    let hash: UInt64
    let key: [UInt8]
    let statement: PreparedStatement
    /// What it takes, in bytes.
    let size: Int
    @exclusivity(unchecked) var links = Links()

    struct Links {
      /// The next one in the same bucket, which it owns.
      var chained: Entry?
      // By the time of their latest use; these own nothing.
      unowned(unsafe) var newer: Entry?
      unowned(unsafe) var older: Entry?
    }

    init(hash: UInt64, key: [UInt8], statement: PreparedStatement, size: Int) {
      self.hash = hash
      self.key = key
      self.statement = statement
      self.size = size
    }

  }

  private struct State {
    var count = 0
    var size = 0
    var hits = 0
    var misses = 0
    var evictions = 0
    unowned(unsafe) var newest: Entry?
    unowned(unsafe) var oldest: Entry?
  }

  /// How many bytes the statements may take together.
  let capacity: Int
  @exclusivity(unchecked) private var state = State()
  /// A power of two of them, about as many as usual statements fit in, up to a limit.
  private let buckets: UnsafeMutableBufferPointer<Entry?>
  private static let maximumBuckets = 1 << 12
  /// What most statements take, at least.
  private static let usualSize = 4 << 10
  /// What the objects around a statement and its key take.
  private static let overhead = 384

  init(capacity: Int) {
    self.capacity = capacity
    var count = 1
    while count < min(capacity / StatementCache.usualSize, StatementCache.maximumBuckets) { count *= 2 }
    buckets = .allocate(capacity: count)
    buckets.initialize(repeating: nil)
  }

  deinit {
    removeAll()
    buckets.deinitialize()
    buckets.deallocate()
  }

  var count: Int { state.count }
  /// How many bytes the statements took when they were compiled.
  var size: Int { state.size }
  var hits: Int { state.hits }
  var misses: Int { state.misses }
  /// How many statements left to make room.
  var evictions: Int { state.evictions }

  /// The statement with that text, if it is compiled and nobody uses it.
  func take(_ key: SqlBuffer, hash: UInt64) -> PreparedStatement? {
    guard
      let statement = entry(hash)?._withUnsafeGuaranteedRef({ entry -> PreparedStatement? in
        guard !entry.statement.isInUse, entry.matches(key) else { return nil }
        if entry !== state.newest {
          unlink(entry)
          link(entry)
        }
        return entry.statement
      })
    else {
      state.misses += 1
      return nil
    }
    state.hits += 1
    statement.isInUse = true
    return statement
  }

  /// Keeps a statement that was just compiled, unless it alone takes more than there is. The one with the same hash, if
  /// any, makes room.
  func insert(_ statement: PreparedStatement, key: [UInt8], hash: UInt64) {
    guard capacity > 0 else { return }
    if let entry = entry(hash)?.takeUnretainedValue() {
      // In use: the other text, or the same one further up the call stack, keeps its place.
      guard !entry.statement.isInUse else { return }
      evict(entry)
    }
    let size = statement.memoryUsed + key.count + StatementCache.overhead
    guard size <= capacity else { return }
    while self.size > capacity - size, let entry = evictable() { evict(entry) }
    guard self.size <= capacity - size else { return }
    let entry = Entry(hash: hash, key: key, statement: statement, size: size)
    let bucket = bucket(of: hash)
    entry.links.chained = buckets[bucket]
    buckets[bucket] = entry
    state.count += 1
    state.size += size
    link(entry)
  }

  /// Drops every statement, from the cache if not from whoever uses it.
  func removeAll() {
    for bucket in buckets.indices {
      // One by one: a chain of many owners would be released recursively.
      while let entry = buckets[bucket] {
        buckets[bucket] = entry.links.chained
        entry.links.chained = nil
      }
    }
    state.count = 0
    state.size = 0
    state.newest = nil
    state.oldest = nil
  }

  private func bucket(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (buckets.count - 1) }

  private func entry(_ hash: UInt64) -> Unmanaged<Entry>? {
    // Unmanaged: nothing goes while it is looked for, and a reference counted for each step would cost more than the
    // steps.
    var entry = buckets[bucket(of: hash)].map { Unmanaged.passUnretained($0) }
    while let current = entry, current._withUnsafeGuaranteedRef({ $0.hash != hash }) {
      entry = current._withUnsafeGuaranteedRef { $0.links.chained.map { Unmanaged.passUnretained($0) } }
    }
    return entry
  }

  private func evict(_ entry: Entry) {
    remove(entry)
    state.evictions += 1
  }

  private func remove(_ entry: Entry) {
    unlink(entry)
    let bucket = bucket(of: entry.hash)
    if buckets[bucket] === entry {
      buckets[bucket] = entry.links.chained
    } else {
      var before = buckets[bucket]
      while let current = before, current.links.chained !== entry { before = current.links.chained }
      before?.links.chained = entry.links.chained
    }
    entry.links.chained = nil
    state.count -= 1
    state.size -= entry.size
  }

  private func evictable() -> Entry? {
    var entry = state.oldest
    while let current = entry, current.statement.isInUse { entry = current.links.newer }
    return entry
  }

  // MARK: The order of use

  private func link(_ entry: Entry) {
    entry.links.newer = nil
    entry.links.older = state.newest
    state.newest?.links.newer = entry
    state.newest = entry
    if state.oldest == nil { state.oldest = entry }
  }

  private func unlink(_ entry: Entry) {
    let (newer, older) = (entry.links.newer, entry.links.older)
    if let newer { newer.links.older = older } else { state.newest = older }
    if let older { older.links.newer = newer } else { state.oldest = newer }
  }
}

extension StatementCache.Entry {
  fileprivate func matches(_ buffer: SqlBuffer) -> Bool {
    key.count == buffer.count
      && key.withUnsafeBufferPointer { key in
        key.baseAddress.map { memcmp($0, buffer.bytes, key.count) == 0 } ?? true
      }
  }
}
