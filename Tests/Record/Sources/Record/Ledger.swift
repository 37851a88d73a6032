import Sqlable

/// The results of writes, of which each has an id.
final class Ledger: Sendable {
  private struct Results {
    var stored: Set<Int> = []
    var unknown: Set<Int> = []
    var refused: [Int: String] = [:]
    var next = 1
  }

  private let results = Mutex(Results())
  private let ignoresErrors: Bool

  init(ignoresErrors: Bool = false) { self.ignoresErrors = ignoresErrors }

  var storedCount: Int { results.withLock { $0.stored.count } }
  /// The errors of the writes that threw.
  var errors: [String] { results.withLock { Array($0.refused.values) } }

  /// Writes rows with the next id, and records the result. Returns true if the write was acknowledged.
  @discardableResult
  func write(_ body: (_ id: Int) throws -> Void) -> Bool {
    let id = results.withLock { results in
      results.next += 1
      return results.next
    }
    do {
      try body(id)
      results.withLock { _ = $0.stored.insert(id) }
      return true
    } catch {
      results.withLock { results in
        if ignoresErrors {
          results.stored.insert(id)
        } else if (error as? SqlError)?.transaction == .unknown {
          results.unknown.insert(id)
        } else {
          results.refused[id] = "\(error)"
        }
      }
      return false
    }
  }

  /// Compares the rows with the results.
  func check(_ db: SqliteDatabase, _ round: Round) throws {
    let damage = try db.query("PRAGMA integrity_check", as: String.self)
    if damage != ["ok"] { round.report(.wrong, "the file is damaged: \(damage.prefix(3))") }
    let found = Set(try db.query("SELECT id FROM member", as: Int.self))
    let (stored, unknown, refused) = results.withLock { ($0.stored, $0.unknown, $0.refused) }
    for id in stored.subtracting(found).sorted() { round.report(.lost, "write \(id) returned, and is missing") }
    for id in found.subtracting(stored).subtracting(unknown).sorted() {
      round.report(.invented, "write \(id) threw \(refused[id] ?? "?"), and is stored")
    }
  }
}
