import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The files of a database: size, moving, copying, deleting, and the check that a file can be opened.
@Suite struct DatabaseFilesTests {
  func withFile(_ body: (_ path: String, _ directory: String) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((0..<100).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      try db.close()
      try body(path, directory)
    }
  }

  @Test func sizeAndPathsCoverAllDatabaseFiles() throws {
    try withFile { path, directory in
      let files = DatabaseFiles(of: path)
      #expect(files.paths == [path])
      let alone = files.size
      let db = try SqliteDatabase(filepath: path)
      try Bicycle(name: "one", color: "red").insert().run(db)
      #expect(db.files == files)
      #expect(files.paths == [path, path + "-wal", path + "-shm"])
      #expect(files.size > alone + 4_096)
      #expect(DatabaseFiles(of: directory + "/none").paths.isEmpty)
      #expect(DatabaseFiles(of: directory + "/none").size == 0)
      #expect(try SqliteDatabase.inMemory().files.size == 0)
    }
  }

  @Test(.needsSQLiteProgram)
  func movingADatabaseMovesItsWALAndLeavesNothingBehind() throws {
    try withFile { path, directory in
      // A killed process leaves its WAL behind.
      let other = try SQLiteProcess(path)
      try other.run("PRAGMA wal_autocheckpoint = 0; INSERT INTO bicycle (name, color) VALUES ('killed', 'blue');")
      other.kill()
      #expect(files(in: directory).contains("bikes.sqlite-wal"))
      try DatabaseFiles(of: path).move(to: directory + "/moved.sqlite")
      #expect(files(in: directory) == ["moved.sqlite"])
      let db = try SqliteDatabase(filepath: directory + "/moved.sqlite")
      #expect(try Bicycle.count().run(db) == 101)
    }
  }

  @Test func aMoveDeletesNoFileThatAppearsAtTheOldPath() throws {
    // The other program needs some attempts to find the moment after the rename.
    for _ in 0..<times(20) {
      try withFile { path, directory in
        try Data().write(to: URL(filePath: path + "-gate"))
        let (isReady, isOver, isCreated, done) = (Mutex(false), Mutex(false), Mutex(false), DispatchGroup())
        DispatchQueue.global().async(group: done) {
          while !isOver.withLock({ $0 }) {
            isReady.withLock { $0 = true }
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
            guard file >= 0 else { continue }
            close(file)
            return isCreated.withLock { $0 = true }
          }
        }
        waitUntil { isReady.withLock { $0 } }
        try DatabaseFiles(of: path).move(to: directory + "/moved.sqlite")
        isOver.withLock { $0 = true }
        done.wait()
        #expect(FileManager.default.fileExists(atPath: path) == isCreated.withLock { $0 })
      }
    }
  }

  @Test func aRefusedMoveChangesNothing() throws {
    try withFile { path, directory in
      let files = DatabaseFiles(of: path)
      let target = directory + "/target.sqlite"
      func message(to path: String) -> String? { sqlError { try files.move(to: path) }?.message }
      do {
        let db = try SqliteDatabase(filepath: path)
        expectError(.busy) { try files.move(to: target) }
        try db.execute("CREATE TABLE still (works)")
        try db.close()
      }
      try Data("mine".utf8).write(to: URL(filePath: target))
      #expect(message(to: target) == "can't create \(target): the file, or a WAL or journal beside it, already exists")
      #expect(try String(contentsOf: URL(filePath: target), encoding: .utf8) == "mine")
      try FileManager.default.moveItem(atPath: target, toPath: target + "-wal")
      #expect(message(to: target)?.hasPrefix("can't create ") == true)
      #expect(message(to: path)?.hasPrefix("can't create ") == true)
      #expect(message(to: directory)?.contains("is a directory") == true)
      expectMisuse { try files.move(to: "") }
      expectError(.io) { try files.move(to: directory + "/no/such/place") }
      #expect(FileManager.default.fileExists(atPath: path))
      expectError(.cannotOpen) { try DatabaseFiles(of: directory + "/none").move(to: directory + "/other") }
      #expect(!FileManager.default.fileExists(atPath: directory + "/none"))
      let db = try SqliteDatabase(filepath: path)
      #expect(try Bicycle.count().run(db) == 100)
    }
  }

  @Test(.enabled(if: Administrator.canMount, "no file system can be mounted"))
  func movingToAnotherFileSystemIsRefused() throws {
    try withFile { path, _ in
      try withSmallDisk(size: "1m") { disk in
        expectError(.io) { try DatabaseFiles(of: path).move(to: disk + "/bikes.sqlite") }
        #expect(files(in: disk) == [])
      }
      #expect(SqliteDatabase.canOpen(at: path))
    }
  }

