/// Commits that were acknowledged and are not matched with subscribers yet, in their order.
///
/// Appending is all that the committing thread does for them.
struct CommitLog {
  struct Entry: Sendable {
    /// Its number, from 1.
    let position: Int
    /// Nil for the end: the pool is closed.
    let commit: CommittedChanges?
  }

  /// How many rows wait at most, or those of one commit where these are more.
  static let maximumWeight = 100_000

  private var entries: [Entry] = []
  private var weight = 0
  /// The number of the last entry.
  private(set) var position = 0
  /// Whether somebody is on the way to match what is here.
  var isScheduled = false
  private var isEnded = false

  /// Appends a commit. When more wait than `limit` allows, they become one commit that may have changed anything:
  /// memory stays bounded however slow the matching is.
  mutating func append(_ commit: CommittedChanges?, limit: Int) {
    guard !isEnded else { return }
    position += 1
    isEnded = commit == nil
    let own = commit?.weight ?? 1
    if !entries.isEmpty, weight + own > limit {
      entries = [Entry(position: position, commit: CommittedChanges(isUnknown: true))]
      weight = 1
      if commit == nil { entries.append(Entry(position: position, commit: nil)) }
    } else {
      entries.append(Entry(position: position, commit: commit))
      weight += own
    }
  }

  mutating func takeAll() -> [Entry] {
    defer { (entries, weight) = ([], 0) }
    return entries
  }
}

extension CommittedChanges {
  /// How many rows it keeps in memory, or thousands of bytes of theirs, and one for itself.
  fileprivate var weight: Int {
    tables.values.reduce(1 + rows.count) { $0 + max($1.images?.count ?? 0, $1.bytes / 1_000) }
  }
}
