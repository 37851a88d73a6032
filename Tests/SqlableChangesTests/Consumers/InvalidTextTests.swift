import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Logged texts that are not UTF-8. Another program has stored such a text as a name.
@Suite struct InvalidTextTests {
  private static let atOnce = ChangeRetries(attempts: 2, pause: .zero, longestPause: .zero, then: .quarantine)
  private static let rows: [[DatabaseValue]] = [[1, "Ada"], [2, .blob(Data([0xff, 0x61]))], [3, "Cleo"]]

  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in
        try db.execute("INSERT INTO member VALUES (1, 'Ada'), (2, CAST(x'ff61' AS TEXT)), (3, 'Cleo')")
      }
      try await body(pool)
    }
  }

  @Test(arguments: [ConsumerStart.log, .rows]) func aConsumerOfAllTablesGetsTheBytes(_ start: ConsumerStart)
    async throws
  {
    try await withLog { pool in
      var batches = pool.changes(as: "audit", startingWith: start).makeAsyncIterator()
      let batch = try #require(try await batches.next())
      #expect(batch.isSnapshot == (start == .rows))
      let values = try await batch.all().map(\.new?.values)
      #expect(values == Self.rows)
      try await batch.acknowledge()
    }
  }

  @Test func readersOfTheLogGetTheBytes() async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("UPDATE member SET name = name || 'b' WHERE id = 2") }
      let changes = try await pool.read { db in try LogReader().page(after: nil, in: db).changes }
      #expect(changes.prefix(3).map(\.new?.values) == Self.rows)
      #expect(changes[3].old?.values == Self.rows[1])
      #expect(changes[3].new?.values == [2, .blob(Data([0xff, 0x61, 0x62]))])
    }
  }

  @Test(arguments: [ConsumerStart.log, .rows], [true, false]) func theQuarantineKeepsTheText(
    _ start: ConsumerStart, isDelivered: Bool
  ) async throws {
    try await withLog { pool in
      let task = Task {
        if isDelivered {
          try await pool.deliver("copy", on: Member.self, startingWith: start, retries: Self.atOnce) { _ in }
        } else {
          try await pool.consume("copy", on: Member.self, startingWith: start, retries: Self.atOnce) { _, _ in }
        }
      }
      try await until {
        let consumer = try? pool.read { try $0.changeConsumers() }.first
        return consumer?.isNew == false && consumer?.lag == 0
      }
      task.cancel()
      _ = try? await task.value
      let failed = try await pool.quarantinedChanges(of: "copy")
      #expect(failed.map(\.change.new?.values) == [Self.rows[1]] && failed.map(\.attempts) == [2])
      #expect(failed.first?.error.hasPrefix("decoding") == true)
      let stored = try await pool.query(
        "SELECT typeof(v1), hex(v1) FROM sqlable_change_quarantine", as: String.self, String.self)
      #expect(stored.map { [$0, $1] } == [["text", "FF61"]])
      // A consumer of all tables decodes the change.
      let count = try await pool.retryQuarantinedChanges(of: "copy") { db, change in
        try db.execute("UPDATE member SET name = hex(\(change.new?.values[1] ?? .null)) WHERE id = 2")
      }
      #expect(count == 1)
      #expect(try await pool.query("SELECT name FROM member WHERE id = 2", as: String.self) == ["FF61"])
    }
  }

  /// SQLite converts half of a surrogate pair at the end of a text to bytes that are not UTF-8.
  @Test func aRowOfAUTF16FileIsPutIntoQuarantine() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/utf16.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.execute("PRAGMA encoding = 'UTF-16le'")
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      try db.execute("INSERT INTO member VALUES (1, CAST(x'3dd8' AS TEXT)), (2, 'Bob')")
      try db.close()
      let pool = try SqlitePool(filepath: path)
      let ids = Collected<Int>()
      let task = Task {
        try await pool.deliver("copy", on: Member.self, retries: Self.atOnce) { change in
          if case .insert(let member) = change.row { ids.append(member.id) }
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.isNew) == false }
      task.cancel()
      _ = try? await task.value
      #expect(ids.values == [2])
      let failed = try await pool.quarantinedChanges(of: "copy")
      #expect(
        failed.map(\.change.new?.values) == [[1, .blob(Data([0xed, 0xa0, 0xbd]))]] && failed.map(\.attempts) == [2])
      try await pool.close()
    }
  }
}
