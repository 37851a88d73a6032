import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The states in which a process leaves the tenants if it is killed before any of the system calls of an operation.
///
/// `Tests/Faults/steps.c` is preloaded into a separate process, and copies the directory before each system call that
/// changes a file. Each copy must hold the tenants from before or after the operation.
@Suite struct TenantStepsTests {
  static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../Faults/steps.c").standardizedFileURL.path
  static let hasCompiler = Administrator.run("cc", "--version")

  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"))
  func aKilledProcessLeavesTheOldOrTheNewState() throws {
    try withDirectory { directory in
      let library = directory + "/steps.so"
      try #require(Administrator.run("cc", "-shared", "-fPIC", "-o", library, TenantStepsTests.source, "-ldl"))
      let report = try FaultProcess.run("tenants", filter: "TenantStepsProcess", environment: ["LD_PRELOAD": library])
      for line in report.lines { print(line) }
      #expect(report.violations == [])
      #expect(report.isDone, "\(report.lines)")
      #expect(report.lines.count > TenantStepsProcess.Operation.allCases.count)
    }
  }
}

/// The test of the separate process.
@Suite(.enabled(if: FaultProcess.order == "tenants", "a process of its own"))
struct TenantStepsProcess {
  enum Operation: String, CaseIterable {
    case create, createFromBackup, firstUse, delete, deleteDamaged, rename, copy, restore, restoreDamaged
  }

  private typealias State = [String: [String]]
  typealias Arm = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Void
  typealias Disarm = @convention(c) () -> Int
  typealias Hide = @convention(c) (UnsafePointer<CChar>) -> Void
  typealias DisableLinks = @convention(c) (Int32) -> Void

  @Test func everyStateIsOldOrNew() async throws {
    guard let arm = dlsym(nil, "steps_arm").map({ unsafeBitCast($0, to: Arm.self) }),
      let disarm = dlsym(nil, "steps_disarm").map({ unsafeBitCast($0, to: Disarm.self) })
    else { return FaultProcess.say("VIOLATION the library is not preloaded") }
    for operation in Operation.allCases {
      try await withDirectoryAsync { directory in
        let (path, copies) = (directory + "/tenants", directory + "/copies")
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
        let tenants = try self.tenants(path)
        try await tenants["a"].add("1")
        let backup = directory + "/backup.sqlite"
        try await tenants["a"].withPool { pool in try await pool.backup(to: backup) }
        switch operation {
        case .deleteDamaged, .restoreDamaged:
          try await tenants.rename("a", to: "b")
          try await damage("b", tenants)
        case .restore: try await tenants["a"].add("2")
        default: break
        }
        arm(path, copies)
        try await run(operation, tenants, backup)
        let count = disarm()
        try await tenants.close()
        for index in 0..<count {
          try await check(copies + "/\(index)", operation, "\(operation) \(index)")
        }
        FaultProcess.say("\(operation): \(count) states")
      }
    }
    for hasLinks in [true, false] { try replaceDamaged(arm, disarm, hasLinks: hasLinks) }
    FaultProcess.say("DONE")
  }

  private func tenants(_ path: String) throws -> SqliteTenants {
    try openTenants(path)
  }

