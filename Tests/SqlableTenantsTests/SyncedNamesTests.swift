import Foundation
import Glibc
import SqlableCore
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// Names of files that change in one step and survive a power failure. `DirectoryFaultProcess` has the failed syncs.
@Suite struct SyncedNamesTests {
  private func withNames(_ body: (TenantDirectory, TenantName) throws -> Void) throws {
    try withDirectory { path in
      try body(try TenantDirectory(path + "/tenants", lockTimeout: .seconds(300)), try TenantName("acme"))
    }
  }

  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  @Test func withoutADescriptorNoNameChanges() throws {
    try withNames { directory, name in
      // A missing directory can't be opened, as if there were no descriptors.
      var changes = 0
      let error = sqlError {
        try directory.syncing([name]) {
          changes += 1
        } undo: {
          changes += 1
        }
      }
      #expect(error?.kind == .cannotOpen)
      #expect(changes == 0)
      #expect(sqlError { try directory.syncAgain(name) }?.kind == .cannotOpen)
      // The next call succeeds.
      try directory.withLock(.creating, of: [name]) {
        try directory.syncing([name]) {
          changes += 1
        } undo: {
          changes += 10
        }
        try directory.syncAgain(name)
      }
      #expect(changes == 1)
    }
  }

  @Test func aFailedReplacementLeavesTheFileAndItsLogs() throws {
    try withNames { directory, name in
      try directory.withLock(.creating, of: [name]) {}
      let (path, new) = (directory.file(of: name), try directory.newFile())
      let endings = ["", "-wal", "-journal"]
      func files() throws -> [String] { try endings.map { try String(contentsOfFile: path + $0, encoding: .utf8) } }
      for ending in endings { try write("old" + ending, path + ending) }
      // The new file does not exist.
      #expect(sqlError { try directory.replace(name, by: new, hasLogs: true) }?.kind == .cannotOpen)
      #expect(try files() == ["old", "old-wal", "old-journal"])
      // The old file can't get a second name.
      try write("new", new)
      try FileManager.default.createDirectory(atPath: path + "-replaced", withIntermediateDirectories: false)
      #expect(sqlError { try directory.replace(name, by: new, hasLogs: true) } != nil)
      #expect(try files() == ["old", "old-wal", "old-journal"])
      try FileManager.default.removeItem(atPath: path + "-replaced")
      try directory.replace(name, by: new, hasLogs: true)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
      let left = try FileManager.default.contentsOfDirectory(atPath: directory.directory(of: name))
      #expect(left == ["acme.sqlite"])
    }
  }

  /// Makes the files of a process that was killed before a new file replaced a damaged tenant. They have no hard links,
  /// as in a copy of the directory. Returns the path of the tenant's file.
  private func interruptReplacement(_ directory: TenantDirectory, _ name: TenantName) throws -> String {
    try directory.withLock(.creating, of: [name]) {}
    let path = directory.file(of: name)
    for ending in ["", "-replaced"] { try write("old", path + ending) }
    try write("its WAL", path + "-replaced-wal")
    try write("new", path + "-restored")
    return path
  }

  private func files(_ directory: TenantDirectory, _ name: TenantName) throws -> [String: String] {
    let path = directory.directory(of: name)
    return try FileManager.default.contentsOfDirectory(atPath: path).reduce(into: [:]) { files, file in
      files[file] = try String(contentsOfFile: path + "/" + file, encoding: .utf8)
    }
  }

  private let old = ["acme.sqlite": "old", "acme.sqlite-wal": "its WAL"]

  @Test func anInterruptedReplacementEndsWithTheOldFile() throws {
    try withNames { directory, name in
      _ = try interruptReplacement(directory, name)
      try directory.withLock(.shared, of: [name]) {}
      #expect(try files(directory, name) == old)
      // The second name gives a vanished file its name back.
      unlink(try interruptReplacement(directory, name))
      unlink(directory.file(of: name) + "-wal")
      try directory.withLock(.shared, of: [name]) {}
      #expect(try files(directory, name) == old)
    }
  }

  @Test func anInterruptedReplacementWithoutAFileThrows() async throws {
    try await withTenants { tenants in
      let name = try TenantName("acme")
      let path = try interruptReplacement(tenants.directory, name)
      for ending in ["", "-replaced"] { unlink(path + ending) }
      let before = try files(tenants.directory, name)
      // These calls would create an empty tenant.
      await expectAsync(.io) { _ = try await tenants["acme"].texts() }
      await expectAsync(.io) { try await tenants.create("acme") }
      #expect(try files(tenants.directory, name) == before)
      try write("old", path)
      try tenants.directory.withLock(.shared, of: [name]) {}
      #expect(try files(tenants.directory, name) == old)
    }
  }

  @Test func anInterruptedReplacementOverwritesNoNewerWAL() throws {
    try withNames { directory, name in
      let path = try interruptReplacement(directory, name)
      try write("newer", path + "-wal")
      let before = try files(directory, name)
      #expect(sqlError { try directory.withLock(.shared, of: [name]) {} }?.kind == .io)
      #expect(try files(directory, name) == before)
      unlink(path + "-wal")
      try directory.withLock(.shared, of: [name]) {}
      #expect(try files(directory, name) == old)
    }
  }

