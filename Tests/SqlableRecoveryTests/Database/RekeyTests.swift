#if SQLCipher
import Foundation
import SqlableCore
import SqlableRecovery
import SqlableBackup
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct RekeyTests {
  private static let old = [UInt8](100..<132)
  private static let new = [UInt8](0..<32)

  private func withEncrypted(
    _ configure: (inout Configuration) -> Void = { _ in }, _ body: (SqliteDatabase, String) throws -> Void
  ) throws {
    try withDirectory { directory in
      var configuration = Configuration(busyTimeout: 0.3, key: try .raw(RekeyTests.old))
      configure(&configuration)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      try db.createTable(Person.self)
      try Person.insert((1...200).map { Person(id: nil, name: "Person \($0)") }).run(db)
      try body(db, directory + "/a.sqlite")
    }
  }

  private func count(_ path: String, _ key: [UInt8]) throws -> Int {
    try Person.count().run(SqliteDatabase(filepath: path, configuration: .init(key: .raw(key))))
  }

  @Test func rekeyReplacesTheKeyOfTheFile() throws {
    try withEncrypted { db, path in
      try db.rekey(to: .raw(RekeyTests.new))
      #expect(try count(path, RekeyTests.new) == 200)
      #expect(sqlError { _ = try count(path, RekeyTests.old) }?.kind == .wrongKey)
      try db.rekey(to: .passphrase("horse"))
      #expect(sqlError { _ = try count(path, RekeyTests.new) }?.kind == .wrongKey)
      #expect(try Person.count().run(db) == 200)
    }
  }

  @Test func allHandlesOfAFamilyUseTheNewKey() throws {
    try withEncrypted { db, path in
      let child = try db.createChild()
      let prepared = try child.prepare(Person.read().filter(Person.name == Parameter("name")))
      #expect(try prepared.run(["name": "Person 7"]).count == 1)
      let changes = Collected<Int>()
      let observer = child.observe(.insert, on: Person.self) { _ in changes.append(1) }
      try db.rekey(to: .raw(RekeyTests.new))
      #expect(try Person.count().run(child) == 200)
      #expect(try prepared.run(["name": "Person 7"]).count == 1)
      try Person(id: nil, name: "Anna").insert().run(child)
      #expect(changes.values.count == 1)
      for handle in try [db, db.createChild()] { #expect(try Person.count().run(handle) == 201) }
      _ = observer
      try child.close()
      try db.close()
      #expect(try count(path, RekeyTests.new) == 201)
    }
  }

  @Test func allHandlesAndPoolsOfTheProcessUseTheNewKey() throws {
    try withEncrypted { db, path in
      let handles = Configuration(busyTimeout: 5, key: try .raw(RekeyTests.old))
      let (child, other) = (try db.createChild(), try SqliteDatabase(filepath: path, configuration: handles))
      let reader = try SqliteDatabase(
        filepath: path, configuration: .init(isReadOnly: true, key: .raw(RekeyTests.old)))
      let lazy = try SqliteDatabase(
        filepath: path, configuration: .init(opensLazily: true, key: .raw(RekeyTests.old)))
      let stranger = try SqliteDatabase(
        filepath: path, configuration: .init(opensLazily: true, key: .passphrase("guess")))
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: handles))
      let prepared = try other.prepare(Person.read().filter(Person.name == Parameter("name")))
      var rows = 200
      for round in 0..<4 {
        let key = try EncryptionKey.raw(round % 2 == 0 ? RekeyTests.new : RekeyTests.old)
        switch round {
        case 0: try db.rekey(to: key)
        case 1: try pool.rekey(to: key)
        case 2: try other.rekey(to: key)
        default: try lazy.rekey(to: key)
        }
        for handle in [child, other] { try Person(id: nil, name: "Bo").insert().run(handle) }
        try Person(id: nil, name: "Cid").insert().run(pool)
        rows += 3
        for handle in [db, child, other, reader, lazy] { #expect(try Person.count().run(handle) == rows) }
        #expect(try prepared.run(["name": "Person 7"]).count == 1)
        #expect(try Person.count().run(pool) == rows)
        // A handle that could not read the file learns no key.
        #expect(sqlError { _ = try Person.count().run(stranger) }?.kind == .wrongKey)
      }
      try pool.close()
    }
  }

  @Test func aHandleThatHasAttachedTheFileBlocksRekey() throws {
    try withEncrypted { db, path in
      let other = try SqliteDatabase(
        filepath: path + ".main", configuration: .init(attached: ["bikes": path], key: .raw(RekeyTests.old)))
      let error = sqlError { try db.rekey(to: .raw(RekeyTests.new)) }
      #expect(error?.kind == .busy)
      #expect(error?.message == "can't change the key: handle \(other.number) has attached the file as bikes")
      #expect(try other.query("SELECT count(*) FROM bikes.person", as: Int.self) == [200])
      try other.close()
      try db.rekey(to: .raw(RekeyTests.new))
      #expect(try count(path, RekeyTests.new) == 200)
    }
  }

  @Test func aBoundPassphraseAttachesAnEncryptedFile() throws {
    try withEncrypted { db, path in
      try db.rekey(to: .passphrase("horse"))
      let main = try SqliteDatabase(filepath: path + ".main", configuration: .init(key: .unencrypted))
      let passphrase = "horse"
      try main.execute("ATTACH \(path) AS old KEY \(passphrase)")
      #expect(try main.query("SELECT count(*) FROM old.person", as: Int.self) == [200])
      try main.execute("DETACH old")
      let error = sqlError { try main.execute("ATTACH \(path) AS old KEY \("guess")") }
      #expect(error?.kind == .notADatabase)
      #expect(!"\(error as Any)".contains("guess"))
    }
  }

  @Test func callsWaitUntilTheKeyHasChanged() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let pool = try SqlitePool(
        filepath: path,
        configuration: .init(handles: .init(busyTimeout: 600, key: .raw(RekeyTests.old)), waitTimeout: nil))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      let (begins, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let running = Task {
        try await pool.transaction { db in
          begins.signal()
          ends.wait()
          try Person(id: nil, name: "Anna").insert().run(db)
        }
      }
      try await onThread { begins.wait() }
      let rekey = Task { try await pool.rekey(to: .raw(RekeyTests.new)) }
      try await until { pool.withState { $0.closeBarrier != nil } }
      // A call waits until its deadline.
      #expect((try? withDeadline(.milliseconds(5)) { try Person.count().run(pool) }) == nil)
      let later = Task { try await Person.read().run(pool) }
      let (cancelled, other) = (Task { try await Person.read().run(pool) }, path + ".old")
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
      try FileManager.default.copyItem(atPath: path, toPath: other)
      _ = try SqliteDatabase(filepath: other, configuration: .init(key: .raw(RekeyTests.old)))
      ends.signal()
      try await running.value
      try await rekey.value
      #expect(try await later.value.map(\.name) == ["Anna"])
      try await pool.close()
      #expect(try count(path, RekeyTests.new) == 1)
    }
  }

  @Test func thePageSizeIsANumber() throws {
    try withEncrypted { db, _ in
      let size = try Pragma.pageSize.run(db)
      #expect(size == 4_096)
    }
  }

  @Test func anOpenTransactionBlocksRekey() throws {
    try withEncrypted { db, path in
      let child = try db.createChild()
      for kind in [TransactionKind.deferred, .immediate] {
        try child.beginTransaction(kind)
        #expect(try Person.count().run(child) == 200)
        let error = sqlError { try db.rekey(to: .raw(RekeyTests.new)) }
        #expect(error?.kind == .busy)
        #expect(error?.message.contains("has an open transaction") == true)
        try child.rollbackTransaction()
      }
      #expect(try count(path, RekeyTests.old) == 200)
      try db.rekey(to: .raw(RekeyTests.new))
      #expect(try count(path, RekeyTests.new) == 200)
    }
  }

  @Test func lazyHandlesUseTheCurrentKey() throws {
    func opensLazily(_ configuration: inout Configuration) { configuration.opensLazily = true }
    try withEncrypted(opensLazily) { db, path in
      let child = try db.createChild()
      try db.rekey(to: .raw(RekeyTests.new))
      let copy = path + ".copy"
      try child.withClosed { files in try files.copy(to: copy) }
      #expect(try Person.count().run(db) + Person.count().run(child) == 400)
      #expect(try count(copy, RekeyTests.new) == 200)
      try db.close()
      try child.withClosed { files in
        try files.move(to: path + ".moved")
        #expect(sqlError { _ = try Person.count().run(child) }?.kindIsMisuse == true)
        try child.files.remove()
        try DatabaseFiles(of: path + ".moved", key: .raw(RekeyTests.new)).move(to: path)
      }
      #expect(try Person.count().run(child.createChild()) == 200)
    }
  }

  @Test func anAttachedFileKeepsItsKey() throws {
    try withDirectory { directory in
      let paths = [directory + "/a.sqlite", directory + "/b.sqlite"]
      let configuration = Configuration(attached: ["other": paths[1]], key: try .raw(RekeyTests.old))
      let db = try SqliteDatabase(filepath: paths[0], configuration: configuration)
      try db.execute("CREATE TABLE other.person (id INTEGER PRIMARY KEY, name TEXT)")
      try db.rekey(to: .raw(RekeyTests.new))
      #expect(try db.createChild().query("SELECT count(*) FROM other.person", as: Int.self) == [0])
      #expect(sqlError { try db.backup(to: directory + "/c.sqlite", .init(database: "other")) }?.kindIsMisuse == true)
      #expect(try count(paths[1], RekeyTests.old) == 0)
    }
  }

  @Test func aHandleWithTheOldKeyReportsWrongKeyAndNoDamage() throws {
    try withEncrypted { db, path in
      let other = try SqliteDatabase(
        filepath: path, configuration: .init(stopsWritesWhenDamaged: true, key: .raw(RekeyTests.old)))
      #expect(try Person.count().run(other) == 200)
      // Another program changes the key.
      let old = try #require(Cipher(.raw(RekeyTests.old), CipherSettings()))
      try Connection.changeKey(ofFileAt: path, old, to: .raw(RekeyTests.new), until: .now + .seconds(300))
      let error = sqlError { _ = try Person.read().run(other) }
      #expect(error?.kind == .wrongKey, "\(error as Any)")
      #expect(other.corruption == nil)
    }
  }

  @Test func aPoolContinuesAfterRekey() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let pool = try SqlitePool(
        filepath: path,
        configuration: .init(handles: .init(busyTimeout: 600, key: .raw(RekeyTests.old)), readers: 3, waitTimeout: nil))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      let errors = Collected<SqlError>()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<6 {
          group.addTask {
            for round in 0..<40 {
              do {
                if task < 2 {
                  try await Person(id: nil, name: "\(task) \(round)").insert().run(pool)
                } else {
                  _ = try await pool.read { db in try (Person.count().run(db), Person.read().run(db).count) }
                }
              } catch let error as SqlError { errors.append(error) }
            }
          }
        }
        for key in [RekeyTests.new, RekeyTests.old, RekeyTests.new] { try await pool.rekey(to: .raw(key)) }
        try await group.waitForAll()
      }
      #expect(errors.values.isEmpty, "\(errors.values)")
      #expect(try await Person.count().run(pool) == 80)
      try await pool.close()
      #expect(try count(path, RekeyTests.new) == 80)
    }
  }

  @Test func invalidRekeysAreRefused() throws {
    try withEncrypted { db, path in
      #expect(sqlError { try db.rekey(to: .unencrypted) }?.kindIsMisuse == true)
      #expect(
        sqlError { try db.rekey(to: .raw(RekeyTests.new, salt: [UInt8](0..<16))) }?.message.contains("salt") == true)
      try db.transaction { db in
        #expect(sqlError { try db.rekey(to: .raw(RekeyTests.new)) }?.kindIsMisuse == true)
      }
      let reader = try SqliteDatabase(
        filepath: path, configuration: .init(isReadOnly: true, key: .raw(RekeyTests.old)))
      #expect(sqlError { try reader.rekey(to: .raw(RekeyTests.new)) }?.kind == .readOnly)
      let plain = try SqliteDatabase(filepath: path + ".plain", configuration: .init(key: .unencrypted))
      #expect(sqlError { try plain.rekey(to: .raw(RekeyTests.new)) }?.message.contains("export(to:key:)") == true)
      let other = try SqliteDatabase(filepath: path, configuration: .init(key: .raw(RekeyTests.old)))
      try other.beginTransaction()
      #expect(sqlError { try db.rekey(to: .raw(RekeyTests.new)) }?.kind == .busy)
      try other.rollbackTransaction()
      #expect(try count(path, RekeyTests.old) == 200)
      #expect(try Person.count().run(db) == 200)
    }
  }
}
#endif
