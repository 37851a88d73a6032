import SqlableCore

extension SqliteTenants {
  /// Receives a part of a tenant that another machine hands over; returns the receipt for the sender.
  ///
  /// ```swift
  /// let receipt = try await tenants.receive(part)     // for example in a handler of a request of the other machine
  /// ```
  ///
  /// Each part must arrive at the same process, in order; the same part can arrive twice. The tenant exists here when
  /// the last part was received. Before that, the first use of its name would create another tenant, and the hand-over
  /// would throw `.tenant(.exists)`. A hand-over that begins again replaces the parts that were received before.
  ///
  /// The received parts are deleted if no further part arrives in time. The limit is ten minutes, plus the longest time
  /// for which the sender waits for the tenant's calls. The sender must then start the hand-over again.
  ///
  /// Throws `.tenant(.exists)`. Throws `.tenant(.missing)` if this process does not have the earlier parts, for example
  /// after a restart or after this limit. Throws `.tenant(.handedOver)` if the tenant is being handed over from
  /// here, and `.misuse` for parts in another order. Also throws `.closed`, and the errors of a damaged file and of a
  /// full disk.
  public func receive(_ part: TenantPart) async throws -> TenantReceipt {
    try checkFork()
    let name = try TenantName(part.tenant)
    try withState { try $0.checkIsOpen() }
    guard isToken(part.token) else { throw SqlError.misuse("the part has an invalid token").labelled(name.text) }
    let isOwner =
      switch part.content {
      case .end(let size):
        try await changing([name], on: steps) { [self] _ in try take(name, part, size: size) }
      default: try await steps.run { [self] in try add(part, to: name) }
      }
    return TenantReceipt(token: part.token, number: part.number, isOwner: isOwner)
  }

  /// Returns true if this hand-over has made this machine the owner, even if the tenant has left this machine since
  /// then. Otherwise calls `body` with the directory's lock.
  ///
  /// The check needs the lock, because another call that has renamed the received file can still undo the rename.
  private func hasReceived(
    _ name: TenantName, _ part: TenantPart, otherwise body: () throws -> Void = {}
  ) throws -> Bool {
    try directory.withLock(.creating, of: [name]) {
      let reception = try directory.reception(part.token, of: name)
      guard reception == .owned || reception == .ended && directory.exists(name) else {
        try body()
        return false
      }
      // Sync the name now, because the sender deletes its file after this answer.
      try directory.syncAgain(name)
      return true
    }
  }

  private func add(_ part: TenantPart, to name: TenantName) throws -> Bool {
    switch part.content {
    case .begin(let wait):
      if try hasReceived(name, part, otherwise: { try checkIsFree(name, part) }) { return true }
      let reception = try TenantReception(part.token, at: directory.newFile(), begin: part.number)
      receptions.add(reception, of: name, wait: .seconds(max(0, wait ?? 0)))
    case .cancel:
      let isOwner = try hasReceived(name, part) { try directory.note(.cancelled, part.token, of: name) }
      receptions.end(name, token: part.token)
      return isOwner
    case .bytes, .pages, .sync, .end:
      guard let reception = receptions.reception(of: name, token: part.token), try reception.take(part) else {
        if try hasReceived(name, part) { return true }
        throw unknown(name)
      }
    }
    return false
  }

  /// Gives the received file the tenant's name, which makes this machine the owner in one step.
  private func take(_ name: TenantName, _ part: TenantPart, size: Int) throws -> Bool {
    if try hasReceived(name, part) { return true }
    guard let reception = receptions.reception(of: name, token: part.token) else { throw unknown(name) }
    let isComplete = try reception.finish(part.number, size: size, usesWAL: receivesWAL) {
      try directory.withLock(.creating, of: [name]) {
        try checkIsFree(name, part)
        try directory.removeRemains(of: name)
        // Write the record before the rename. After a crash between the two, the tenant's file is missing, so the
        // record has no effect.
        try directory.note(.ended, part.token, of: name)
        try rename(reception, to: name)
        // If this machine has handed the tenant over before, the tenant is back now.
        directory.removeAwayFile(of: name)
      }
    }
    guard isComplete else { throw unknown(name) }
    withState { $0.checked[name] = nil }
    receptions.end(name, token: part.token)
    return true
  }

  private var receivesWAL: Bool {
    configuration.pool.handles.journalMode == .wal && configuration.pool.handles.key == nil
  }

  /// Gives a complete file the tenant's name. Throws if the file is damaged or has another key. No other connection has
  /// the file open, so the file is read without locks.
  private func rename(_ reception: TenantReception, to name: TenantName) throws {
    var reading = handleConfiguration(name)
    (reading.isReadOnly, reading.isImmutable) = (true, true)
    (reading.attached, reading.attachedReadOnly, reading.attachedKeys) = ([:], [], [:])
    try SqliteDatabase(filepath: reception.path, configuration: reading).close()
    try directory.renameFile(reception.path, to: directory.file(of: name), of: [name])
  }

  private func checkIsFree(_ name: TenantName, _ part: TenantPart) throws {
    guard !directory.exists(name) else { throw exists(name) }
    guard !directory.isAway(name) || directory.isGone(name) else { throw handedOver(name) }
    guard try directory.reception(part.token, of: name) != .cancelled else {
      throw SqlError(.tenant(.missing), message: "the hand-over was cancelled", label: name.text)
    }
  }

  private func unknown(_ name: TenantName) -> SqlError {
    SqlError(
      .tenant(.missing),
      message: "this process does not have the earlier parts of the tenant; hand the tenant over again",
      label: name.text)
  }
}
