import Foundation
import SqlableBackup
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Files whose last writer was killed outside WAL mode: a rollback journal with the old pages is beside the file.
@Suite struct HotJournalTests {
  private static let configuration = Configuration(journalMode: .delete)

  /// Calls `body` with the path of a file of 400 rows. A killed writer has overwritten some of the file's pages.
  private func withInterruptedWrite(_ body: (String, String) throws -> Void) throws {
    try withDirectory { directory in
      let (source, path) = (directory + "/source.sqlite", directory + "/a.sqlite")
      let db = try SqliteDatabase(filepath: source, configuration: HotJournalTests.configuration)
      try db.createTable(Person.self)
      let name = String(repeating: "x", count: 2_000)
      try Person.insert((1...400).map { Person(id: nil, name: "\($0) \(name)") }).run(db)
      try db.execute("PRAGMA cache_size = 1")
      try db.transaction { db in
        try db.execute("UPDATE person SET name = 'lost'")
        for suffix in ["", "-journal"] {
          try FileManager.default.copyItem(atPath: source + suffix, toPath: path + suffix)
        }
      }
      try body(path, directory)
    }
  }

  @Test func aReadOnlyHandleSaysWhoCanRollBack() throws {
    try withInterruptedWrite { path, _ in
      let reading = Configuration(isReadOnly: true)
      let error = sqlError { _ = try Person.count().run(SqliteDatabase(filepath: path, configuration: reading)) }
      #expect(error?.kind == .readOnly)
      #expect(error?.message.contains("open the file once with a writable handle") == true, "\(error as Any)")
      #expect(!SqliteDatabase.canOpen(at: path, configuration: reading))
      // A writable handle rolls back, which `canOpen` only predicts.
      #expect(SqliteDatabase.canOpen(at: path))
      #expect(access(path + "-journal", F_OK) == 0)
      let db = try SqliteDatabase(filepath: path)
      #expect(try Person.count().filter(Person.name == "lost").run(db) == 0)
      try db.close()
      #expect(SqliteDatabase.canOpen(at: path, configuration: reading))
    }
  }

  @Test func aRestoreFromTheFileSaysWhoCanRollBack() throws {
    try withInterruptedWrite { path, directory in
      let db = try SqliteDatabase(filepath: directory + "/target.sqlite")
      try db.createTable(Person.self)
      let error = sqlError { try db.restore(from: path) }
      #expect(error?.kind == .readOnly)
      #expect(error?.message.contains("open the file once with a writable handle") == true, "\(error as Any)")
      #expect(try Person.count().run(db) == 0)
      try SqliteDatabase(filepath: path, configuration: HotJournalTests.configuration).close()
      try db.restore(from: path)
      #expect(try Person.count().run(db) == 400)
    }
  }

  @Test func aBackupOverTheFileRollsBackFirst() throws {
    try withInterruptedWrite { path, directory in
      let db = try SqliteDatabase(filepath: directory + "/new.sqlite", configuration: HotJournalTests.configuration)
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      try db.backup(to: path)
      #expect(access(path + "-journal", F_OK) != 0)
      let copy = try SqliteDatabase(filepath: path, configuration: HotJournalTests.configuration)
      #expect(try Person.read().run(copy).map(\.name) == ["Anna"])
    }
  }
}
