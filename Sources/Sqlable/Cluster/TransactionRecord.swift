#if Cluster
import Foundation

/// The record by which a transaction is stored once, however often it is repeated: its id, in the same commit.
struct TransactionRecord: Sendable {
  let id: UUID
  /// How long ids are kept.
  let age: Duration

  private static let table = "\"sqlable_transaction\""

  private var value: DatabaseValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  /// Whether the transaction is stored. Creates the table if there is none.
  func isStored(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async throws -> Bool {
    let request = SqlRequest(
      sql: "SELECT 1 FROM \(TransactionRecord.table) WHERE id = ?", values: [value], isReadOnly: true)
    do { return try await !session.answer(to: request, before: deadline).rows.isEmpty } catch let error as SqlError {
      guard case .schema(.missingTable) = error.kind else { throw error }
      try await session.execute(
        "CREATE TABLE \(TransactionRecord.table) (id BLOB PRIMARY KEY NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
        before: deadline)
      return false
    }
  }

  /// Records it in the open transaction; now and then removes what is too old.
  func store(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async throws {
    let insert = SqlRequest(
      sql: "INSERT INTO \(TransactionRecord.table) (id, at) VALUES (?, strftime('%s', 'now'))", values: [value],
      isReadOnly: false)
    _ = try await session.answer(to: insert, before: deadline)
    guard Int.random(in: 0..<64) == 0 else { return }
    let delete = SqlRequest(
      sql: "DELETE FROM \(TransactionRecord.table) WHERE at < strftime('%s', 'now') - ?",
      values: [.integer(age.components.seconds)], isReadOnly: false)
    _ = try await session.answer(to: delete, before: deadline)
  }
}
#endif
