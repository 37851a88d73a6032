import SqlableCore
import SqlablePool

/// The reads and the lease of one loop of a named consumer.
final class Consumer<Element: Sendable>: Sendable {
  typealias Page = LogPage<Element>

  private let pool: SqlitePool
  private let followed: FollowedChanges<Element>
  private let lease: ConsumerLease
  private let callSite: CallSite
  private let signal: CommitSignal
  /// The position of the last read and of the last acknowledgement; nil before the first read.
  private let reached = LockedValue<(read: ChangePosition, acknowledged: ChangePosition)?>(nil)

  init(
    _ pool: SqlitePool, _ followed: FollowedChanges<Element>, _ lease: ConsumerLease, _ callSite: CallSite
  ) {
    (self.pool, self.followed, self.lease, self.callSite) = (pool, followed, lease, callSite)
    signal = CommitSignal(pool, table: ChangeTables.log, columns: [])
  }

  private enum Step {
    case lost
    case new(ChangePosition)
    case read(from: ChangePosition, Page)
  }

  /// Returns the next batch; nil if the pool was closed. Waits for the lease and for a change.
  func next(isolation actor: isolated (any Actor)?) async throws -> ChangeBatch<Element>? {
    do {
      while true {
        let next = try await pool.perform(.read, at: callSite) { [self] db in
          try db.transaction(.deferred) { db in try step(db) }
        }
        switch next {
        case .lost: guard try await lease.acquire(isolation: actor) != nil else { return nil }
        case .new(let start): return ChangeBatch(snapshotFor: self, after: start)
        case .read(let start, let page):
          if !page.items.isEmpty { return ChangeBatch(self, after: start, page) }
          if page.end.number - start.number >= ConsumerRecord.longestGap {
            try await acknowledge(from: start, to: page.end)
          } else {
            reached.withLock { $0 = (page.end, start) }
          }
          guard await signal.wait(isolation: actor) else {
            try Task.checkCancellation()
            return nil
          }
        }
      }
    } catch {
      if pool.endsLoops(error) { return nil }
      throw error
    }
  }

  private func step(_ db: SqliteDatabase) throws -> Step {
    let state = try LogState(db)
    guard let record = try ConsumerRecord(named: lease.name, in: db), record.ownership.isOwned(by: lease.owner) else {
      return .lost
    }
    let reached = reached.withLock { $0 }
    // After a restore, the database has an older position of the consumer, and might have other changes.
    if let reached {
      // Positions of different histories have no order.
      guard reached.acknowledged.history == record.position.history else { throw LogState.otherHistory }
      // `trim` moves the position to the start of the log if the position's change is deleted.
      if record.position != state.start || reached.acknowledged.number > record.position.number {
        try state.check(max(reached.acknowledged, record.position), in: db)
      }
    }
    if record.isNew { return .new(record.position) }
    let isSame = reached?.acknowledged == record.position
    let read = isSame ? reached?.read ?? record.position : record.position
    return .read(from: record.position, try followed.source.page(after: read, in: db))
  }

  func page(after position: ChangePosition, upTo last: ChangePosition) async throws -> Page {
    try await pool.perform(.read, at: callSite) { [self] db in
      try db.transaction(.deferred) { db in try followed.source.page(after: position, upTo: last, in: db) }
    }
  }

  /// Returns the rows of the followed tables as inserts. Calls `note` with the position of the snapshot before the
  /// first row.
  func rows(
    _ note: @escaping @Sendable (ChangePosition) -> Void
  ) -> PoolRows<SnapshotRow<Element>> {
    PoolRows(pool: pool, callSite: callSite) { [followed] db, body in
      try db.transaction(.deferred) { db in
        let end = try LogState(db).end
        note(end)
        try followed.forEachRow(db, end, body)
      }
    }
  }

  /// Removes changes from the quarantine in a transaction. Throws `.changeLog(.ownerChanged)` if another loop owns the
  /// consumer, because the attempts that the quarantine counts are then those of the other loop.
  func removeTried(_ remove: @escaping @Sendable (SqliteDatabase) throws -> Void) async throws {
    let (name, owner) = (lease.name, lease.owner)
    try await pool.perform(.write, at: callSite) { db in
      guard try ConsumerRecord(named: name, in: db)?.ownership.isOwned(by: owner) == true else {
        throw ConsumerRecord.ownerChanged(name)
      }
      try remove(db)
    }
  }

  func acknowledge(from start: ChangePosition, to end: ChangePosition) async throws {
    let (name, owner) = (lease.name, lease.owner)
    try await pool.perform(.write, at: callSite) { db in
      try ConsumerRecord.move(name, from: start, to: end, owner: owner, in: db)
    }
    reached.withLock { $0 = (end, end) }
  }
}
