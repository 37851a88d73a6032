/// A receiver of the commits of a handle and its descendants. Called on the committing thread, in the order of commits.
///
/// A sink must be fast, and must not call user code.
package protocol CommitSink: AnyObject, Sendable {
  /// The tables whose changes are recorded for this sink.
  var interest: ObservedTables { get }
  /// Announces a commit of a connection; `commitEnds()` follows. Without `didCommit` between the two calls, nothing was
  /// committed.
  ///
  /// - Parameter schemaVersion: The schema version of the open transaction. Nil if another connection might have
  ///   committed between the last check for such commits and the beginning of the transaction.
  func commitBegins(on connection: Connection, schemaVersion: Int64?)
  func commitEnds()
  func didCommit(_ commit: CommittedChanges)
  /// Announces a check for commits of other connections.
  func willDetectOtherCommits()
  /// Reports that another connection has committed, or might have committed. `connection` can read the commit, and is
  /// nil after an error.
  func didCommitElsewhere(on connection: Connection?)
  /// Reports that the file was closed for a while. The path can now lead to another file.
  func fileWasClosed()
  /// Reports that the handle of the sink's registry was closed.
  func didClose()
}

package struct CommittedChanges: Sendable {
  /// The changed rows of tables whose rows are observed, in the order of change.
  package var rows: [RowChange] = []
  /// The changes to tables that live results read, keyed by the table's folded name.
  package var tables: [[UInt8]: TableChanges] = [:]
  /// True if there might be more changes: after a schema change or a restore, or if SQLite's hooks did not report all
  /// changes.
  package var isUnknown = false
  /// True if `commitBegins` did not announce the commit.
  package var isUnannounced = false
  /// The folded names of the tables whose changes were completely read from the change log, for a commit of another
  /// connection. Any other table might also have changed. Nil for a commit of the pool.
  package var loggedTables: Set<[UInt8]>?
  /// The value of ``ObserverRegistry/changes`` when the tables to record were chosen. The commit might lack changes for
  /// a subscriber that was added later.
  package var recordedSince = Int.max

  package init(
    rows: [RowChange] = [], tables: [[UInt8]: TableChanges] = [:], isUnknown: Bool = false,
    recordedSince: Int = Int.max, isUnannounced: Bool = false, loggedTables: Set<[UInt8]>? = nil
  ) {
    (self.rows, self.tables, self.isUnknown, self.recordedSince) = (rows, tables, isUnknown, recordedSince)
    (self.isUnannounced, self.loggedTables) = (isUnannounced, loggedTables)
  }

  /// True if the changes might be incomplete for a subscriber that was added when ``ObserverRegistry/changes`` had the
  /// value `joined`.
  package func isUnknown(toOneSince joined: Int) -> Bool { isUnknown || joined > recordedSince }
}

/// A summary of a transaction's changes to a table, of bounded size.
package struct TableChanges: Sendable {
  /// The maximum number of stored rows. Equals the default number of writes that share a commit.
  static let maximumImages = 256
  /// The maximum total size of the texts and blobs in `images`, in bytes. Old values and new values both count.
  static let maximumBytes = 1 << 20

  /// True if rows were inserted or deleted, or if their keys changed.
  package var isMembershipChanged = false
  /// The folded names of the columns that updates changed.
  package var columns: Set<[UInt8]> = []
  /// The changed rows; nil if too many rows changed, if values are unknown, or if no live result requests the rows.
  package private(set) var images: [RowImages]? = []
  package private(set) var bytes = 0

  package init() {}

  /// Adds a changed row. Discards all rows if the rows exceed a maximum, or if `row` returns nil for unknown values.
  package mutating func add(_ row: () -> RowImages?) {
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

  /// Restores an earlier state. `before` is that state without images. `imageCount` is the number of images in that
  /// state; nil if too many or too large images had been discarded before.
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

/// The tables whose changes observers request.
package struct ObservedTables: Sendable, Equatable {
  /// The part of a table that live results depend on.
  package struct TableInterest: Sendable, Equatable {
    /// The folded names of the columns that live results read.
    package var columns: Set<[UInt8]>
    package var wantsImages: Bool

    package init(columns: Set<[UInt8]>, wantsImages: Bool) {
      (self.columns, self.wantsImages) = (columns, wantsImages)
    }
  }

  var all = false
  /// The tables whose changed rows are requested.
  var named: Set<String> = []
  /// The folded names of the tables whose changed rows are requested with their values.
  package var valued: Set<[UInt8]> = []
  /// The columns that live results read, keyed by the table's folded name.
  package var read: [[UInt8]: TableInterest] = [:]
  /// True if all commits are requested, including commits that change none of the requested tables.
  package var commits = false

  package init(
    all: Bool = false, named: Set<String> = [], valued: Set<[UInt8]> = [], read: [[UInt8]: TableInterest] = [:],
    commits: Bool = false
  ) {
    (self.all, self.named, self.valued, self.read, self.commits) = (all, named, valued, read, commits)
  }

  var isEmpty: Bool { !all && named.isEmpty && read.isEmpty && !commits }

  /// Returns the name that observers use for a table of the database; nil if no observer requests the table's rows.
  package func name(ofTable table: String) -> String? {
    if named.contains(table) { return table }
    // Returns the smallest of several names, so that the result is always the same.
    return named.filter { $0.isSameName(as: table) }.min() ?? (all ? table : nil)
  }

  package mutating func formUnion(_ other: ObservedTables) {
    all = all || other.all
    commits = commits || other.commits
    named.formUnion(other.named)
    valued.formUnion(other.valued)
    for (table, reading) in other.read { read(table, reading) }
  }

  mutating func read(_ table: [UInt8], _ reading: TableInterest) {
    var known = read[table] ?? reading
    known.columns.formUnion(reading.columns)
    known.wantsImages = known.wantsImages || reading.wantsImages
    read[table] = known
  }
}
