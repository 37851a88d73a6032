import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool

// Calls that need exclusive use of a tenant's file: creating, deleting, renaming and copying.

extension SqliteTenants {
  /// Creates a tenant, empty or from a backup.
  ///
  /// ```swift
  /// try await tenants.create("acme")
  /// try await tenants.create("acme-copy", from: "/backups/acme.sqlite")
  /// ```
  ///
  /// The file appears when it is complete: after a crash, the tenant exists either completely or not at all. A backup
  /// is checked first, and its copy is migrated when the tenant is first used. Throws `.tenant(.exists)` if the tenant
  /// exists, and the errors of reading the backup.
  public func create(_ name: String, from backup: String? = nil) async throws {
    let name = try TenantName(name)
    // Check before the claim too, because claiming an existing tenant makes the tenant's calls wait.
    guard !directory.exists(name) else { throw exists(name) }
    try await changing([name]) { [self] _ in
      guard !directory.exists(name) else { throw exists(name) }
      guard let backup else { return try create(name) }
      try place(name) { path, configuration in try copy(backup, to: path, configuration) }
    }
  }

  /// Copies a backup into a new file, and checks the copy.
  func copy(_ backup: String, to path: String, _ configuration: Configuration) throws {
    var reading = configuration
    (reading.isReadOnly, reading.label) = (true, nil)
    (reading.attached, reading.attachedReadOnly, reading.attachedKeys) = ([:], [], [:])
    let source = try SqliteDatabase(filepath: backup, configuration: reading)
    defer { try? source.close() }
    try source.backup(to: path)
  }

  /// Deletes a tenant's file.
  ///
  /// Calls that use or await the tenant throw `.tenant(.deleted)`, and their open transactions are rolled back. Running
  /// copies of the tenant and backups of its pool throw the same error. None of these calls creates the file again. A
  /// later call creates an empty tenant if ``TenantsConfiguration/createsMissing`` is true. After a crash, the tenant
  /// exists either completely or not at all.
  ///
  /// Throws `.tenant(.missing)` if the tenant does not exist. Throws `.busy` if a closure of a call does not end within
  /// ``TenantsConfiguration/waitTimeout``, or if another process has the file open; the tenant then stays.
  public func delete(_ name: String) async throws {
    let name = try TenantName(name)
    // Check before `changing` ends the tenant's calls. If another process has the file open, the calls continue.
    try checkOtherProcesses(name, "delete")
    try await changing([name], .endsCalls) { [self] slots in
      do {
        guard directory.exists(name) else { throw missing(name) }
        try remove(name)
      } catch {
        withState { $0.didFailToDelete(slots[0]) }
        throw error
      }
      forget(slots[0])
    }
  }

  /// Throws `.busy` if the kernel's list of locks shows that another process has a tenant's file open.
  func checkOtherProcesses(_ name: TenantName, _ action: String) throws {
    let path = directory.file(of: name)
    let files = { [path, path + "-shm"].map { FileIdentity($0) } }
    let before = files()
    // The kernel lists locks by inode number. If a file was deleted meanwhile, another file can have its number.
    guard let other = KernelLocks.otherProcess(withFileAt: path), files() == before else { return }
    throw SqlError(
      .busy, message: "can't \(action) the tenant: another process (\(other)) has the file open", label: name.text)
  }

  /// Renames a tenant.
  ///
  /// Waits for the calls and loops that use the tenant, for at most `duration`; then throws `.busy`. Calls that arrive
  /// during the rename throw `.tenant(.deleted)` once the tenant has its new name. Throws `.tenant(.missing)` if no
  /// tenant has the old name, and `.tenant(.exists)` if the new name is taken. After a crash, the tenant has the old or
  /// the new name.
  public func rename(_ name: String, to newName: String, within duration: Duration = .seconds(10)) async throws {
    let (name, newName) = (try TenantName(name), try TenantName(newName))
    guard name != newName else { throw exists(newName) }
    try check(name, isFree: newName)
    try await changing([name, newName], within: duration) { [self] slots in
      try check(name, isFree: newName)
      try directory.withLock(.creating, of: [name, newName]) {
        try directory.prepareLeaving(name)
        try move(files(name), to: newName, of: [newName, name])
      }
      forget(slots[0])
    }
  }

