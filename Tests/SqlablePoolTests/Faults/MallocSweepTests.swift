import Foundation
import Testing

@testable import SqlableTestSupport

/// Failing allocations of SQLite: the n-th one fails, for every n. Acknowledged writes are stored and refused ones are
/// not. Observers are notified of stored changes only, and a handle works or reports that it is lost.
///
/// The sweep runs in a separate process, because SQLite takes an allocator only once. An ordinary run takes a part of
/// all n, another one every day; for all of them: `SQLABLE_SWEEP=all swift test --filter MallocSweepTests`.
@Suite struct MallocSweepTests {
  @Test(
    .enabled(if: TestProgram.isAvailable && !isSanitized, "the tests are no program of their own here"),
    // A dereference of NULL in its sqlite3_prepare_v3 ends the process.
    .disabled(if: isEncrypted && !SQLiteLibrary.hasPreupdateHook, "Debian's SQLCipher survives no failed allocation"))
  func failedAllocationsLoseAndInventNothing() throws {
    let report = try FaultProcess.run("malloc", filter: "MallocSweepProcess")
    for line in report.lines { print(line) }
    #expect(report.violations == [])
    #expect(report.isDone)
  }
}

/// The test of the separate process.
@Suite(.enabled(if: FaultProcess.order == "malloc", "a process of its own"))
struct MallocSweepProcess {
  /// The numbers of consecutive allocations that fail.
  private static let lengths = [1, 8, 64, Int.max]

  @Test func everyFailedAllocationKeepsReportsTrue() throws {
    guard FailingAllocator.install() else { return FaultProcess.say("VIOLATION SQLite does not take the allocator") }
    let stride = FaultProcess.stride(ordinary: 41)
    try withDirectory { directory in
      for scenario in MallocScenario.allCases {
        let stage = try MallocStage(directory + "/\(scenario).sqlite")
        for length in MallocSweepProcess.lengths {
          var (n, runs, failures, lost) = (1 + stride.offset, 0, 0, 0)
          while true {
            let outcome = stage.run(scenario, n, length)
            runs += 1
            failures += outcome.failed
            lost += outcome.isLost ? 1 : 0
            for violation in outcome.violations {
              FaultProcess.say("VIOLATION \(scenario) n=\(n) length=\(length): \(violation)")
            }
            if outcome.failed == 0 { break }
            n += stride.step
          }
          FaultProcess.say(
            "\(scenario), \(length == Int.max ? "all" : "\(length)") from the n-th on: n to \(n), \(runs) runs, "
              + "\(failures) allocations failed, \(lost) handles lost")
        }
        try stage.close()
      }
    }
    FaultProcess.say("DONE")
  }
}
