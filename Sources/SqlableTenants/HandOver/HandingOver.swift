import SqlableBackup
import SqlableCore
import SqlablePool

extension SqliteTenants {
  /// Hands a tenant over to another machine, whose ``receive(_:)`` gets each part.
  ///
  /// ```swift
  /// try await tenants.handOver("acme") { part in try await client.post(part) }     // on the old machine
  /// let receipt = try await tenants.receive(part)                                  // on the new machine
  /// ```
  ///
  /// `send` delivers a part, and returns the receipt from the other machine. If no answer arrives, `send` must throw.
  /// The tenant stays in use while its file is sent. Then the calls wait, the last changes are sent, and the other
  /// machine becomes the owner. From then on, the calls here throw `.tenant(.handedOver)`, also after a restart and in
  /// other processes. The changes of a call are stored here before the hand-over, or not at all.
  ///
  /// The call waits up to `duration` for the calls and loops that use the tenant, and then throws `.busy`. The call
  /// also throws `.busy` if another process has the file open, or hands the tenant over. After an error before the last
  /// part, the tenant stays here. If the other machine does not answer at the end, the owner is unknown. The calls here
  /// then throw `.tenant(.handedOver)` until `handOver` or ``cancelHandOver(_:_:)`` was called again and has received
  /// an answer. Also call one of them after a crash, if ``unfinishedHandOvers()`` names the tenant.
  ///
  /// Both machines need the same key. Throws `.tenant(.missing)`, `.tenant(.handedOver)` if the tenant is no longer
  /// here, and the errors of `send`.
  public func handOver(
    _ name: String, within duration: Duration = .seconds(10),
    _ send: @escaping @Sendable (TenantPart) async throws -> TenantReceipt
  ) async throws {
    try checkFork()
    let name = try TenantName(name)
    guard directory.exists(name) || directory.isAway(name) else { throw missing(name) }
    let lock = try await steps.run { [directory] in try directory.lockHandOver(of: name) }
    defer { lock.unlock() }
    if !directory.exists(name), directory.isAway(name) {
      return try await goOn(name, lock, within: duration, send)
    }
    do { try await begin(name, lock, within: duration, send) } catch {
      // Keep the token if the sync of the tenant's name failed: after a power failure, the file might still have its
      // hand-over name.
      if !directory.isAway(name), directory.isSynced(name) { lock.remove() }
      throw error
    }
  }

  /// Cancels an unfinished hand-over. This machine keeps the tenant, unless the other machine is already the owner.
  ///
  /// ```swift
  /// try await tenants.cancelHandOver("acme") { part in try await client.post(part) }
  /// ```
  ///
  /// Throws `.tenant(.handedOver)` if the other machine is the owner, `.misuse` if the tenant is not being handed over,
  /// `.busy` if another call hands it over, and the errors of `send`.
  public func cancelHandOver(
    _ name: String, _ send: @escaping @Sendable (TenantPart) async throws -> TenantReceipt
  ) async throws {
    try checkFork()
    let name = try TenantName(name)
    guard !directory.exists(name), directory.isAway(name) else { throw notHandedOver(name) }
    let (lock, slot) = try await lockUnfinished(name, within: .seconds(10))
    defer {
      lock.unlock()
      start(withState { $0.endClaim(slot) })
    }
    try await cancel(TenantSender(name, lock.token(), send), lock)
  }

  /// Returns the names of the tenants whose hand-over has not ended, for example because this machine or the connection
  /// has failed.
  ///
  /// ```swift
  /// for name in try await tenants.unfinishedHandOvers() { try await tenants.handOver(name) { … } }
  /// ```
  public func unfinishedHandOvers() async throws -> [String] {
    try await onThread { try $0.directory.unfinishedHandOvers() }
  }

  func handedOver(_ name: TenantName) -> SqlError {
    let message =
      directory.isGone(name)
      ? "the tenant was handed over to another machine"
      : "the tenant is being handed over; call handOver or cancelHandOver to end the hand-over"
    return SqlError(.tenant(.handedOver), message: message, label: name.text)
  }

