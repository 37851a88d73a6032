import Sqlable
import Synchronization

/// Shows when an observer is notified of a change: after the commit, and never of a rolled-back one.
struct ObserverDemonstration {
  let db: SqliteDatabase

  private struct ChangeOfMind: Error {}

  /// Returns the observer's notifications, as lines to print. Leaves the table unchanged.
  func lines() throws -> [String] {
    guard var flight = try Flight.read().orderBy(Flight.id).first().run(db) else { return [] }
    let heard = Mutex<[String]>([])
    let token = db.observe(on: Flight.self) { id in heard.withLock { $0.append("flight \(id.grouped)") } }
    defer { db.removeObserver(token) }
    func newlyHeard() -> String {
      heard.withLock { texts in
        defer { texts.removeAll() }
        return texts.isEmpty ? "nothing" : texts.joined(separator: ", ")
      }
    }

    var table = TextTable(.left, .left)
    flight.id = nil
    do {
      try db.transaction { db in
        try flight.insert().run(db)
        throw ChangeOfMind()
      }
    } catch is ChangeOfMind {
      // The transaction rethrows the error of its closure.
      table.add("an insert that is rolled back:", newlyHeard())
    }
    let id = try db.transaction { db in
      let id = try flight.insert().run(db)
      table.add("an insert before its commit:", newlyHeard())
      return id
    }
    table.add("and after its commit:", newlyHeard())
    try Flight.delete(Flight.id == id).run(db)
    table.add("a delete of that flight:", newlyHeard())
    return table.lines
  }
}
