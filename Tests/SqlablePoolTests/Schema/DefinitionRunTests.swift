import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements of definition and maintenance on pools and transports.
@Suite struct DefinitionRunTests {
  /// A transport whose requests run on a pool.
  private struct Remote: SqlTransport {
    let pool: SqlitePool

    func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { try await pool.answers(to: requests) }
  }

  private func withPool(_ body: (SqlitePool, String) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
    try await body(pool, directory)
    try await pool.close()
  }

  @Test func aPoolRunsEveryStatement() async throws {
    try await withPool { pool, directory in
      try await Person.createTable().run(pool)
      try await Bicycle.createTable().run(pool)
      try await Bicycle.createIndex(Index(Bicycle.ownerId)).run(pool)
      try await AlterStatement.renameTable("bicycle", to: "old").run(pool)
      try await AlterStatement.renameTable("old", to: "bicycle").run(pool)
      try await DatabaseStatement.vacuum().run(pool)
      try await DatabaseStatement.vacuum(into: directory + "/copy.sqlite").run(pool)
      try await DatabaseStatement.analyze("bicycle").run(pool)
      try await DatabaseStatement.reindex().run(pool)
      try await Pragma.userVersion.set(to: 3).run(pool)
      #expect(try await Pragma.userVersion.run(pool) == 3)
      #expect(try await pool.query("SELECT count(*) FROM bicycle", as: Int.self) == [0])
      let error = await #expect(throws: SqlError.self) {
        try await DatabaseStatement.attach(directory + "/copy.sqlite", as: "copy").run(pool)
      }
      #expect(error?.message.hasPrefix("a pool would undo ATTACH after the call") == true)
      try await pool.withWriter { db in
        try DatabaseStatement.attach(directory + "/copy.sqlite", as: "copy").run(db)
        #expect(try db.query("SELECT count(*) FROM copy.bicycle", as: Int.self) == [0])
        try DatabaseStatement.detach("copy").run(db)
      }
    }
  }

  @Test func aTransportRunsStatements() async throws {
    try await withPool { pool, _ in
      let remote = Remote(pool: pool)
      try await Person.createTable().run(remote)
      try await Bicycle.createTable().run(remote)
      try await Bicycle.createTable(named: "archive").ifNotExists().run(remote)
      try await AlterStatement.renameColumn("color", to: "colour", inTable: "archive").run(remote)
      try await DatabaseStatement.analyze().run(remote)
      #expect(try await Pragma<Int>("user_version").run(remote) == 0)
      #expect(try await pool.query("SELECT count(colour) FROM archive", as: Int.self) == [0])
    }
  }

  @Test func threadsCreateATableOnce() async throws {
    try await withPool { pool, _ in
      try await Person.createTable().run(pool)
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 { group.addTask { (try? await Bicycle.createTable().run(pool)) != nil } }
        #expect(await group.filter { $0 }.reduce(0) { count, _ in count + 1 } == 1)
      }
    }
  }
}
