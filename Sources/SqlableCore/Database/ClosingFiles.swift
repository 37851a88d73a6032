import CSqlableSQLite
import Glibc

extension SqliteDatabase {
  /// Closes the file, on this handle and its whole family, and calls `body` with exclusive access to it; afterwards
  /// handles open it again when they are next used.
  ///
  /// ```swift
  /// try db.withClosed { files in try files.copy(to: "/backups/bikes.sqlite") }
  /// ```
  ///
  /// It waits until no handle of the family runs a statement, reads rows or has a transaction open, and keeps later
  /// calls waiting until `body` has returned or thrown. The WAL is copied into the file before. A call on
  /// the family inside `body` throws `.misuse`; one on another thread waits, so `body` must not wait for it.
  ///
  /// Functions, collations, observers, traces, prepared statements, attached databases and what `onOpen` does are there
  /// again afterwards; temporary tables and the pragmas of a connection are not. Each handle opens what is at the path
  /// then: if `body` has moved or deleted the file, the handle that is no child makes a new, empty one, as it does when
  /// it is created; a child, and a read-only handle, throws `.cannotOpen` until there is a file. If the file can't be
  /// opened, the call that needs it throws, and the next one tries again.
  ///
  /// Throws `.busy` if the family is in use for longer than `duration`, with the handle and its thread, and if another
  /// process, or a handle of this process that is not of the family, has the file open. Outside of WAL mode other
  /// processes are noticed only while they read or write, and not at all by a read-only handle. Throws `.misuse` inside
  /// a transaction or closure of a handle of the family, in memory, and for the handle of a pool, which has a
  /// `withClosed` of its own.
  @discardableResult
  public func withClosed<Value>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try checkFork()
    guard !belongsToPool else { throw misuse("can't close the file with a pool's handle; use withClosed of the pool") }
    let end = ContinuousClock.now + duration
    // While they have the file open, the family's calls go on.
    waitForOtherProcesses(until: end)
    return try closing(.init(callSite: "\(file):\(line)"), until: end) { try withFamilyClosed(until: end, body) }
  }

  /// Calls `body` while this call alone may close the file.
  package func closing<Value>(
    _ closing: HandleFamily.Closing, until end: ContinuousClock.Instant, _ body: () throws -> Value
  ) throws -> Value {
    guard !isInMemory else { throw misuse("an in-memory database has no file to close") }
    try labelling { try family.begin(closing, until: end) }
    defer { family.endClosing() }
    return try body()
  }

  /// Calls `body` with the connections of the family closed. Call inside of `closing`.
  package func withFamilyClosed<Value>(
    until end: ContinuousClock.Instant, _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try withFamilyDisconnected(until: end) {
      if let check = ExclusiveCheck.current, check.path == family.path { check.end() }
      try labelling { try closeWAL() }
      let (path, before) = (family.path, FileIdentity(family.path))
      // The damage went with the file that had it.
      defer { if FileIdentity(path) != before { family.corruption.clear() } }
      return try body(files(at: path))
    }
  }

  /// Calls `body` with the connections of the family closed; others may have the file open. Call inside of `closing`.
  func withFamilyDisconnected<Value>(
    until end: ContinuousClock.Instant, _ body: () throws -> Value
  ) throws -> Value {
    guard isOpen else { throw closed }
    let held = try labelling { try family.lockAll(for: self, until: end) }
    defer { for handle in held.reversed() { handle.lock.unlock() } }
    // SQLite removes the log and its index with the last connection, if that may write.
    for isReadOnly in [true, false] {
      for handle in held where handle.configuration.isReadOnly == isReadOnly { handle.disconnect() }
    }
    return try body()
  }

  /// Takes the lock outside of every run; gives up at `end`, and returns what the handle is used for.
  ///
  /// - Parameter caller: The handle whose method closes the file.
  func waitToClose(for caller: SqliteDatabase, until end: ContinuousClock.Instant) throws -> String? {
    let name = "handle \(number)"
    while true {
      guard lock.lock(until: end) else { return "thread \(lock.holder) uses \(name)" }
      guard lock.depth == 1 else {
        lock.unlock()
        throw SqlError.misuse("can't close the file inside a statement or transaction of its handle")
      }
      finishAbandoned()
      guard let connection, !connection.isLost else { return nil }
      let isInTransaction = !transactions.levels.isEmpty || !connection.isAutocommit
      guard isInTransaction || connection.openCursors > 0 else { return nil }
      lock.unlock()
      guard self !== caller || !isInTransaction else {
        throw SqlError.misuse("can't close the file while the handle has an open transaction")
      }
      guard ContinuousClock.now < end else {
        return isInTransaction ? "\(name) has an open transaction" : "\(name) is reading rows"
      }
      usleep(1_000)
    }
  }

  /// Waits until no other process has the file open, as far as the kernel tells, or until shortly before `end`.
  package func waitForOtherProcesses(until end: ContinuousClock.Instant, unless isCancelled: () -> Bool = { false }) {
    let (path, latest) = (family.path, end - .milliseconds(500))
    // One reading of the kernel's list may miss a lock while others come and go.
    func isInUse() -> Bool { (0..<3).contains { _ in KernelLocks.otherProcess(withFileAt: path) != nil } }
    while !path.isEmpty, ContinuousClock.now < latest, isInUse(), !isCancelled() { usleep(20_000) }
  }

  /// Copies what is left of the log into the file and deletes it. Throws `.busy` if the file is open elsewhere.
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
      // No longer than that: all calls on the file wait meanwhile.
      connection.setBusyTimeout(milliseconds: 250)
      // In WAL mode every connection has a lock on the file as long as it is open, which excludes this one.
      try connection.pragma("PRAGMA locking_mode = EXCLUSIVE")
      try connection.pragma("BEGIN EXCLUSIVE")
      try connection.pragma("COMMIT")
      _ = try connection.checkpoint(.truncate)
    } catch let error as SqlError where error.kind == .busy {
      let number = KernelLocks.otherProcess(withFileAt: path).map { " (\($0))" } ?? ""
      throw SqlError(.busy, message: "can't close the file: another process\(number) has the file open")
    } catch let error as SqlError where [.corrupt, .notADatabase, .wrongKey].contains(error.kind) {
      // A damaged file is closed, too: its files are what `body` is to mend.
    }
  }
}