  private func notHandedOver(_ name: TenantName) -> SqlError {
    SqlError.misuse("the tenant has no unfinished hand-over to continue or cancel").labelled(name.text)
  }

  // MARK: Steps

  private func begin(
    _ name: TenantName, _ lock: HandOverLock, within duration: Duration, _ send: @escaping TenantSender.Send
  ) async throws {
    let token = newToken()
    try await steps.run { try lock.write(token) }
    var sender = TenantSender(name, token, send)
    let fenced: FencedTenant
    do {
      // `isSweep`, as in a loop over all tenants: a missing tenant is not created.
      fenced = try await SqliteTenant(name: name.text, tenants: self, isSweep: true).withLease { lease in
        try await copy(lease, &sender, within: duration)
      }
    } catch {
      // After `cancel`, the receiver deletes the parts that it has received.
      _ = try? await sender.cancel()
      throw error
    }
    defer {
      start(withState { $0.endClaim(fenced.slot) })
      // Close the files only now: no call waits for them any more.
      resources.threads.async { fenced.outgoing.closeFiles() }
    }
    try await end(name, lock, &sender) { [self] sender in
      sender = try fenced.sender.get()
      try await sender.send(fenced.tail.first)
      for range in fenced.tail.ranges.dropFirst() {
        let part = try await steps.run { [directory] in
          try RawFile(path: directory.awayFile(of: name)).part(of: fenced.tail, range)
        }
        try await sender.send(part)
      }
      return fenced.tail.size
    }
  }

  /// A tenant to which neither machine may write, and the pages that the receiver lacks.
  private struct FencedTenant {
    let slot: TenantSlot
    let tail: TenantTail
    let outgoing: OutgoingPages
    /// The sender, or the error of sending pages while the tenant was being closed.
    let sender: Result<TenantSender, any Error>
  }

  /// Sends the file while the tenant is in use. Then waits for the tenant's calls to end, and renames the file so that
  /// no later call can write to it.
  private func copy(
    _ lease: TenantLease, _ sender: inout TenantSender, within duration: Duration
  ) async throws -> FencedTenant {
    let name = sender.name
    try await sender.send(.begin(wait: Int(clamping: duration.components.seconds)))
    let pages = try await steps.run { [directory] in
      try OutgoingPages(lease.pool, directory.file(of: name))
    }
    let user = lease.pool.add(endsIfDeleted(pages, lease.slot))
    defer {
      lease.pool.removeFileUser(user)
      pages.close()
    }
    var offset = 0
    while true {
      let (begin, data) = (offset, try await steps.run { [offset] in try pages.bytes(at: offset) })
      guard !data.isEmpty else { break }
      try await sender.send(.bytes(data, offset: begin))
      offset += data.count
    }
    // Rounds without syncs come last. These rounds are shorter, so that fewer pages remain to be sent while calls wait.
    for syncs in [true, false] { try await sendChanges(pages, &sender, syncs: syncs) }
    return try await fence(lease, pages, sender, within: duration)
  }

  /// Sends the changed pages in up to 8 rounds, while the number of pages shrinks. Each round sends the pages that were
  /// changed during the previous round.
  ///
  /// - Parameter syncs: True if both machines sync their files in each round.
  private func sendChanges(_ pages: OutgoingPages, _ sender: inout TenantSender, syncs: Bool) async throws {
    var last = Int.max
    for _ in 0..<8 {
      let parts = try await steps.run { try pages.changes() }
      for part in parts {
        guard let content = try await steps.run({ try pages.content(of: part) }) else { break }
        try await sender.send(content)
      }
      if syncs {
        async let copied: Void = steps.run { try pages.checkpoint() }
        try await sender.send(.sync)
        try await copied
      }
      let count = parts.reduce(0) { $0 + $1.count }
      if count <= 16 || count > last / 4 * 3 { break }
      last = count
    }
  }

