import SqlableCore

/// The ordered commits that have not been matched with subscribers.
///
/// The committing thread only appends commits to the queue.
struct CommitQueue {
  struct Entry: Sendable {
    /// The position of the commit, counted from 1.
    let position: Int
    /// The commit; nil marks the end after the pool was closed.
    let commit: CommittedChanges?
  }

  /// The default limit of the queue's weight, which is the sum of its commits' weights. A loop with a larger buffer
  /// raises the limit, at most tenfold. A single commit can exceed the limit.
  static let maximumWeight = 100_000

  private var entries: [Entry] = []
  private var weight = 0
  private(set) var position = 0
  var isScheduled = false
  private var isEnded = false

  /// Appends a commit. If the total weight exceeds `limit`, all entries become one unknown commit, to bound the memory.
  mutating func append(_ commit: CommittedChanges?, limit: Int) {
    guard !isEnded else { return }
    position += 1
    isEnded = commit == nil
    let commitWeight = commit?.weight ?? 1
    if !entries.isEmpty, weight + commitWeight > limit {
      entries = [Entry(position: position, commit: CommittedChanges(isUnknown: true))]
      weight = 1
      if commit == nil { entries.append(Entry(position: position, commit: nil)) }
    } else {
      entries.append(Entry(position: position, commit: commit))
      weight += commitWeight
    }
  }

  mutating func takeAll() -> [Entry] {
    defer { (entries, weight) = ([], 0) }
    return entries
  }
}

extension CommittedChanges {
  /// The weight of a commit: 1, plus the number of its rows in memory. Each table adds the number of its row images or
  /// their size in kilobytes, whichever is greater.
  fileprivate var weight: Int {
    tables.values.reduce(1 + rows.count) { $0 + max($1.images?.count ?? 0, $1.bytes / 1_000) }
  }
}
