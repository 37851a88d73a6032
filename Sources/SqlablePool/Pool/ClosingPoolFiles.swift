import Dispatch
import Glibc
import SqlableCore

/// A user of the pool's file other than the pool's calls, such as an archive.
package struct FileUser: Sendable {
  /// Stops making calls on the pool: a call would wait until the file is open again.
  package let pause: @Sendable () -> Void
  /// Ends the user's transactions; called when no call of the pool runs any more.
  package let release: @Sendable () -> Void
  /// Resumes the user's work once the file may be used again.
  package let resume: @Sendable () -> Void
  /// Ends the user; called when the pool's calls have ended and its database is still open.
  package let end: @Sendable () -> Void
  /// Returns a problem for `health()`.
  package let problem: @Sendable (SqlitePool.HealthLimits) -> SqlitePool.Health.Problem?

  package init(
    pause: @escaping @Sendable () -> Void, release: @escaping @Sendable () -> Void,
    resume: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void,
    problem: @escaping @Sendable (SqlitePool.HealthLimits) -> SqlitePool.Health.Problem?
  ) {
    (self.pause, self.release, self.resume, self.end, self.problem) = (pause, release, resume, end, problem)
  }
}

extension SqlitePool {
  /// Closes the file, and calls `body` with exclusive access to it; afterwards the pool opens it again when it is used.
  ///
  /// ```swift
  /// try pool.withClosed { files in try files.copy(to: "/backups/bikes.sqlite") }
  /// ```
  ///
  /// The pool waits for the running calls. Later calls wait until `body` has returned or thrown; their `waitTimeout`
  /// and deadlines count. The WAL is copied into the file before `body` is called. A call on the pool
  /// inside `body` throws `.misuse`. A call on another thread waits, so `body` must not wait for that thread.
  ///
  /// Functions, collations, observers, traces, attached databases and what `onOpen` does are there again afterwards.
  /// The pool then opens the file at the path. If there is no file, the pool makes a new, empty database: migrate it as
  /// after opening. Live results are read again, and loops over changes get `.missed`. An archive of the pool restarts
  /// with a copy of the database; the archive has all earlier commits.
  ///
  /// Throws `.busy` if a call runs for longer than `duration`, or than the deadline of ``withDeadline(_:_:)``, with its
  /// call site, and if another process, another pool, or a handle of this process has the file open. Throws `.misuse`
  /// inside a closure of the pool, and `.closed`. Blocks the thread; `async` code gets the overload with `await`.
  @discardableResult
  public func withClosed<Value>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try close(FileCloseBarrier(callSite: .init(file: file, line: line)), within: duration, body)
  }

  /// Closes the file, and calls `body` with exclusive access to it, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled before `body` is called.
  @discardableResult
  public func withClosed<Value: Sendable>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (DatabaseFiles) throws -> Value
  ) async throws -> Value {
    let isCancelled = LockedValue(false)
    @Sendable func cancel() { isCancelled.withLock { $0 = true } }
    return try await onOwnThread(onCancel: cancel) {
      let closeBarrier = FileCloseBarrier(callSite: .init(file: file, line: line), isCancelled: isCancelled)
      return try self.close(closeBarrier, within: duration, body)
    }
  }

  private func close<Value>(
    _ closeBarrier: FileCloseBarrier, within duration: Duration, _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try closing(closeBarrier, within: duration) { end in
      try root.withFamilyClosed(until: end) { files in
        if closeBarrier.hasToStop { throw CancellationError() }
        return try body(files)
      }
    }
  }

  /// Calls `body`, which closes the file of the root, with no call running and the pool's handles closed.
  func closing<Value>(
    _ closeBarrier: FileCloseBarrier, within duration: Duration, _ body: (ContinuousClock.Instant) throws -> Value
  ) throws -> Value {
    try checkFork()
    guard withState({ $0.ownHandle }) == nil else {
      throw misuse("can't close the files inside a closure of the pool")
    }
    let end = Deadline.after(duration)
    // While they have the file open, this pool's calls go on.
    root.waitForOtherProcesses(until: end) { closeBarrier.hasToStop }
    return try root.closing(.init(callSite: "\(closeBarrier.callSite)"), until: end) {
      let users = allFileUsers
      for user in users { user.pause() }
      defer { for user in users { user.resume() } }
      try begin(closeBarrier, until: end)
      defer { endBlockade() }
      for user in users { user.release() }
      for handle in withState({ $0.readers + [$0.writer] }) { handle.discard() }
      defer { feed.fileWasClosed() }
      return try body(end)
    }
  }

  /// Keeps calls waiting from now on, and waits until none runs.
  private func begin(_ closeBarrier: FileCloseBarrier, until end: ContinuousClock.Instant) throws {
    var isDrained = try withState { state in
      try state.checkIsOpen(configuration.handles.label)
      state.closeBarrier = closeBarrier
      // The pool is not closed meanwhile.
      state.calls += 1
      return state.areAllIdle
    }
    while true {
      isDrained = isDrained || closeBarrier.drained.wait(timeout: .now() + .milliseconds(10)) == .success
      if isDrained { return }
      let isCancelled = closeBarrier.hasToStop
      guard isCancelled || ContinuousClock.now >= end else { continue }
      let running = withState { state in
        (state.readers + [state.writer]).filter { $0.call != nil }
          .min { ($0.since ?? .now) < ($1.since ?? .now) }?.running(at: .now)
      }
      endBlockade()
      if isCancelled { throw CancellationError() }
      throw SqlError(
        .busy, message: "can't close the files: " + (running.map { "\($0)" } ?? "a handle of the pool is in use"),
        label: configuration.handles.label)
    }
  }

  /// Lets the calls that wait go on.
  private func endBlockade() {
    let started = withState { state in
      defer { state.ended() }
      return state.endBlockade(configuration)
    }
    for (handle, call) in started { handOn(handle, to: call) }
  }

  /// The users of the file other than calls, in the order in which they were added.
  var allFileUsers: [FileUser] { fileUsers.withLock { $0.users.sorted { $0.key < $1.key }.map(\.value) } }

  /// Adds a user of the file; returns a token. The user releases the file before the pool closes it, and ends before
  /// the pool does.
  package func add(_ user: FileUser) -> Int {
    fileUsers.withLock { users in
      users.count += 1
      users.users[users.count] = user
      return users.count
    }
  }

  package func removeFileUser(_ token: Int) { fileUsers.withLock { $0.users[token] = nil } }

  /// A call that closes the files. A class: each call on the pool asks whether there is one.
  final class FileCloseBarrier: Sendable {
    let callSite: CallSite
    /// True if the call's task was cancelled; nil for one without a task.
    let isCancelled: LockedValue<Bool>?
    let thread = pthread_self()
    let begin = ContinuousClock.now
    /// Signalled when no call has a handle.
    let drained = DispatchSemaphore(value: 0)

    var hasToStop: Bool { isCancelled?.withLock { $0 } == true }

    init(callSite: CallSite, isCancelled: LockedValue<Bool>? = nil) {
      (self.callSite, self.isCancelled) = (callSite, isCancelled)
    }
  }
}

extension SqlitePool.State {
  /// Throws inside the closure that has the files for itself.
  func checkIsNotBlockedHere(_ label: String?) throws {
    guard let closeBarrier, closeBarrier.thread == pthread_self() else { return }
    throw SqlError.misuse(SqliteDatabase.closedHere).labelled(label)
  }

  /// True if no call has a handle.
  var areAllIdle: Bool { writerIsIdle && idleReaders.count == readers.count }

  /// Gives handles to the calls that wait; returns these.
  mutating func endBlockade(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    closeBarrier = nil
    var started: [(PooledHandle, PoolCall)] = []
    if writerIsIdle, let call = waitingWrites.popFirst() {
      give(writer, to: call)
      started.append((writer, call))
    }
    return started + beginReads(configuration)
  }
}
