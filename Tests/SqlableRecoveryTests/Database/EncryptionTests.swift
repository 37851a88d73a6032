#if SQLCipher
import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableTracing
import Testing

@testable import SqlableTestSupport

@Suite struct EncryptionTests {
  private static let bytes = [UInt8](100..<132)
  private static let salt = [UInt8](200..<216)

  /// Calls `body` with the path and the configuration of an encrypted database that has a person.
  private func withEncrypted(
    _ key: EncryptionKey, _ cipher: CipherSettings = .init(), _ body: (String, Configuration) throws -> Void
  ) throws {
    try withDirectory { directory in
      let (path, configuration) = (directory + "/a.sqlite", Configuration(key: key, cipher: cipher))
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.createTable(Person.self)
      try Person(id: nil, name: "Annabella").insert().run(db)
      try db.close()
      try body(path, configuration)
    }
  }

  private func names(_ path: String, _ configuration: Configuration) throws -> [String] {
    let db = try SqliteDatabase(filepath: path, configuration: configuration)
    return try Person.read().run(db).map(\.name)
  }

  private func error(_ path: String, _ configuration: Configuration) -> SqlError? {
    sqlError { _ = try SqliteDatabase(filepath: path, configuration: configuration) }
  }

  @Test func anEncryptedFileIsReadWithItsKey() throws {
    let (bytes, salt) = (EncryptionTests.bytes, EncryptionTests.salt)
    let keys: [EncryptionKey] = try [
      .passphrase("horse"),
      .passphrase("it's"),
      .passphrase([0, 1, 0, 255]),
      .raw(bytes),
      .raw(bytes, salt: salt),
    ]
    for key in keys {
      try withEncrypted(key, .init(kdfIterations: 1_000)) { path, configuration in
        var reading = configuration
        reading.isReadOnly = true
        let found = try names(path, configuration) + names(path, reading)
        #expect(found == ["Annabella", "Annabella"])
        let plain = try ["Annabella", "SQLite format"].filter { try file(path, contains: $0) }
        #expect(plain.isEmpty)
      }
    }
  }

