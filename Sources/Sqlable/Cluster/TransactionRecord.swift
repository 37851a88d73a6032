#if Cluster
import Foundation

/// The record by which a transaction is stored once, however often it is repeated: its id, in the same commit.
struct TransactionRecord: Sendable {
  let id: UUID
  /// How long ids are kept.
  let age: Duration

  private static let table = "\"sqlable_transaction\""

  private var value: DatabaseValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  static let createTable =
    "CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, at INTEGER NOT NULL)"

  /// How many ids are kept at least: a clock that jumps ahead must not remove those that are still in use.
  private static let minimum = 100_000

  /// What records it. Fails if it is stored.
  var insert: SqlRequest {
    SqlRequest(
      sql: "INSERT INTO \(TransactionRecord.table) (id, at) VALUES (?, strftime('%s', 'now'))", values: [value],
      isReadOnly: false)
  }

  /// What removes the records that are too old.
  var trim: SqlRequest {
    let table = TransactionRecord.table
    return SqlRequest(
      sql: """
        DELETE FROM \(table) WHERE number <= (SELECT max(number) FROM \(table)) - \(TransactionRecord.minimum) \
        AND at < strftime('%s', 'now') - ?
        """,
      values: [.integer(age.components.seconds)], isReadOnly: false)
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

  /// Whether the transaction is stored. Creates the table if there is none.
  func isStored(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async throws -> Bool {
    let request = SqlRequest(
      sql: "SELECT 1 FROM \(TransactionRecord.table) WHERE id = ?", values: [value], isReadOnly: true)
    do { return try await !session.answer(to: request, before: deadline).rows.isEmpty } catch {
      guard TransactionRecord.isMissing(error) else { throw error }
      try await session.execute(TransactionRecord.createTable, before: deadline)
      return false
    }
  }

  /// Records it in the open transaction; now and then removes what is too old.
  func store(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async throws {
    _ = try await session.answer(to: insert, before: deadline)
    if TransactionRecord.trims { _ = try await session.answer(to: trim, before: deadline) }
  }
}
#endif
