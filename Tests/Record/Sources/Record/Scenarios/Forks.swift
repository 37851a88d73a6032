import Foundation
import Glibc
import Sqlable

extension Scenario {
  /// A process with busy handles and pools forks.
  static let fork = Scenario(
    name: "fork",
    promise: "In a forked child, each call throws. The parent loses no lock, no transaction and no row.",
    unit: "forks", limit: 240, flaws: ["returnsInTheChild", "losesTheLock", "losesAWrite"],
    run: { round in
      let parent = try ForkingParent(round.directory + "/forked.sqlite")
      for turn in 0..<6 {
        if turn.isMultiple(of: 2) { try parent.forkWhileBusy(round) } else { try parent.forkInTransaction(round) }
        if round.hasFindings { return }
      }
      try parent.check(round)
    },
    work: { words in
      // A process that asks for the lock which the parent holds.
      guard words.count == 1 else { throw Failure("the other process needs one word") }
      let db = try SqliteDatabase(filepath: words[0], configuration: Configuration(busyTimeout: 0))
      do {
        try db.transaction { _ in }
        Teller.tell("free")
      } catch let error as SqlError { Teller.tell(error.kind == .busy ? "busy" : "threw \(error)") }
    })
}

/// A pool and handles, of which some are used by threads at the time of the fork.
private struct ForkingParent {
  private let path: String
  private let pool: SqlitePool
  private let busy: SqliteDatabase
  private let held: SqliteDatabase
  private let ledger = Ledger()

  init(_ path: String) throws {
    self.path = path
    let handles = Configuration(busyTimeout: 60, synchronous: .off, walAutocheckpoint: 50)
    busy = try SqliteDatabase(filepath: path, configuration: handles)
    try busy.createTable(Member.self)
    held = try SqliteDatabase(filepath: path, configuration: handles)
    pool = try SqlitePool(
      filepath: path,
      configuration: PoolConfiguration(handles: handles, readers: 1, waitTimeout: .seconds(60), pollInterval: nil))
    // Once before the fork: the child has no thread that could release a lock of the runtime.
    for call in calls { try? call() }
  }

  /// The calls of the child.
  private var calls: [() throws -> Void] {
    [
      { _ = try busy.query("SELECT count(*) FROM member", as: Int.self) },
      { try Member(id: -1, name: "child").insert().run(busy) },
      { try busy.transaction { db in _ = try Member.delete(Member.id == -1).run(db) } },
      { _ = try Member.count().run(held) },
      { try held.execute("DELETE FROM member WHERE id = -1") },
      { _ = try pool.read { db in try Member.count().run(db) } },
      { try pool.transaction { db in _ = try Member.delete(Member.id == -1).run(db) } },
    ]
  }

  /// Forks. In the child, each call has to throw a misuse.
  private func fork(_ round: Round) {
    let calls = calls
    let returns = round.flaw == "returnsInTheChild"
    let child = Fork.begin()
    if child == 0 {
      var wrong: Int32 = returns ? 1 : 0
      for call in calls {
        do {
          try call()
          wrong += 1
        } catch let error as SqlError {
          if case .misuse = error.kind {} else { wrong += 100 }
        } catch { wrong += 100 }
      }
      _exit(min(wrong, 255))
    }
    let status = Fork.wait(for: child)
    round.tried()
    if status & 0x7F == SIGALRM { return round.report(.hung, "a call of the child waits") }
    if status & 0x7F != 0 { return round.report(.trapped, "the child, signal \(status & 0x7F)") }
    if status != 0 { round.report(.wrong, "\(status >> 8) of the child's calls did not throw a misuse") }
  }

  func forkWhileBusy(_ round: Round) throws {
    let isDone = Mutex(false)
    let waits = (0..<4).map { _ in round.random.pick([0, 100, 2_000, 10_000]) }
    let (pool, busy, ledger) = (pool, busy, ledger)
    let group = DispatchGroup()
    for thread in 0..<4 {
      let work = Thread {
        while !isDone.withLock({ $0 }) {
          if thread == 3 {
            _ = try? pool.read { db in try Member.count().run(db) }
          } else {
            ledger.write { id in
              func insert(_ db: SqliteDatabase) throws {
                try Member(id: id, name: String(repeating: "x", count: id % 300)).insert().run(db)
              }
              if thread == 2 { try busy.transaction(insert) } else { try pool.transaction(insert) }
            }
          }
        }
        group.leave()
      }
      work.stackSize = 1 << 20
      group.enter()
      work.start()
    }
    for wait in waits where !round.hasFindings {
      usleep(UInt32(wait))
      fork(round)
    }
    isDone.withLock { $0 = true }
    group.wait()
  }

  /// Forks inside a transaction. Afterwards, another process still finds the file locked.
  func forkInTransaction(_ round: Round) throws {
    ledger.write { id in
      try held.transaction { db in
        try Member(id: id, name: "held").insert().run(db)
        fork(round)
        // Closing any descriptor of a file releases the process's locks on the file.
        if round.flaw == "losesTheLock" { for name in [path, path + "-shm"] { close(open(name, O_RDONLY)) } }
        let other = try round.startTeller([path])
        other.read(seconds: 30)
        other.kill()
        if other.lines != ["busy"] { round.report(.wrong, "the lock of the parent: \(other.lines)") }
      }
    }
  }

  func check(_ round: Round) throws {
    for error in ledger.errors { round.report(.wrong, "a write of the parent threw \(error)") }
    if round.flaw == "losesAWrite" { try busy.execute("DELETE FROM member WHERE id = (SELECT max(id) FROM member)") }
    let db = try SqliteDatabase(filepath: path)
    try ledger.check(db, round)
    round.log("\(ledger.storedCount) writes")
    try pool.close()
  }
}
