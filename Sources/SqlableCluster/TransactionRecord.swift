#if Cluster
import Sqlable
import Foundation

/// The record by which a transaction is stored once, however often it is repeated: its id, in the same commit.
///
/// It says which attempt was stored, too: of two calls with one id each may have made one whose outcome it does not
/// know, and has what that returned.
struct TransactionRecord: Sendable {
  let id: UUID
  /// How long ids are kept.
  let age: Duration

  private static let table = "\"sqlable_transaction\""

  private var value: DatabaseValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  static let createTable = """
    CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, \
    attempt INTEGER NOT NULL)
    """

  /// How many ids are kept at least: a clock that jumps ahead must not remove those that are still in use.
  private static let minimum = 100_000

  /// A number that no other attempt has.
  static func newAttempt() -> Int64 { .random(in: .min ... .max) }

  /// What records it. Fails if it is stored.
  func insert(_ attempt: Int64) -> SqlRequest {
    SqlRequest(
      sql: "INSERT INTO \(TransactionRecord.table) (id, at, attempt) VALUES (?, strftime('%s', 'now'), ?)",
      values: [value, .integer(attempt)], isReadOnly: false)
  }

  /// What removes the records that are too old.
  var trim: SqlRequest {
    let table = TransactionRecord.table
    return SqlRequest(
      sql: """
        DELETE FROM \(table) WHERE number <= (SELECT max(number) FROM \(table)) - \(TransactionRecord.minimum) \
        AND at < strftime('%s', 'now') - ?
        """,
      values: [.integer(Int64(age.wholeMicroseconds / 1_000_000))], isReadOnly: false)
  }

  /// Whether a write is to remove old records, too: one of 64.
  static var trims: Bool { Int.random(in: 0..<64) == 0 }

  /// Whether an error says that the transaction is stored.
  static func isStored(_ error: any Error) -> Bool {
    guard let error = error as? SqlError, error.kind == .constraint(.unique) else { return false }
    return error.message.hasSuffix("sqlable_transaction.id")
  }

  /// Whether an error says that there is no table for records.
  static func isMissing(_ error: any Error) -> Bool {
    (error as? SqlError)?.kind == .schema(.missingTable("sqlable_transaction"))
  }

  /// The attempt that is stored; nil if none is. Creates the table if there is none.
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

  /// Records it in the open transaction; now and then removes what is too old.
  func store(
    _ attempt: Int64, _ session: ClusterSession, before deadline: ContinuousClock.Instant
  ) async throws {
    _ = try await session.answer(to: insert(attempt), before: deadline)
    if TransactionRecord.trims { _ = try await session.answer(to: trim, before: deadline) }
  }
}
#endif