  /// Copies a tenant to a new name, while the tenant is in use.
  ///
  /// The copy is one snapshot, and appears when it is complete. Throws `.tenant(.missing)`, `.tenant(.exists)` if the
  /// new name is taken, and `.tenant(.deleted)` if the tenant is deleted or restored meanwhile.
  public func copy(_ name: String, to newName: String) async throws {
    let (source, target) = (try TenantName(name), try TenantName(newName))
    guard source != target else { throw exists(target) }
    // `isSweep`: a missing source tenant must not be created.
    try await SqliteTenant(name: name, tenants: self, isSweep: true).withPool { pool in
      guard !directory.exists(target) else { throw exists(target) }
      try await changing([target]) { [self] _ in
        guard !directory.exists(target) else { throw exists(target) }
        try place(target) { path, _ in try pool.backup(to: path) }
      }
    }
  }

  private func check(_ name: TenantName, isFree newName: TenantName) throws {
    guard directory.exists(name) else { throw missing(name) }
    guard !directory.exists(newName) else { throw exists(newName) }
  }

  func exists(_ name: TenantName) -> SqlError {
    SqlError(.tenant(.exists), message: "a tenant with this name exists already", label: name.text)
  }

  func files(_ name: TenantName) -> DatabaseFiles { files(at: directory.file(of: name)) }

  func files(at path: String) -> DatabaseFiles {
    let handles = configuration.pool.handles
    return DatabaseFiles(of: path, key: handles.key, cipher: handles.cipher)
  }

  /// Renames files to the file names of a tenant. Call with the directory's lock held.
  ///
  /// - Parameter names: The names whose directories are synced: the new name, and the old name of an existing tenant.
  func move(_ files: DatabaseFiles, to name: TenantName, of names: [TenantName]) throws {
    guard !directory.exists(name) else {
      // Another process has created the tenant.
      throw exists(name)
    }
    guard !directory.isAway(name) else { throw handedOver(name) }
    try directory.removeRemains(of: name)
    try moveClosed(files, to: directory.file(of: name), of: names)
  }

  /// Renames a file that no other connection has open, and syncs the names.
  func moveClosed(_ files: DatabaseFiles, to path: String, of names: [TenantName]) throws {
    try files.exclusively { try directory.renameFile(files.filepath, to: path, of: names) }
  }

  /// Deletes a tenant's file. A rename removes the tenant's name in one step; then the renamed file is deleted.
  private func remove(_ name: TenantName) throws {
    let trash = try directory.newFile()
    // Hold the lock: as soon as the name is free, another process can create the tenant again, and files with this name
    // would then belong to the new tenant.
    try directory.withLock(.exclusive, of: [name]) {
      guard directory.exists(name) else { throw missing(name) }
      try directory.prepareLeaving(name)
      var isOpened = false
      do {
        try files(name).exclusively {
          isOpened = true
          try directory.renameFile(directory.file(of: name), to: trash, of: [name])
        }
      } catch let error as SqlError
        where !isOpened && [.corrupt, .notADatabase, .wrongKey, .io].contains(error.kind)
      {
        try checkOtherProcesses(name, "delete")
        // A damaged file can't be opened, so its files are renamed one by one. The database file is renamed first:
        // before this step, the tenant still has all its files.
        try directory.moveDamaged(name, to: trash)
      }
    }
    try? DatabaseFiles(of: trash).remove()
  }

  /// Ends the waits for a tenant that was deleted or renamed.
  private func forget(_ slot: TenantSlot) {
    let waiters = withState { $0.didDelete(slot) }
    for waiter in waiters { waiter.resume(.failure(SqliteTenants.deleted(slot.name.text))) }
  }

  // MARK: Exclusive use