  @Test func aDatabaseNamedLikeTheTemporaryFileOfItsCopyIsNotEmptied() throws {
    try withFile { path, directory in
      let (copy, partial) = (directory + "/copy.sqlite", directory + "/copy.sqlite.sqlable-copy")
      try FileManager.default.moveItem(atPath: path, toPath: partial)
      expectMisuse { try DatabaseFiles(of: partial).copy(to: copy) }
      #expect(files(in: directory) == ["copy.sqlite.sqlable-copy"])
      // A hard link to the temporary file is refused too.
      #expect(link(partial, path) == 0)
      expectMisuse { try DatabaseFiles(of: path).copy(to: copy) }
      unlink(partial)
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: path)) == 100)
      // A copy replaces the leftover of a killed copy, but not the file of a copy that still runs.
      try Data(count: 1 << 20).write(to: URL(filePath: partial))
      chmod(partial, 0o1600)
      let other = open(partial, O_RDWR | O_CLOEXEC)
      #expect(flock(other, LOCK_EX) == 0)
      expectError(.busy) { try DatabaseFiles(of: path).copy(to: copy) }
      // A process that another test starts can inherit the descriptor, and would keep the lock.
      flock(other, LOCK_UN)
      close(other)
      try DatabaseFiles(of: path).copy(to: copy)
      #expect(!FileManager.default.fileExists(atPath: partial))
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: copy)) == 100)
      #expect(FileIdentity.info(copy)?.st_mode == FileIdentity.info(path)?.st_mode)
    }
  }

  @Test(arguments: ["", "-journal", "-wal"])
  func fileWithTheTemporaryNameOfACopyIsKept(_ suffix: String) throws {
    try withFile { path, directory in
      let copy = directory + "/copy.sqlite"
      let other = copy + ".sqlable-copy" + suffix
      for contents in ["mine", ""] {
        try Data(contents.utf8).write(to: URL(filePath: other))
        let error = expectMisuse { try DatabaseFiles(of: path).copy(to: copy) }
        #expect(
          error?.message
            == "can't create the temporary file of the copy: another file has the name; move or delete \(other)")
        #expect(try String(contentsOfFile: other, encoding: .utf8) == contents)
        #expect(
          Set(files(in: directory)) == ["copy.sqlite.sqlable-copy\(suffix)", (path as NSString).lastPathComponent])
      }
      unlink(other)
      try DatabaseFiles(of: path).copy(to: copy)
    }
  }

  @Test(.needsSQLiteProgram)
  func anotherProcessThatReadsOrWritesPreventsMovesAndCopies() throws {
    try withFile { path, directory in
      let target = directory + "/target.sqlite"
      let other = try SQLiteProcess(path)
      try other.run("PRAGMA journal_mode = DELETE;")
      for (use, end) in [
        ("BEGIN IMMEDIATE; INSERT INTO bicycle (name, color) VALUES ('other', 'blue');", "COMMIT;"),
        ("BEGIN; SELECT count(*) FROM bicycle;", "COMMIT;"),
      ] {
        try other.run(use)
        let before = files(in: directory)
        expectError(.busy) { try DatabaseFiles(of: path).move(to: target) }
        expectError(.busy) { try DatabaseFiles(of: path).copy(to: target) }
        #expect(files(in: directory) == before)
        try other.run(end)
      }
      other.quit()
      try DatabaseFiles(of: path).move(to: target)
      #expect(files(in: directory) == ["target.sqlite"])
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: target)) == 101)
    }
  }

  @Test(.needsSQLiteProgram)
  func aCopyIsWholeWhileAnotherProcessWrites() throws {
    try withDirectory { directory in
      let path = directory + "/ends.sqlite"
      nonisolated(unsafe) let writer = try SQLiteProcess(path)
      // The values are on the first and the last page.
      try writer.run(
        """
        PRAGMA busy_timeout = 60000;
        PRAGMA synchronous = OFF;
        CREATE TABLE first (value); INSERT INTO first VALUES (0);
        CREATE TABLE filler (bytes); INSERT INTO filler VALUES (zeroblob(20000000));
        CREATE TABLE last (value); INSERT INTO last VALUES (0);
        """)
      let update = "BEGIN IMMEDIATE; UPDATE first SET value = value + 1; UPDATE last SET value = value + 1; COMMIT;\n"
      let script = directory + "/updates.sql"
      try Data(String(repeating: update, count: 200_000).utf8).write(to: URL(filePath: script))
      Thread.detachNewThread { _ = try? writer.run(".read \(script)") }
      defer { writer.kill() }
      let files = DatabaseFiles(of: path)
      for number in 1...5 {
        let copy = directory + "/copy-\(number).sqlite"
        let isCopied = (0..<20_000).contains { _ in
          guard let error = sqlError({ try files.copy(to: copy) }) else { return true }
          #expect(error.kind == .busy)
          usleep(500)
          return false
        }
        #expect(isCopied)
        let values = try SqliteDatabase(filepath: copy).query(
          "SELECT value FROM first UNION ALL SELECT value FROM last", as: Int.self)
        #expect(values.count == 2)
        #expect(values.first == values.last)
      }
    }
  }

  @Test func aSymbolicLinkStandsForItsTarget() throws {
    try withFile { path, directory in
      let (link, moved) = (directory + "/link.sqlite", directory + "/other/moved.sqlite")
      try FileManager.default.createDirectory(atPath: directory + "/other", withIntermediateDirectories: true)
      func makeLink(to name: String) throws {
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: name)
      }
      try makeLink(to: "bikes.sqlite")
      let db = try SqliteDatabase(filepath: link)
      try Bicycle(name: "one", color: "red").insert().run(db)
      #expect(db.files.paths == [path, path + "-wal", path + "-shm"])
      #expect(db.files.size == DatabaseFiles(of: path).size)
      try db.close()
      // A relative link would lead nowhere from another directory.
      try DatabaseFiles(of: link).move(to: moved)
      #expect(files(in: directory) == ["other"])
      #expect(files(in: directory + "/other") == ["moved.sqlite"])
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: moved)) == 101)
      try makeLink(to: "other/moved.sqlite")
      try DatabaseFiles(of: link).remove(overwriting: true)
      #expect(files(in: directory) == ["other"])
      #expect(files(in: directory + "/other") == [])
    }
  }

  @Test func removedFilesAreOverwrittenIfAsked() throws {
    try withFile { path, directory in
      // A hard link keeps the content readable after the removal.
      #expect(link(path, directory + "/other") == 0)
      let size = DatabaseFiles(of: path).size
      try DatabaseFiles(of: path).remove(overwriting: true)
      #expect(files(in: directory) == ["other"])
      let data = try Data(contentsOf: URL(filePath: directory + "/other"))
      #expect(data.count == size)
      #expect(data.allSatisfy { $0 == 0 })
      try DatabaseFiles(of: path).remove(overwriting: true)
      expectMisuse { try DatabaseFiles(of: directory).remove() }
    }
  }

  @Test func databasesAreOpenedByURL() async throws {
    try await withDirectoryAsync { directory in
      let url = URL(filePath: directory + "/a b%20ü.sqlite")
      let db = try SqliteDatabase(url: url)
      #expect(db.filepath == directory + "/a b%20ü.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      let pool = try SqlitePool(url: url)
      #expect(try await Bicycle.count().run(pool) == 0)
      #expect(pool.files.paths.contains(directory + "/a b%20ü.sqlite"))
      try await pool.close()
      let web = try #require(URL(string: "https://example.com/bikes.sqlite"))
      expectMisuse { _ = try SqliteDatabase(url: web) }
      expectMisuse { _ = try SqlitePool(url: web) }
      expectMisuse { _ = try SqlitePool(filepath: "~/bikes.sqlite") }
    }
  }

  // MARK: Pools

  @Test func aPoolReleasesTheMemoryOfIdleHandles() throws {
    try withPool { pool in
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      #expect(try Bicycle.count().run(pool) == 0)
      let (before, _) = (pool.statistics.statementCache, try pool.releaseMemory())
      #expect(before.statements > 0)
      try pool.read { db in
        // Busy handles keep their statements, and releaseMemory does not wait for them.
        try pool.releaseMemory()
        #expect(try Bicycle.count().run(db) == 0)
      }
      let misses = try pool.read { db in try db.statementCacheUse.misses }
      #expect(misses > 0)
      try pool.transaction { db in try Person(id: nil, name: "Ann").insert().run(db) }
      #expect(pool.statistics.idleReaders == pool.statistics.openReaders)
      #expect(!pool.statistics.isWriting)
      try pool.close()
      expectError(.closed) { try pool.releaseMemory() }
    }
  }

  @Test func releasingMemoryDuringCallsLosesNoWrite() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite", configuration: PoolConfiguration(readers: 2, waitTimeout: nil))
      try await pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            for _ in 0..<50 {
              try await Person(id: nil, name: "\(number)").insert().run(pool)
              _ = try await Person.count().run(pool)
            }
          }
        }
        group.addTask { for _ in 0..<200 { try pool.releaseMemory() } }
        try await group.waitForAll()
      }
      #expect(try await Person.count().run(pool) == 400)
      try await pool.close()
    }
  }

  @Test func functionsAreRegisteredOnAPool() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      #expect(try await pool.read { db in try db.query("SELECT 1", as: Int.self) } == [1])
      try pool.register(ScalarFunction("twice") { (value: Int) in 2 * value })
      try pool.register(
        AggregateFunction("product", initial: 1) { (product: inout Int, value: Int) in
          product *= value
        } finish: {
          $0
        })
      try pool.register(Collation("backwards") { $1.compare($0) })
      let text: @Sendable (SqliteDatabase) throws -> [Int] = { db in
        try db.query("SELECT twice(product(column1)) FROM (VALUES (2), (3))", as: Int.self)
          + db.query("SELECT 'a' < 'b' COLLATE backwards", as: Int.self)
      }
      #expect(try await pool.read(text) == [12, 0])
      #expect(try await pool.transaction(text) == [12, 0])
      expectMisuse { try pool.register(ScalarFunction("") { (value: Int) in value }) }
      try await pool.close()
    }
  }
}
