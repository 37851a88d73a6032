import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// Failed syncs of directories. As in the kernel, the next sync succeeds, and does not store the changes from before.
extension TenantFaultProcess {
  typealias Missing = @convention(c) (UnsafeMutablePointer<CChar>, Int) -> Void

  /// Reports the names that a power failure would lose or bring back.
  func checkAllIsSynced(_ missing: Missing, _ what: String) {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1 << 16)
    defer { text.deallocate() }
    missing(text, 1 << 16)
    let names = String(cString: text)
    if !names.isEmpty { FaultProcess.say("VIOLATION not synced, \(what): \(names)") }
  }

  private enum Operation: String, CaseIterable {
    case create, createFromBackup, copy, rename, delete, deleteDamaged, restore, restoreDamaged, backup, handOver
    case handBack, cancel

    var isHandOver: Bool { [.handOver, .handBack, .cancel].contains(self) }
  }

  private struct Failures {
    let arm: @convention(c) (UnsafePointer<CChar>) -> Void
    let fail: @convention(c) (Int, Int) -> Void
    let failWith: @convention(c) (Int32) -> Void
    let failed: @convention(c) () -> Int
    let missing: Missing
  }

  private var failures: Failures? {
    guard let arm = function("syncs_arm", (@convention(c) (UnsafePointer<CChar>) -> Void).self),
      let fail = function("syncs_fail", (@convention(c) (Int, Int) -> Void).self),
      let failWith = function("syncs_fail_with", (@convention(c) (Int32) -> Void).self),
      let failed = function("syncs_failed", (@convention(c) () -> Int).self),
      let missing = function("syncs_missing", Missing.self)
    else { return nil }
    return Failures(arm: arm, fail: fail, failWith: failWith, failed: failed, missing: missing)
  }

  @Test(.enabled(if: FaultProcess.order == "tenantDirectories", "a process of its own"))
  func aNameThatCouldNotBeSyncedIsNotBelieved() async throws {
    guard let failures else { return }
    for operation in Operation.allCases {
      var number = 1
      while number < 100, try await runs(operation, failures, failing: number) { number += 1 }
      FaultProcess.say("\(operation): \(number - 1) syncs")
      if number == 1 { FaultProcess.say("VIOLATION no sync: \(operation)") }
    }
    try await aTenantIsRefusedIfNothingCanBeSynced(failures)
    try await anInterruptedSyncIsRepeated(failures)
    FaultProcess.say("DONE")
  }

  /// Runs an operation, in which a sync of a directory fails, until it succeeds. Returns false if no sync has failed.
  private func runs(_ operation: Operation, _ failures: Failures, failing number: Int) async throws -> Bool {
    let (path, what) = ("\(directory)/\(operation)-\(number)", "\(operation), sync \(number)")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var (here, there) = (try openTenants(path + "/here"), try openTenants(path + "/there"))
    try await here["acme"].add("1")
    let backup = path + "/backup.sqlite"
    try await here["acme"].withPool { pool in try await pool.backup(to: backup) }
    switch operation {
    case .deleteDamaged, .restoreDamaged: try await damage("acme", here)
    case .restore: try await here["acme"].add("2")
    case .handBack:
      try await here.handOver("acme") { [there] in try await there.receive($0) }
      swap(&here, &there)
    default: break
    }
    failures.arm(path)
    failures.fail(number, 1)
    var hasFailed = false
    for attempt in 1... {
      do {
        try await run(operation, here, there, path)
        hasFailed = hasFailed || failures.failed() > 0
        break
      } catch let error as SqlError where error.kind == .tenant(.handedOver) && operation.isHandOver {
        hasFailed = true
        if try there.contains("acme") { break }
      } catch {
        hasFailed = true
        guard (error as? SqlError)?.kind == .io, attempt < 4 else {
          FaultProcess.say("VIOLATION \(what), attempt \(attempt): \(error)")
          break
        }
      }
      failures.fail(0, 0)
    }
    failures.fail(0, 0)
    checkAllIsSynced(failures.missing, what)
    do { try await check(operation, here, there, path, what) } catch {
      FaultProcess.say("VIOLATION \(what), afterwards: \(error)")
    }
    for tenants in [here, there] { try await tenants.close() }
    return hasFailed
  }

  private func run(
    _ operation: Operation, _ here: SqliteTenants, _ there: SqliteTenants, _ path: String
  ) async throws {
    switch operation {
    case .create: try await here.create("new")
    case .createFromBackup: try await here.create("new", from: path + "/backup.sqlite")
    case .copy: try await here.copy("acme", to: "new")
    case .rename: try await here.rename("acme", to: "new")
    case .delete, .deleteDamaged: try await here.delete("acme")
    case .restore, .restoreDamaged: try await here.restore("acme", from: path + "/backup.sqlite")
    case .backup:
      let report = try await here.backup(to: path + "/backups")
      if let failure = report.failures.first { throw failure.error }
    case .handOver, .handBack: try await here.handOver("acme") { try await there.receive($0) }
    case .cancel:
      if try await here.unfinishedHandOvers() == ["acme"] {
        return try await here.cancelHandOver("acme") { try await there.receive($0) }
      }
      do {
        try await here.handOver("acme") { part in
          if case .end = part.content { throw CancellationError() }
          return try await there.receive(part)
        }
      } catch is CancellationError {
        guard try here.contains("acme") else { throw SqlError(.io, message: "the owner is unknown") }
      }
    }
  }

  private func check(
    _ operation: Operation, _ here: SqliteTenants, _ there: SqliteTenants, _ path: String, _ what: String
  ) async throws {
    var expected: [String: [String]] = ["acme": ["1"]]
    switch operation {
    case .create: expected["new"] = []
    case .createFromBackup, .copy: expected["new"] = ["1"]
    case .rename: expected = ["new": ["1"]]
    case .delete, .deleteDamaged: expected = [:]
    case .restore, .restoreDamaged, .cancel, .handOver, .handBack: break
    case .backup:
      if try here.backups(of: "acme", in: path + "/backups").isEmpty {
        FaultProcess.say("VIOLATION \(what): there is no backup")
      }
    }
    let isThere = operation == .handOver || operation == .handBack
    for tenants in [here, there] {
      var found: [String: [String]] = [:]
      for name in try await tenants.allNames() { found[name] = try await tenants[name].texts() }
      let wanted = (tenants === there) == isThere ? expected : [:]
      if found != wanted { FaultProcess.say("VIOLATION \(what): \(found) instead of \(wanted)") }
    }
  }

  /// If the old name can't be synced either, nobody knows the name that the disk has.
  private func aTenantIsRefusedIfNothingCanBeSynced(_ failures: Failures) async throws {
    let path = directory + "/refused"
    let tenants = try openTenants(path + "/tenants")
    for name in ["acme", "other"] { try await tenants[name].add("1") }
    // Syncs the name of the directory.
    try await tenants.create("new")
    try await tenants.delete("new")
    failures.arm(path)
    // SQLite syncs the directory, too, and ignores the error.
    failures.fail(1, 1_000)
    await check("a rename", .io) { try await tenants.rename("acme", to: "new") }
    failures.fail(0, 0)
    for name in ["acme", "new"] { await check("a call on \(name)", .io) { try await tenants[name].add("2") } }
    await check("the deletion", .io) { try await tenants.delete("acme") }
    try await tenants["other"].add("2")
    try await tenants.close()
    let again = try openTenants(path + "/tenants")
    if try await again["acme"].texts() != ["1"] { FaultProcess.say("VIOLATION other rows after the next start") }
    try await again.close()
  }

  /// A sync that a signal interrupts is repeated. A file system that can't sync directories is used without.
  private func anInterruptedSyncIsRepeated(_ failures: Failures) async throws {
    for (code, count) in [(EINTR, 5), (EINVAL, 1_000)] {
      let path = directory + "/error-\(code)"
      let tenants = try openTenants(path + "/tenants")
      failures.arm(path)
      failures.failWith(code)
      failures.fail(1, count)
      for name in ["acme", "other"] { try await tenants.create(name) }
      try await tenants.rename("other", to: "new")
      try await tenants.delete("new")
      if failures.failed() < min(count, 4) { FaultProcess.say("VIOLATION \(failures.failed()) syncs failed") }
      if code == EINTR { checkAllIsSynced(failures.missing, "after interruptions") }
      failures.fail(0, 0)
      try await tenants["acme"].add("1")
      try await tenants.close()
    }
    failures.failWith(EIO)
  }
}
