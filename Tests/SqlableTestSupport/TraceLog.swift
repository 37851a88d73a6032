import Foundation
import SqlableCore
import SqlableSchema
import SqlableTracing

/// A receiver that collects events until they are taken.
final class TraceLog: @unchecked Sendable {
  private let lock = NSLock()
  private var events: [TraceEvent] = []

  var receive: @Sendable (TraceEvent) -> Void {
    { event in self.lock.withLock { self.events.append(event) } }
  }

  func take() -> [TraceEvent] {
    lock.withLock {
      defer { events = [] }
      return events
    }
  }

  /// The events since the last call, in words.
  func takeWords() -> [String] {
    take().map { event in
      switch event.kind {
      case .read: "read \(event.table ?? "-") \(event.rowsRead)"
      case .write: "write \(event.table ?? "-") \(event.rowsChanged)"
      case .schema: "schema \(event.table ?? "-")"
      case .control: event.sql
      case .other: "other"
      case .transaction(let outcome): "\(outcome) \(event.statements) \(event.rowsChanged)"
      }
    }
  }
}

/// Calls `body` with a traced handle with the label "main" and tables of bicycles and persons.
func withTraced(_ body: (SqliteDatabase, TraceLog) throws -> Void) throws {
  try withDatabase(Configuration(label: "main")) { db in
    try db.createTables(Person.self, Bicycle.self)
    let log = TraceLog()
    let token = db.trace(.init(), log.receive)
    defer { db.removeTrace(token) }
    try body(db, log)
  }
}
