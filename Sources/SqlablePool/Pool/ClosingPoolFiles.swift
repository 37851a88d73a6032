import Dispatch
import Glibc
import SqlableCore

/// A user of the pool's file that is not a call, such as an archive.
package struct FileUser: Sendable {
  /// Stops the user's calls of the pool. Such a call would wait until the file is open again.
  package let pause: @Sendable () -> Void
  /// A closure that ends the user's transactions. The pool calls `release` when no pool call runs.
  package let release: @Sendable () -> Void
  /// Resumes the user's work. The pool calls `resume` when the file can be used again.
  package let resume: @Sendable () -> Void
  /// Ends the user's work for good. A closing pool calls `end` after its last call, while the database is still open. A
  /// pool that is released without being closed also calls `end`.
  package let end: @Sendable () -> Void
  /// Returns the user's problem for `health()`; nil if there is no problem.
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
  /// Closes the file in this process, calls `body`, and reopens the file at the next use.
  ///
  /// ```swift
  /// try pool.withClosed { files in try files.copy(to: "/backups/bikes.sqlite") }
  /// ```
  ///
  /// The pool waits for running calls. Later calls wait until `body` has returned or thrown; this wait counts toward
  /// their `waitTimeout` and deadlines. Before `body` runs, the WAL is checkpointed into the file, unless the file is
  /// damaged or not writable. A call on the pool inside `body` throws `.misuse`. A call on another thread waits, so
  /// `body` must not wait for that thread.
  ///
  /// The reopened file has the same functions, collations, observers, traces and attached databases, and the pool calls
  /// `onOpen` again. If no file exists at the path, the pool creates an empty database; run your migrations as after
  /// opening a pool. Live results are read again, and loops over changes receive `.missed`. An archive of the pool
  /// continues with a new copy of the database, and keeps all earlier commits.
  ///
  /// Throws `.busy`, with the call site of a running call, if this call still runs after `duration` or at the deadline
  /// of ``withDeadline(_:_:)``. Also throws `.busy` if another process, or an unrelated pool or handle of this process,
  /// keeps the file open for that time. Throws `.misuse` inside a closure of the pool, and `.closed` for a closed pool.
  /// Blocks the thread. In `async` code, use the overload with `await`.
  @discardableResult
  public func withClosed<Value>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    try close(FileCloseBarrier(callSite: .init(file: file, line: line)), within: duration, body)
  }

  /// Closes the file in this process and calls `body`, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled before `body` is called.
  @discardableResult
  public func withClosed<Value: Sendable>(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (DatabaseFiles) throws -> Value
  ) async throws -> Value {
    try await closingOnOwnThread(.init(file: file, line: line)) { try self.close($0, within: duration, body) }
  }

  /// Calls `body` on a separate thread, and passes a close barrier to it. Cancelling the task stops the barrier and
  /// calls `onCancel`.
  package func closingOnOwnThread<Value: Sendable>(
    _ callSite: CallSite, isBlock: Bool = false, onCancel: @escaping @Sendable () -> Void = {},
    _ body: @escaping @Sendable (FileCloseBarrier) throws -> Value
  ) async throws -> Value {
    let isCancelled = LockedValue(false)
    @Sendable func cancel() {
      isCancelled.withLock { $0 = true }
      onCancel()
    }
    return try await onOwnThread(onCancel: cancel) {
      try body(FileCloseBarrier(callSite: callSite, isBlock: isBlock, isCancelled: isCancelled))
    }
  }

  private func close<Value>(
    _ closeBarrier: FileCloseBarrier, within duration: Duration, _ body: (DatabaseFiles) throws -> Value
  ) throws -> Value {
    let end = Deadline.after(duration)
    return try closing(closeBarrier, until: end) {
      try root.withFamilyClosed(until: end) { files in
        if closeBarrier.hasToStop { throw CancellationError() }
        return try body(files)
      }
    }
  }

  /// Closes the pool's handles, and then calls `body`, which closes the file of the handle `root`. No call of the pool
  /// runs meanwhile.
  package func closing<Value>(
    _ closeBarrier: FileCloseBarrier, until end: ContinuousClock.Instant, _ body: () throws -> Value
  ) throws -> Value {
    try checkFork()
    try refuseInClosure("close the files")
    // Wait before `closing`, so that this pool's calls continue while another process has the file open.
    root.waitForOtherProcesses(until: end) { closeBarrier.hasToStop }
    return try root.closing(.init(callSite: "\(closeBarrier.callSite)"), until: end) {
      let users = allFileUsers
      for user in users { user.pause() }
      defer { for user in users { user.resume() } }
      try begin(closeBarrier, until: end)
      defer { endCloseBarrier() }
      for user in users { user.release() }
      for handle in withState({ $0.readers + [$0.writer] }) { handle.discard() }
      return try body()
    }
  }

  /// Makes later calls wait, and waits until no call runs.
  func begin(_ closeBarrier: FileCloseBarrier, until end: ContinuousClock.Instant) throws {
    var isDrained = try withState { try $0.begin(closeBarrier, configuration.handles.label) }
    while true {
      isDrained = isDrained || closeBarrier.drained.wait(timeout: .now() + .milliseconds(10)) == .success
      if isDrained { return }
      let isCancelled = closeBarrier.hasToStop
      guard isCancelled || ContinuousClock.now >= end else { continue }
      let running = withState { state in
        (state.readers + [state.writer]).filter { $0.call != nil }
          .min { ($0.since ?? .now) < ($1.since ?? .now) }?.running(at: .now)
      }
      endCloseBarrier()
      if isCancelled { throw CancellationError() }
      let use = running.map { "\($0)" } ?? "a handle of the pool is in use"
      throw SqlError(.busy, message: "can't \(closeBarrier.action): \(use)", label: configuration.handles.label)
    }
  }

  func endCloseBarrier() {
    let started = withState { $0.endCloseBarrier(configuration) }
    for (handle, call) in started { handOn(handle, to: call) }
  }

  /// The registered users of the file, such as archives, in the order of their registration. Calls are not included.
  package var allFileUsers: [FileUser] { fileUsers.withLock { $0.users.ordered { $0.key < $1.key }.map(\.value) } }

  /// Adds a file user; returns a token for `removeFileUser`.
  package func add(_ user: FileUser) -> Int {
    fileUsers.withLock { users in
      users.count += 1
      users.users[users.count] = user
      return users.count
    }
  }

  package func removeFileUser(_ token: Int) { fileUsers.withLock { $0.users[token] = nil } }

  /// A call during which other calls get no handles: the call closes the pool's files, or blocks the database
  /// (`block`). A class, so that each call can check cheaply for a barrier.
  package final class FileCloseBarrier: Sendable {
    package let callSite: CallSite
    /// True if the call's task was cancelled; nil for a call without a task.
    package let isCancelled: LockedValue<Bool>?
    /// The thread whose calls are refused while the files are closed; nil if the barrier blocks the database.
    let thread: pthread_t?
    let begin = ContinuousClock.now
    /// Signalled when no call holds a handle.
    package let drained = DispatchSemaphore(value: 0)

    package var hasToStop: Bool { isCancelled?.withLock { $0 } == true }

    /// The name of the action in error messages.
    var action: String { thread == nil ? "block the database" : "close the files" }

    package init(
      callSite: CallSite, isBlock: Bool = false, isCancelled: LockedValue<Bool>? = nil,
      by thread: pthread_t = pthread_self()
    ) {
      (self.callSite, self.isCancelled, self.thread) = (callSite, isCancelled, isBlock ? nil : thread)
    }
  }
}

