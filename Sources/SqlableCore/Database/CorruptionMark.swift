import Synchronization

/// True if the file of a family of handles was found damaged, and who is notified.
///
/// SQLite's error marks it, so intact files cost nothing.
package final class CorruptionMark: Sendable {
  /// Called once, with the first error.
  struct Receiver: Sendable {
    let body: @Sendable (SqlError) -> Void
  }

  private struct State: Sendable {
    var first: SqlError?
    var receivers: [Receiver] = []
  }

  private let state = LockedValue(State())
  private let marked = Atomic(false)

  /// True if an error has shown damage. Never waits.
  var isMarked: Bool { marked.load(ordering: .relaxed) }

  /// The first error that showed damage.
  package var first: SqlError? { state.withLock { $0.first } }

  /// Marks the file if an error shows that it is damaged.
  func receive(_ error: SqlError) {
    // SQLITE_CORRUPT_VTAB: a full-text index contradicts its table. The file is intact.
    guard error.kind == .corrupt || error.kind == .notADatabase, error.extendedCode != 267 else { return }
    let receivers = state.withLock { state -> [Receiver] in
      guard state.first == nil else { return [] }
      state.first = error
      marked.store(true, ordering: .relaxed)
      return state.receivers
    }
    for receiver in receivers { receiver.body(error) }
  }

  /// Adds a receiver, which is called at once if the file is marked. It must return at once.
  package func add(_ body: @escaping @Sendable (SqlError) -> Void) {
    let first = state.withLock { state in
      state.receivers.append(Receiver(body: body))
      return state.first
    }
    if let first { body(first) }
  }

  /// Takes the mark back. The next error notifies again.
  package func clear() {
    state.withLock { state in
      state.first = nil
      marked.store(false, ordering: .relaxed)
    }
  }
}

/// The connection that keeps others from writing while the closure of `onCorruption` runs.
///
/// Sound as `Sendable`: the lock guards the connection, which is used in no other way.
package final class ExclusiveCheck: @unchecked Sendable {
  /// That of the closure that runs.
  @TaskLocal package static var current: ExclusiveCheck?

  let path: String
  private var connection: Connection?
  private let lock = LockedValue(())

  package init(of path: String, _ connection: Connection) { (self.path, self.connection) = (path, connection) }

  /// Closes the connection. A call of the closure that closes the file keeps others from it itself.
  package func end() {
    lock.withLock { _ in
      _ = try? connection?.pragma("ROLLBACK")
      connection = nil
    }
  }
}

extension SqliteDatabase {
  /// Throws the first error that showed damage, if the configuration stops writes then.
  @inline(__always)
  func checkMayWrite() throws {
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
