import Glibc
import SqlableCore
import SqlablePool
import Synchronization

/// The ownership of a consumer by one loop.
///
/// A lease has no time limit while no other loop asks for it, so an idle owner writes nothing. Another loop claims the
/// lease by storing the time at which the lease ends. The commit of the claim wakes the owner, which removes the claim.
/// A killed owner can't remove the claim, so the other loop takes over at that time.
package final class ConsumerLease: Sendable {
  private let database: any ConsumerDatabase
  let name: String
  /// The name of the loop: the id of the process, and a random text.
  let owner = "\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 36))"
  private let tableName: String?
  private let start: ConsumerStart
  private let length: Duration
  /// Throws if the consumer can't read the log.
  private let check: @Sendable (SqliteDatabase) throws -> Void
  private let callSite: CallSite
  private let isHeld = Atomic(false)
  private let keeper = LockedValue<Task<Void, Never>?>(nil)
  /// The token of the closure that releases the lease when the pool closes; nil before the first attempt to acquire the
  /// lease.
  private let lastWork = LockedValue<Int?>(nil)

  init(
    _ database: any ConsumerDatabase, _ name: String, of followed: FollowedChanges<some Sendable>,
    _ start: ConsumerStart, _ length: Duration, _ callSite: CallSite
  ) {
    (self.database, self.name, self.tableName, self.start) = (database, name, followed.table, start)
    (self.length, self.callSite) = (length, callSite)
    check = { [source = followed.source] db in try source.checkTables(in: db) }
    database.monitorChangeConsumers()
  }

  deinit {
    keeper.withLock { $0 }?.cancel()
    let lastWork = lastWork.withLock { $0 }
    func forget() { if let lastWork { database.removeLastWork(lastWork) } }
    guard database.isOpen else { return }
    guard isHeld.load(ordering: .relaxed) else { return forget() }
    // Release the lease, so that the next loop gets the lease without a wait. If the pool closes before this
    // transaction, the closure of `lastWork` releases the lease.
    Task.detached { [database, name, owner, callSite] in
      let released: Void? = try? await database.writeLog(LogPart(consumer: name), at: callSite) { db in
        try ConsumerOwnership.change(name, in: db) { $0.release(by: owner) }
      }
      if released != nil, let lastWork { database.removeLastWork(lastWork) }
    }
  }

  // MARK: Acquiring

  private enum Attempt {
    case acquired(ConsumerRecord)
    /// Another loop owns the consumer. Try again after the duration. `claim` is the time of this loop's claim of the
    /// lease, as stored; nil if this loop has stored no claim.
    case wait(Duration, claim: Int?)
  }

  /// Waits until this loop owns the consumer, and returns the consumer's row; nil if the database was closed.
  func acquire(isolation actor: isolated (any Actor)?) async throws -> ConsumerRecord? {
    guard length >= .milliseconds(100), length <= .seconds(86_400) else {
      throw SqlError.misuse("the lease of a consumer must last between 0.1 seconds and a day")
    }
    lastWork.withLock { [database, name, owner] lastWork in
      guard lastWork == nil else { return }
      lastWork = database.addLastLogWork { db in try ConsumerOwnership.change(name, in: db) { $0.release(by: owner) } }
    }
    let signal = database.logSignal(table: ChangeTables.consumers, columns: ["owner"])
    var unanswered: Int?
    while true {
      let attempt = try await database.writeLog(LogPart(consumer: name), at: callSite) { [self, unanswered] db in
        try claim(db, unanswered)
      }
      switch attempt {
      case .acquired(let record):
        if !isHeld.exchange(true, ordering: .relaxed) { keep() }
        return record
      case .wait(let time, let claim):
        let hasWaited = try await pause(time, signal, until: { $0?.owner == nil }, isolation: actor)
        guard let hasWaited else { return nil }
        // If another loop released the lease during the pause, discard the claim: a third loop might since have stored
        // a claim with the same time.
        unanswered = hasWaited ? claim : nil
      }
    }
  }

  /// Waits until the consumer has no owner, for a caller that needs no lease; returns false if the database was closed.
  /// Throws `.changeLog(.ownerChanged)` if the owner answers a claim.
  package func removeDeadOwner(isolation actor: isolated (any Actor)?) async throws -> Bool {
    let signal = database.logSignal(table: ChangeTables.consumers, columns: ["owner", "claimed"])
    var unanswered: Int?
    while true {
      let attempt = try await database.writeLog(LogPart(consumer: name), at: callSite) { [self, unanswered] db in
        let attempt = try claim(db, unanswered)
        if case .acquired = attempt { try ConsumerOwnership.change(name, in: db) { $0.release(by: owner) } }
        return attempt
      }
      guard case .wait(let time, let claim) = attempt else { return true }
      let hasWaited = try await pause(time, signal, until: { $0?.claimed == nil }, isolation: actor)
      guard let hasWaited else { return false }
      if !hasWaited {
        let owner = try await database.readLog(LogPart(consumer: name), at: callSite) { [name] db in
          try ConsumerRecord(named: name, in: db)?.ownership.owner
        }
        if owner == nil { return true }
        throw ConsumerRecord.ownerChanged(name)
      }
      unanswered = claim
    }
  }

  /// Takes a free lease, or claims the lease of another loop.
  ///
  /// - Parameter unanswered: The claim that this loop stored before its last wait. This claim counts as expired even if
  ///   the clock was set back during the wait.
  private func claim(_ db: SqliteDatabase, _ unanswered: Int?) throws -> Attempt {
    let record = try ConsumerRecord.known(name, of: tableName, startingAt: start, in: db)
    // If the consumer can't read the log, `check` throws and the transaction does not store a new consumer. `trim`
    // would otherwise keep all changes for a consumer that never acknowledges them.
    try check(db)
    var ownership = record.ownership
    let attempt = ownership.acquire(
      by: owner, at: ConsumerRecord.now, length: Int(length / .milliseconds(1)), unanswered: unanswered)
    if ownership != record.ownership { try ownership.store(name, in: db) }
    switch attempt {
    case .acquired: return .acquired(record)
    case .wait(let milliseconds, let claim): return .wait(.milliseconds(milliseconds), claim: claim)
    }
  }

  /// Waits for a duration, or until `isOver` returns true for the stored ownership. Returns true after the whole
  /// duration, false if `isOver` returned true, and nil if the database was closed.
  private func pause(
    _ time: Duration, _ signal: CommitSignal, until isOver: (ConsumerOwnership?) -> Bool,
    isolation actor: isolated (any Actor)?
  ) async throws -> Bool? {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
      guard await signal.wait(until: end, isolation: actor) else {
        try Task.checkCancellation()
        return nil
      }
      let ownership = try await database.readLog(LogPart(consumer: name), at: callSite) { [name] db in
        try ConsumerRecord(named: name, in: db)?.ownership
      }
      if isOver(ownership) { return false }
    }
    return true
  }

  // MARK: Keeping

  /// Starts to answer the claims of other loops.
  private func keep() {
    // Detached, because the loop can outlive the deadline of the call in which it acquires the lease.
    let task = Task.detached(priority: Task.currentPriority) { [database, name, owner, callSite] in
      let signal = database.logSignal(table: ChangeTables.consumers, columns: ["claimed"])
      // Check for a claim before the first wait, because another loop might have claimed the lease before the signal
      // existed.
      repeat {
        // After an error, the claim stays unanswered. The claiming loop then becomes the owner, and the next call of
        // this loop throws.
        let isClaimed = try? await database.readLog(LogPart(consumer: name), at: callSite) { db in
          try ConsumerRecord(named: name, in: db)?.ownership.mustAnswer(owner)
        }
        guard isClaimed == true else { continue }
        try? await database.writeLog(LogPart(consumer: name), at: callSite) { db in
          try ConsumerOwnership.change(name, in: db) { $0.answer(by: owner) }
        }
      } while await signal.wait(isolation: nil)
    }
    keeper.withLock { $0 = task }
  }
}
