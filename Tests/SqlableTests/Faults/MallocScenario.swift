import Foundation
import Sqlable
import Synchronization

/// What is done while memory is short.
enum MallocScenario: String, CaseIterable {
  case closures, byHand, deferred, pool, sharedCommits
}

/// What has been told to the callers, and to the observers.
final class MallocLedger: Sendable {
  struct State {
    /// Rows whose writing was acknowledged, and those whose writing was not.
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

  /// Runs what writes these rows, and notes how it went.
  func note(_ ids: [Int], _ body: () throws -> Void) {
    do {
      try body()
      change { state in for id in ids { state.stored[id] = "\(id)" } }
    } catch {
      change { $0.refused.formUnion(ids) }
      check(error)
    }
  }

  /// What is thrown for want of memory says so, or is the program's own.
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

/// A file with a table, on which a scenario is played again and again, and a handle that looks at it without faults.
final class MallocStage {
  struct Outcome {
    var failed = 0
    var isLost = false
    var violations: [String] = []
  }

  private let path: String
  private let checker: SqliteDatabase
  private var nextId = 1

  init(_ path: String) throws {
    self.path = path
    checker = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 1, synchronous: .off))
    try checker.createTable(Member.self)
  }

  func close() throws { try checker.close() }

  func run(_ scenario: MallocScenario, _ n: Int, _ length: Int) -> Outcome {
    let ledger = MallocLedger()
    var outcome = Outcome()
    do {
      let before = try rows()
      let id = nextId
      nextId += 100
      switch scenario {
      case .pool, .sharedCommits: outcome.failed = onPool(scenario, id, ledger, n, length)
      default: (outcome.failed, outcome.isLost) = onHandle(scenario, id, ledger, n, length)
      }
      var state = ledger.state
      try compare(before, &state)
      // Whoever is left may write.
      try checker.execute("INSERT INTO member VALUES (\(id + 99), 'checker')")
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

  /// Holds what is there against what was told.
  private func compare(_ before: [Int: String], _ state: inout MallocLedger.State) throws {
    let after = try rows()
    for (id, name) in state.stored where after[id] != name && !state.deleted.contains(id) {
      state.violations.append("row \(id - nextId + 100) was acknowledged and is \(after[id] ?? "missing")")
    }
    for id in state.refused.subtracting(state.stored.keys) where after[id] != nil {
      state.violations.append("row \(id - nextId + 100) was refused and is stored")
    }
    // What the observers heard, one change after the other, makes the table of before that of after.
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
      let off = heard.symmetricDifference(after.keys).map { $0 - nextId + 100 }.sorted()
      state.violations.append("events and table differ in \(off)")
    }
    for (id, name) in after where before[id] != nil && before[id] != name && !updated.contains(id) {
      state.violations.append("row \(id) was changed without an event")
    }
  }

  // MARK: Handles

  private func onHandle(
    _ scenario: MallocScenario, _ id: Int, _ ledger: MallocLedger, _ n: Int, _ length: Int
  ) -> (failed: Int, isLost: Bool) {
    FailingAllocator.arm(n, length: length)
    defer { FailingAllocator.disarm() }
    let db: SqliteDatabase
    do {
      db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 1, synchronous: .off))
    } catch {
      ledger.check(error)
      return (FailingAllocator.disarm(), false)
    }
    let token = db.observe(on: Member.self) { (change: RowChange) in ledger.change { $0.events.append(change) } }
    switch scenario {
    case .byHand: byHand(db, id, ledger)
    case .deferred: deferred(db, id, ledger)
    default: closures(db, id, ledger)
    }
    let failed = FailingAllocator.disarm()
    // It works, or says that it does not.
    var isLost = false
    do {
      try Member(id: id + 90, name: "\(id + 90)").insert().run(db)
      ledger.change { $0.stored[id + 90] = "\(id + 90)" }
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

  /// Inserts a row whose name is its id.
  private func insert(_ id: Int, _ db: SqliteDatabase) throws { try Member(id: id, name: "\(id)").insert().run(db) }

  /// What is read inside a transaction is what it has written, or throws.
  private func expect(_ ids: [Int], from first: Int, _ db: SqliteDatabase, _ ledger: MallocLedger) {
    do {
      let found = try Member.read().filter(Member.id >= first && Member.id < first + 90).orderBy(Member.id).run(db)
      if found.map(\.id) != ids {
        ledger.complain("\(found.map { $0.id - first }) was read, not \(ids.map { $0 - first })")
      }
      if found.contains(where: { $0.name != "\($0.id)" }) { ledger.complain("another name was read") }
    } catch { ledger.check(error) }
  }

  private func closures(_ db: SqliteDatabase, _ id: Int, _ ledger: MallocLedger) {
    ledger.change { $0.refused.formUnion([id + 1, id + 4, id + 10, id + 11, id + 22]) }
    ledger.note([id, id + 2, id + 3]) {
      try db.transaction { db in
        try insert(id, db)
        do {
          try db.transaction { db in
            try insert(id + 1, db)
            try db.execute("CREATE TABLE undone(a)")
            throw MallocLedger.Cancelled()
          }
        } catch { ledger.check(error) }
        expect([id], from: id, db, ledger)
        try insert(id + 2, db)
        try db.transaction { db in
          try insert(id + 3, db)
          do {
            try db.transaction { db in
              try insert(id + 4, db)
              throw MallocLedger.Cancelled()
            }
          } catch { ledger.check(error) }
        }
        expect([id, id + 2, id + 3], from: id, db, ledger)
      }
    }
    // Undone as a whole, after a schema change that was undone before: ROLLBACK is compiled anew.
    do {
      try db.transaction { db in
        try insert(id + 10, db)
        do {
          try db.transaction { db in
            try db.execute("CREATE TABLE undone(a)")
            throw MallocLedger.Cancelled()
          }
        } catch { ledger.check(error) }
        try insert(id + 11, db)
        throw MallocLedger.Cancelled()
      }
    } catch { ledger.check(error) }
    ledger.note([id + 20]) { try insert(id + 20, db) }
    ledger.note([id + 21]) {
      try db.transaction { db in
        try insert(id + 21, db)
        do {
          try db.transaction { db in
            try insert(id + 22, db)
            return TransactionResult.rollback
          }
        } catch { ledger.check(error) }
      }
    }
    ledger.note([id + 30, id + 31]) {
      try Member.insert([Member(id: id + 30, name: "\(id + 30)"), Member(id: id + 31, name: "\(id + 31)")]).run(db)
    }
    do {
      try Member.delete(Member.id == id + 20).run(db)
      ledger.change { _ = $0.deleted.insert(id + 20) }
    } catch { ledger.check(error) }
  }

  private func byHand(_ db: SqliteDatabase, _ id: Int, _ ledger: MallocLedger) {
    ledger.change { $0.refused.formUnion([id + 1, id + 3]) }
    ledger.note([id, id + 2]) {
      try db.beginTransaction()
      do {
        try insert(id, db)
        try db.beginTransaction()
        try insert(id + 1, db)
        try db.execute("CREATE TABLE undone(a)")
        try db.rollbackTransaction()
        expect([id], from: id, db, ledger)
        try db.beginTransaction()
        try insert(id + 2, db)
        try db.commitTransaction()
        try db.beginTransaction()
        try insert(id + 3, db)
        try db.rollbackTransaction(2)
        try db.commitTransaction()
      } catch {
        // As a program does that meets an error in between.
        if db.transactionLevel > 0 { do { try db.rollbackTransaction(1) } catch { ledger.check(error) } }
        throw error
      }
    }
    ledger.note([id + 5]) { try insert(id + 5, db) }
  }

  /// A deferred transaction that writes first is begun anew as an immediate one.
  private func deferred(_ db: SqliteDatabase, _ id: Int, _ ledger: MallocLedger) {
    ledger.change { $0.refused.formUnion([id + 1]) }
    ledger.note([id, id + 2]) {
      try db.transaction(.deferred) { db in
        try db.transaction { db in try insert(id, db) }
        do {
          try db.transaction { db in
            try insert(id + 1, db)
            try db.execute("CREATE TABLE undone(a)")
            throw MallocLedger.Cancelled()
          }
        } catch { ledger.check(error) }
        try insert(id + 2, db)
      }
    }
    ledger.note([id + 5]) { try insert(id + 5, db) }
  }

  // MARK: Pools

  private func onPool(
    _ scenario: MallocScenario, _ id: Int, _ ledger: MallocLedger, _ n: Int, _ length: Int
  ) -> Int {
    let pool: SqlitePool
    do {
      pool = try SqlitePool(
        filepath: path,
        configuration: .init(handles: .init(busyTimeout: 1, synchronous: .off), readers: 1, pollInterval: nil))
    } catch {
      ledger.complain("the pool: \(error)")
      return 1
    }
    let token = pool.observe(on: Member.self) { (change: RowChange) in ledger.change { $0.events.append(change) } }
    FailingAllocator.arm(n, length: length)
    if scenario == .pool { calls(pool, id, ledger) } else { shared(pool, id, ledger) }
    let failed = FailingAllocator.disarm()
    do {
      // Whatever handle was lost, the pool has another.
      try insert(id + 90, pool)
      ledger.change { $0.stored[id + 90] = "\(id + 90)" }
      if try pool.read({ db in try Member.count().filter(Member.id == id + 90).run(db) }) != 1 {
        ledger.complain("the pool does not read what it wrote")
      }
      try pool.close()
    } catch { ledger.complain("the pool afterwards: \(error)") }
    pool.queue.sync {}
    pool.removeObserver(token)
    return failed
  }

  private func insert(_ id: Int, _ pool: SqlitePool) throws { try Member(id: id, name: "\(id)").insert().run(pool) }

  private func calls(_ pool: SqlitePool, _ id: Int, _ ledger: MallocLedger) {
    ledger.change { $0.refused.formUnion([id + 2, id + 6]) }
    ledger.note([id]) { try insert(id, pool) }
    ledger.note([id + 1]) {
      try pool.transaction { db in
        try insert(id + 1, db)
        do {
          try db.transaction { db in
            try insert(id + 2, db)
            try db.execute("CREATE TABLE undone(a)")
            throw MallocLedger.Cancelled()
          }
        } catch { ledger.check(error) }
      }
    }
    do { try pool.read { db in expect(stored(ledger, id), from: id, db, ledger) } } catch { ledger.check(error) }
    do {
      try pool.transaction { db in
        try insert(id + 6, db)
        throw MallocLedger.Cancelled()
      }
    } catch { ledger.check(error) }
    ledger.note([id + 3]) { try pool.withWriter { db in try db.transaction { db in try insert(id + 3, db) } } }
    ledger.note([id + 4]) { try insert(id + 4, pool) }
  }

  private func stored(_ ledger: MallocLedger, _ id: Int) -> [Int] {
    ledger.state.stored.keys.filter { $0 >= id }.sorted()
  }

  /// Writes that wait for the first, and share its commit; one of them throws, another has an inner one that does.
  private func shared(_ pool: SqlitePool, _ id: Int, _ ledger: MallocLedger) {
    ledger.change { $0.refused.formUnion([id + 10, id + 21]) }
    let group = DispatchGroup()
    // Threads of their own: a queue has as many as there are cores, and takes a second to find out that they wait.
    func start(_ body: @escaping @Sendable () -> Void) {
      group.enter()
      Thread {
        body()
        group.leave()
      }.start()
    }
    let works: [@Sendable (MallocStage) -> Void] = [
      { stage in ledger.note([id + 1]) { try stage.insert(id + 1, pool) } },
      { stage in
        do {
          try pool.transaction { db in
            try stage.insert(id + 10, db)
            throw MallocLedger.Cancelled()
          }
        } catch { ledger.check(error) }
      },
      { stage in
        ledger.note([id + 20]) {
          try pool.transaction { db in
            try stage.insert(id + 20, db)
            do {
              try db.transaction { db in
                try stage.insert(id + 21, db)
                throw MallocLedger.Cancelled()
              }
            } catch { ledger.check(error) }
          }
        }
      },
      { stage in ledger.note([id + 30]) { try stage.insert(id + 30, pool) } },
    ]
    ledger.note([id]) {
      let hasStarted = Atomic(false)
      try pool.transaction { db in
        // Called again when the shared transaction was undone.
        if !hasStarted.exchange(true, ordering: .relaxed) {
          for (number, work) in works.enumerated() {
            nonisolated(unsafe) let stage = self
            start { work(stage) }
            while pool.statistics.waitingWrites <= number { usleep(50) }
          }
        }
        try insert(id, db)
      }
    }
    group.wait()
  }
}
