import Foundation
import Glibc
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// Disks that fail and syncs that are missing. Libraries of `Tests/Faults` are preloaded into separate processes.
@Suite struct TenantFaultTests {
  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && TenantStepsTests.hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"),
    arguments: [
      ("tenantSync", "files", ".new/"), ("tenantRead", "files", "catalog.sqlite"), ("tenantNames", "syncs", ""),
      ("tenantDirectories", "syncs", ""),
    ])
  func aFailureIsReportedAndNothingIsLost(_ order: String, _ library: String, _ files: String) throws {
    try withDirectory { directory in
      let path = directory + "/\(library).so"
      let source = Repository.root.appending(path: "Tests/Faults/\(library).c").path
      try #require(Administrator.run("cc", "-shared", "-fPIC", "-o", path, source, "-ldl", "-lpthread"))
      let selected = files.hasSuffix("/") ? directory + "/there/" + files : files
      let report = try FaultProcess.run(
        order, filter: "TenantFaultProcess",
        environment: ["LD_PRELOAD": path, "FAULT_FILES": selected, "SQLABLE_FAULT_DIRECTORY": directory])
      #expect(report.violations == [])
      #expect(report.isDone, "\(report.lines)")
    }
  }
}

/// The tests of the separate processes.
@Suite struct TenantFaultProcess {
  typealias Arm = @convention(c) (Int, Int, Int, Int32, Int) -> Void
  let directory = ProcessInfo.processInfo.environment["SQLABLE_FAULT_DIRECTORY"] ?? ""

  func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
    let found = dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    if found == nil { FaultProcess.say("VIOLATION the library is not preloaded") }
    return found
  }

  func check(_ what: String, _ kind: SqlError.Kind, _ body: () async throws -> Void) async {
    var found: (any Error)?
    do { try await body() } catch { found = error }
    guard let error = found as? SqlError, error.kind == kind else {
      return FaultProcess.say("VIOLATION \(what): \(found.map { "\($0)" } ?? "no error")")
    }
  }

  @Test(.enabled(if: FaultProcess.order == "tenantSync", "a process of its own"))
  func aFailedSyncEndsAReception() async throws {
    guard let arm = function("faults_arm", Arm.self) else { return }
    for last in [false, true] {
      let (here, there) = (try openTenants(directory + "/here"), try openTenants(directory + "/there"))
      try await here["acme"].add("1")
      await check("a hand-over, last sync: \(last)", .io) {
        try await here.handOver("acme") { part in
          switch part.content {
          case .sync where !last, .end where last:
            // The next sync fails, and the one after it would succeed.
            arm(8, 1, 1, EIO, 0)
            await check("a sync", .io) { _ = try await there.receive(part) }
            await check("the same part again", .tenant(.missing)) { _ = try await there.receive(part) }
            throw SqlError(.io, message: "the receiver can't sync")
          default: return try await there.receive(part)
          }
        }
      }
      if try there.contains("acme") { FaultProcess.say("VIOLATION a tenant whose sync has failed was received") }
      try await here.handOver("acme") { try await there.receive($0) }
      if try await there["acme"].texts() != ["1"] { FaultProcess.say("VIOLATION other rows") }
      for tenants in [here, there] { try await tenants.close() }
      for name in ["here", "there"] { try FileManager.default.removeItem(atPath: directory + "/" + name) }
    }
    FaultProcess.say("DONE")
  }

  @Test(.enabled(if: FaultProcess.order == "tenantRead", "a process of its own"))
  func aSharedFileThatCanNotBeReadIsNoDamage() async throws {
    guard let arm = function("faults_arm", Arm.self) else { return }
    let path = directory + "/catalog.sqlite"
    let db = try SqliteDatabase(filepath: path)
    try db.createTable(Note.self)
    try Note.insert((0..<2_000).map { Note("\($0)") }).run(db)
    try db.close()
    let handles = Configuration(cacheSize: 10, attached: ["shop": path], attachedReadOnly: ["shop"])
    let tenants = try openTenants(
      directory + "/tenants",
      TenantsConfiguration(maximumOpen: 2, pool: PoolConfiguration(handles: handles, readers: 1)))
    func shared(_ name: String) async throws -> Int {
      try await Note.read().in(database: "shop").run(tenants[name]).count
    }
    // Opens the tenant's writer and reader.
    try await tenants["a"].add("1")
    _ = try await tenants["a"].texts()
    arm(2, 1, .max / 2, EIO, 0)
    await check("a read of the shared file", .io) { _ = try await shared("a") }
    do { _ = try await shared("a") } catch let error as SqlError where error.label == "a" {} catch {
      FaultProcess.say("VIOLATION an error without its tenant: \(error)")
    }
    try await tenants["a"].add("2")
    // A failed read closes its reader, and the next reader also attaches the file.
    await check("a read of the tenant", .io) { _ = try await tenants["a"].texts() }
    await check("a tenant that is opened meanwhile", .io) { try await tenants["b"].add("1") }
    arm(0, 1, 0, 0, 0)
    for name in ["a", "b"] where try await shared(name) != 2_000 { FaultProcess.say("VIOLATION rows of the file") }
    if try await tenants["a"].texts() != ["1", "2"] { FaultProcess.say("VIOLATION other rows of the tenant") }
    try await tenants["b"].add("1")
    let problems = tenants.health(limits: .init(freeBytes: 0)).tenantProblems
    if !problems.isEmpty { FaultProcess.say("VIOLATION problems after the failure: \(problems)") }
    try await tenants.close()
    FaultProcess.say("DONE")
  }

  @Test(.enabled(if: FaultProcess.order == "tenantNames", "a process of its own"))
  func eachNameOfAHandOverIsSyncedBeforeTheNextPart() async throws {
    guard let arm = function("syncs_arm", (@convention(c) (UnsafePointer<CChar>) -> Void).self),
      let missing = function("syncs_missing", Missing.self)
    else { return }
    @Sendable func check(_ what: String) { checkAllIsSynced(missing, what) }
    var (here, there) = (try openTenants(directory + "/a"), try openTenants(directory + "/b"))
    try await here["acme"].add("1")
    arm(directory)
    for isCancelled in [false, true, false, true] {
      let what = isCancelled ? "cancelled" : "handed over"
      do {
        try await here.handOver("acme") { [there] part in
          check("\(what), before \(part.content)")
          if isCancelled, case .end = part.content { throw CancellationError() }
          let receipt = try await there.receive(part)
          check("\(what), after \(part.content)")
          return receipt
        }
        swap(&here, &there)
      } catch is CancellationError where isCancelled {}
      check(what)
      try await here["acme"].add(what)
    }
    // A sender that was killed between its rename and the sync.
    try await here.close()
    here = try openTenants(here.directory.path)
    let name = try TenantName("acme")
    try here.directory.lockHandOver(of: name).write(newToken())
    try renameToNew(here.directory.file(of: name), here.directory.awayFile(of: name))
    try await here.handOver("acme") { [there] part in
      check("after a kill, before \(part.content)")
      return try await there.receive(part)
    }
    try await there.delete("acme")
    check("deleted")
    for tenants in [here, there] { try await tenants.close() }
    FaultProcess.say("DONE")
  }
}
