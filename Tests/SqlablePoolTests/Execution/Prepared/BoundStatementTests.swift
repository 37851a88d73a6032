import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements whose parameters have values, on handles, pools and transports.
@Suite struct BoundStatementTests {
  private let byColor = Bicycle.read().filter(Bicycle.color == Parameter("color")).orderBy(Bicycle.id)

  /// A transport to the database of a pool.
  private struct Distant: SqlTransport {
    let pool: SqlitePool

    func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { try await pool.answers(to: requests) }
  }

  /// Calls `body` with a transport to a database, and with a handle on another database of the same content.
  private func withTwins(_ body: (Distant, SqliteDatabase) async throws -> Void) async throws {
    let (pool, here) = (try SqlitePool.inMemory(), try SqliteDatabase.inMemory())
    @Sendable func fill(_ db: SqliteDatabase) throws {
      try db.createTables(Person.self, Bicycle.self)
      for (number, color) in ["red", "blue", "red", "black"].enumerated() {
        try Bicycle(name: "\(number)", color: color).insert().run(db)
      }
    }
    try await pool.transaction { db in try fill(db) }
    try fill(here)
    try await body(Distant(pool: pool), here)
    try await pool.close()
  }

  @Test func boundStatementsRunOnHandlesAndTransports() async throws {
    try await withTwins { there, here in
      let reds = byColor.binding(["color": "red"])
      #expect(reds.sql == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? ORDER BY "id""#)
      #expect(try reds.requests().map(\.values) == [[.text("red")]])
      let expected = try Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id).run(here)
      #expect(!expected.isEmpty)
      #expect(try reds.run(here) == expected)
      #expect(try await reds.run(there) == expected)
      #expect(try byColor.binding(["color": String?.none]).run(here).isEmpty)

      let paint = Bicycle.update(Bicycle.color.set(to: Parameter("to"))).filter(Bicycle.color == Parameter("from"))
      #expect(paint.sql == #"UPDATE "bicycle" SET "color" = ? WHERE "color" = ?"#)
      #expect(try await paint.binding(["from": "red", "to": "black"]).run(there) == expected.count)
      #expect(try paint.binding(["from": "red", "to": "black"]).run(here) == expected.count)
      #expect(try byColor.binding(["color": "black"]).run(here).count >= expected.count)
      let text = SQL("SELECT count(*) FROM bicycle WHERE color = \(Parameter<String>("color"))").rows(as: Int.self)
      #expect(try text.binding(["color": "black"]).run(here) == [3])
    }
  }

  @Test func aPoolRunsBoundStatements() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
      for (number, color) in ["red", "blue", "red"].enumerated() {
        try Bicycle(name: "\(number)", color: color).insert().run(db)
      }
    }
    for color in ["red", "blue", "red", "green"] {
      let found = try await byColor.binding(["color": color]).run(pool)
      #expect(found.map(\.color) == Array(repeating: color, count: ["red": 2, "blue": 1][color] ?? 0))
    }
    let painted = try await Bicycle.delete(Bicycle.color == Parameter("color")).binding(["color": "red"]).run(pool)
    #expect(painted == 2)
    try await pool.close()
  }

  @Test func wrongValuesAreRefusedAndNothingChanges() async throws {
    try await withTwins { there, here in
      let delete = Bicycle.delete(Bicycle.color == Parameter("color"))
      let before = try Bicycle.count().run(here)
      let wrong: [(KeyValuePairs<String, any SqlValue>, String)] = [
        ([:], "parameter color has no value"),
        (["color": "red", "id": 1], "the statement has no parameter id"),
        (["color": "red", "color": "blue"], "parameter color has two values"),
        (["color": Data([1])], "column color takes TEXT, but was given BLOB"),
      ]
      for (values, message) in wrong {
        let error = sqlError { _ = try delete.binding(values).run(here) }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        let distant = await #expect(throws: SqlError.self) { try await delete.binding(values).run(there) }
        #expect(distant?.message == error?.message)
      }
      #expect(try Bicycle.count().run(here) == before)
      #expect(before > 0)
    }
  }
}