  @Test func theWALIsEncrypted() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(key: .raw(EncryptionTests.bytes)))
      try db.createTable(Person.self)
      try Person(id: nil, name: "Annabella").insert().run(db)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).count > 4_096)
      #expect(try !file(path + "-wal", contains: "Annabella"))
    }
  }

  @Test func anotherKeyThrowsWrongKeyAndReportsNoDamage() throws {
    try withEncrypted(.passphrase("horse"), .init(kdfIterations: 1_000)) { path, configuration in
      var wrong = configuration
      wrong.label = "bikes"
      wrong.stopsWritesWhenDamaged = true
      for key in try [EncryptionKey.passphrase("house"), .raw(EncryptionTests.bytes)] {
        wrong.key = key
        let error = error(path, wrong)
        #expect(error?.kind == .wrongKey)
        #expect(error?.code == 26)
        #expect(error?.label == "bikes")
        #expect(error?.message == "the key or the cipher settings do not match the file")
        #expect(error?.description.contains("house") == false)
      }
      wrong = configuration
      wrong.cipher.kdfIterations = 1_001
      #expect(error(path, wrong)?.kind == .wrongKey)
      #expect(!SqliteDatabase.canOpen(at: path, configuration: wrong))
      #expect(SqliteDatabase.canOpen(at: path, configuration: configuration))
      #expect(try names(path, configuration) == ["Annabella"])
    }
  }

  @Test func aKeyForAPlainFileThrowsWrongKey() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(key: .unencrypted))
      try db.createTable(Person.self)
      try db.close()
      #expect(try file(path, contains: "SQLite format"))
      let error = error(path, .init(key: try .raw(EncryptionTests.bytes)))
      #expect(error?.kind == .wrongKey)
      #expect(
        error?.message
          == "the file is not encrypted, but the handle has a key; open the file without a key, and use encrypt(with:)")
    }
  }

  @Test func openingAnEncryptedFileWithoutItsKeyThrows() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, _ in
      #expect(error(path, .init(key: .unencrypted))?.kind == .notADatabase)
    }
  }

  @Test func aDamagedEncryptedPageIsReportedAsCorrupt() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      var db = try SqliteDatabase(filepath: path, configuration: configuration)
      try Person.insert((1...2_000).map { Person(id: nil, name: "Person \($0)") }).run(db)
      try db.close()
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try handle.seek(toOffset: 4_096 * 8 + 100)
      try handle.write(contentsOf: Data([1, 2, 3, 4, 5, 6, 7, 8]))
      try handle.close()
      db = try SqliteDatabase(filepath: path, configuration: configuration)
      let error = sqlError { _ = try Person.read().run(db) }
      #expect(error?.kind == .corrupt, "\(error as Any)")
      #expect(db.corruption?.kind == .corrupt)
    }
  }

  @Test func copiesOfADamagedEncryptedFileThrowCorrupt() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try Person.insert((1...2_000).map { Person(id: nil, name: "Annabella \($0)") }).run(db)
      try db.backup(to: path + "-backup")
      try db.close()
      for path in [path, path + "-backup"] {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: 3 * 4_096)
        try file.write(contentsOf: Data(repeating: 7, count: 4_096))
        try file.close()
      }
      let damaged = try SqliteDatabase(filepath: path, configuration: configuration)
      expectError(.corrupt) { try damaged.backup(to: path + "-other") }
      expectError(.corrupt) { try damaged.restore(from: path + "-backup") }
      expectError(.corrupt) { try damaged.export(to: path + "-export", key: .raw(EncryptionTests.bytes)) }
    }
  }

  @Test(arguments: [
    CipherSettings(pageSize: 8_192),
    CipherSettings(compatibility: .version3, kdfIterations: 4_000),
    CipherSettings(kdfDigest: .sha256, hmacDigest: .sha256),
    CipherSettings(pageSize: 1_024, memorySecurity: true),
    CipherSettings(plaintextHeaderSize: 32),
  ])
  func aFileOpensOnlyWithItsCipherSettings(cipher: CipherSettings) throws {
    try withEncrypted(.raw(EncryptionTests.bytes, salt: EncryptionTests.salt), cipher) { path, configuration in
      #expect(try names(path, configuration) == ["Annabella"])
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let child = try db.createChild()
      #expect(try Person.count().run(child) == 1)
      // SQLCipher returns the page size as a text.
      if let size = cipher.pageSize { #expect(try db.query("PRAGMA page_size", as: String.self) == ["\(size)"]) }
      #expect(error(path, .init(key: configuration.key))?.kind == .wrongKey)
      if cipher.plaintextHeaderSize > 0 { #expect(try file(path, contains: "SQLite format 3")) }
      try db.backup(to: path + ".copy")
      #expect(try names(path + ".copy", configuration) == ["Annabella"])
      let error = sqlError { try db.backup(to: path + ".vacuumed", BackupOptions(method: .vacuumed)) }
      #expect(
        error?.message
          == "VACUUM INTO can't keep the cipher settings; use the method .copied, or export(to:key:cipher:)")
    }
  }

  @Test func allHandlesOfAPoolHaveTheKey() async throws {
    try await withDirectoryAsync { directory in
      let configuration = Configuration(key: try .raw(EncryptionTests.bytes))
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: .init(handles: configuration))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      try await Person(id: nil, name: "Anna").insert().run(pool)
      async let counts = (Person.count().run(pool), Person.count().run(pool), Person.count().run(pool))
      #expect(try await counts == (1, 1, 1))
      try await pool.close()
    }
  }

  @Test func anAttachedFileHasItsOwnKey() throws {
    try withDirectory { directory in
      let paths = ["same", "other", "plain"].map { directory + "/\($0).sqlite" }
      let (key, other) = (try EncryptionKey.raw(EncryptionTests.bytes), try EncryptionKey.raw([UInt8](0..<32)))
      for (path, key) in zip(paths, [key, other, .unencrypted]) {
        let db = try SqliteDatabase(filepath: path, configuration: .init(key: key))
        try db.createTable(Person.self)
        try Person(id: nil, name: path).insert().run(db)
      }
      let attached = ["same": paths[0], "other": paths[1], "plain": paths[2]]
      var configuration = Configuration(
        attached: attached, key: key, attachedKeys: ["other": other, "plain": .unencrypted])
      let db = try SqliteDatabase(filepath: directory + "/main.sqlite", configuration: configuration)
      let child = try db.createChild()
      for (name, path) in attached {
        #expect(try Person.read().in(database: name).run(child).map(\.name) == [path])
      }
      configuration.attachedKeys["other"] = key
      let error = error(directory + "/main.sqlite", configuration)
      #expect(error?.message.begins(with: "the attached database other: ") == true)
      #expect(error?.kind == .wrongKey)
      // An unencrypted database can attach an encrypted one.
      configuration = Configuration(attached: ["other": paths[1]], key: .unencrypted, attachedKeys: ["other": other])
      let plain = try SqliteDatabase(filepath: paths[2], configuration: configuration)
      #expect(try Person.count().in(database: "other").run(plain) == 1)
    }
  }

  @Test func tracesDoNotContainTheKey() throws {
    try withDirectory { directory in
      // The events of other tests arrive, too, so the passphrases occur nowhere else.
      let seen = Collected<String>()
      let token = SqliteDatabase.traceAll { event in seen.append("\(event)") }
      defer { SqliteDatabase.removeTraceOfAll(token) }
      let configuration = Configuration(key: try .passphrase("zebra 4711"), cipher: .init(kdfIterations: 1_000))
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      try db.createTable(Person.self)
      try db.rekey(to: .passphrase("quagga 4711"))
      try db.export(to: directory + "/b.sqlite", key: .passphrase("quagga 4711"))
      try Person(id: nil, name: "Anna").insert().run(db)
      #expect(!seen.values.isEmpty)
      #expect(!seen.values.contains { $0.contains("zebra 4711") || $0.contains("quagga 4711") })
    }
  }

  @Test func aBackupHasTheKeyOfItsDatabase() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.backup(to: path + ".backup")
      try db.backup(to: path + ".backup", BackupOptions(method: .vacuumed))
      #expect(try !file(path + ".backup", contains: "Annabella"))
      #expect(try names(path + ".backup", configuration) == ["Annabella"])
      #expect(error(path + ".backup", .init(key: .unencrypted))?.kind == .notADatabase)
      _ = try Person.deleteAll().run(db)
      try db.restore(from: path + ".backup")
      #expect(try Person.read().run(db).map(\.name) == ["Annabella"])
      let memory = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
      #expect(sqlError { try db.backup(to: memory) }?.kindIsMisuse == true)
      let other = try SqliteDatabase(filepath: path + ".other", configuration: .init(key: .raw([UInt8](0..<32))))
      try db.backup(to: other)
      #expect(try Person.read().run(other).map(\.name) == ["Annabella"])
      expectError(.wrongKey) {
        try DatabaseFiles(of: path + ".backup", key: .raw([UInt8](0..<32))).move(to: path + ".moved")
      }
      try DatabaseFiles(of: path + ".backup", key: configuration.key).move(to: path + ".moved")
      #expect(try names(path + ".moved", configuration) == ["Annabella"])
    }
  }

  @Test func archiveAndSalvageRefuseEncryptedFiles() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: configuration))
      #expect(sqlError { _ = try pool.archive(to: path + ".archive") }?.message.contains("can't archive") == true)
      try pool.close()
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let salvage = Salvage(damaged: path, functionsOf: db)
      #expect(sqlError { try salvage.recover(into: path + ".new") }?.message.contains("can't salvage") == true)
      #expect(try db.checkForCorruption().isSound)
      try db.close()
      #expect(sqlError { try Salvage(damaged: path).recover(into: path + ".new") }?.kindIsMisuse == true)
    }
  }

  @Test func aBackupOfADatabaseInMemoryWithAKeyIsRefused() async throws {
    try await withDirectoryAsync { directory in
      let memory = try SqliteDatabase.inMemory(configuration: .init(key: .raw(EncryptionTests.bytes)))
      try memory.createTable(Person.self)
      #expect(sqlError { try memory.backup(to: directory + "/a.sqlite") }?.kindIsMisuse == true)
      do {
        for try await _ in memory.backupBytes() {}
        Issue.record("the bytes of a plain file came")
      } catch let error as SqlError { #expect(error.kindIsMisuse) }
      #expect(files(in: directory).isEmpty)
      let plain = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
      try plain.createTable(Person.self)
      try plain.backup(to: directory + "/a.sqlite")
    }
  }

  @Test func aRestoreBetweenPlainAndEncryptedFilesIsRefused() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let plain = try SqliteDatabase(filepath: path + ".plain", configuration: .init(key: .unencrypted))
      try plain.createTable(Person.self)
      try plain.backup(to: path + ".plain-backup")
      try db.backup(to: path + ".backup")
      let toEncrypted = sqlError { try db.restore(from: path + ".plain-backup") }
      #expect(toEncrypted?.kindIsMisuse == true)
      #expect(toEncrypted?.message.contains("is not encrypted") == true)
      let toPlain = sqlError { try plain.restore(from: path + ".backup") }
      #expect(toPlain?.kindIsMisuse == true)
      #expect(toPlain?.message.contains("is encrypted") == true)
      #expect(try Person.count().run(db) == 1)
      #expect(try Person.count().run(plain) == 0)
    }
  }

  @Test func aBackupReplacesAFileWithAnotherKeyOnRequest() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let plain = try SqliteDatabase(filepath: path + ".plain", configuration: .init(key: .unencrypted))
      try plain.createTable(Person.self)
      let (target, replacing) = (path + ".backup", BackupOptions(replacesOtherKeys: true))
      try db.backup(to: target)
      try db.rekey(to: .raw([UInt8](0..<32)))
      let other = sqlError { try db.backup(to: target) }
      #expect(other?.kind == .wrongKey)
      #expect(other?.message.contains("has another key") == true)
      try db.backup(to: target, replacing)
      #expect(try names(target, .init(key: .raw([UInt8](0..<32)))) == ["Annabella"])
      let encrypted = sqlError { try plain.backup(to: target) }
      #expect(encrypted?.kind == .wrongKey)
      #expect(encrypted?.message.contains("is encrypted") == true)
      try plain.backup(to: target, replacing)
      #expect(try names(target, .init(key: .unencrypted)) == [])
      let notEncrypted = sqlError { try db.backup(to: target) }
      #expect(notEncrypted?.kind == .wrongKey)
      #expect(notEncrypted?.message.contains("is not encrypted") == true)
      try db.backup(to: target, replacing)
      #expect(try names(target, .init(key: .raw([UInt8](0..<32)))) == ["Annabella"])
      // A file that is not a database is never replaced.
      try Data(repeating: 65, count: 8_192).write(to: URL(filePath: target))
      #expect(sqlError { try db.backup(to: target, replacing) } != nil)
      #expect(try Data(contentsOf: URL(filePath: target)) == Data(repeating: 65, count: 8_192))
    }
  }

  @Test func checkForCorruptionReportsAChangedKeyAsWrongKey() throws {
    try withEncrypted(.raw(EncryptionTests.bytes)) { path, configuration in
      let other = try SqliteDatabase(filepath: path, configuration: configuration)
      #expect(try other.checkForCorruption().isSound)
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try other.close()
      let stale = try SqliteDatabase(
        filepath: path,
        configuration: Configuration(opensLazily: true, key: configuration.key, cipher: configuration.cipher))
      try db.close()
      // Another program changes the key.
      let cipher = try #require(Cipher(configuration.key, configuration.cipher))
      try Connection.changeKey(ofFileAt: path, cipher, to: .raw([UInt8](0..<32)), until: .now + .seconds(300))
      expectError(.wrongKey) { _ = try stale.checkForCorruption() }
    }
  }

  /// SQLite converts the text of a parameter in a UTF-16 database.
  @Test func binaryKeysAttachFilesInAnyTextEncoding() throws {
    try withDirectory { directory in
      for (number, encoding) in ["UTF-8", "UTF-16le"].enumerated() {
        for key in [try EncryptionKey.passphrase([0xFF, 0, 0x80, 0xC3, 0x28]), try .raw(EncryptionTests.bytes)] {
          let paths = ["a", "b", "c"].map { directory + "/\(number)\(key.hashValue)\($0).sqlite" }
          let cipher = CipherSettings()
          for path in paths.prefix(2) {
            let db = try SqliteDatabase(
              filepath: path, configuration: Configuration(journalMode: .delete, key: key, cipher: cipher))
            try db.execute(SQL(verbatim: "PRAGMA encoding = '\(encoding)'"))
            try db.createTable(Person.self)
            try Person(id: nil, name: path).insert().run(db)
          }
          let db = try SqliteDatabase(
            filepath: paths[0], configuration: Configuration(attached: ["other": paths[1]], key: key, cipher: cipher))
          #expect(try Person.read().in(database: "other").run(db).map(\.name) == [paths[1]])
          try db.export(to: paths[2], key: key, cipher: cipher)
          #expect(try names(paths[2], .init(key: key, cipher: cipher)) == [paths[0]])
        }
      }
    }
  }
}

extension String {
  fileprivate func begins(with text: String) -> Bool { utf8.starts(with: text.utf8) }
}
#endif
