import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Failing system calls on the gate file, at which pools queue for the write lock. The n-th call fails, for every n and
/// several errors, or a signal interrupts the call. Pools must go on without longer waits and store every acknowledged
/// write.
///
/// `Tests/Faults/gate.c` is preloaded into a separate process. An ordinary run takes a part of all n; for all of them:
/// `SQLABLE_SWEEP=all swift test --filter GateSweepTests`.
@Suite struct GateSweepTests {
  private static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Faults/gate.c").standardizedFileURL.path
  private static let hasCompiler = Administrator.run("cc", "--version")

  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"))
  func poolsSurviveFailingCallsOnTheGateFile() throws {
    try withDirectory { directory in
      let library = directory + "/gate.so"
      try #require(Administrator.run("cc", "-shared", "-fPIC", "-o", library, GateSweepTests.source, "-ldl"))
      let report = try FaultProcess.run("gate", filter: "GateSweepProcess", environment: ["LD_PRELOAD": library])
      for line in report.lines { print(line) }
      #expect(report.violations == [])
      #expect(report.isDone)
    }
  }
}

/// The test of the separate process.
@Suite(.enabled(if: FaultProcess.order == "gate", "a process of its own"))
struct GateSweepProcess {
  private typealias Arm = @convention(c) (Int, Int, Int32, Int) -> Void
  private typealias Disarm = @convention(c) () -> Int

  private static let errors = [
    (EIO, "EIO"),
    (ENOSPC, "ENOSPC"),
    (ENOLCK, "ENOLCK"),
    (EMFILE, "EMFILE"),
    (EACCES, "EACCES"),
  ]

  @Test func everyFailingCallLeavesPoolsConsistent() throws {
    guard let arm = dlsym(nil, "gate_fault_arm").map({ unsafeBitCast($0, to: Arm.self) }),
      let disarm = dlsym(nil, "gate_fault_disarm").map({ unsafeBitCast($0, to: Disarm.self) })
    else { return FaultProcess.say("VIOLATION the library is not preloaded") }
    let stride = FaultProcess.stride(ordinary: 23)
    // A run that hangs ends the process with a violation.
    let watch = DispatchSource.makeTimerSource(queue: .global())
    let beat = Mutex(ContinuousClock.now)
    watch.schedule(deadline: .now() + 1, repeating: 1)
    watch.setEventHandler {
      guard beat.withLock({ ContinuousClock.now - $0 > .seconds(60) }) else { return }
      FaultProcess.say("VIOLATION a run hangs")
      _exit(1)
    }
    watch.resume()
    for length in [1, 3, Int.max / 2] {
      for (code, name) in GateSweepProcess.errors {
        var (n, runs, failures, refusals) = (1 + stride.offset, 0, 0, 0)
        while true {
          beat.withLock { $0 = .now }
          arm(n, length, code, 0)
          let run = try GateRun()
          let failed = disarm()
          runs += 1
          failures += failed
          refusals += run.refusals
          for violation in run.violations {
            FaultProcess.say("VIOLATION \(name) n=\(n) length=\(length): \(violation)")
          }
          if failed == 0 { break }
          n += stride.step
        }
        FaultProcess.say(
          "\(name), \(length > 3 ? "all" : "\(length)") from the n-th call on: n to \(n), \(runs) runs, "
            + "\(failures) calls failed, \(refusals) transactions refused")
      }
    }
    for every in 2...12 {
      beat.withLock { $0 = .now }
      arm(.max / 4, 0, 0, every)
      let run = try GateRun()
      let failed = disarm()
      for violation in run.violations { FaultProcess.say("VIOLATION EINTR every=\(every): \(violation)") }
      FaultProcess.say("EINTR every \(every) calls: \(failed) calls interrupted, \(run.refusals) transactions refused")
    }
    FaultProcess.say("DONE")
  }
}

/// Two pools on one file, with several writing threads each, and writes to the second after the first has closed.
private struct GateRun {
  private(set) var violations: [String] = []
  private(set) var refusals = 0

  init() throws {
    try withDirectory { directory in
      let path = directory + "/gate.sqlite"
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
      try pools[0].transaction { db in try db.createTable(Member.self) }
      onThreads(4) { thread in
        for index in 0..<4 { write(thread * 10 + index, pools[thread % 2]) }
      }
      try pools[0].close()
      // The second pool now has the file alone, even if the first could not release its place in the queue.
      write(100, pools[1])
      write(101, pools[1])
      try pools[1].close()
      let db = try SqliteDatabase(filepath: path)
      let found = Set(try Member.read().run(db).map(\.id))
      let (stored, refused) = ledger.withLock { $0 }
      refusals = refused.count
      if !stored.isSubset(of: found) {
        violations.append("acknowledged and lost: \(stored.subtracting(found).sorted())")
      }
      if !found.isSubset(of: stored) { violations.append("refused and stored: \(found.subtracting(stored).sorted())") }
      for (id, error) in refused { violations.append("\(id) was refused: \(error)") }
      if try db.query("PRAGMA integrity_check", as: String.self) != ["ok"] { violations.append("the file is damaged") }
      try db.close()
    }
  }
}