  /// Returns the `FileUser` of a hand-over that keeps the tenant's file open. If the tenant is deleted, restored or
  /// closed, the `FileUser` closes `pages`, and the hand-over fails. When the hand-over itself closes the pool, `end`
  /// does nothing.
  private func endsIfDeleted(_ pages: OutgoingPages, _ slot: TenantSlot) -> FileUser {
    FileUser(
      pause: {}, release: { pages.close() }, resume: {},
      end: { [self] in if withState({ $0.isClosed || slot.isDeleted }) { pages.close() } }, problem: { _ in nil })
  }

  private func fence(
    _ lease: TenantLease, _ pages: OutgoingPages, _ sender: TenantSender, within duration: Duration
  ) async throws -> FencedTenant {
    let name = lease.slot.name
    let end = Deadline.after(duration)
    // If another process has the file open, the hand-over fails. Check this before the tenant is closed.
    try checkOtherProcesses(name, "hand over")
    let slot = try await claim(name, .waitsForOthers, of: lease.slot, until: end, leavesLog: true)
    // The receiver writes and syncs these parts while this machine syncs the file.
    let (parts, continuation) = AsyncStream<TenantPart.Content>.makeStream()
    async let sent = send(parts, sender)
    let tail: TenantTail
    do {
      defer { continuation.finish() }
      try await endCopy(of: name, until: end)
      tail = try await steps.run { [self] in
        try directory.withLock(.exclusive, of: [name]) {
          try checkOtherProcesses(name, "hand over")
          return try takeAway(name, pages) { continuation.yield($0) }
        }
      }
    } catch {
      _ = await sent
      start(withState { $0.endClaim(slot) })
      throw error
    }
    withState { $0.checked[name] = nil }
    return FencedTenant(slot: slot, tail: tail, outgoing: pages, sender: await sent)
  }

  /// Sends the parts of a stream. When the stream ends, sends a request to sync the receiver's file, unless the stream
  /// was empty. Returns the sender in its new state, or the error.
  private func send(
    _ parts: AsyncStream<TenantPart.Content>, _ sender: TenantSender
  ) async -> Result<TenantSender, any Error> {
    var (sender, isEmpty) = (sender, true)
    do {
      for await part in parts {
        try await sender.send(part)
        isEmpty = false
      }
      if !isEmpty { try await sender.send(.sync) }
      return .success(sender)
    } catch { return .failure(error) }
  }

  /// Renames a closed tenant's file. Returns the contents of the pages that were not passed to `send`. Call with the
  /// lock.
  ///
  /// Other keepers need the lock to open the file. If another program commits meanwhile, the receiver gets the commit,
  /// or the method throws `.busy`.
  private func takeAway(
    _ name: TenantName, _ pages: OutgoingPages, _ send: (TenantPart.Content) -> Void
  ) throws -> TenantTail {
    let (path, away) = (directory.file(of: name), directory.awayFile(of: name))
    var configuration = handleConfiguration(name)
    (configuration.attached, configuration.attachedReadOnly, configuration.attachedKeys) = ([:], [], [:])
    configuration.busyTimeout = 0
    let last = try SqliteDatabase.openOther(at: path, configuration, nil, creates: false)
    let (numbers, firstPage) = try pages.finish(last, path, send)
    // Read on this thread, because the tenant's calls wait meanwhile, and a switch to another thread can take
    // milliseconds.
    let tail = try RawFile(path: path).tail(numbers, pageSize: pages.pageSize)
    try directory.prepareLeaving(name)
    try moveClosed(files(name), to: away, of: [name])
    do {
      guard try pages.firstPage(away) == firstPage else { throw OutgoingPages.changedMeanwhile.labelled(name.text) }
    } catch {
      // The receiver does not have the last part, and can't become the owner. So the tenant stays here.
      try moveClosed(files(at: away), to: path, of: [name])
      throw error
    }
    return tail
  }

