#if SQLCipher
import Foundation
import Sqlable
import SqlableBackup
import Testing

@testable import SqlableTestSupport

@Suite struct EncryptionGuide {
  @Test func aKeyOpensAFile() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(key: .passphrase("correct horse")))
      try db.createTable(Person.self)
      try db.close()
      #expect(try !file(path, contains: "CREATE TABLE"))
    }
  }

  @Test func keyIsReadFromAFile() throws {
    try withDirectory { directory in
      let (path, keyPath) = (directory + "/bikes.sqlite", directory + "/bikes.key")
      try Data(0..<32).write(to: URL(fileURLWithPath: keyPath))
      let key = try EncryptionKey.rawFile(keyPath)
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: .init(key: key)))
      try pool.transaction { db in _ = try db.createTable(Person.self) }
      try pool.close()
      let copyPath = directory + "/copy.sqlite"
      let files = DatabaseFiles(of: path, key: key)
      try files.copy(to: copyPath)
      #expect(try !file(copyPath, contains: "CREATE TABLE"))
      let cipher = CipherSettings(pageSize: 8_192, kdfIterations: 600_000)
      let configuration = Configuration(key: key, cipher: cipher)
      let error = sqlError { _ = try SqliteDatabase(filepath: path, configuration: configuration) }
      #expect(error?.kind == .wrongKey)
    }
  }

  @Test func copiesAndAttachedFilesHaveOtherKeys() async throws {
    try await withDirectoryAsync { directory in
      let paths = ["plain", "encrypted", "decrypted", "other", "main", "own"].map { directory + "/\($0).sqlite" }
      let (key, newKey) = (try EncryptionKey.raw([UInt8](0..<32)), try EncryptionKey.raw([UInt8](32..<64)))
      let (encryptedPath, plainPath, otherPath, cipher) = (
        paths[1], paths[2], paths[3], CipherSettings(pageSize: 8_192)
      )
      let db = try SqliteDatabase(filepath: paths[0], configuration: .init(key: .unencrypted))
      let encrypted = try SqliteDatabase(filepath: paths[5], configuration: .init(key: key))
      for handle in [db, encrypted] {
        try handle.createTable(Person.self)
        try Person(id: nil, name: "Anna").insert().run(handle)
      }
      try db.export(to: encryptedPath, key: key)
      try encrypted.export(to: plainPath, key: nil)
      try encrypted.export(to: otherPath, key: key, cipher: cipher)
      #expect(try file(plainPath, contains: "Anna"))
      let (oldPath, oldKey) = (encryptedPath, key)
      let both = Configuration(
        attached: ["old": oldPath, "plain": plainPath], key: key, attachedKeys: ["old": oldKey, "plain": .unencrypted])
      let main = try SqliteDatabase(filepath: paths[4], configuration: both)
      for name in ["old", "plain"] { #expect(try Person.count().in(database: name).run(main) == 1) }
      try main.close()
      try await change(encrypted, newKey, paths[4])
    }
  }

  @Test func aPlainFileBecomesAnEncryptedOne() async throws {
    try await withDirectoryAsync { directory in
      let (path, key) = (directory + "/bikes.sqlite", try EncryptionKey.raw([UInt8](0..<32)))
      let db = try SqliteDatabase(filepath: directory + "/other.sqlite", configuration: .init(key: .unencrypted))
      try db.createTable(Person.self)
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: .init(key: .unencrypted)))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      try db.encrypt(with: key)
      try await pool.encrypt(with: key)
      try await Person(id: nil, name: "Anna").insert().run(pool)
      try await pool.close()
      let encrypted = try SqliteDatabase(filepath: path, configuration: .init(key: key))
      #expect(try Person.count().run(encrypted) == 1)
      #expect(try Person.count().run(db) == 0)
    }
  }

  private func change(_ db: SqliteDatabase, _ newKey: EncryptionKey, _ path: String) async throws {
    let pool = try SqlitePool(filepath: path, configuration: .init(handles: .init(key: .raw([UInt8](0..<32)))))
    try db.rekey(to: newKey)
    try await pool.rekey(to: newKey)
    #expect(try Person.count().run(db) == 1)
    try await pool.close()
    #expect(sqlError { _ = try SqliteDatabase(filepath: path, configuration: .init(key: newKey)) } == nil)
  }
}
#endif
