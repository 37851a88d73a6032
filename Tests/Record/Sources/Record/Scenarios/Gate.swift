import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema

extension Scenario {
  /// Calls on the gate file fail, at which pools queue for the write lock. 345 seeds in a row are every n, for each
  /// error and each number of failures.
  static let gate = Scenario(
    name: "gate",
    promise: "If calls on the gate file fail or are interrupted, pools store every write within the "
      + "busy timeout.",
    unit: "failed calls", limit: 300, flaws: ["losesAWrite"],
    run: { round in
      let library = try FaultLibrary.compile(in: round.libraries)
      let teller = try round.startTeller(
        ["\(round.seed)", round.directory, round.flaw ?? "-"],
        environment: FaultLibrary.environment(library, files: ".sqlite-gate"))
      teller.read(seconds: 240)
      if !teller.isAtEnd { round.report(.hung, "two pools") }
      teller.kill()
      for line in teller.lines {
        if line.hasPrefix("failed ") { round.tried(Int(line.dropFirst(7)) ?? 0) }
        if line.hasPrefix("lost ") { round.report(.lost, String(line.dropFirst(5))) }
        if line.hasPrefix("wrong ") { round.report(.wrong, String(line.dropFirst(6))) }
      }
      if teller.lines.last != "done" { round.report(.wrong, "the pools' process ended early") }
    },
    work: { words in
      guard words.count == 3, let seed = Int(words[0]) else { throw Failure("the pools need three words") }
      let calls: [FaultLibrary.Calls] = [.opens, .locks, .unlocks, .closes, .stats, .owners]
      let length = [1, 3, Int.max / 2][seed % 3]
      let error = [EIO, ENOSPC, ENOLCK, EMFILE, EACCES][seed / 3 % 5]
      func run(_ text: String) throws -> Int {
        let run = try GateRun(words[1] + "/gate.sqlite", losesAWrite: words[2] == "losesAWrite")
        let failed = try FaultLibrary.disarm()
        for line in run.violations { Teller.tell("\(line), \(text)") }
        Teller.tell("failed \(failed)")
        return failed
      }
      var n = 1 + seed / 15 % 23
      while true {
        try FaultLibrary.arm(calls, n, length: length, error: error)
        if try run("errno \(error), n \(n), length \(length)") == 0 { break }
        n += 23
      }
      let every = 2 + seed % 11
      try FaultLibrary.arm(calls, .max / 4, length: 0, error: 0, interruption: every)
      _ = try run("interrupted every \(every) calls")
      Teller.tell("done")
    })
}

/// Two pools on one file, with several writing threads each, and writes to the second after the first has closed.
private struct GateRun {
  private(set) var violations: [String] = []

  init(_ path: String, losesAWrite: Bool) throws {
    let configuration = PoolConfiguration(
      handles: .init(busyTimeout: 20, synchronous: .off), readers: 1, pollInterval: nil)
    let pools = [
      try SqlitePool(filepath: path, configuration: configuration),
      try SqlitePool(filepath: path, configuration: configuration),
    ]
    let ledger = Mutex((stored: Set<Int>(), refused: [Int: String]()))
    @Sendable func write(_ id: Int, _ pool: SqlitePool) {
      do {
        try pool.transaction { db in
          try Member(id: id, name: "\(id)").insert().run(db)
          // The delay is longer than a turn, so the other writers queue.
          if id % 10 == 1 { usleep(3_000) }
        }
        ledger.withLock { _ = $0.stored.insert(id) }
      } catch { ledger.withLock { $0.refused[id] = "\(error)" } }
    }
    try pools[0].transaction { db in
      try db.createTable(Member.self)
      try Member.deleteAll().run(db)
    }
    onThreads(4) { thread in
      for index in 0..<4 { write(thread * 10 + index, pools[thread % 2]) }
    }
    try pools[0].close()
    // The second pool now has the file alone, even if the first could not release its place in the queue.
    write(100, pools[1])
    write(101, pools[1])
    try pools[1].close()
    let db = try SqliteDatabase(filepath: path)
    if losesAWrite { try Member.delete(Member.id == 100).run(db) }
    let found = Set(try Member.read().run(db).map(\.id))
    let (stored, refused) = ledger.withLock { $0 }
    if !stored.isSubset(of: found) { violations.append("lost \(stored.subtracting(found).sorted())") }
    if !found.isSubset(of: stored) { violations.append("wrong refused and stored: \(found.subtracting(stored))") }
    for (id, error) in refused { violations.append("wrong \(id) was refused: \(error)".replacing("\n", with: " ")) }
    if try db.query("PRAGMA integrity_check", as: String.self) != ["ok"] {
      violations.append("wrong the file is damaged")
    }
    try db.close()
  }
}