  @Test func aFailedDeletionKeepsTheLogsOfADamagedTenant() async throws {
    try await withTenants { tenants in
      let name = try TenantName("acme")
      let records = try interruptReplacement(tenants.directory, name) + "-received"
      // The records of hand-overs can't be read.
      try FileManager.default.createDirectory(atPath: records, withIntermediateDirectories: false)
      await expectAsync(.io) { try await tenants.delete("acme") }
      try FileManager.default.removeItem(atPath: records)
      #expect(try files(tenants.directory, name) == old)
      try await tenants.delete("acme")
      #expect(try files(tenants.directory, name) == [:])
    }
  }

  @Test func aDirectoryThatWasDeletedIsMadeAgain() async throws {
    try await withTenants { tenants in
      try await tenants.create("acme")
      try await tenants.delete("acme")
      try FileManager.default.removeItem(atPath: tenants.directory.directory(of: TenantName("acme")))
      try await tenants.create("acme")
      try await tenants["acme"].add("1")
      #expect(try await tenants["acme"].texts() == ["1"])
    }
  }

  @Test func aLinkToAMissingDirectoryIsRefused() async throws {
    try await withTenants { tenants in
      let path = tenants.directory.directory(of: try TenantName("acme"))
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "missing")
      let error = await #expect(throws: SqlError.self) { try await tenants.create("acme") }
      #expect(error?.message.contains(path) == true, "\(error as Any)")
      try FileManager.default.removeItem(atPath: path)
      try await tenants.create("acme")
    }
  }

  @Test func theLockOfADeletedDirectoryIsTakenAgain() async throws {
    var configuration = TenantsConfiguration()
    // The time for which the other call waits for the lock.
    configuration.pool.handles.busyTimeout = 900
    try await withTenants(configuration) { tenants in
      let (name, result) = (try TenantName("acme"), Mutex<Bool?>(nil))
      let path = tenants.directory.directory(of: name)
      try tenants.directory.withLock(.creating, of: [name]) {}
      let lock = try lockDirectory(of: "acme", tenants)
      Thread.detachNewThread {
        let isLocked = try? tenants.directory.withLock(.creating, of: [name]) {
          let other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
          defer { close(other) }
          return other >= 0 && flock(other, LOCK_EX | LOCK_NB) != 0
        }
        result.withLock { $0 = isLocked ?? false }
      }
      // The other call has opened the directory, too.
      try await until {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let links = files.map { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
        return links.filter { $0 == path }.count >= 2
      }
      try #require(rmdir(path) == 0)
      close(lock)
      try await until { result.withLock { $0 } != nil }
      #expect(result.withLock { $0 } == true)
    }
  }

  @Test func theParentOfADirectoryIsSynced() throws {
    let parents = ["/a": "/", "/a/b": "/a", "/a/b//": "/a", "a": ".", "a/": ".", "a/b": "a"]
    for (path, expected) in parents { #expect(parent(of: path) == expected, "\(path)") }
    try withDirectory { directory in
      for path in ["/new/backups", "/other/backups/"] {
        close(try BackupDirectory(path: directory + path).lock())
        #expect(FileManager.default.fileExists(atPath: directory + path + "/lock"))
      }
    }
  }

  // MARK: Hand-overs

  @Test func aReceiverIsNoOwnerWhileItsRenameCanBeUndone() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let parts = Mutex<[TenantPart]>([])
      try await here.handOver("acme") { part in
        parts.withLock { $0.append(part) }
        return try await there.receive(part)
      }
      let all = parts.withLock { $0 }
      let (begin, bytes, end) = try (#require(all.first), #require(all.dropFirst().first), #require(all.last))
      // As another process that has given the file its name, and has not synced the name.
      let lock = try lockDirectory(of: "acme", there)
      var configuration = TenantsConfiguration()
      configuration.pool.handles.busyTimeout = 1
      let impatient = try openTenants(there.directory.path, configuration)
      for part in [begin, bytes, end] { await expectAsync(.busy) { _ = try await impatient.receive(part) } }
      try await impatient.close()
      // A child process that another test starts can still have the descriptor.
      flock(lock, LOCK_UN)
      close(lock)
      for part in [begin, bytes, end] { #expect(try await there.receive(part).isOwner) }
      #expect(try await there["acme"].texts() == ["1"])
    }
  }

  @Test func aCancelledHandOverFindsNoOtherJournal() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      (wire.lastPart, wire.failsCancel) = (.beforeDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      let journal = try here.filepath(of: "acme") + "-journal"
      try write("of an earlier file", journal)
      try await here.cancelHandOver("acme") { try await there.receive($0) }
      #expect(!FileManager.default.fileExists(atPath: journal))
      #expect(try await here["acme"].texts() == ["1"])
    }
  }

  @Test func aPartOfASenderThatDoesNotTellItsWaitIsReceived() async throws {
    try await withTenants { tenants in
      let token = String(repeating: "a", count: 32)
      let part = TenantPart(tenant: "acme", token: token, number: 0, content: .begin(wait: 7))
      let json = String(decoding: try JSONEncoder().encode(part), as: UTF8.self)
      try #require(json.contains(#"{"wait":7}"#))
      let other = Data(json.replacingOccurrences(of: #"{"wait":7}"#, with: "{}").utf8)
      let decoded = try JSONDecoder().decode(TenantPart.self, from: other)
      #expect(decoded.content == .begin(wait: nil))
      #expect(try await !tenants.receive(decoded).isOwner)
    }
  }
}
