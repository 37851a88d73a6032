import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// State of the writer between two calls.
@Suite struct PoolWriterTests {
  private func setting(_ pragma: String, _ pool: SqlitePool) throws -> [Int] {
    try pool.withWriter { db in try db.query(SQL(verbatim: "PRAGMA \(pragma)"), as: Int.self) }
  }

  @Test(arguments: [
    ("foreign_keys", "0", 1),
    ("query_only", "1", 0),
    ("recursive_triggers", "1", 0),
    ("synchronous", "0", 1),
    ("ignore_check_constraints", "1", 0),
  ])
  func noSettingOfAWriteReachesTheNext(pragma: String, value: String, own: Int) throws {
    try withMembers { pool in
      try pool.withWriter { db in try db.execute(SQL(verbatim: "PRAGMA \(pragma) = \(value)")) }
      #expect(try setting(pragma, pool) == [own])
      // SQLite refuses some of them inside a transaction.
      try pool.transaction { db in try? db.execute(SQL(verbatim: "PRAGMA \(pragma) = \(value)")) }
      #expect(try setting(pragma, pool) == [own])
      try Member(id: 1, name: "Anna").insert().run(pool)
      #expect(try Member.count().run(pool) == 1)
    }
  }

  @Test func aWriteAfterDisabledForeignKeysStoresNoOrphan() throws {
    try withPool { pool in
      try pool.withWriter { db in
        try db.execute(
          """
          CREATE TABLE parent (id INTEGER PRIMARY KEY);
          CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent);
          PRAGMA foreign_keys = 0
          """)
      }
      expectError(.constraint(.foreignKey)) { try pool.execute("INSERT INTO child (parent) VALUES (7)") }
    }
  }

  @Test(arguments: [
    "CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE temp.member (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TEMP VIEW member AS SELECT 7 AS id, 'x' AS name",
    "CREATE TEMP TRIGGER t BEFORE INSERT ON main.member BEGIN SELECT RAISE(ABORT, 'hidden'); END",
  ])
  func noTemporaryObjectOfAWriteReachesTheNext(sql: String) throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      let pool = try SqlitePool(filepath: path)
      try pool.transaction { db in try db.createTable(Member.self) }
      try pool.withWriter { db in try db.execute(SQL(verbatim: sql)) }
      try Member(id: 1, name: "Anna").insert().run(pool)
      try pool.transaction { db in try db.execute(SQL(verbatim: sql)) }
      try Member(id: 2, name: "Bo").insert().run(pool)
      try pool.close()
      let db = try SqliteDatabase(filepath: path)
      #expect(try Member.read().orderBy(Member.id).run(db).map(\.name) == ["Anna", "Bo"])
    }
  }

  @Test func groupedWritesDoNotShareConnectionState() async throws {
    try await withDirectoryAsync { directory in
      // The writer is opened again some sixty times: on a busy machine the last tasks wait for a long time.
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite",
        configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
      try await pool.transaction { db in try db.createTable(Member.self) }
      let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
        for id in 1...200 {
          group.addTask {
            do {
              try await pool.transaction { db in
                try Member(id: id, name: "x").insert().run(db)
                if id % 5 == 0 { try db.execute("PRAGMA query_only = 1") }
                if id % 7 == 0 { try db.execute("CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, name TEXT)") }
              }
              return false
            } catch let error as SqlError where id % 35 == 0 && error.kind == .readOnly { return true }
          }
        }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      let count = try await Member.count().run(pool)
      #expect(count + failures == 200)
      try await pool.close()
    }
  }

  @Test func aWriteThatCreatesTablesKeepsItsConnection() throws {
    try withMembers { pool in
      let writer = try pool.withWriter { $0 }
      try pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      try pool.execute("CREATE INDEX member_name ON member (name)")
      try Member(id: 1, name: "Anna").insert().run(pool)
      #expect(writer.isOpen)
    }
  }

  @Test func temporaryObjectsOfOpenActionsStay() throws {
    try withDirectory { directory in
      var handles = Configuration()
      handles.onOpen("scratch") { db in try db.execute("CREATE TEMP TABLE scratch (id INTEGER)") }
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: .init(handles: handles))
      let writer = try pool.withWriter { $0 }
      try pool.transaction { db in try db.createTable(Member.self) }
      #expect(try pool.withWriter { try $0.query("SELECT count(*) FROM scratch", as: Int.self) } == [0])
      #expect(writer.isOpen)
      try pool.withWriter { try $0.execute("DROP TABLE scratch") }
      #expect(try pool.withWriter { try $0.query("SELECT count(*) FROM scratch", as: Int.self) } == [0])
      try pool.close()
    }
  }
}
