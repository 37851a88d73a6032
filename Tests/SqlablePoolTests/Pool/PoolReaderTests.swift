import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Readers of a pool: refused writes, changed settings, recovery.
@Suite struct PoolReaderTests {
  /// The pool closes a reader whose settings a call has changed.
  @Test func changedReaderSettingsEndWithTheRead() throws {
    try withMembers(PoolConfiguration(readers: 1)) { pool in
      try Member(id: 1, name: "Anna").insert().run(pool)
      try pool.read { db in
        try db.execute("PRAGMA query_only = OFF")
        try db.execute("CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, name TEXT)")
        #expect(try Member.count().run(db) == 0)
      }
      #expect(try Member.read().run(pool).map(\.name) == ["Anna"])
      // SQLite sets the flag while it compiles the refused text.
      expectSqlError {
        try pool.read { _ = try $0.query("SELECT 1; PRAGMA query_only = OFF", as: Int.self) }
      }
      #expect(try pool.read { try $0.query("PRAGMA query_only", as: Int.self) } == [1])
    }
  }

  /// Pragmas that return rows when they set a value, and forms that SQLite executes while it compiles them.
  @Test(arguments: [
    ("PRAGMA busy_timeout = 4711", "busy_timeout"),
    ("PRAGMA locking_mode = EXCLUSIVE", "locking_mode"),
    ("PRAGMA mmap_size = 65536", "mmap_size"),
    ("PRAGMA wal_autocheckpoint = 77", "wal_autocheckpoint"),
    ("PRAGMA journal_size_limit = 4711", "journal_size_limit"),
    ("PRAGMA secure_delete = ON", "secure_delete"),
    ("PRAGMA max_page_count = 4711", "max_page_count"),
    ("PRAGMA threads = 2", "threads"),
    ("PRAGMA analysis_limit = 77", "analysis_limit"),
    ("EXPLAIN PRAGMA query_only = OFF", "query_only"),
    ("EXPLAIN /* a */ QUERY PLAN -- b\n PRAGMA query_only = OFF", "query_only"),
    ("PRAGMA query_only = OFF nonsense", "query_only"),
    ("; PRAGMA query_only = OFF; SELECT", "query_only"),
  ])
  func noSettingOfAReadReachesTheNext(change: String, pragma: String) throws {
    try withMembers(PoolConfiguration(readers: 1)) { pool in
      func setting(_ db: SqliteDatabase) throws -> [DynamicRow] {
        try db.query(SQL(verbatim: "PRAGMA \(pragma)"), as: DynamicRow.self)
      }
      let own = try pool.read(setting)
      let reader = try pool.read { $0 }
      // A read with only the change: a query of the setting would be detected as well.
      try pool.read { db in try? db.execute(SQL(verbatim: change)) }
      #expect(try pool.read(setting) == own)
      #expect(!reader.isOpen)
    }
  }

  @Test(.needs(35, "RETURNING")) func noSQLMakesAReaderWrite() throws {
    try withMembers { pool in
      try Member(id: 1, name: "Anna").insert().run(pool)
      expectError(.readOnly) { try pool.read { try $0.execute("CREATE TEMP TABLE own (x)") } }
      let attempts: [(SqliteDatabase) throws -> Void] = [
        { try $0.execute("INSERT INTO member VALUES (2, 'Bo')") },
        { try Member(id: 2, name: "Bo").insert().run($0) },
        { try $0.execute("CREATE TABLE other (x)") },
        { try $0.execute("PRAGMA user_version = 7") },
        { try $0.execute("DROP TABLE member") },
        { _ = try $0.query("DELETE FROM member RETURNING id", as: Int.self) },
        { try $0.execute("PRAGMA main.query_only = 0; DELETE FROM member") },
      ]
      for attempt in attempts {
        expectError(.readOnly) {
          try pool.read { db in
            try db.execute("PRAGMA query_only = OFF")
            try attempt(db)
          }
        }
      }
      expectSqlError { try pool.read { try $0.execute("PRAGMA journal_mode = DELETE") } }
      #expect(try pool.read { try $0.query("PRAGMA journal_mode", as: String.self) } == ["wal"])
      #expect(try pool.read { try $0.query("PRAGMA user_version", as: Int.self) } == [0])
      #expect(try Member.read().run(pool).map(\.name) == ["Anna"])
    }
  }

