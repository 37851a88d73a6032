import SqlableCore
import Synchronization

package struct ChangeLogEnd: Sendable, Equatable {
  /// The number of the last change; 0 before the first change.
  package let number: Int64
  /// The time of the last change, in milliseconds since 1970.
  package let time: Int64

  package init(number: Int64, time: Int64) { (self.number, self.time) = (number, time) }
}

/// A reader of the change log of one database. One thread at a time uses a reader, in a transaction of `connection`.
package protocol ChangeLogReader: AnyObject {
  /// Returns the end of the log; nil without a log. `schemaVersion` is the schema version that the transaction reads.
  func end(on connection: Connection, schemaVersion: Int64) throws -> ChangeLogEnd?
  /// Returns the logged changes from `start`, an earlier end of the log, to `end`. Returns nil if changes are missing
  /// from the log, or if there are too many changes. Call `end(on:schemaVersion:)` first, in the same transaction.
  func changes(
    after start: ChangeLogEnd, upTo end: ChangeLogEnd, for interest: ObservedTables, on connection: Connection
  ) throws -> CommittedChanges?
  /// Discards the cached schema. Call when another schema might get the same schema version.
  func forgetSchema()
}

/// An empty type. The module SqlableChanges, which reads change logs, declares that the type conforms to
/// ``ChangeLogReading``.
package struct ChangeLogReaderHook: Sendable {}

/// A factory of readers of change logs. The module SqlableChanges implements the protocol for ``ChangeLogReaderHook``.
/// Without that module, a pool reads no change log.
package protocol ChangeLogReading: Sendable {
  func makeReader() -> any ChangeLogReader
}

/// The position up to which a feed has delivered the changes in the change log of its database.
///
/// Hooks record the pool's own commits, and the log has these commits too. At each commit of the pool, the position
/// therefore moves to the end of the log. Changes after the position are from other connections. The lock is held while
/// the log is read, so that commits are delivered in their order.
///
/// The position is lost after a commit of this process that `commitBegins` did not announce, after a restore, and after
/// errors. The next commit of another connection is then delivered as unknown.
final class FollowedChangeLog: Sendable {
  fileprivate struct Position {
    let end: ChangeLogEnd
    let schemaVersion: Int64
  }

  fileprivate struct State {
    let reader: any ChangeLogReader
    var position: Position?
    /// The position after the commit in progress.
    var next: Position?
    var isCommitting = false
  }

  private static let reading: (any ChangeLogReading)? = (ChangeLogReaderHook() as Any) as? any ChangeLogReading

  private let state: LockedValue<State>

  /// Nil in a program without the module SqlableChanges, which reads change logs.
  init?() {
    guard let reader = FollowedChangeLog.reading?.makeReader() else { return nil }
    state = LockedValue(State(reader: reader))
  }

  var isLost: Bool { state.withLock { $0.position == nil } }

  func lose() { state.withLock { $0.lose() } }

  /// Forgets the position, and calls `deliver` with a commit whose changes are unknown.
  func lose(_ deliver: (CommittedChanges) -> Void) {
    state.withLock { state in
      state.lose()
      deliver(CommittedChanges(isUnknown: true))
    }
  }

  // MARK: Commits of the pool

  /// Reads, inside the transaction, the end that the log will have after the commit.
  func commitBegins(on connection: Connection, _ schemaVersion: Int64?) {
    state.withLock { state in
      (state.isCommitting, state.next) = (true, nil)
      guard let schemaVersion, let end = try? state.reader.end(on: connection, schemaVersion: schemaVersion) else {
        return
      }
      state.next = Position(end: end, schemaVersion: schemaVersion)
    }
  }

  /// Moves the position to the end of the log, and calls `deliver`.
  func didCommit(isAnnounced: Bool, _ deliver: () -> Void) {
    state.withLock { state in
      if state.isCommitting || !isAnnounced { state.position = isAnnounced ? state.next : nil }
      state.isCommitting = false
      deliver()
    }
  }

  func commitEnds() {
    state.withLock { state in
      // A commit that changes the schema increments the schema version. If such a commit fails, a later commit with
      // another schema gets the same version.
      if state.isCommitting { state.reader.forgetSchema() }
      (state.isCommitting, state.next) = (false, nil)
    }
  }

  // MARK: Commits of other connections

  /// Remembers the end of the log, unless `isStable` returns false after the log was read.
  func find(on connection: Connection, unless isStable: () -> Bool) {
    state.withLock { state in
      guard state.position == nil, let end = try? connection.readingLog({ try state.end(on: $0) }), isStable() else {
        return
      }
      state.position = end
    }
  }

  /// Calls `deliver` once with all changes that other connections have committed since the stored position. If
  /// `isStable` returns false after the log was read, returns false without a call of `deliver`.
  func follow(
    on connection: Connection, for interest: () -> ObservedTables, isStable: () -> Bool = { true },
    deliver: (CommittedChanges) -> Void
  ) -> Bool {
    state.withLock { state in
      // Read this count before the observed tables. If a subscriber's tables are added later, the commit then counts as
      // incomplete for this subscriber.
      let changes = ObserverRegistry.changes
      var (position, commit): (Position?, CommittedChanges?)
      do {
        let interest = interest()
        // Without subscribers, nothing needs the rows.
        if interest.commits {
          (position, commit) = try connection.readingLog { try state.read(on: $0, for: interest) }
        }
      } catch { (position, commit) = (nil, nil) }
      guard isStable() else { return false }
      state.position = position
      commit?.recordedSince = changes
      deliver(commit ?? CommittedChanges(isUnknown: true))
      return true
    }
  }
}

extension FollowedChangeLog.State {
  /// Forgets the position and the schema. Another file at the path can have the same schema version as the previous
  /// file.
  fileprivate mutating func lose() {
    position = nil
    reader.forgetSchema()
  }

  fileprivate func end(on connection: Connection) throws -> FollowedChangeLog.Position? {
    let version = try connection.schemaVersion()
    return try reader.end(on: connection, schemaVersion: version).map { .init(end: $0, schemaVersion: version) }
  }

  /// Returns the end of the log, and the changes since the position; the changes are nil if they are unknown.
  fileprivate func read(
    on connection: Connection, for interest: ObservedTables
  ) throws -> (FollowedChangeLog.Position?, CommittedChanges?) {
    guard let end = try end(on: connection) else { return (nil, nil) }
    // After a schema change, the changes are unknown. The pool's own schema changes are treated in the same way.
    guard let position, position.schemaVersion == end.schemaVersion else { return (end, nil) }
    let commit = try reader.changes(after: position.end, upTo: end.end, for: interest, on: connection)
    // The changes can be unknown because another file is now at the path. This file can have the same schema version,
    // so forget the schema.
    if commit == nil { reader.forgetSchema() }
    return (end, commit)
  }
}

extension Connection {
  /// Calls `body` in the open transaction, or in a new transaction if none is open.
  fileprivate func readingLog<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard isAutocommit else { return try body(self) }
    try run(.beginDeferred)
    // The commit of a read-only transaction can't fail. After an error, SQLite might already have rolled the
    // transaction back.
    defer { if !isAutocommit { try? run(.commit) } }
    return try body(self)
  }
}