extension SqlitePool.State {
  /// Throws inside the closure that has exclusive access to the files.
  func checkIsNotBlockedHere(_ label: @autoclosure () -> String?, on thread: pthread_t = pthread_self()) throws {
    guard let closeBarrier, closeBarrier.thread == thread else { return }
    throw SqlError.misuse(SqliteDatabase.closedHere).labelled(label())
  }

  /// Begins a close barrier: later calls get no handles. Returns true if no call holds a handle; otherwise `drained` is
  /// signalled after the last such call.
  package mutating func begin(_ barrier: SqlitePool.FileCloseBarrier, _ label: String?) throws -> Bool {
    try checkIsOpen(label)
    closeBarrier = barrier
    // Count the barrier as a call, so that the pool is not closed meanwhile.
    calls += 1
    return areAllIdle
  }

  package var areAllIdle: Bool { writerIsIdle && idleReaders.count == readers.count }

  /// Ends the close barrier: gives handles to waiting calls, and returns the calls with their handles.
  package mutating func endCloseBarrier(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    defer { ended() }
    closeBarrier = nil
    var started: [(PooledHandle, PoolCall)] = []
    if writerIsIdle, let call = waitingWrites.popFirst() {
      give(writer, to: call)
      started.append((writer, call))
    }
    return started + beginReads(configuration)
  }
}
