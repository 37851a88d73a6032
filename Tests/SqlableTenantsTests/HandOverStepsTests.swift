import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The states in which two machines are left if both are killed before any of the system calls of a hand-over.
///
/// As in ``TenantStepsTests``, each state is a copy of the directories of both machines. While one machine works, the
/// other waits for its answer, so these are also the states in which one of the machines is killed.
@Suite struct HandOverStepsTests {
  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && TenantStepsTests.hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"))
  func aKilledHandOverLeavesOneOwner() throws {
    try withDirectory { directory in
      let library = directory + "/steps.so"
      try #require(Administrator.run("cc", "-shared", "-fPIC", "-o", library, TenantStepsTests.source, "-ldl"))
      let report = try FaultProcess.run(
        "handOver", filter: "HandOverStepsProcess", environment: ["LD_PRELOAD": library])
      for line in report.lines { print(line) }
      #expect(report.violations == [])
      #expect(report.isDone, "\(report.lines)")
    }
  }
}

/// The test of the separate process.
@Suite(.enabled(if: FaultProcess.order == "handOver", "a process of its own"))
struct HandOverStepsProcess {
  @Test func everyStateHasAtMostOneWriter() async throws {
    guard let arm = dlsym(nil, "steps_arm").map({ unsafeBitCast($0, to: TenantStepsProcess.Arm.self) }),
      let disarm = dlsym(nil, "steps_disarm").map({ unsafeBitCast($0, to: TenantStepsProcess.Disarm.self) })
    else { return FaultProcess.say("VIOLATION the library is not preloaded") }
    for isReturn in [false, true] {
      try await withDirectoryAsync { directory in
        let (path, copies) = (directory + "/machines", directory + "/copies")
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
        var machines = try Machines(path)
        try await machines.here.create("acme")
        try await machines.here["acme"].add("1")
        if isReturn {
          try await machines.handOver()
          swap(&machines.here, &machines.there)
        }
        arm(path, copies)
        try await machines.handOver()
        let count = disarm()
        try await machines.close()
        for index in 0..<count {
          let what = "\(isReturn ? "return" : "hand-over") \(index)"
          for cancels in [false, true] {
            let copy = copies + "/\(index)-\(cancels)"
            try FileManager.default.copyItem(atPath: copies + "/\(index)", toPath: copy)
            do { try await check(copy, isReturn: isReturn, cancels: cancels, what) } catch {
              FaultProcess.say("VIOLATION \(what), \(cancels ? "cancelled" : "ended"): \(error)")
            }
          }
        }
        FaultProcess.say("\(isReturn ? "return" : "hand-over"): \(count) states")
      }
    }
    FaultProcess.say("DONE")
  }

  /// Uses the directories of a copy as the next processes would.
  private func check(_ path: String, isReturn: Bool, cancels: Bool, _ what: String) async throws {
    var machines = try Machines(path)
    if isReturn { swap(&machines.here, &machines.there) }
    var rows = ["1"]
    func write(_ text: String) async -> Int {
      var count = 0
      for tenants in [machines.here, machines.there] {
        do {
          try await tenants["acme"].add(text)
          rows.append(text)
          count += 1
        } catch let error as SqlError where error.kind == .tenant(.handedOver) || error.kind == .tenant(.missing) {
        } catch { FaultProcess.say("VIOLATION \(what): \(error)") }
      }
      return count
    }
    if await write("2") > 1 { FaultProcess.say("VIOLATION \(what): two machines write") }
    if try machines.here.contains("acme") {
      if !cancels { try await machines.handOver() }
    } else if try await machines.here.unfinishedHandOvers() == ["acme"] {
      if cancels {
        let there = machines.there
        do { try await machines.here.cancelHandOver("acme") { try await there.receive($0) } } catch let error
          as SqlError
          where error.kind == .tenant(.handedOver)
        {}
      } else {
        try await machines.handOver()
      }
    }
    let count = await write("3")
    if count != 1 { FaultProcess.say("VIOLATION \(what): \(count) machines write in the end") }
    let isThere = try machines.there.contains("acme")
    if !cancels, !isThere { FaultProcess.say("VIOLATION \(what): the hand-over did not end") }
    let found = try await (isThere ? machines.there : machines.here)["acme"].texts()
    if found != rows { FaultProcess.say("VIOLATION \(what): \(found) instead of \(rows)") }
    try await machines.close()
  }
}

/// Two machines, whose directories are in one directory.
private struct Machines {
  var here: SqliteTenants
  var there: SqliteTenants

  init(_ path: String) throws {
    let configuration = TenantsConfiguration(createsMissing: false)
    (here, there) = (
      try openTenants(path + "/a", configuration),
      try openTenants(path + "/b", configuration)
    )
  }

  func handOver() async throws {
    let there = there
    try await here.handOver("acme") { try await there.receive($0) }
  }

  func close() async throws {
    try await here.close()
    try await there.close()
  }
}
