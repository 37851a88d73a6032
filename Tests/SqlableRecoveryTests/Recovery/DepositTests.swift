import Dispatch
import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite("Deposit: a new file at once, the rows later", .needsPlainFiles("it damages pages by their contents"))
struct DepositTests {
  @Test func rowsAreMergedWhereTheirKeysAreFree() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let schema = Schema(Person.self, Bicycle.self)
      let damaged = try DamagedDatabase(path) { db in
        try db.createTables(of: schema)
        for id in 1...100 {
          try Person(id: id, name: "person \(id)").insert().run(db)
          try Bicycle(id: id, name: "bicycle \(id)", color: "red", ownerId: id).insert().run(db)
        }
        // This bicycle references a missing person.
        try db.execute("PRAGMA foreign_keys = 0; DELETE FROM person WHERE id = 50")
      }
      _ = damaged
      try Data("a log".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
      let aside = try Salvage.putAside(path)
      let names = files(in: directory)
      #expect(names.count == 2)
      #expect(names.allSatisfy { $0.hasPrefix("a.sqlite.damaged-") })
      let db = try SqliteDatabase(filepath: path)
      try db.createTables(of: schema)
      try Person(id: 7, name: "new").insert().run(db)
      try Person(id: 500, name: "new").insert().run(db)
      let merged = try Salvage(damaged: aside).merge(into: db)
      let people = try #require(merged.first { $0.table == "person" })
      let bikes = try #require(merged.first { $0.table == "bicycle" })
      #expect((people.added, people.conflicts, people.withoutParent) == (98, 1, 0))
      #expect((bikes.added, bikes.conflicts, bikes.withoutParent) == (99, 0, 1))
      #expect(try Person.count().run(db) == 100)
      #expect(try Person.read().filter(Person.id == 7).run(db).first?.name == "new")
      #expect(try db.query("SELECT count(*) FROM pragma_foreign_key_check", as: Int.self) == [0])
      #expect(files(in: directory).filter { $0.contains("salvaged") }.isEmpty)
      // The second merge finds every row in place.
      #expect(try Salvage(damaged: aside).merge(into: db).allSatisfy { $0.added == 0 })
      try db.close()
    }
  }

  @Test func aPoolGoesOnWithANewFileWhileTasksUseIt() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let schema = Schema(Person.self, Bicycle.self)
      let damaged = try DamagedDatabase(path) { db in
        try db.createTables(of: schema)
        for id in 1...3_000 { try Bicycle(id: id, name: "bicycle \(id)", color: "red").insert().run(db) }
      }
      let leaves = try damaged.pages(ofType: 13)
      try damaged.zero(page: leaves[leaves.count / 2])
      let pool = try SqlitePool(
        filepath: path, configuration: .init(handles: .init(stopsWritesWhenDamaged: true), waitTimeout: nil))
      let aside = Mutex<String?>(nil)
      let isAside = DispatchSemaphore(value: 0)
      pool.onCorruption { report in
        let moved = try? pool.withClosed(within: .seconds(900)) { files in
          let moved = try Salvage.putAside(files.filepath)
          try SqliteDatabase(filepath: files.filepath).createTables(of: schema)
          return moved
        }
        aside.withLock { $0 = moved }
        isAside.signal()
      }
      let written = try await withThrowingTaskGroup { group in
        for task in 0..<4 {
          group.addTask {
            var written = 0
            for number in 0..<200 {
              let id = 10_000 + task * 1_000 + number
              do {
                // A write that started earlier may be stored in the file that is put aside.
                let isNew = aside.withLock { $0 != nil }
                try await Bicycle(id: id, name: "new \(id)", color: "blue").insert().run(pool)
                if isNew { written += 1 }
                _ = try await Bicycle.read().run(pool)
              } catch let error as SqlError {
                // Calls may fail because of the damage, but never because the file is replaced.
                #expect(error.kind == .corrupt, "\(error)")
              }
            }
            return written
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(isAside.wait(timeout: .now() + 900) == .success)
      let file = try #require(aside.withLock { $0 })
      #expect(pool.corruption == nil)
      let before = try await Bicycle.count().run(pool)
      #expect(before >= written)
      try await Bicycle(id: 20_000, name: "new", color: "blue").insert().run(pool)
      let merged = try await Salvage(damaged: file).merge(into: pool)
      let bikes = try #require(merged.first { $0.table == "bicycle" })
      #expect(bikes.added > 2_900, "\(merged)")
      #expect(bikes.conflicts == 0, "\(merged)")
      #expect(try await Bicycle.count().run(pool) == before + 1 + bikes.added)
      #expect(try await pool.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      try await pool.close()
    }
  }

  @Test func aMergeIntoAPoolInsideItsTransactionIsRefused() throws {
    try withDirectory { directory in
      _ = try DamagedDatabase(directory + "/old.sqlite") { try DamagedDatabase.bicycles($0, 10) }
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try pool.withWriter { try $0.createTables(of: Schema(Person.self, Bicycle.self)) }
      expectMisuse {
        try pool.transaction { _ in _ = try Salvage(damaged: directory + "/old.sqlite").merge(into: pool) }
      }
      #expect(files(in: directory).filter { $0.contains("salvaged") }.isEmpty)
      try pool.close()
    }
  }

  /// The recovery runs to its end; the merge waits for the writer and is cancelled.
  @Test(.timeLimit(.minutes(60))) func aCancelledMergeAddsNothing() async throws {
    try await withDirectoryAsync { directory in
      _ = try DamagedDatabase(directory + "/old.sqlite") { try DamagedDatabase.bicycles($0, 10) }
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.withWriter { try $0.createTables(of: Schema(Person.self, Bicycle.self)) }
      let isHeld = DispatchSemaphore(value: 0)
      let holder = Task { try await pool.withWriter { _ in isHeld.wait() } }
      let merge = Task { try await Salvage(damaged: directory + "/old.sqlite").merge(into: pool) }
      try await until { pool.statistics.waitingWrites > 0 }
      merge.cancel()
      await #expect(throws: CancellationError.self) { _ = try await merge.value }
      isHeld.signal()
      try await holder.value
      #expect(try await Bicycle.count().run(pool) == 0)
      #expect(files(in: directory).filter { $0.contains("salvaged") }.isEmpty)
      try await pool.close()
    }
  }

  @Test func missingFileIsNotPutAside() throws {
    try withDirectory { directory in
      #expect(sqlError { _ = try Salvage.putAside(directory + "/a.sqlite") }?.kind == .io)
    }
  }

  /// The database has orphaned rows before the merge, in tables with and without a rowid.
  @Test func aMergeDeletesNoRowThatWasThereBefore() throws {
    try withDirectory { directory in
      let tables: SQL = """
        CREATE TABLE parent(id INTEGER PRIMARY KEY);
        CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent(id));
        CREATE TABLE keyed(key TEXT PRIMARY KEY, parent INTEGER REFERENCES parent) WITHOUT ROWID;
        """
      let unchecked = Configuration(foreignKeys: false)
      let old = try SqliteDatabase(filepath: directory + "/old.sqlite", configuration: unchecked)
      try old.execute(tables)
      try old.execute(
        """
        INSERT INTO parent VALUES (1);
        INSERT INTO child VALUES (1, 1), (2, 99), (3, NULL);
        INSERT INTO keyed VALUES ('a', 1), ('b', 99), ('c', NULL);
        """)
      try old.close()
      for configuration in [unchecked, Configuration()] {
        let path = directory + "/new.sqlite"
        let new = try SqliteDatabase(filepath: path, configuration: unchecked)
        try new.execute(tables)
        try new.execute("INSERT INTO child VALUES (100, 98); INSERT INTO keyed VALUES ('z', 98)")
        try new.close()
        let db = try SqliteDatabase(filepath: path, configuration: configuration)
        let merged = try Salvage(damaged: directory + "/old.sqlite").merge(into: db)
        #expect(try db.query("SELECT id FROM child ORDER BY id", as: Int.self) == [1, 3, 100])
        #expect(try db.query("SELECT key FROM keyed ORDER BY key", as: String.self) == ["a", "c", "z"])
        for table in merged where table.table != "parent" {
          #expect((table.added, table.conflicts, table.withoutParent) == (2, 0, 1), "\(table)")
        }
        #expect(try db.query("SELECT name FROM temp.sqlite_schema", as: String.self) == [])
        try db.close()
        try SqliteDatabase.deleteDatabase(at: path)
      }
    }
  }

  /// Each node is deleted with its parent node, and most nodes have no owner.
  @Test func rowsDeletedWithTheirParentAreReportedAsWithoutParent() throws {
    try withDirectory { directory in
      let tables: SQL = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY);
        CREATE TABLE node(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES node ON DELETE CASCADE,
          owner INTEGER REFERENCES owner);
        """
      let old = try SqliteDatabase(filepath: directory + "/old.sqlite", configuration: .init(foreignKeys: false))
      try old.execute(tables)
      for id in 1...20 { try old.execute("INSERT INTO node VALUES (\(id), \(id > 1 ? id - 1 : nil as Int?), 99)") }
      for id in 21...25 { try old.execute("INSERT INTO node VALUES (\(id), 20, NULL)") }
      try old.execute("INSERT INTO node VALUES (26, NULL, NULL)")
      try old.close()
      let db = try SqliteDatabase(filepath: directory + "/new.sqlite")
      defer { try? db.close() }
      try db.execute(tables)
      let merged = try Salvage(damaged: directory + "/old.sqlite").merge(into: db)
      let nodes = try #require(merged.first { $0.table == "node" })
      #expect((nodes.added, nodes.conflicts, nodes.withoutParent) == (1, 0, 25))
      #expect(try db.query("SELECT id FROM node", as: Int.self) == [26])
    }
  }

  @Test func symlinkStaysAndItsTargetIsPutAsideWithItsWAL() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: true)
      let path = directory + "/a.sqlite"
      let damaged = try DamagedDatabase(directory + "/real/a.sqlite") { try DamagedDatabase.bicycles($0, 10) }
      _ = damaged
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real/a.sqlite")
      try Data("a log".utf8).write(to: URL(fileURLWithPath: directory + "/real/a.sqlite-wal"))
      let aside = try Salvage.putAside(path)
      #expect(FileManager.default.fileExists(atPath: aside))
      #expect(aside.contains("/real/a.sqlite.damaged-"))
      #expect(files(in: directory) == ["a.sqlite", "real"])
      #expect(files(in: directory + "/real").count == 2)
      #expect(FileManager.default.fileExists(atPath: aside + "-wal"))
      // Opening the symlink creates a new file in place of the old one.
      try SqliteDatabase(filepath: path).close()
      #expect(FileManager.default.fileExists(atPath: directory + "/real/a.sqlite"))
    }
  }

  @Test func nonRegularFileIsNotPutAside() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory + "/d", withIntermediateDirectories: true)
      #expect(mkfifo(directory + "/pipe", 0o600) == 0)
      for name in ["d", "pipe"] {
        #expect(sqlError { _ = try Salvage.putAside(directory + "/" + name) }?.kind == .io)
        // Opening a pipe for reading would block forever.
        let error = sqlError { try Salvage(damaged: directory + "/" + name).recover(into: directory + "/new") }
        #expect(error?.kind == .cannotOpen)
        #expect(error?.message.contains("not a regular file") == true)
      }
      #expect(files(in: directory) == ["d", "pipe"])
    }
  }

  @Test func walIsSalvagedThroughASymlink() throws {
    try withDirectory { directory in
      let (path, other) = (directory + "/link.sqlite", directory + "/other.sqlite")
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "a.sqlite")
      try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: "link.sqlite")
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try DamagedDatabase.bicycles(db, 10)
      try Data().write(to: URL(filePath: directory + "/none.sqlite"))
      // All rows are still in the WAL.
      for link in [path, other] {
        let report = try Salvage(damaged: link).recover(into: directory + "/new.sqlite")
        #expect(report.tables.first { $0.name == "bicycle" }?.rowsFromPages == 10)
        try SqliteDatabase.deleteDatabase(at: directory + "/new.sqlite")
      }
      try db.close()
    }
  }

  @Test func closureWithExclusiveAccessMayCloseThePool() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let damaged = try DamagedDatabase(path) { db in
        try db.createTables(of: Schema(Person.self, Bicycle.self))
        for id in 1...3_000 { try Bicycle(id: id, name: "bicycle \(id)", color: "red").insert().run(db) }
      }
      let leaves = try damaged.pages(ofType: 13)
      try damaged.zero(page: leaves[leaves.count / 2])
      let pool = try SqlitePool(filepath: path)
      let result = Mutex<Result<String, any Error>?>(nil)
      let isDone = DispatchSemaphore(value: 0)
      pool.onCorruption(exclusively: true) { report in
        #expect(report.isExclusive)
        let moved = Result { try pool.withClosed(within: .seconds(900)) { try Salvage.putAside($0.filepath) } }
        result.withLock { $0 = moved }
        isDone.signal()
      }
      expectError(.corrupt) { _ = try Bicycle.read().run(pool) }
      #expect(isDone.wait(timeout: .now() + 900) == .success)
      let aside = try #require(try result.withLock { $0 }?.get())
      #expect(FileManager.default.fileExists(atPath: aside))
      try pool.transaction { db in try db.createTables(of: Schema(Person.self, Bicycle.self)) }
      #expect(try Bicycle.count().run(pool) == 0)
      try pool.close()
    }
  }
}