  /// Replaces a damaged file that has logs. In each state, there is the old file with its logs or the new file.
  private func replaceDamaged(_ arm: Arm, _ disarm: Disarm, hasLinks: Bool) throws {
    guard let hide = dlsym(nil, "steps_hide").map({ unsafeBitCast($0, to: Hide.self) }),
      let disableLinks = dlsym(nil, "steps_without_links").map({ unsafeBitCast($0, to: DisableLinks.self) })
    else { return FaultProcess.say("VIOLATION the library can't fail") }
    disableLinks(hasLinks ? 0 : 1)
    defer { disableLinks(0) }
    try withDirectory { parent in
      let (path, copies, name) = (parent + "/tenants", parent + "/copies", try TenantName("a"))
      try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
      let directory = try TenantDirectory(path, lockTimeout: .seconds(300))
      try directory.withLock(.creating, of: [name]) {}
      let old = ["a.sqlite": "old", "a.sqlite-wal": "its WAL", "a.sqlite-journal": "its journal"]
      for (file, text) in old {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.directory(of: name) + "/" + file))
      }
      let new = try directory.newFile()
      try Data("new".utf8).write(to: URL(fileURLWithPath: new))
      arm(path, copies)
      try directory.withLock(.creating, of: [name]) { try directory.replace(name, by: new, hasLogs: true) }
      var ends: [Bool] = []
      for index in 0..<disarm() {
        let copy = try TenantDirectory(copies + "/\(index)", lockTimeout: .seconds(300))
        let before = try files(copy, name)
        for file in ["a.sqlite-restored", "a.sqlite"] where before["a.sqlite-restored"] != nil {
          hide(file)
          let error = sqlError { try copy.withLock(.shared, of: [name]) {} }
          hide("")
          if try error?.kind != .io || files(copy, name) != before {
            FaultProcess.say("VIOLATION replacement \(index): \(file) can't be read, and the call goes on")
          }
        }
        // As in the next opening of the tenant.
        let after = try copy.withLock(.shared, of: [name]) { try files(copy, name) }
        if before["a.sqlite-replaced"] != nil, !hasLinks { FaultProcess.say("VIOLATION there is a hard link") }
        if after != old, after != ["a.sqlite": "new"] {
          FaultProcess.say("VIOLATION replacement \(index): \(after), from \(before)")
        }
        if before != after { ends.append(after == old) }
      }
      // Both a kill before the new file had its name, and one after.
      if Set(ends).count < 2 { FaultProcess.say("VIOLATION only these replacements were ended: \(ends)") }
    }
  }

  /// Returns the texts of the files in a tenant's directory.
  private func files(_ directory: TenantDirectory, _ name: TenantName) throws -> [String: String] {
    let path = directory.directory(of: name)
    return try FileManager.default.contentsOfDirectory(atPath: path).reduce(into: [:]) { files, file in
      files[file] = try String(contentsOfFile: path + "/" + file, encoding: .utf8)
    }
  }

  private func run(_ operation: Operation, _ tenants: SqliteTenants, _ backup: String) async throws {
    switch operation {
    case .create: try await tenants.create("b")
    case .createFromBackup: try await tenants.create("b", from: backup)
    case .firstUse: _ = try await tenants["b"].texts()
    case .delete: try await tenants.delete("a")
    case .deleteDamaged: try await tenants.delete("b")
    case .rename: try await tenants.rename("a", to: "b")
    case .copy: try await tenants.copy("a", to: "b")
    case .restore: try await tenants.restore("a", from: backup)
    case .restoreDamaged: try await tenants.restore("b", from: backup)
    }
  }

  private func states(_ operation: Operation) -> [State] {
    switch operation {
    case .create, .firstUse: [["a": ["1"]], ["a": ["1"], "b": []]]
    case .createFromBackup, .copy: [["a": ["1"]], ["a": ["1"], "b": ["1"]]]
    case .delete: [["a": ["1"]], [:]]
    case .deleteDamaged: [["b": ["damaged"]], [:]]
    case .rename: [["a": ["1"]], ["b": ["1"]]]
    case .restore: [["a": ["1", "2"]], ["a": ["1"]]]
    case .restoreDamaged: [["b": ["damaged"]], ["b": ["1"]]]
    }
  }

  /// Reads the tenants of a copy, and uses the directory as the next process would.
  private func check(_ path: String, _ operation: Operation, _ what: String) async throws {
    let tenants = try self.tenants(path)
    var state: State = [:]
    for name in try await tenants.allNames() {
      do { state[name] = try await tenants[name].texts() } catch let error as SqlError
        where error.kind == noDatabase
      {
        state[name] = ["damaged"]
      }
    }
    if !states(operation).contains(state) { FaultProcess.say("VIOLATION \(what): \(state)") }
    do {
      for name in try await tenants.allNames() { try await tenants.delete(name) }
      for name in ["a", "b"] { try await tenants.create(name) }
      for name in ["a", "b"] { try await tenants[name].add("again") }
    } catch { FaultProcess.say("VIOLATION \(what), afterwards: \(error)") }
    try await tenants.close()
    let left = try FileManager.default.contentsOfDirectory(atPath: path + "/.new")
    if left.count > 1 { FaultProcess.say("VIOLATION \(what): unfinished files \(left)") }
  }
}