  /// A WAL without shared memory and without a checkpoint, as a power failure leaves it.
  @Test func poolRecoversAWALWithoutSharedMemory() throws {
    try withDirectory { directory in
      let (path, copy) = (directory + "/a.sqlite", directory + "/b.sqlite")
      let pool = try SqlitePool(filepath: path)
      try pool.transaction { db in try db.createTable(Member.self) }
      try Member(id: 1, name: "Anna").insert().run(pool)
      for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: copy + end) }
      let other = try SqlitePool(filepath: copy)
      #expect(try Member.read().run(other).map(\.name) == ["Anna"])
      try Member(id: 2, name: "Bo").insert().run(other)
      #expect(try Member.count().run(other) == 2)
      try other.close()
      #expect(!FileManager.default.fileExists(atPath: copy + "-wal"))
      try pool.close()
    }
  }

  @Test func keptHandleCannotBeClosed() throws {
    try withMembers(.init(readers: 1)) { pool in
      let reader = try pool.read { $0 }
      let writer = try pool.withWriter { $0 }
      for _ in 0..<2 {
        expectMisuse { try reader.close() }
        expectMisuse { try writer.close() }
        #expect(try Member.count().run(pool) >= 0)
        try Member(id: Int.random(in: 1...1 << 40), name: "Anna").insert().run(pool)
      }
      #expect(reader.isOpen)
      #expect(pool.statistics.openReaders == 1)
      try pool.close()
      #expect(!reader.isOpen)
      #expect(!writer.isOpen)
    }
  }

  @Test func threadGetsTheReaderThatItUsedLast() throws {
    try withMembers(PoolConfiguration(readers: 2)) { pool in
      let (next, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let readers = LockedValue<[ObjectIdentifier]>([])
      let first = try pool.read { db in
        // The other thread gets the second reader, because this thread holds the first.
        Thread.detachNewThread {
          for _ in 0..<2 {
            try? pool.read { db in readers.withLock { $0.append(ObjectIdentifier(db)) } }
            isDone.signal()
            next.wait()
          }
        }
        isDone.wait()
        return ObjectIdentifier(db)
      }
      // Now the first reader is the one that became idle last.
      next.signal()
      isDone.wait()
      next.signal()
      let second = readers.withLock { $0 }
      #expect(Set(second).count == 1)
      #expect(!second.contains(first))
      #expect(try pool.read { ObjectIdentifier($0) } == first)
    }
  }

  @Test func readErrorForAReplacedFileMentionsNoWrite() throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      let pool = try SqlitePool(filepath: path)
      try pool.transaction { db in try db.createTable(Member.self) }
      _ = try Member.count().run(pool)
      try FileManager.default.moveItem(atPath: path, toPath: path + "-old")
      try SqliteDatabase(filepath: path).close()
      // A reader checks its file once a second.
      Thread.sleep(forTimeInterval: 1.1)
      let read = expectError(.io) { _ = try Member.count().run(pool) }
      #expect(read?.message.contains("replaced") == true)
      #expect(read?.message.contains("written") == false)
      let write = expectError(.io) { try Member(id: 1, name: "Anna").insert().run(pool) }
      #expect(write?.message.contains("a write would be lost") == true)
    }
  }

  @Test(.needsPlainFiles("it damages pages by their contents")) func damagedTableLeavesOtherTablesUsable() throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Member.self)
      try db.execute("CREATE TABLE damaged (id INTEGER PRIMARY KEY, text TEXT)")
      try db.execute(
        """
        INSERT INTO damaged WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        SELECT i, hex(randomblob(100)) FROM n
        """)
      let root = try db.query("SELECT rootpage FROM sqlite_schema WHERE name = 'damaged'", as: Int.self)[0]
      let size = try db.query("PRAGMA page_size", as: Int.self)[0]
      try db.close()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.seek(toOffset: UInt64((root - 1) * size))
      try file.write(contentsOf: Data(repeating: 0xA5, count: size))
      try file.close()
      let pool = try SqlitePool(filepath: path, configuration: .init(readers: 1))
      for id in 1...3 {
        let read = expectError(.corrupt) {
          _ = try pool.read { try $0.query("SELECT text FROM damaged", as: String.self) }
        }
        #expect(read?.code == 11)
        let write = expectError(.corrupt) {
          try pool.transaction { db in
            try Member(id: 100, name: "undone").insert().run(db)
            try db.execute("DELETE FROM damaged WHERE id = \(id)")
          }
        }
        #expect(write?.transaction == .rolledBack)
        try Member(id: id, name: "Anna").insert().run(pool)
        #expect(try Member.read().run(pool).map(\.id) == Array(1...id))
      }
      let check = try pool.read { try $0.query("PRAGMA integrity_check(1)", as: String.self) }
      #expect(check != ["ok"])
      try pool.close()
    }
  }

  @Test(.needs(35, "RETURNING")) func functionsReachAllHandlesOfAPool() throws {
    try withMembers(.init(readers: 2)) { pool in
      try Member.insert([Member(id: 1, name: "Anna"), Member(id: 2, name: "bo"), Member(id: 3, name: "Cid")]).run(pool)
      // The pool opens the second reader later.
      _ = try Member.count().run(pool)
      let twice = ScalarFunction("twice", isDeterministic: true) { (number: Int) in number * 2 }
      try pool.withWriter { db in
        try db.register(twice)
        try db.register(Collation("backwards") { $1.compare($0) })
        let product = AggregateFunction("product", initial: 1) { (product: inout Int, number: Int) in
          product *= number
        } finish: {
          $0
        }
        try db.register(product)
      }
      try pool.read { _ in
        // The call on another thread uses the second reader while this one is busy.
        let doubled = try onThread { try Member.select(twice(Member.id)).orderBy(Member.id).run(pool) }
        #expect(doubled == [2, 4, 6])
      }
      #expect(try pool.read { try $0.query("SELECT product(id) FROM member", as: Int.self) } == [6])
      let ordered: SQL = "SELECT name FROM member ORDER BY name COLLATE backwards"
      let names = try pool.read { try $0.query(ordered, as: String.self) }
      #expect(names == ["bo", "Cid", "Anna"])
      // A registration on a reader replaces the function on all handles.
      try pool.read { try $0.register(ScalarFunction("twice", isDeterministic: true) { (number: Int) in number * 20 }) }
      #expect(try Member.select(twice(Member.id)).orderBy(Member.id).run(pool) == [20, 40, 60])
      let updated = try pool.transaction { db in
        try db.query("UPDATE member SET name = twice(id) WHERE id = 2 RETURNING name", as: String.self)
      }
      #expect(updated == ["40"])
      struct Refusal: Error {}
      try pool.withWriter { db in
        try db.register(ScalarFunction("refusing") { (_: Int) throws -> Int in throw Refusal() })
      }
      #expect(throws: Refusal.self) { try pool.read { try $0.query("SELECT refusing(1)", as: Int.self) } }
      #expect(throws: Refusal.self) { try pool.transaction { try $0.execute("UPDATE member SET name = refusing(1)") } }
      #expect(try Member.count().run(pool) == 3)
    }
  }
}