  /// Sends the last parts, and makes the receiver the owner. If a step fails, cancels the hand-over, and this machine
  /// keeps the tenant. If the receiver does not answer, the hand-over stays unfinished.
  ///
  /// - Parameter sendRest: Sends the missing part of the file, and returns the file's size. Returns nil if the receiver
  ///   is already the owner.
  private func end(
    _ name: TenantName, _ lock: HandOverLock, _ sender: inout TenantSender,
    _ sendRest: (inout TenantSender) async throws -> Int?
  ) async throws {
    do {
      guard let size = try await sendRest(&sender) else { return try await confirm(name, lock) }
      guard try await sender.send(.end(size: size)) else {
        throw SqlError.misuse("the receiver has the last part, but did not become the tenant's owner")
          .labelled(name.text)
      }
    } catch {
      do { try await cancel(sender, lock) } catch let error as SqlError
        where error.kind == .tenant(.handedOver) && directory.isGone(name)
      {
        // The receiver is the owner: only its answer to the last part was lost.
        return
      } catch {}
      throw error
    }
    try await confirm(name, lock)
  }

  private func confirm(_ name: TenantName, _ lock: HandOverLock) async throws {
    try await steps.run { [directory] in
      try directory.withLock(.exclusive, of: [name]) { try directory.confirm(name) }
      lock.remove()
    }
  }

  /// Moves the tenant's file back to its original path. Throws without moving the file if the receiver is the owner or
  /// does not answer.
  private func cancel(_ sender: TenantSender, _ lock: HandOverLock) async throws {
    let name = sender.name
    guard try await !sender.cancel() else {
      try await confirm(name, lock)
      throw handedOver(name)
    }
    try await steps.run { [self] in
      try directory.withLock(.exclusive, of: [name]) {
        try moveClosed(files(at: directory.awayFile(of: name)), to: directory.file(of: name), of: [name])
      }
      lock.remove()
    }
  }

  /// Locks an unfinished hand-over, and makes other calls on the tenant wait. The caller unlocks the hand-over.
  private func lockUnfinished(_ name: TenantName, within duration: Duration) async throws -> (HandOverLock, TenantSlot)
  {
    let lock = try await steps.run { [directory] in try directory.lockHandOver(of: name) }
    do {
      // Check again, because the hand-over can have ended before this call got the lock.
      guard !directory.isGone(name) else { throw try await gone(name, lock) }
      guard !directory.exists(name), directory.isAway(name) else {
        if directory.isSynced(name) { lock.remove() }
        throw notHandedOver(name)
      }
      return (lock, try await claim(name, .waits, until: Deadline.after(duration)))
    } catch {
      lock.unlock()
      throw error
    }
  }

  /// Returns the error of a call on a hand-over that has ended. First ensures that the record of
  /// the new owner is synced, and removes the lock.
  private func gone(_ name: TenantName, _ lock: HandOverLock) async throws -> SqlError {
    try await steps.run { [directory] in
      try directory.withLock(.exclusive, of: [name]) { try directory.confirmAgain(name) }
      lock.remove()
    }
    return handedOver(name)
  }

  /// Completes an interrupted hand-over. Sends the whole file again, unless the receiver is already the owner.
  private func goOn(
    _ name: TenantName, _ lock: HandOverLock, within duration: Duration, _ send: @escaping TenantSender.Send
  ) async throws {
    guard !directory.isGone(name) else { throw try await gone(name, lock) }
    let slot = try await claim(name, .waits, until: Deadline.after(duration))
    defer { start(withState { $0.endClaim(slot) }) }
    // Sync the tenant's name again, because the process that renamed the file might have been killed before its own
    // sync.
    try await steps.run { [directory] in
      try directory.withLock(.exclusive, of: [name]) { try directory.syncAgain(name) }
    }
    // Use the token of the first attempt. The parts get new numbers, so that the receiver refuses delayed parts of the
    // first attempt.
    var sender = TenantSender(name, try lock.token(), send, number: .random(in: 1 << 32..<1 << 48))
    try await end(name, lock, &sender) { [self] sender in
      guard try await !sender.send(.begin(wait: 0)) else { return nil }
      var offset = 0
      while true {
        let (begin, data) = (
          offset,
          try await steps.run { [directory, offset] in
            try RawFile(path: directory.awayFile(of: name)).part(at: offset)
          }
        )
        guard !data.isEmpty else { return offset }
        try await sender.send(.bytes(data, offset: begin))
        offset += data.count
      }
    }
  }
}
