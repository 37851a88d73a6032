import SqlableBackup
import SqlableCore

extension SqliteTenants {
  /// Replaces a tenant by a backup, or creates a missing tenant from the backup.
  ///
  /// ```swift
  /// try await tenants.restore("acme", from: "/backups/acme.sqlite")
  /// ```
  ///
  /// The backup is first copied and checked, while the tenant is in use. Then the calls that use the tenant end, as
  /// with ``delete(_:)``, and throw `.tenant(.deleted)`. Later calls wait, and use the restored tenant, which is
  /// migrated at its first use. After a crash, either the old or the restored tenant exists. A damaged tenant can be
  /// restored, too.
  ///
  /// Throws the errors of reading the backup, `.busy` like `delete`, and `.tenant(.handedOver)` if the tenant was
  /// handed over; the tenant then stays as it was.
  public func restore(_ name: String, from backup: String) async throws {
    let name = try TenantName(name)
    try checkOtherProcesses(name, "restore")
    let new = try await changes.run { [self] in
      let path = try directory.newFile()
      try copy(backup, to: path, handleConfiguration(name))
      return path
    }
    defer { try? files(at: new).remove() }
    try await changing([name], .endsCalls) { [self] slots in
      do {
        try directory.withLock(.creating, of: [name]) { try replace(name, by: new) }
      } catch {
        withState { _ in slots[0].isDeleted = false }
        throw error
      }
      withState { $0.checked[name] = nil }
    }
  }

  private func replace(_ name: TenantName, by new: String) throws {
    guard directory.exists(name) else {
      // The tenant must not live on two machines.
      guard !directory.isAway(name) else { throw handedOver(name) }
      return try move(files(at: new), to: name, of: [name])
    }
    do {
      // `exclusively` first copies the WAL into the old file and deletes the WAL. Otherwise SQLite would apply the WAL
      // to the new file.
      try files(name).exclusively { try directory.replace(name, by: new) }
    } catch let error as SqlError
      where [.corrupt, .notADatabase, .wrongKey].contains(error.kind) || error.isFailedRead
    {
      // `exclusively` has failed and does not lock the damaged file, so another process might have opened this file
      // meanwhile.
      try checkOtherProcesses(name, "restore")
      try directory.replace(name, by: new, hasLogs: true)
    }
  }
}
