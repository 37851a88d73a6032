#if SQLCipher
import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

/// Files that `encrypt` refuses, and the plain file that every error leaves.
@Suite struct FileEncryptionRefusalTests {
  private let key: EncryptionKey

  init() throws { key = try .raw([UInt8](0..<32)) }

  private static func plain(_ journalMode: Configuration.JournalMode = .wal) -> Configuration {
    Configuration(busyTimeout: 0.3, journalMode: journalMode, key: .unencrypted)
  }

  private func withPlain(
    _ configuration: Configuration = FileEncryptionRefusalTests.plain(), _ body: (SqliteDatabase, String) throws -> Void
  ) throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.createTable(Person.self)
      try Person.insert((1...200).map { Person(id: nil, name: "Person \($0)") }).run(db)
      try body(db, path)
    }
  }

  /// Expects that `body` throws an error of this kind, and that the file stays plain and complete.
  private func expectRefused(
    _ kind: SqlError.Kind, _ text: String, _ path: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) throws {
    let error = sqlError(body)
    var isExpected = error?.kind == kind
    if case .misuse = kind { isExpected = error?.kindIsMisuse == true }
    #expect(isExpected, "\(error as Any)", sourceLocation: sourceLocation)
    #expect(error?.message.contains(text) == true, "\(error as Any)", sourceLocation: sourceLocation)
    let db = try SqliteDatabase(filepath: path, configuration: FileEncryptionRefusalTests.plain())
    #expect(try Person.count().run(db) == 200, sourceLocation: sourceLocation)
    #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"], sourceLocation: sourceLocation)
    let names = files(in: String(path.dropLast("/a.sqlite".count)))
    #expect(!names.contains { $0.hasSuffix("partial") || $0.hasSuffix("journal") }, sourceLocation: sourceLocation)
  }

  @Test func anEncryptedFileIsRefused() throws {
    try withPlain { db, path in
      try expectRefused(.misuse(""), "encrypt needs a key", path) { try db.encrypt(with: .unencrypted) }
      try db.encrypt(with: key)
      expectMisuse { try db.encrypt(with: key) }
      let error = sqlError { try db.createChild().encrypt(with: .passphrase("horse")) }
      #expect(error?.message == "the database is already encrypted; use rekey(to:) for another key")
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: .init(key: key)))
      expectMisuse { try pool.encrypt(with: .passphrase("horse")) }
      try pool.close()
      expectError(.closed) { try pool.encrypt(with: key) }
      try db.close()
      expectMisuse { try db.encrypt(with: key) }
    }
  }

  @Test func aDatabaseInMemoryIsRefused() throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
    #expect(sqlError { try db.encrypt(with: key) }?.message == "an in-memory database has no file to encrypt")
  }

  @Test func aReadOnlyHandleIsRefused() throws {
    try withPlain { db, path in
      let reader = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true, key: .unencrypted))
      try expectRefused(.readOnly, "read-only", path) { try reader.encrypt(with: key) }
      try db.close()
      try reader.close()
      var configuration = FileEncryptionRefusalTests.plain(.delete)
      configuration.cipher.plaintextHeaderSize = 32
      let headed = try SqliteDatabase(filepath: path, configuration: configuration)
      try expectRefused(.misuse(""), "raw(_:salt:)", path) { try headed.encrypt(with: key) }
    }
  }

  @Test func aTransactionOfTheCallerIsRefused() throws {
    try withPlain { db, path in
      try db.transaction { db in
        #expect(
          sqlError { try db.encrypt(with: key) }?.message == "can't encrypt the file inside a transaction")
      }
      try db.beginTransaction(.deferred)
      expectMisuse { try db.encrypt(with: key) }
      try db.rollbackTransaction()
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: FileEncryptionRefusalTests.plain()))
      try pool.read { db in
        expectMisuse { try db.encrypt(with: key) }
        expectMisuse { try pool.encrypt(with: key) }
      }
      let other = try SqliteDatabase(filepath: path, configuration: FileEncryptionRefusalTests.plain())
      try pool.transaction { _ in expectMisuse { try other.encrypt(with: key) } }
      try expectRefused(.misuse(""), "inside a closure that the pool runs", path) {
        try pool.transaction { _ in try pool.encrypt(with: key) }
      }
      try pool.close()
    }
  }

  @Test(arguments: [TransactionKind.deferred, .immediate]) func anOpenTransactionOfAnotherHandleIsWaitedFor(
    _ kind: TransactionKind
  ) throws {
    try withPlain { db, path in
      let other = try SqliteDatabase(filepath: path, configuration: FileEncryptionRefusalTests.plain())
      for handle in [try db.createChild(), other] {
        try handle.beginTransaction(kind)
        #expect(try Person.count().run(handle) == 200)
        try expectRefused(.busy, "has an open transaction", path) { try db.encrypt(with: key) }
        try handle.rollbackTransaction()
      }
      try db.encrypt(with: key)
      #expect(try Person.count().run(other) == 200)
    }
  }

  @Test func aBackupThatIsUnderWayIsBusy() throws {
    try withPlain { db, path in
      for mode in ["delete", "wal"] {
        try db.locked { _ = try db.openConnection().pragma("PRAGMA journal_mode = \(mode)") }
        let other = try SqliteDatabase(
          filepath: path, configuration: FileEncryptionRefusalTests.plain(mode == "wal" ? .wal : .delete))
        let errors = Collected<SqlError?>()
        let encrypt: @Sendable () -> SqlError? = { [key] in sqlError { try db.encrypt(with: key) } }
        try other.backup(
          to: path + ".copy",
          BackupOptions(pagesPerStep: 1) { progress in
            if errors.values.isEmpty, progress.fraction < 1 { errors.append(try onThread(encrypt)) }
          })
        #expect(errors.values.map { $0?.kind } == [.busy], "\(errors.values)")
        #expect(try Person.count().run(db) == 200)
        try other.close()
      }
      try expectRefused(.busy, "another encryption", path) {
        let partial = try PartialFile.make(at: path + ".sqlable-partial", mode: 0o600, for: "test")
        try withExtendedLifetime(partial) { try db.encrypt(with: key) }
      }
    }
  }

  @Test func anArchiveIsRefusedUntilItIsStopped() throws {
    try withPlain { db, path in
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: FileEncryptionRefusalTests.plain()))
      let archive = try pool.archive(to: path + ".archive")
      try expectRefused(.misuse(""), "stop the archive", path) { try db.encrypt(with: key) }
      try expectRefused(.misuse(""), "stop the archive", path) { try pool.encrypt(with: key) }
      try archive.stop()
      try pool.encrypt(with: key)
      #expect(try Person.count().run(pool) + Person.count().run(db) == 400)
      expectMisuse { _ = try pool.archive(to: path + ".archive") }
      try pool.close()
    }
  }

  @Test func aFileThatAnotherHandleHasAttachedIsBusy() throws {
    try withPlain { db, path in
      let other = try SqliteDatabase(
        filepath: path + ".main", configuration: .init(attached: ["bikes": path], key: .unencrypted))
      try expectRefused(.busy, "handle \(other.number) has attached the file as bikes", path) {
        try db.encrypt(with: key)
      }
      try other.close()
      // SQLite alone knows that this handle has the file open.
      let main = try SqliteDatabase(filepath: path + ".main", configuration: .init(key: .unencrypted))
      try main.execute("ATTACH \(path) AS bikes")
      #expect(try main.query("SELECT count(*) FROM bikes.person", as: Int.self) == [200])
      try expectRefused(.busy, "has the file open", path) { try db.encrypt(with: key) }
      try main.close()
      try db.encrypt(with: key)
    }
  }

  @Test func handlesWithOtherCipherSettingsAreRefused() throws {
    try withPlain { db, path in
      var configuration = FileEncryptionRefusalTests.plain()
      configuration.cipher.pageSize = 8_192
      let other = try SqliteDatabase(filepath: path, configuration: configuration)
      try expectRefused(.misuse(""), "handle \(other.number) of this process has other cipher settings", path) {
        try db.encrypt(with: key)
      }
    }
  }

  @Test func aDamagedFileStaysAsItIs() throws {
    try withPlain(FileEncryptionRefusalTests.plain(.delete)) { db, path in
      try db.execute("CREATE TABLE big (id INTEGER PRIMARY KEY, text TEXT)")
      try db.execute(
        "INSERT INTO big SELECT value, hex(randomblob(500)) FROM json_each(\(json: Array(1...400)))")
      try db.close()
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try handle.seek(toOffset: 4_096 * 20)
      try handle.write(contentsOf: Data(count: 4_096))
      try handle.close()
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let damaged = try SqliteDatabase(filepath: path, configuration: FileEncryptionRefusalTests.plain(.delete))
      #expect(sqlError { try damaged.encrypt(with: key) }?.kind == .corrupt)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      #expect(files(in: String(path.dropLast("/a.sqlite".count))) == ["a.sqlite"])
    }
  }

  /// The error occurs at each stage: the copy, the journal and the enlarged file need space.
  @Test(
    .enabled(if: Administrator.canMount, "a file system can't be mounted here"),
    arguments: [Configuration.JournalMode.wal, .delete]
  ) func fullDiskLeavesThePlainFile(_ mode: Configuration.JournalMode) throws {
    try withSmallDisk(size: "8m") { disk in
      let path = disk + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: FileEncryptionRefusalTests.plain(mode))
      try db.createTable(Person.self)
      try Person.insert((1...200).map { Person(id: nil, name: String(repeating: "\($0) ", count: 2_000)) }).run(db)
      _ = try db.checkpoint(.truncate)
      let available = try FileManager.default.attributesOfFileSystem(forPath: disk)[.systemFreeSize] as? Int ?? 0
      var (left, failures) = (0, 0)
      while left < available {
        let filler = open(disk + "/filler", O_RDWR | O_CREAT, 0o600)
        #expect(posix_fallocate(filler, 0, off_t(available - left)) == 0)
        close(filler)
        let error = sqlError { try db.encrypt(with: key) }
        try deleteAndFree(disk + "/filler")
        #expect(try Person.count().run(db) == 200)
        #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
        #expect(!files(in: disk).contains { $0.hasSuffix("partial") || $0.hasSuffix("journal") })
        guard let error else { break }
        failures += 1
        #expect(error.kind == .full, "\(error)")
        #expect(try file(path, contains: "SQLite format"))
        left += 1 << 17
      }
      #expect(failures > 10)
      #expect(try !file(path, contains: "SQLite format"))
    }
  }
}
#endif
