/// What changes of a live result that loops share, reached with its lock held.
///
/// Commits have positions in the feed's log. A reading that begins at a position holds all commits up to there, and
/// readings do not overlap: what a later one found is never older. Each loop has its own idea of what it has, so that
/// one that comes late, or sleeps, disturbs no other.
struct ResultState<Value: Sendable> {
  struct Loop {
    var hasAsked = false
    /// Which edition of the result it has; 0 for none.
    var edition = 0
    /// Only what was read by a later reading is for it.
    var reading = 0
    /// What it has holds all commits up to here that concern it.
    var position = -1
  }

  struct Latest {
    var reading: Fetch
    /// Another one when the contents are, as far as they are compared.
    var edition: Int
    /// Nil when all loops have it, and when it is outdated: it is not kept for nobody.
    var value: Value?
    var contents: ResultContents?
  }

  struct Fetch {
    let number: Int
    let position: Int
  }

  /// A changed row of which the filter was not asked yet.
  struct OpenRow {
    let position: Int
    let images: RowImages
  }

  enum Step {
    case take(Value, ResultContents?)
    /// What there is to take may be outdated by commits that are not matched yet.
    case match
    case fail(any Error)
    /// Whether it waits for a reading, and not only for a commit.
    case wait(isNeeded: Bool)
    case end
  }

  enum Work {
    /// Asks the filter whether one of the rows concerns the result.
    case ask(RowFilter, [RowImages], upTo: Int)
    case read(Fetch, KnownResult?)
    case nothing
  }

  private enum Staleness {
    case fresh, stale
    case rows([RowImages])
  }

  /// Of how many rows of a commit the filter is asked at most.
  private static var maximumAsked: Int { 32 }
  /// How many rows are kept at most until it is asked.
  private static var maximumRows: Int { 4 * maximumAsked }

  /// What it is read from; nil until that is known, and then every commit is one that may concern it.
  var read: ReadColumns?
  var rule = RowRule()
  var known: KnownResult?
  /// The end of the page that was read last. None while another is read: that may end further behind.
  private var pageEnd: PageEnd?
  /// The last commit that may have made it another.
  private var doubted = -1
  private var open: [OpenRow] = []
  private(set) var latest: Latest?
  private var editions = 0
  private var readings = 0
  private var loops: [Int: Loop] = [:]
  /// How many loops do not have the latest edition.
  private var without = 0
  private var waiting: [ObjectIdentifier: (waiter: Waiter, loop: Int)] = [:]
  /// Those of them whose deadline passed while they waited for a commit.
  private var overdue: Set<ObjectIdentifier> = []
  private var failures: [Int: any Error] = [:]
  /// Whether a loop waits for a reading that has not begun.
  private var isWanted = false
  var task: Task<Void, Never>?
  /// Whether its task will be begun, by one that has not come to it yet.
  var isCalled = false
  /// The last commit that the reading in progress holds.
  private var underway = -1
  private(set) var isEnded = false
  /// What is to be let go of behind the lock, as that may call anybody's code.
  private var unused: [any Sendable] = []

  mutating func takeUnused() -> [any Sendable]? {
    if unused.isEmpty { return nil }
    defer { unused = [] }
    return unused
  }

  // MARK: Loops

  mutating func begin(_ loop: Int) {
    loops[loop] = Loop()
    without += 1
  }

  mutating func end(_ loop: Int) {
    if let error = failures.removeValue(forKey: loop) { unused.append(error) }
    guard let gone = loops.removeValue(forKey: loop), gone.edition == 0 || gone.edition != latest?.edition else {
      return
    }
    oneHasIt()
  }

  private mutating func oneHasIt() {
    without -= 1
    if without == 0 { dropValue() }
  }

  private mutating func dropValue() {
    if let value = latest?.value { unused.append(value) }
    latest?.value = nil
  }

