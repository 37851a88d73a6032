/// Told of every commit at once: on the thread that committed, before its caller hears of it, in the order of the commits.
///
/// It is quick, and calls nobody's code.
protocol CommitSink: AnyObject, Sendable {
  /// What is to be recorded for it.
  var interest: ObservedTables { get }
  /// To be called before a commit, which comes to nothing when no `didCommit` follows, and after it.
  func commitBegins()
  func commitEnds()
  func didCommit(_ commit: CommittedChanges)
  /// To be called at the begin of a transaction, before it is looked whether another connection has committed.
  func willDetectOtherCommits()
  /// To be called when another connection has committed, or may have.
  func didCommitElsewhere()
}

/// What a transaction changed.
struct CommittedChanges: Sendable {
  /// The rows of the tables whose rows are wanted, in the order of change.
  var rows: [RowChange] = []
  /// What was done to the tables that live results read, by their folded names.
  var tables: [[UInt8]: TableChanges] = [:]
  /// Whether there may be more than that: somebody else committed, or the schema was changed.
  var isUnknown = false
  /// The count of changes of observers when it was looked at what is wanted: to whoever came after, there may be more, too.
  var heardSince = Int.max

  /// Whether there may be more for one who has been known since that count.
  func isUnknown(toOneSince joined: Int) -> Bool { isUnknown || joined > heardSince }
}

/// What a transaction did to a table: little, however many rows it changed.
struct TableChanges: Sendable {
  /// How many rows are kept at most: those of as many writes as usually share a commit.
  static let maximumImages = 256
  /// How many bytes their texts and blobs have at most, before and after the change.
  static let maximumBytes = 1 << 20

  /// Whether rows came, went, or got another key.
  var isMembershipChanged = false
  /// The columns that an update changed, by their folded names.
  var columns: Set<[UInt8]> = []
  /// The changed rows; nil when there are too many, or nobody wants them.
  private(set) var images: [RowImages]? = []
  private(set) var bytes = 0

  /// Takes a row that was changed, unless there are too many; nil is one that is not told.
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

  /// Makes it what it was, without images, and had so many; nil is for too many.
  mutating func goBack(to before: TableChanges, imageCount: Int?) {
    (isMembershipChanged, columns) = (before.isMembershipChanged, before.columns)
    guard let imageCount, let count = images?.count, count >= imageCount else { return forgetImages() }
    for row in images?[imageCount...] ?? [] { bytes -= row.bytes }
    images?.removeLast(count - imageCount)
  }

  mutating func formUnion(_ other: TableChanges) {
    isMembershipChanged = isMembershipChanged || other.isMembershipChanged
    columns.formUnion(other.columns)
    guard let others = other.images else { return forgetImages() }
    for row in others { add { row } }
  }
}

/// The tables whose changes are wanted.
struct ObservedTables: Sendable, Equatable {
  /// What live results want of a table.
  struct TableInterest: Sendable, Equatable {
    /// The columns that they read, by their folded names.
    var columns: Set<[UInt8]>
    /// Whether they decide by row.
    var wantsImages: Bool
  }

  var all = false
  /// The tables whose rows are wanted.
  var named: Set<String> = []
  /// The tables whose rows are wanted with their values, by their folded names.
  var valued: Set<[UInt8]> = []
  /// The tables that live results read, by their folded names.
  var read: [[UInt8]: TableInterest] = [:]
  /// Whether commits are wanted that change no table of these.
  var commits = false

  var isEmpty: Bool { !all && named.isEmpty && read.isEmpty && !commits }

  /// What observers call a table of the database, or nil when nobody wants its rows.
  func name(ofTable table: String) -> String? {
    if named.contains(table) { return table }
    // The least of several, so that it is always the same.
    return named.filter { $0.isSameName(as: table) }.min() ?? (all ? table : nil)
  }

  mutating func formUnion(_ other: ObservedTables) {
    all = all || other.all
    commits = commits || other.commits
    named.formUnion(other.named)
    valued.formUnion(other.valued)
    for (table, reading) in other.read { read(table, reading) }
  }

  /// Adds what a live result reads of a table.
  mutating func read(_ table: [UInt8], _ reading: TableInterest) {
    var known = read[table] ?? reading
    known.columns.formUnion(reading.columns)
    known.wantsImages = known.wantsImages || reading.wantsImages
    read[table] = known
  }
}
