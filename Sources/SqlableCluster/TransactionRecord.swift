#if Cluster
import Sqlable
import Foundation

/// A record that ensures that a transaction is stored only once, even if the call is repeated. The record contains the
/// transaction's id, and is stored in the same commit.
///
/// The record also contains the number of the stored attempt. If the outcome of a commit is unknown, the call reads
/// this number. The call returns the answers of its own attempt only if its own attempt was stored, and not that of
/// another call with the same id.
struct TransactionRecord: Sendable {
  let id: UUID
  /// The time for which ids are stored.
  let age: Duration

  private static let table = "\"sqlable_transaction\""

  private var value: DatabaseValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  static let createTable = """
    CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, \
    attempt INTEGER NOT NULL)
    """

  /// The number of newest ids that `trim` never removes. If the clock jumps ahead, ids in use seem older than `age`.
  private static let minimum = 100_000

  static func newAttempt() -> Int64 { .random(in: .min ... .max) }

  /// Returns the request that stores the record. The request fails if the id is already stored.
  func insert(_ attempt: Int64) -> SqlRequest {
    SqlRequest(
      sql: "INSERT INTO \(TransactionRecord.table) (id, at, attempt) VALUES (?, strftime('%s', 'now'), ?)",
      values: [value, .integer(attempt)], isReadOnly: false)
  }

  /// The request that removes records older than `age`, but keeps the newest `minimum` records.
  var trim: SqlRequest {
    let table = TransactionRecord.table
    return SqlRequest(
      sql: """
        DELETE FROM \(table) WHERE number <= (SELECT max(number) FROM \(table)) - \(TransactionRecord.minimum) \
        AND at < strftime('%s', 'now') - ?
        """,
      values: [.integer(Int64(age.wholeMicroseconds / 1_000_000))], isReadOnly: false)
  }

  /// True if a write should also remove old records. The result is random, and true for one in 64 writes.
  static var trims: Bool { Int.random(in: 0..<64) == 0 }

  static func isStored(_ error: any Error) -> Bool {
    guard let error = error as? SqlError, error.kind == .constraint(.unique) else { return false }
    return error.message.hasSuffix("sqlable_transaction.id")
  }

  static func isMissing(_ error: any Error) -> Bool {
    (error as? SqlError)?.kind == .schema(.missingTable("sqlable_transaction"))
  }

  /// Returns the number of the stored attempt for this id; nil if no attempt is stored. Creates the table if it is
  /// missing.
  func storedAttempt(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async throws -> Int64? {
    let request = SqlRequest(
      sql: "SELECT attempt FROM \(TransactionRecord.table) WHERE id = ?", values: [value], isReadOnly: true)
    do {
      let row = try await session.answer(to: request, before: deadline).rows.first
      guard case .integer(let attempt)? = row?.first else { return nil }
      return attempt
    } catch {
      guard TransactionRecord.isMissing(error) else { throw error }
      try await session.execute(TransactionRecord.createTable, before: deadline)
      return nil
    }
  }

  /// Stores the record in the open transaction. Occasionally also removes old records.
  func store(
    _ attempt: Int64, _ session: ClusterSession, before deadline: ContinuousClock.Instant
  ) async throws {
    _ = try await session.answer(to: insert(attempt), before: deadline)
    if TransactionRecord.trims { _ = try await session.answer(to: trim, before: deadline) }
  }
}
#endif