  /// What a loop that asks for a result gets: one that holds all commits up to the position that was the last when it
  /// asked, which are matched or not.
  mutating func step(_ number: Int, holding position: Int, isMatched: Bool) -> Step {
    if isEnded { return .end }
    if let error = failures.removeValue(forKey: number) { return .fail(error) }
    guard var loop = loops[number] else { return .end }
    if !loop.hasAsked {
      // What another process committed before is not known of yet: only what is read from here on is sure to have it.
      (loop.hasAsked, loop.reading) = (true, readings)
    }
    loop = current(loop)
    defer { loops[number] = loop }
    if isInDoubt(loop) {
      guard let latest, let value = latest.value, latest.reading.number > loop.reading,
        latest.reading.position >= doubted
      else {
        isWanted = true
        return .wait(isNeeded: true)
      }
      // It may be outdated: that is found out first.
      guard open.isEmpty else { return .wait(isNeeded: true) }
      guard isMatched || latest.reading.position >= position else { return .match }
      loop.edition = latest.edition
      (loop.reading, loop.position) = (latest.reading.number, latest.reading.position)
      oneHasIt()
      return .take(value, latest.contents)
    }
    return .wait(isNeeded: open.contains { $0.position > loop.position })
  }

  /// The loop, with what later readings that found the same say of what it has.
  private func current(_ loop: Loop) -> Loop {
    guard let latest, loop.edition == latest.edition else { return loop }
    var loop = loop
    (loop.reading, loop.position) = (latest.reading.number, latest.reading.position)
    return loop
  }

  private func isInDoubt(_ loop: Loop) -> Bool { loop.edition == 0 || doubted > current(loop).position }

  mutating func wait(_ waiter: Waiter, _ loop: Int, isOverdue: Bool) {
    waiting[ObjectIdentifier(waiter)] = (waiter, loop)
    if isOverdue { overdue.insert(ObjectIdentifier(waiter)) }
  }

  /// Whether it was waiting, and was the last.
  mutating func leave(_ waiter: Waiter) -> Bool {
    if !overdue.isEmpty { overdue.remove(ObjectIdentifier(waiter)) }
    guard waiting.removeValue(forKey: ObjectIdentifier(waiter)) != nil else { return false }
    wantNoMore()
    return waiting.isEmpty
  }

  /// A reading that nobody waits for is not begun.
  mutating func wantNoMore() { if waiting.isEmpty { isWanted = false } }

  /// The highest of those that wait.
  var priority: TaskPriority { waiting.values.map(\.waiter.priority).max() ?? .medium }

  /// Whether somebody has to begin its task.
  mutating func call() -> Bool {
    guard task == nil, !isCalled, hasWork else { return false }
    isCalled = true
    return true
  }

  /// Whether there is something to be found out for somebody.
  var hasWork: Bool { !isEnded && !waiting.isEmpty && (isWanted || !open.isEmpty) }

  private func sleepers(where isConcerned: (Int, Loop) -> Bool) -> [ObjectIdentifier] {
    waiting.compactMap { id, entry in loops[entry.loop].map { isConcerned(entry.loop, $0) } == true ? id : nil }
  }

  /// Those who wait, and do so no more.
  private mutating func woken(_ sleepers: [ObjectIdentifier]) -> [any Wakeable] {
    sleepers.compactMap { waiting.removeValue(forKey: $0)?.waiter }
  }

  /// Those whose deadline has passed and who need a reading now: they wait no more. To be called whenever the lock is
  /// given back.
  mutating func takeOverdue() -> [any Wakeable] {
    if overdue.isEmpty { return [] }
    let late = overdue.filter { id in
      waiting[id].flatMap { loops[$0.loop] }.map(isInDoubt) ?? false
    }
    return woken(Array(late))
  }

  // MARK: Commits

  /// Takes note of a commit; nil is one that may have changed anything.
  mutating func didCommit(_ commit: CommittedChanges?, at position: Int) {
    // What all loops have was read after it.
    if without == 0, let latest, latest.reading.position >= position { return }
    switch staleness(after: commit) {
    case .fresh: break
    case .stale: doubt(position)
    case .rows(let rows):
      guard open.count + rows.count <= Self.maximumRows else { return doubt(position) }
      open += rows.map { OpenRow(position: position, images: $0) }
    }
  }

