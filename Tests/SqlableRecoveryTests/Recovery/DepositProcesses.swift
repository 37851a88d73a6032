import Foundation
import Glibc
import SqlableCore
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

/// Tests that kill processes while they put files aside.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct DepositProcesses {
  fileprivate static let variable = "SQLABLE_DEPOSIT_WORKER"
  fileprivate static let logs = ["-wal", "-journal"]

  @Test func aFileThatIsPutAsideKeepsItsLogWhenTheProcessIsKilled() throws {
    var random = SeededGenerator(seed: 17)
    let isSweep = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
    for _ in 0..<(isSweep ? 200 : 5) {
      try withDirectory { directory in
        let worker = try TestProgram.start(
          "DepositWorkerProcess", environment: [DepositProcesses.variable: directory])
        waitUntil(within: .seconds(900)) { access(directory + "/1", F_OK) == 0 }
        usleep(UInt32.random(in: 0..<20_000, using: &random))
        worker.signal(SIGKILL)
        worker.waitUntilExit()
        for place in files(in: directory) {
          let names = files(in: directory + "/" + place)
          // The file has either its original or its new name.
          guard let main = names.first(where: { $0 == "a.sqlite" || $0.hasSuffix("Z") }) else { continue }
          for log in DepositProcesses.logs { #expect(names.contains(main + log), "\(names)") }
        }
      }
    }
  }
}

/// The worker process that `DepositProcesses` starts and kills.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[DepositProcesses.variable] != nil, "a process of its own"))
struct DepositWorkerProcess {
  @Test func work() throws {
    let directory = try #require(ProcessInfo.processInfo.environment[DepositProcesses.variable])
    let begin = ContinuousClock.now
    var number = 0
    // The loop ends by itself if nothing kills the process.
    while begin.duration(to: .now) < .seconds(20) {
      let path = "\(directory)/\(number)/a.sqlite"
      try FileManager.default.createDirectory(atPath: "\(directory)/\(number)", withIntermediateDirectories: true)
      // The database file moves last, so its WAL is always at the new place before it.
      for ending in DepositProcesses.logs + [""] {
        close(open(path + ending, O_WRONLY | O_CREAT, 0o600))
      }
      _ = try Salvage.putAside(path)
      number += 1
    }
  }
}
