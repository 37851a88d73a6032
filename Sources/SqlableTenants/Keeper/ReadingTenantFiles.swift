import SqlableBackup
import SqlableCore

// Reads of tenants' files on separate connections, while calls use the tenants.

/// A tenant's file, open for reading.
struct ReadTenantFile {
  let db: SqliteDatabase
  /// The state of the file before it was opened.
  let state: TenantFileState
  let stop: BackupStop
  fileprivate let path: String
  fileprivate let isImmutable: Bool

  /// Throws if the file has changed, because the reads so far are then not one snapshot.
  func check() throws {
    guard isImmutable, TenantFileState(path) != state else { return }
    throw ChangedMeanwhile()
  }
}

/// The error of a read without locks if the file was written to during the read.
private struct ChangedMeanwhile: Error {}

extension SqliteTenants {
  /// Calls `body` with a tenant's file, on a separate thread. The tenant is neither opened, created nor migrated.
  ///
  /// `body` must call ``ReadTenantFile/check()`` before it uses what it has read. `body` is called again if this check
  /// fails, or if a call that needs exclusive use of the file stops `body`. Throws `.tenant(.missing)` without such a
  /// tenant.
  func readingFile<Value: Sendable>(
    _ name: TenantName, _ body: @escaping @Sendable (ReadTenantFile) throws -> Value
  ) async throws -> Value {
    var mayBeQuiet = true
    while true {
      let stop = BackupStop(configuration.pool.handles, BackupOptions())
      guard try withState({ try $0.beginCopy(name, stop) }) else {
        try await Task.sleep(for: .milliseconds(10))
        continue
      }
      defer { withState { $0.endCopy(name) } }
      do {
        let isFirst = mayBeQuiet
        return try await onBackupThread(stop) { [self] in try readFile(name, stop, mayBeQuiet: isFirst, body) }
      } catch is CancellationError where !Task.isCancelled {
        // Retry: a call with exclusive use of the file stopped the read, and might have replaced or deleted the file.
      } catch is ChangedMeanwhile { mayBeQuiet = false }
    }
  }

  private func readFile<Value>(
    _ name: TenantName, _ stop: BackupStop, mayBeQuiet: Bool, _ body: (ReadTenantFile) throws -> Value
  ) throws -> Value {
    let path = directory.file(of: name)
    guard let state = TenantFileState(path) else { throw missing(name) }
    let isImmutable = mayBeQuiet && state.isQuiet
    do {
      let db = try openFile(name, isImmutable: isImmutable)
      defer { try? db.close() }
      return try body(ReadTenantFile(db: db, state: state, stop: stop, path: path, isImmutable: isImmutable))
    } catch {
      // A read without locks can fail if another connection writes to the file during the read.
      guard isImmutable, TenantFileState(path) != state else { throw error }
      throw ChangedMeanwhile()
    }
  }

  /// Opens a tenant's file read-only. With `isImmutable`, the file is read without locks. A read with locks would leave
  /// an empty WAL beside a file in WAL mode that no other connection has open.
  private func openFile(_ name: TenantName, isImmutable: Bool) throws -> SqliteDatabase {
    var handles = handleConfiguration(name)
    handles.isReadOnly = true
    handles.isImmutable = isImmutable
    (handles.attached, handles.attachedReadOnly, handles.attachedKeys) = ([:], [], [:])
    return try directory.withLock(.shared, of: [name]) {
      guard directory.exists(name) else { throw missing(name) }
      return try SqliteDatabase(filepath: directory.file(of: name), configuration: handles)
    }
  }
}

extension TenantsState {
  /// Registers a copy of a tenant's file; returns false while a claim or another copy has the file.
  fileprivate mutating func beginCopy(_ name: TenantName, _ stop: BackupStop) throws -> Bool {
    try checkIsOpen()
    if let slot = slots[name], case .exclusive = slot.phase { return false }
    guard copies[name] == nil else { return false }
    copies[name] = stop
    return true
  }

  fileprivate mutating func endCopy(_ name: TenantName) { copies[name] = nil }
}
