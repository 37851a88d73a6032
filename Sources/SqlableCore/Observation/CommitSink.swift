/// Notified of every commit on the committing thread, before the commit returns, in the order of commits.
///
/// It must be fast, and must not call a caller's code.
package protocol CommitSink: AnyObject, Sendable {
  /// The changes to record for it.
  var interest: ObservedTables { get }
  /// To be called before and after a commit. Without a `didCommit` in between, the commit has failed.
  func commitBegins()
  func commitEnds()
  func didCommit(_ commit: CommittedChanges)
  /// To be called before a check for commits of other connections.
  func willDetectOtherCommits()
  /// To be called when another connection has committed, or may have.
  func didCommitElsewhere()
}

/// The changes of a committed transaction.
package struct CommittedChanges: Sendable {
  /// The changed rows of tables whose rows are observed, in the order of change.
  package var rows: [RowChange] = []
  /// The changes to tables that live results read, by folded name.
  package var tables: [[UInt8]: TableChanges] = [:]
  /// True if there may be more changes: another connection committed, or the schema changed.
  package var isUnknown = false
  /// The count of observer changes when the transaction read the interests. For later subscribers there may be more
  /// changes, too.
  var recordedSince = Int.max

  package init(
    rows: [RowChange] = [], tables: [[UInt8]: TableChanges] = [:], isUnknown: Bool = false, recordedSince: Int = Int.max
  ) {
    (self.rows, self.tables, self.isUnknown, self.recordedSince) = (rows, tables, isUnknown, recordedSince)
  }

  /// True if there may be more changes for a subscriber that joined at a count.
  package func isUnknown(toOneSince joined: Int) -> Bool { isUnknown || joined > recordedSince }
}

/// A summary of a transaction's changes to a table, of bounded size.
package struct TableChanges: Sendable {
  /// The maximum number of rows kept: as many as writes share a commit by default.
  static let maximumImages = 256
  /// The maximum size of their texts and blobs, from before and after the changes.
  static let maximumBytes = 1 << 20

  /// True if rows were inserted, deleted, or got another key.
  package var isMembershipChanged = false
  /// The columns that updates changed, by folded name.
  package var columns: Set<[UInt8]> = []
  /// The changed rows; nil if there are too many, or no live result wants them.
  package private(set) var images: [RowImages]? = []
  package private(set) var bytes = 0

  /// Adds a changed row, unless there are too many; nil is a row whose values are unknown.
  mutating func add(_ row: () -> RowImages?) {
    guard let count = images?.count else { return }
    guard count < TableChanges.maximumImages, let row = row() else { return forgetImages() }
    images?.append(row)
    bytes += row.bytes
    if bytes > TableChanges.maximumBytes { forgetImages() }
  }

  private mutating func forgetImages() { (images, bytes) = (nil, 0) }

  var withoutImages: TableChanges {
    var changes = self
    changes.forgetImages()
    return changes
  }

  /// Restores an earlier state, given without its images and with their number; nil if there were too many.
  mutating func goBack(to before: TableChanges, imageCount: Int?) {
    (isMembershipChanged, columns) = (before.isMembershipChanged, before.columns)
    guard let imageCount, let count = images?.count, count >= imageCount else { return forgetImages() }
    for row in images?[imageCount...] ?? [] { bytes -= row.bytes }
    images?.removeLast(count - imageCount)
  }

  mutating func formUnion(_ other: TableChanges) {
    isMembershipChanged = isMembershipChanged || other.isMembershipChanged
    columns.formUnion(other.columns)
    guard let otherImages = other.images else { return forgetImages() }
    for row in otherImages { add { row } }
  }
}

/// The tables whose changes observers want.
package struct ObservedTables: Sendable, Equatable {
  /// The part of a table that live results want.
  package struct TableInterest: Sendable, Equatable {
    /// The columns that they read, by folded name.
    var columns: Set<[UInt8]>
    /// True if they want the changed rows.
    var wantsImages: Bool

    package init(columns: Set<[UInt8]>, wantsImages: Bool) {
      (self.columns, self.wantsImages) = (columns, wantsImages)
    }
  }

  var all = false
  /// The tables whose rows are wanted.
  var named: Set<String> = []
  /// The tables whose rows are wanted with their values, by folded name.
  package var valued: Set<[UInt8]> = []
  /// The tables that live results read, by folded name.
  var read: [[UInt8]: TableInterest] = [:]
  /// True if commits that change none of these tables are wanted, too.
  var commits = false

  package init(
    all: Bool = false, named: Set<String> = [], valued: Set<[UInt8]> = [], read: [[UInt8]: TableInterest] = [:],
    commits: Bool = false
  ) {
    (self.all, self.named, self.valued, self.read, self.commits) = (all, named, valued, read, commits)
  }

  var isEmpty: Bool { !all && named.isEmpty && read.isEmpty && !commits }

  /// The name that observers use for a table of the database; nil if no observer wants its rows.
  package func name(ofTable table: String) -> String? {
    if named.contains(table) { return table }
    // The smallest of several, so that it is always the same.
    return named.filter { $0.isSameName(as: table) }.min() ?? (all ? table : nil)
  }

  package mutating func formUnion(_ other: ObservedTables) {
    all = all || other.all
    commits = commits || other.commits
    named.formUnion(other.named)
    valued.formUnion(other.valued)
    for (table, reading) in other.read { read(table, reading) }
  }

  /// Adds the part of a table that a live result wants.
  mutating func read(_ table: [UInt8], _ reading: TableInterest) {
    var known = read[table] ?? reading
    known.columns.formUnion(reading.columns)
    known.wantsImages = known.wantsImages || reading.wantsImages
    read[table] = known
  }
}
