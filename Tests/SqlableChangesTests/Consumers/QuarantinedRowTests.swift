import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The copies of rows with which a new consumer starts.
@Suite struct QuarantinedRowTests {
  private struct Refused: Error {}

  /// The columns that the model reads of a table without a primary key.
  private struct Part: TableDeclaration {
    static let columns = [Column("a", .integer)]
  }

  @Test func copiesHaveTheColumnsThatTheModelDoesNotRead() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.execute("CREATE TABLE t (extra TEXT NOT NULL, a INTEGER, twice AS (2 * a) STORED)")
        try ChangeLog([]).adding(Entry<Part>.self, named: "t").create(db)
        try db.execute("INSERT INTO t VALUES ('x', 1), ('x', 1)")
      }
      let retries = ChangeRetries(attempts: 2, pause: .zero, longestPause: .zero, then: .quarantine)
      let task = Task {
        try await pool.deliver("webhook", on: Entry<Part>.self, in: "t", retries: retries) { _ in throw Refused() }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.isNew) == false }
      task.cancel()
      _ = try? await task.value
      let values = try await pool.quarantinedChanges(of: "webhook").map(\.change.new?.values)
      #expect(values == [[1, "x", 1, 2], [2, "x", 1, 2]])
      let count = try await pool.retryQuarantinedChanges(of: "webhook", on: Entry<Part>.self, in: "t") { _ in }
      #expect(count == 2)
      try await pool.close()
    }
  }
}
