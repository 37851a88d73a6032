import SqlableCore

/// Commits that are not matched with subscribers yet, in order.
///
/// The committing thread only appends to it.
struct CommitQueue {
  struct Entry: Sendable {
    /// Counted from 1.
    let position: Int
    /// Nil for the end: the pool is closed.
    let commit: CommittedChanges?
  }

  /// The maximum number of waiting rows, unless a single commit has more.
  static let maximumWeight = 100_000

  private var entries: [Entry] = []
  private var weight = 0
  /// The position of the last entry.
  private(set) var position = 0
  /// True if matching is scheduled.
  var isScheduled = false
  private var isEnded = false

  /// Appends a commit. If more would wait than `limit` allows, all entries become one commit that may have changed
  /// anything: memory stays bounded however slow matching is.
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
  /// One, plus the rows it keeps in memory; for images, their number or their size in thousands of bytes if greater.
  fileprivate var weight: Int {
    tables.values.reduce(1 + rows.count) { $0 + max($1.images?.count ?? 0, $1.bytes / 1_000) }
  }
}