  /// Notes that a commit has made it another, for all that is known.
  private mutating func doubt(_ position: Int) {
    doubted = max(doubted, position)
    open.removeAll { $0.position <= position }
    if let latest, latest.reading.position < doubted { dropValue() }
    // Who waits has all that was committed before.
    if !waiting.isEmpty, position > underway { isWanted = true }
  }

  private func staleness(after commit: CommittedChanges?) -> Staleness {
    guard let commit, let read, !read.readsUnobserved else { return .stale }
    var rows: [RowImages] = []
    // Of the fewer: a result is read from few tables, and so may the commit be.
    for (name, table) in commit.tables {
      guard let columns = read.tables[name], table.isMembershipChanged || !table.columns.isDisjoint(with: columns)
      else { continue }
      guard rule.decidesByRow, let images = table.images, images.allSatisfy(\.isWhole) else { return .stale }
      let open = images.filter { row in
        !(rule.filter?.excludes(row) ?? false) && !(pageEnd?.precedes(row) ?? false)
      }
      if open.isEmpty { continue }
      guard let filter = rule.filter, open.count <= Self.maximumAsked, !open.contains(where: filter.takes)
      else { return .stale }
      // One table only: else there would be no filter that decides.
      rows += open
    }
    return rows.isEmpty ? .fresh : .rows(rows)
  }

  mutating func end() -> [any Wakeable] {
    isEnded = true
    dropValue()
    return woken(Array(waiting.keys))
  }

  // MARK: Fetch

  /// What is to be done next; a reading begins with it.
  mutating func nextWork(_ feed: PoolFeed) -> Work {
    guard hasWork else { return .nothing }
    if isWanted {
      isWanted = false
      readings += 1
      pageEnd = nil
      // After that: what is matched with no end of a page to compare with is either in the reading, or puts it in
      // doubt.
      underway = feed.position
      return .read(Fetch(number: readings, position: underway), known)
    }
    guard let filter = rule.filter, let last = open.last else {
      for row in open { doubt(row.position) }
      return nextWork(feed)
    }
    return .ask(filter, open.map(\.images), upTo: last.position)
  }

  /// What the filter says of the rows up to a commit; gives who is to be woken.
  mutating func answer(_ isConcerned: Bool, upTo position: Int) -> [any Wakeable] {
    open.removeAll { $0.position <= position }
    if isConcerned { doubt(position) }
    guard open.isEmpty, latest?.value != nil else { return [] }
    // Who waited for the answer, to take what is there.
    return woken(sleepers { _, loop in isInDoubt(loop) })
  }

  /// Notes what was read; gives who is to be woken.
  mutating func take(
    _ reading: Fetch, _ value: Value, _ contents: ResultContents?, isSame: Bool, _ pageEnd: PageEnd?
  ) -> [any Wakeable] {
    self.pageEnd = pageEnd
    dropValue()
    if !isSame {
      editions += 1
      without = loops.count
    }
    latest = Latest(reading: reading, edition: editions, value: value, contents: contents)
    if without == 0 { dropValue() }
    if let last = open.last(where: { $0.position <= reading.position }) {
      // Not asked about any more: they are in what was read, and may be what one with an older one waits for.
      doubt(last.position)
    }
    underway = -1
    guard without > 0 else { return [] }
    return woken(sleepers { _, loop in loop.edition != editions && isInDoubt(loop) })
  }

  /// Notes that a reading has failed; gives who is to be woken to throw the error.
  mutating func fail(_ reading: Fetch, _ error: any Error) -> [any Wakeable] {
    underway = -1
    let failed = sleepers { _, loop in isInDoubt(loop) && current(loop).reading < reading.number }
    for id in failed { if let loop = waiting[id]?.loop { failures[loop] = error } }
    return woken(failed)
  }

  /// Takes a reading back that was interrupted, since nobody waited for it.
  mutating func takeBack() {
    underway = -1
    if !waiting.isEmpty { isWanted = true }
  }
}
