import CSqlableSQLite
import Glibc

extension SqliteDatabase {
  /// Closes the file on all handles of the family, and calls `body` while the file is closed. The family is all handles
  /// that descend from the same first handle as this handle. Afterwards, each handle opens the file again at its next
  /// use.
  ///
  /// ```swift
  /// try db.withClosed { files in try files.copy(to: "/backups/bikes.sqlite") }
  /// ```
  ///
  /// `withClosed` waits until no handle of the family runs a statement, reads rows or has a transaction open. Calls on
  /// other threads then wait until `body` has returned or thrown, so `body` must not wait for those threads. The WAL is
  /// copied into the file first, unless the handle is read-only or the file is damaged. A call on the family in `body`
  /// throws `.misuse`.
  ///
  /// Each handle restores its functions, collations, observers, traces, prepared statements and attached databases when
  /// the file is opened again. The `onOpen` actions run again. Temporary tables and pragmas that a connection has set
  /// are lost. If `body` has moved or deleted the file, the next use of the family's first handle creates a new, empty
  /// file. Until a file exists, a child handle or a read-only handle throws `.cannotOpen`. If opening the file fails,
  /// the call throws, and the next call retries.
  ///
  /// Throws `.busy` if the family is in use for longer than `duration`; the error names the handle and its thread. Also
  /// throws `.busy` if another process, or an unrelated handle of this process, has the file open. Outside WAL mode,
  /// another process is detected only while that process reads or writes. A read-only handle never detects another
  /// process, and any process can open the file during `body`. Throws `.misuse` inside a transaction or closure of the
  /// family, and for a database in memory. Also throws `.misuse` for the handle of a pool: use the pool's `withClosed`.
  @discardableResult
  public func withClosed<Value>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try checkFork()
    guard !belongsToPool else { throw misuse("can't close the file with a pool's handle; use withClosed of the pool") }
    let end = ContinuousClock.now + duration
    // Wait before `closing`, so that the family's calls continue while another process has the file open.
    waitForOtherProcesses(until: end)
    return try closing(.init(callSite: "\(file):\(line)"), until: end) { try withFamilyClosed(until: end, body) }
  }

  package func closing<Value>(
    _ closing: HandleFamily.Closing, until end: ContinuousClock.Instant, _ body: () throws -> Value
  ) throws -> Value {
    guard !isInMemory else { throw misuse("an in-memory database has no file to close") }
    try labelling { try family.begin(closing, for: self, until: end) }
    defer { family.endClosing() }
    return try body()
  }

  /// Closes the connections of the family's handles, and calls `body`. Call inside `closing`.
  package func withFamilyClosed<Value>(
    until end: ContinuousClock.Instant, _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try withDisconnected([family], until: end) {
      if let check = ExclusiveCheck.current, check.path == family.path { check.end() }
      try labelling { try closeWAL() }
      let (path, before) = (family.path, FileIdentity(family.path))
      // If `body` has replaced the file, the new file does not have the old damage.
      defer { if FileIdentity(path) != before { family.forgetDamage() } }
      return try body(files(at: path))
    }
  }

  /// Closes the connections of all handles of some families, and calls `body`. Call this method inside `closing` of
  /// each family.
  package func withDisconnected<Value>(
    _ families: [HandleFamily], to action: String = "close the file", until end: ContinuousClock.Instant,
    _ body: () throws -> Value
  ) throws -> Value {
    guard isOpen else { throw closed }
    let held = try labelling { try HandleFamily.lockAll(of: families, for: self, to: action, until: end) }
    defer { for handle in held { handle.registry.sink?.fileWasClosed() } }
    defer { for handle in held.reversed() { handle.lock.unlock() } }
    // Close read-only handles first: SQLite deletes the WAL only if the last connection can write.
    for isReadOnly in [true, false] {
      for handle in held where handle.configuration.isReadOnly == isReadOnly { handle.disconnect() }
    }
    return try body()
  }

  /// Takes the handle's lock once no statement runs, and returns nil. If the handle is in use until `end`, returns a
  /// description of the use instead, without the lock.
  ///
  /// - Parameter caller: The handle whose method closes the file or blocks the database.
  func waitToClose(
    for caller: SqliteDatabase, _ action: String, until end: ContinuousClock.Instant
  ) throws -> String? {
    let name = "handle \(number)"
    while true {
      guard lock.lock(until: end) else { return "thread \(lock.holder) uses \(name)" }
      guard lock.depth == 1 else {
        lock.unlock()
        throw SqlError.misuse("can't \(action) inside a statement or transaction of the same handle")
      }
      finishAbandoned()
      guard let connection, !connection.isLost else { return nil }
      let isInTransaction = !transactions.levels.isEmpty || !connection.isAutocommit
      guard isInTransaction || connection.openCursors > 0 else { return nil }
      lock.unlock()
      guard self !== caller || !isInTransaction else {
        throw SqlError.misuse("can't \(action) while the handle has an open transaction")
      }
      guard ContinuousClock.now < end else {
        return isInTransaction ? "\(name) has an open transaction" : "\(name) is reading rows"
      }
      usleep(1_000)
    }
  }

  /// Waits until the kernel reports no lock of another process on the file, or until shortly before `end`.
  package func waitForOtherProcesses(until end: ContinuousClock.Instant, unless isCancelled: () -> Bool = { false }) {
    let (path, latest) = (family.path, end - .milliseconds(500))
    func isInUse() -> Bool { KernelLocks.otherProcess(withFileAt: path) != nil }
    while !path.isEmpty, ContinuousClock.now < latest, isInUse(), !isCancelled() { usleep(20_000) }
  }

  /// Copies the WAL into the database file, and deletes the WAL. A file that is read-only or damaged is left as it is.
  /// Throws `.busy` if another connection has the file open.
  private func closeWAL() throws {
    guard !family.isOpenElsewhere else {
      throw SqlError(
        .busy, message: "can't close the file: an unrelated handle of this process has the file open")
    }
    let path = family.path
    guard !configuration.isReadOnly, access(path, W_OK) == 0 else { return }
    do {
      let connection = try Connection(
        path: path, flags: SQLITE_OPEN_READWRITE, label: nil, cacheCapacity: 0, cipher: cipher)
      // The timeout is short because all calls on the file wait meanwhile.
      connection.setBusyTimeout(milliseconds: 250)
      // In WAL mode every open connection locks the file, so exclusive locking fails while another connection is open.
      try connection.pragma("PRAGMA locking_mode = EXCLUSIVE")
      try connection.pragma("BEGIN EXCLUSIVE")
      try connection.pragma("COMMIT")
      _ = try connection.checkpoint(.truncate)
    } catch let error as SqlError where error.kind == .busy {
      let number = KernelLocks.otherProcess(withFileAt: path).map { " (\($0))" } ?? ""
      throw SqlError(.busy, message: "can't close the file: another process\(number) has the file open")
    } catch let error as SqlError
      where [.corrupt, .notADatabase, .wrongKey].contains(error.kind) || error.isFailedRead
    {
      // A damaged file is closed too, so that `body` can repair the file.
    }
  }
}
