import Hummingbird
import Sqlable
import SqlableChanges

/// The logged changes of bicycles as events, each with its position in the log.
///
/// A browser that connects again sends the last position as `Last-Event-ID`, and gets what it missed, even across a
/// restart of the service. Without a position that the log can continue from, the first event is `reset`: the client
/// loads the list, and then applies the changes after it.
struct ChangeEvents: AsyncSequence, Sendable {
  let pool: SqlitePool
  let lastEventID: String?

  func makeAsyncIterator() -> Iterator { Iterator(pool: pool, position: lastEventID.flatMap { ChangePosition($0) }) }

  struct Iterator: AsyncIteratorProtocol {
    private let pool: SqlitePool
    private var changes: LoggedChanges<LoggedModelChange<Bicycle>>.Iterator?

    init(pool: SqlitePool, position: ChangePosition?) {
      self.pool = pool
      changes = position.map { pool.changes(on: Bicycle.self, since: $0).makeAsyncIterator() }
    }

    mutating func next() async throws -> ServerSentEvent? {
      guard changes != nil else { return try await reset() }
      do {
        return try await changes?.next().map { change in
          try ServerSentEvent(change.row.name, data: BicycleChange(change.row), id: change.position.description)
        }
      } catch let error as SqlError where error.isUnknownPosition {
        // The database was restored, or the client was away for longer than the log reaches back.
        return try await reset()
      }
    }

    private mutating func reset() async throws -> ServerSentEvent {
      let position = try await pool.changePosition()
      changes = pool.changes(on: Bicycle.self, since: position).makeAsyncIterator()
      return try ServerSentEvent("reset", data: [String: Int](), id: position.description)
    }
  }
}

extension SqlError {
  /// True if the change log can't continue from the position.
  var isUnknownPosition: Bool { kind == .changeLog(.otherHistory) || kind == .changeLog(.trimmed) }
}

/// The data of an event: the bicycle before and after the change.
struct BicycleChange: Codable, Equatable {
  var old: Bicycle?
  var new: Bicycle?

  init(_ row: LoggedRow<Bicycle>) {
    switch row {
    case .insert(let bicycle): new = bicycle
    case .update(let before, let after): (old, new) = (before, after)
    case .delete(let bicycle): old = bicycle
    }
  }
}

extension LoggedRow {
  fileprivate var name: String {
    switch self {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    }
  }
}
