import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema

/// The results that the callers and the observers received.
final class MallocLedger: Sendable {
  struct State {
    /// Rows whose write was acknowledged, and rows whose write was refused.
    var stored: [Int: String] = [:]
    var refused: Set<Int> = []
    var deleted: Set<Int> = []
    var events: [RowChange] = []
    var violations: [String] = []
  }

  private let guarded = Mutex(State())

  var state: State { guarded.withLock { $0 } }

  func change(_ body: (inout State) -> Void) { guarded.withLock { body(&$0) } }

  func complain(_ text: String) { change { $0.violations.append(text) } }

  /// Records any error that is neither a lack of memory nor the program's cancellation.
  func check(_ error: any Error) {
    guard let error = error as? SqlError else {
      if !(error is Cancelled) { complain("threw \(error)") }
      return
    }
    switch error.kind {
    case .outOfMemory, .handleLost: break
    default: complain("threw \(error)")
    }
  }

  struct Cancelled: Error {}
}

/// A file with a table on which scenarios run repeatedly, and a handle that checks the file without faults.
final class MallocStage {
  struct Outcome {
    var failed = 0
    var isLost = false
    var violations: [String] = []
  }

  private static let configuration = Configuration(busyTimeout: 1, synchronous: .off)

  private let path: String
  private let ignoresErrors: Bool
  private let checker: SqliteDatabase
  private var nextId = 1

  init(_ path: String, ignoresErrors: Bool) throws {
    (self.path, self.ignoresErrors) = (path, ignoresErrors)
    checker = try SqliteDatabase(filepath: path, configuration: MallocStage.configuration)
    try checker.createTable(Member.self)
  }

  func close() throws { try checker.close() }

  /// Runs a scenario while `length` allocations fail, from the n-th on.
  func run(_ scenario: MallocScenario, _ n: Int, _ length: Int) -> Outcome {
    let play = MallocPlay(scenario: scenario, firstId: nextId, ignoresErrors: ignoresErrors)
    nextId += 100
    var outcome = Outcome()
    do {
      let before = try rows()
      (outcome.failed, outcome.isLost) =
        scenario.isOfPools ? (onPool(play, n, length), false) : onHandle(play, n, length)
      var state = play.ledger.state
      try compare(before, &state, play)
      // Another handle can still write.
      try checker.execute("INSERT INTO member VALUES (\(play.firstId + 99), 'checker')")
      if try checker.query("SELECT count(*) FROM sqlite_master", as: Int.self) != [1] {
        state.violations.append("a table that was rolled back is there")
      }
      if n % 64 == 0 {
        let check = try checker.query("PRAGMA integrity_check", as: String.self)
        if check != ["ok"] { state.violations.append("\(check)") }
        try checker.execute("DELETE FROM member")
      }
      outcome.violations = state.violations
    } catch {
      outcome.violations.append("afterwards: \(error)")
    }
    return outcome
  }

  private func rows() throws -> [Int: String] {
    try Member.read().run(checker).reduce(into: [:]) { $0[$1.id] = $1.name }
  }

  /// Compares the stored rows with the reported results.
  private func compare(_ before: [Int: String], _ state: inout MallocLedger.State, _ play: MallocPlay) throws {
    let after = try rows()
    for (id, name) in state.stored where after[id] != name && !state.deleted.contains(id) {
      state.violations.append("row \(id - play.firstId) was acknowledged and is \(after[id] ?? "missing")")
    }
    for id in state.refused.subtracting(state.stored.keys) where after[id] != nil {
      state.violations.append("row \(id - play.firstId) was refused and is stored")
    }
    // The observed changes, applied in order to the earlier table, must produce the later one.
    var heard = Set(before.keys)
    var updated: Set<Int> = []
    for event in state.events {
      switch event.change {
      case .insert: if !heard.insert(event.id).inserted { state.violations.append("a second insert of \(event.id)") }
      case .delete: if heard.remove(event.id) == nil { state.violations.append("a delete of \(event.id), not there") }
      case .update: updated.insert(event.id)
      }
    }
    if heard != Set(after.keys) {
      let off = heard.symmetricDifference(after.keys).map { $0 - play.firstId }.sorted()
      state.violations.append("events and table differ in \(off)")
    }
    for (id, name) in after where before[id] != nil && before[id] != name && !updated.contains(id) {
      state.violations.append("row \(id) was changed without an event")
    }
  }

  private func onHandle(_ play: MallocPlay, _ n: Int, _ length: Int) -> (failed: Int, isLost: Bool) {
    let ledger = play.ledger
    FailingAllocator.arm(n, length: length)
    defer { FailingAllocator.disarm() }
    let db: SqliteDatabase
    do {
      db = try SqliteDatabase(filepath: path, configuration: MallocStage.configuration)
    } catch {
      ledger.check(error)
      return (FailingAllocator.disarm(), false)
    }
    let token = db.observe(on: Member.self) { (change: RowChange) in ledger.change { $0.events.append(change) } }
    play.run(db)
    let failed = FailingAllocator.disarm()
    // The handle works, or reports that it is lost.
    var isLost = false
    do {
      try play.insertLast(db)
      if db.transactionLevel != 0 { ledger.complain("a transaction is open") }
    } catch {
      isLost = (error as? SqlError)?.kind == .handleLost
      if !isLost { ledger.complain("a handle that is not lost threw \(error)") }
      if (error as? SqlError)?.transaction != .rolledBack { ledger.complain("a lost handle: \(error)") }
      if (try? Member.count().run(db)) != nil { ledger.complain("a lost handle reads") }
    }
    do { try db.close() } catch { ledger.complain("close: \(error)") }
    db.removeObserver(token)
    return (failed, isLost)
  }

  private func onPool(_ play: MallocPlay, _ n: Int, _ length: Int) -> Int {
    let ledger = play.ledger
    let pool: SqlitePool
    do {
      pool = try SqlitePool(
        filepath: path, configuration: .init(handles: MallocStage.configuration, readers: 1, pollInterval: nil))
    } catch {
      ledger.complain("the pool: \(error)")
      return 1
    }
    let token = pool.observe(on: Member.self) { (change: RowChange) in ledger.change { $0.events.append(change) } }
    FailingAllocator.arm(n, length: length)
    play.run(pool)
    let failed = FailingAllocator.disarm()
    do {
      // The pool replaces a lost handle.
      try play.insertLast(pool)
      if try pool.read({ db in try Member.count().filter(Member.id == play.lastId).run(db) }) != 1 {
        ledger.complain("the pool does not read what it wrote")
      }
      try pool.close()
    } catch { ledger.complain("the pool afterwards: \(error)") }
    pool.queue.sync {}
    pool.removeObserver(token)
    return failed
  }
}
