import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Writes to a file that was deleted or renamed: SQLite itself would report success.
@Suite struct MovedFileTests {
  enum Way: CaseIterable {
    case deleted, renamed, replaced
  }

  private func move(_ path: String, _ way: Way) {
    switch way {
    case .deleted: unlink(path)
    case .renamed: rename(path, path + ".old")
    case .replaced:
      unlink(path)
      close(open(path, O_CREAT | O_WRONLY, 0o644))
    }
  }

  @Test(.needs(35, "RETURNING"), arguments: Way.allCases, [Configuration.JournalMode.wal, .delete])
  func writesToAMovedFileAreRefused(way: Way, mode: Configuration.JournalMode) throws {
    try withDatabase(.init(label: "shop", journalMode: mode)) { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "before").insert().run(db)
      move(db.filepath, way)
      let writes: [() throws -> Void] = [
        { try Person(id: nil, name: "a").insert().run(db) },
        { try Person.insert([Person(id: nil, name: "a")]).run(db) },
        { try Person(id: 1, name: "a").update().run(db) },
        { try Person.deleteAll().run(db) },
        { try db.execute("INSERT INTO person(name) VALUES ('a')") },
        { try db.execute("CREATE TABLE t(x)") },
        { try db.execute("PRAGMA user_version = 7") },
        { try db.execute("VACUUM") },
        { _ = try db.query("INSERT INTO person(name) VALUES ('a') RETURNING id", as: Int.self) },
        { try db.transaction { db in _ = try Person(id: nil, name: "a").insert().run(db) } },
        { try db.transaction(.deferred) { db in _ = try Person(id: nil, name: "a").insert().run(db) } },
        { try db.beginTransaction() },
        { try db.createTable(Bicycle.self) },
      ]
      for (index, write) in writes.enumerated() {
        let error = expectError(.io, "write \(index)") { try write() }
        #expect(error?.label == "shop")
        #expect(db.transactionLevel == 0)
      }
    }
  }

  @Test(arguments: [TransactionKind.immediate, .deferred])
  func aFileDeletedInATransactionFailsTheCommit(kind: TransactionKind) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let error = expectError(.io) {
        try db.transaction(kind) { db in
          try Person(id: nil, name: "a").insert().run(db)
          move(db.filepath, .deleted)
        }
      }
      #expect(error?.transaction == .rolledBack)
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func aNewHandleOnTheSamePathWorks() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let path = db.filepath
      try db.close()
      try SqliteDatabase.deleteDatabase(at: path)
      let again = try SqliteDatabase(filepath: path)
      try again.createTable(Person.self)
      try Person(id: nil, name: "new").insert().run(again)
      #expect(try Person.count().run(again) == 1)
    }
  }
}
