import SqlableCore
import SqlablePool

/// The reads and the lease of one loop of a named consumer.
final class Consumer<Element: Sendable>: Sendable {
  typealias Page = LogPage<Element>

  private let database: any ConsumerDatabase
  private let followed: FollowedChanges<Element>
  private let lease: ConsumerLease
  private let callSite: CallSite
  private let signal: CommitSignal
  /// Nil before the first read.
  private let reached = LockedValue<ReachedPosition?>(nil)

  init(
    _ database: any ConsumerDatabase, _ followed: FollowedChanges<Element>, _ lease: ConsumerLease, _ callSite: CallSite
  ) {
    (self.database, self.followed, self.lease, self.callSite) = (database, followed, lease, callSite)
    signal = database.logSignal(table: ChangeTables.log, columns: [])
  }

  /// The loop's name, which the database stores as the consumer's owner.
  var owner: String { lease.owner }

  private enum Step {
    case lost
    case new(ChangePosition)
    case read(from: ChangePosition)
  }

  /// Returns the next batch; nil if the database was closed. Waits for the lease and for a change.
  func next(isolation actor: isolated (any Actor)?) async throws -> ChangeBatch<Element>? {
    do {
      while true {
        let reached = reached.withLock { $0 }
        let part = LogPart(positions: reached.map { [$0.read, $0.acknowledged] } ?? [], consumer: lease.name)
        let (next, page) = try await database.readLogPage(part, at: callSite) { [self] db in try step(db, reached) }
        switch next {
        case .lost:
          guard try await lease.acquire(isolation: actor) != nil else { return nil }
          self.reached.withLock { $0?.hadOtherOwners = true }
        case .new(let start): return ChangeBatch(snapshotFor: self, after: start)
        case .read(let start):
          guard let page else { continue }
          if !page.items.isEmpty { return ChangeBatch(self, after: start, page) }
          if page.end.number - start.number >= ConsumerRecord.longestGap {
            guard try await hasStored(page.end, after: start) else { continue }
          } else {
            self.reached.withLock { $0 = ReachedPosition(read: page.end, acknowledged: start) }
          }
          guard await signal.wait(isolation: actor) else {
            try Task.checkCancellation()
            return nil
          }
        }
      }
    } catch {
      if database.endsLoops(error) { return nil }
      throw error
    }
  }

  private func step(
    _ db: SqliteDatabase, _ reached: ReachedPosition?
  ) throws -> (value: Step, query: LogQuery<Element>?) {
    let state = try LogState(db)
    guard let record = try ConsumerRecord(named: lease.name, in: db), record.ownership.isOwned(by: lease.owner) else {
      return (.lost, nil)
    }
    if let reached { try reached.check(record.position, state, in: db) }
    if record.isNew {
      // Check the tables in this step. Later, a loop of a cluster might have discarded its copy of the schema.
      try followed.source.checkTables(in: db)
      return (.new(record.position), nil)
    }
    // Continue at `reached.read`, because all changes from the stored position to `reached.read` belong to other
    // tables. If a trim or a restore has removed the change at `reached.read`, continue at the stored position.
    if let reached, reached.acknowledged == record.position, try state.has(reached.read, in: db) {
      return (.read(from: record.position), try followed.source.query(after: reached.read, in: db))
    }
    return (.read(from: record.position), try followed.source.query(after: record.position, .consumer, in: db))
  }

  /// Stores the position of a page's end, if the page contains no change of the followed table. Returns false if `trim`
  /// or a restore has meanwhile removed the change at this position. The next step then decides whether the consumer
  /// has lost changes.
  private func hasStored(_ end: ChangePosition, after start: ChangePosition) async throws -> Bool {
    do { try await acknowledge(from: start, to: end, last: nil) } catch let error as SqlError {
      guard [.changeLog(.trimmed), .changeLog(.otherHistory)].contains(error.kind) else { throw error }
      return false
    }
    return true
  }

  func page(after position: ChangePosition, upTo last: ChangePosition) async throws -> Page {
    try await database.logPage(LogPart(positions: [position]), at: callSite) { [followed] db in
      try followed.source.query(after: position, upTo: last, in: db)
    }
  }

  /// Returns the rows of the followed tables in one snapshot, as inserts. Before the first row, calls `note` with the
  /// end of the snapshot's log, and with the last logged change of the followed tables.
  func rows(
    _ note: @escaping @Sendable (_ end: ChangePosition, _ last: ChangePosition?) -> Void
  ) -> LogSnapshot<Element> {
    database.snapshot(of: followed, at: callSite, note: note)
  }

  /// Removes the record of a change or row that has succeeded after a failed attempt. Throws
  /// `.changeLog(.ownerChanged)` if another loop owns the consumer, because the record then counts the attempts of the
  /// other loop.
  func removeTried(_ number: Int) async throws {
    let (name, owner) = (lease.name, lease.owner)
    try await database.writeLog(LogPart(consumer: name), at: callSite) { db in
      guard try ConsumerRecord(named: name, in: db)?.ownership.isOwned(by: owner) == true else {
        throw ConsumerRecord.ownerChanged(name)
      }
      try QuarantineRecord.removeTried(of: name, at: number, in: db)
    }
  }

  /// - Parameter last: The last change of the followed tables up to `end` that the loop has received; nil for none.
  func acknowledge(from start: ChangePosition, to end: ChangePosition, last: ChangePosition?) async throws {
    let (name, owner) = (lease.name, lease.owner)
    let part = LogPart(positions: [end] + [last].compactMap(\.self), consumer: name)
    try await database.writeLog(part, at: callSite) { db in
      try ConsumerRecord.move(name, from: start, to: end, last: last, owner: owner, in: db)
    }
    reached.withLock { $0 = ReachedPosition(read: end, acknowledged: end) }
  }
}

/// The positions of the last read and of the last acknowledgement of a loop.
private struct ReachedPosition: Sendable {
  let read: ChangePosition
  let acknowledged: ChangePosition
  /// True if other loops might have owned the consumer since the acknowledgement.
  var hadOtherOwners = false

  init(read: ChangePosition, acknowledged: ChangePosition) { (self.read, self.acknowledged) = (read, acknowledged) }

  /// Throws `.changeLog(.otherHistory)` if a restore has undone the acknowledgement of the change at `acknowledged`.
  ///
  /// - Parameter stored: The consumer's position in the database.
  func check(_ stored: ChangePosition, _ state: LogState, in db: SqliteDatabase) throws {
    guard stored != acknowledged else { return }
    // Only an owner moves the position. If there was no other owner, a restore has changed the position.
    guard hadOtherOwners, stored.history == acknowledged.history else { throw LogState.otherHistory }
    // If the acknowledged change was trimmed, the log can't show whether it was undone. In this case, compare the
    // numbers. Without a restore, a stored position only moves forward. A consumer that was removed and added again
    // starts after the trimmed changes.
    let isKnown =
      try acknowledged.number > state.trimmed
      ? state.has(acknowledged, in: db) : stored.number >= acknowledged.number
    guard isKnown else { throw LogState.otherHistory }
  }
}
