import Glibc

/// The compiled statements of one connection, by their text or a shorter key, the least recently used one leaving first.
///
/// A statement that is being read is not in here: the same text run meanwhile is compiled a second time, and whichever
/// comes back second is dropped.
final class StatementCache {
  fileprivate final class Entry {
    let hash: UInt64
    let key: [UInt8]
    var statement: PreparedStatement
    var next: Entry?
    // The list owns its entries through `next`; going backwards owns nothing.
    unowned(unsafe) var previous: Entry?

    init(hash: UInt64, key: [UInt8], statement: PreparedStatement) {
      self.hash = hash
      self.key = key
      self.statement = statement
    }
  }

  let capacity: Int
  private var entries: [UInt64: Entry] = [:]
  private var newest: Entry?
  private unowned(unsafe) var oldest: Entry?
  private(set) var hits = 0
  private(set) var misses = 0

  init(capacity: Int) {
    self.capacity = capacity
  }

  deinit { removeAll() }

  var count: Int { entries.count }

  /// The statement with that text, if it is compiled and nobody uses it.
  func take(_ key: SqlBuffer, hash: UInt64) -> PreparedStatement? {
    guard let entry = entries[hash], !entry.statement.isInUse, entry.matches(key) else {
      misses += 1
      return nil
    }
    hits += 1
    if entry !== newest {
      unlink(entry)
      link(entry)
    }
    entry.statement.isInUse = true
    return entry.statement
  }

  /// Keeps a statement that was just compiled. The one with the same hash, if any, makes room.
  func insert(_ statement: PreparedStatement, key: [UInt8], hash: UInt64) {
    guard capacity > 0 else { return }
    if let entry = entries[hash] {
      // In use: the other text, or the same one further up the call stack, keeps its place.
      guard !entry.statement.isInUse else { return }
      unlink(entry)
      entries[hash] = nil
    }
    while entries.count >= capacity, let entry = evictable() {
      unlink(entry)
      entries[entry.hash] = nil
    }
    guard entries.count < capacity else { return }
    let entry = Entry(hash: hash, key: key, statement: statement)
    entries[hash] = entry
    link(entry)
  }

  /// Drops every statement that nobody uses.
  func removeAll() {
    // One by one: a chain of a thousand owners would be released recursively.
    var entry = newest
    newest = nil
    oldest = nil
    entries.removeAll()
    while let current = entry {
      entry = current.next
      current.next = nil
    }
  }

  private func evictable() -> Entry? {
    var entry = oldest
    while let current = entry, current.statement.isInUse { entry = current.previous }
    return entry
  }

  private func link(_ entry: Entry) {
    entry.previous = nil
    entry.next = newest
    newest?.previous = entry
    newest = entry
    if oldest == nil { oldest = entry }
  }

  private func unlink(_ entry: Entry) {
    let next = entry.next
    if let previous = entry.previous { previous.next = next } else { newest = next }
    if let next { next.previous = entry.previous } else { oldest = entry.previous }
    entry.next = nil
    entry.previous = nil
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