  /// Calls `body` on a separate thread while no other call of this process uses the tenants' files.
  func changing<Value: Sendable>(
    _ names: [TenantName], _ policy: ClaimPolicy = .waits, within duration: Duration? = nil,
    on work: BlockingWork? = nil,
    _ body: @escaping @Sendable ([TenantSlot]) throws -> Value
  ) async throws -> Value {
    try checkFork()
    let end = Deadline.after(duration ?? configuration.waitTimeout ?? .seconds(3_600))
    // Claim in the same order in each call, so that two calls don't wait for each other.
    var claimed: [TenantSlot] = []
    defer { for slot in claimed { start(withState { $0.endClaim(slot) }) } }
    for name in names.sorted(by: { $0.text < $1.text }) {
      claimed.append(try await claim(name, policy, until: end))
    }
    if policy != .skipsOpen {
      do {
        for slot in claimed { try await endCopy(of: slot.name, until: end) }
      } catch {
        for slot in claimed { withState { $0.didFailToDelete(slot) } }
        throw error
      }
    }
    let slots = names.compactMap { name in claimed.first { $0.name == name } }
    return try await (work ?? changes).run { try body(slots) }
  }

  /// Waits until no other call uses a tenant's file, and closes the tenant.
  ///
  /// - Parameters:
  ///   - own: The slot of the caller's own lease; nil without a lease. The claim throws `.tenant(.deleted)` if the
  ///     tenant has a different slot.
  ///   - leavesLog: True to close the tenant without copying the WAL into the file.
  func claim(
    _ name: TenantName, _ policy: ClaimPolicy, of own: TenantSlot? = nil, until end: ContinuousClock.Instant,
    leavesLog: Bool = false
  ) async throws -> TenantSlot {
    var pause = Duration.milliseconds(1)
    while true {
      let claim = try withState { state in
        guard own == nil || state.slots[name] === own else { throw SqliteTenants.deleted(name.text) }
        return try state.claim(name, policy)
      }
      switch claim {
      case .claimed(let slot): return slot
      case .closes(let slot, let pool):
        do {
          try await close(pool, until: end, leavesLog: leavesLog)
        } catch {
          start(withState { $0.didFailToCloseForClaim(slot, pool) })
          throw error
        }
        start(withState { $0.didCloseForClaim(slot) })
        return slot
      case .waits: break
      }
      let isLate = ContinuousClock.now >= end
      guard Task.isCancelled || isLate else {
        // The pause blocks no thread, and ends early if the task is cancelled.
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, policy == .waitsForOthers ? .milliseconds(2) : .milliseconds(16))
        continue
      }
      let (leases, work) = withState { $0.stopClaiming(name) }
      start(work)
      for (waiter, lease) in leases { waiter.resume(.success(lease)) }
      guard isLate else { throw CancellationError() }
      throw SqlError(
        .busy, message: "other calls still use the tenant; retry when the calls have ended", label: name.text)
    }
  }

  /// Stops a backup's copy of a claimed tenant's file, and waits until the copy has ended.
  func endCopy(of name: TenantName, until end: ContinuousClock.Instant) async throws {
    while let copy = withState({ $0.copies[name] }) {
      copy.cancel()
      guard !Task.isCancelled else { throw CancellationError() }
      guard ContinuousClock.now < end else {
        throw SqlError(.busy, message: "the tenant is being backed up", label: name.text)
      }
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Closes a tenant's pool, and stops its calls. Waits at most until `end` for closures that ignore the interruption.
  private func close(_ pool: SqlitePool, until end: ContinuousClock.Instant, leavesLog: Bool) async throws {
    while true {
      do {
        return try await steps.run { try pool.close(within: .zero, leavesLog: leavesLog) }
      } catch let error as SqlError where error.kind == .busy {
        guard ContinuousClock.now < end, !Task.isCancelled else { throw error }
      }
    }
  }
}

/// The way in which a claim treats the calls that use the tenant.
package enum ClaimPolicy {
  /// The claim waits for the calls.
  case waits
  /// The claim waits for all calls except the claimer's own.
  case waitsForOthers
  /// The claim ends the calls, which can then throw `.tenant(.deleted)`.
  case endsCalls
  /// The claim throws ``TenantIsOpen`` for an open tenant.
  case skipsOpen
}

/// The error of a claim with ``ClaimPolicy/skipsOpen`` if the tenant is open.
package struct TenantIsOpen: Error {}
