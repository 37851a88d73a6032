import Synchronization

/// A mark that shows whether the file of a handle family is damaged, with the closures to notify.
///
/// Only SQLite's errors set the mark, so an intact file causes no extra work.
package final class CorruptionMark: Sendable {
  struct Receiver: Sendable {
    let body: @Sendable (SqlError) -> Void
  }

  private struct State: Sendable {
    var first: SqlError?
    /// The damaged file. The path might lead to another file later.
    var file: FileIdentity?
    var receivers: [Receiver] = []
  }

  private let state = LockedValue(State())
  private let marked = Atomic(false)

  /// True if the process has found a damaged file. Only then does a new family check the marks of other families.
  static var hasBeenSet: Bool { anyMarked.load(ordering: .acquiring) }
  private static let anyMarked = Atomic(false)

  /// True if an error has shown that the file is damaged. Never waits.
  var isMarked: Bool { marked.load(ordering: .relaxed) }

  package var first: SqlError? { state.withLock { $0.first } }
  var file: FileIdentity? { state.withLock { $0.file } }

  /// Sets the mark if the error shows that the file is damaged. Returns true if the mark was not set before.
  func receive(_ error: SqlError, on file: FileIdentity?) -> Bool {
    // Code 267 is SQLITE_CORRUPT_VTAB: a full-text index does not match its table. The file itself is intact.
    guard error.kind == .corrupt || error.kind == .notADatabase, error.extendedCode != 267 else {
      return false
    }
    let receivers = state.withLock { state -> [Receiver]? in
      guard state.first == nil else { return nil }
      (state.first, state.file) = (error, file)
      marked.store(true, ordering: .relaxed)
      CorruptionMark.anyMarked.store(true, ordering: .releasing)
      return state.receivers
    }
    for receiver in receivers ?? [] { receiver.body(error) }
    return receivers != nil
  }

  /// Adds a receiver, and calls the receiver immediately if the mark is set. The receiver must not block.
  package func add(_ body: @escaping @Sendable (SqlError) -> Void) {
    let first = state.withLock { state in
      state.receivers.append(Receiver(body: body))
      return state.first
    }
    if let first { body(first) }
  }

  /// Resets the mark. The next error notifies the receivers again.
  package func clear() {
    state.withLock { state in
      (state.first, state.file) = (nil, nil)
      marked.store(false, ordering: .relaxed)
    }
  }
}

/// A connection that blocks other writers while the closure of `onCorruption` runs.
///
/// `@unchecked Sendable` is sound: every use of the connection happens inside the lock.
package final class ExclusiveCheck: @unchecked Sendable {
  /// The check of the `onCorruption` closure that the current task runs; nil outside such a closure.
  @TaskLocal package static var current: ExclusiveCheck?

  let path: String
  private var connection: Connection?
  private let lock = LockedValue(())

  package init(of path: String, _ connection: Connection) { (self.path, self.connection) = (path, connection) }

  /// Closes the connection. Code that closes the file during the check, such as `withClosed`, calls this method first,
  /// because the open connection would prevent the closing.
  package func end() {
    lock.withLock { _ in
      _ = try? connection?.pragma("ROLLBACK")
      connection = nil
    }
  }
}

extension SqliteDatabase {
  /// Throws if the file is damaged and `stopsWritesWhenDamaged` is set.
  @inline(__always)
  package func checkMayWrite() throws {
    if configuration.stopsWritesWhenDamaged, family.corruption.isMarked {
      throw writesAreStopped(by: family.corruption)
    }
  }

  private func writesAreStopped(by mark: CorruptionMark) -> SqlError {
    let reason = mark.first?.message ?? "pages are damaged"
    return SqlError(
      .corrupt, message: "the database is damaged, and writes are stopped: \(reason)", label: configuration.label)
  }
}
