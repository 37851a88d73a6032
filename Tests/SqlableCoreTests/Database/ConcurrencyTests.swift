import Foundation
import SqlableCore
import SqlableSchema
import Testing

import struct Synchronization.Atomic

@testable import SqlableTestSupport

@Suite struct ConcurrencyTests {
  private func counter(_ db: SqliteDatabase) throws {
    try db.execute("CREATE TABLE counter(n INTEGER NOT NULL)")
    try db.execute("INSERT INTO counter VALUES (0)")
  }

  private func value(_ db: SqliteDatabase) throws -> Int { try db.query("SELECT n FROM counter", as: Int.self)[0] }

  /// Two threads, one handle: while one is between reading and writing, the other waits.
  ///
  ///     thread A: [ read n … write n + 1 ]
  ///     thread B:                          [ read n … write n + 1 ]
  @Test func transactionsOfTwoThreadsOnOneHandleNeverInterleave() throws {
    try withDatabase(.init(synchronous: .off)) { db in
      try counter(db)
      let inside = Atomic(0)
      let failures = Mutex<[String]>([])
      onThreads(2) { thread in
        for round in 0..<300 {
          do {
            try db.transaction { db in
              let others = inside.add(1, ordering: .sequentiallyConsistent).oldValue
              if others != 0 { failures.withLock { $0.append("two at once") } }
              defer { inside.subtract(1, ordering: .sequentiallyConsistent) }
              if db.transactionLevel != 1 { failures.withLock { $0.append("level \(db.transactionLevel)") } }
              let n = try value(db)
              if (round + thread) % 7 == 0 {
                try db.transaction { db -> TransactionResult in
                  try db.execute("UPDATE counter SET n = -1")
                  return .rollback
                }
              }
              try db.execute("UPDATE counter SET n = \(n + 1)")
            }
          } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try value(db) == 600)
    }
  }

  @Test func allCallsOnOneHandleFromManyThreadsAreSafe() throws {
    try withDatabase(.init(synchronous: .off, statementCacheBytes: 12_000)) { db in
      try db.createTable(Person.self)
      let failures = Mutex<[String]>([])
      onThreads(4) { thread in
        do {
          for round in 0..<60 {
            let name = "\(thread)-\(round)"
            let id = try Person(id: nil, name: name).insert().run(db)
            guard try Person.byId(id).run(db)?.name == name else { throw SqlError(.other, message: "row \(id)") }
            try Person(id: id, name: name + "!").update().run(db)
            try Person.read().filter(Person.name.like("\(thread)-%")).limit(5).forEach(db) { person in
              guard person.name.hasPrefix("\(thread)-") else { throw SqlError(.other, message: person.name) }
            }
            _ = try db.query("SELECT count(*) FROM person WHERE name = \(name)", as: Int.self)
            if round % 10 == 0 { try db.releaseMemory() }
            _ = sqlError { try Person(id: id, name: "twice").insert().run(db) }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try Person.count().filter(Person.name.like("%!")).run(db) == 240)
    }
  }

  @Test func writersOnSeparateHandlesLoseNoIncrement() throws {
    try withDatabase(.init(busyTimeout: 600, synchronous: .off)) { db in
      try counter(db)
      let failures = Mutex<[String]>([])
      onThreads(6) { _ in
        do {
          let child = try db.createChild()
          for _ in 0..<50 {
            try child.transaction { child in
              let n = try value(child)
              try child.execute("UPDATE counter SET n = \(n + 1)")
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try value(db) == 300)
    }
  }

  /// Transfers only move money, so every snapshot has the same sum.
  @Test func readersSeeOnlyWholeTransactions() throws {
    try withDatabase(.init(busyTimeout: 600, synchronous: .off)) { db in
      try db.execute("CREATE TABLE account(id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
      for id in 1...10 { try db.execute("INSERT INTO account VALUES (\(id), 100)") }
      let failures = Mutex<[String]>([])
      let isDone = Atomic(false)
      onThreads(3) { thread in
        do {
          let child = try db.createChild()
          if thread == 0 {
            defer { isDone.store(true, ordering: .releasing) }
            for round in 0..<200 {
              try child.transaction { child in
                try child.execute("UPDATE account SET amount = amount - 7 WHERE id = \(round % 10 + 1)")
                try child.execute("UPDATE account SET amount = amount + 7 WHERE id = \((round + 3) % 10 + 1)")
              }
            }
          } else {
            while !isDone.load(ordering: .acquiring) {
              let sums = try child.transaction(.deferred) { child in
                try (0..<2).map { _ in try child.query("SELECT sum(amount) FROM account", as: Int.self)[0] }
              }
              if sums != [1_000, 1_000] { failures.withLock { $0.append("\(sums)") } }
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
    }
  }

  /// Instances of a starting service open the same new file and create the same table.
  @Test(arguments: [Configuration.JournalMode.wal, .delete])
  func manyHandlesOpenANewFileAtOnce(mode: Configuration.JournalMode) throws {
    for _ in 0..<50 {
      try withDirectory { directory in
        let path = directory + "/new/db.sqlite"
        let configuration = Configuration(busyTimeout: 600, journalMode: mode, synchronous: .off)
        let failures = Mutex<[String]>([])
        onThreads(6) { thread in
          do {
            let db = try SqliteDatabase(filepath: path, configuration: configuration)
            try db.createTable(Person.self)
            try Person(id: nil, name: "\(thread)").insert().run(db)
          } catch { failures.withLock { $0.append("\(error)") } }
        }
        #expect(failures.withLock { $0 } == [])
        let db = try SqliteDatabase(filepath: path, configuration: configuration)
        #expect(try Person.count().run(db) == 6)
      }
    }
  }

  @Test func callsAfterAConcurrentCloseThrowClosed() throws {
    for _ in 0..<20 {
      try withDatabase { db in
        try db.createTable(Person.self)
        let failures = Mutex<[String]>([])
        onThreads(3) { thread in
          do {
            if thread == 0 { return try db.close() }
            for _ in 0..<50 { _ = try Person.count().run(db) }
          } catch {
            if (error as? SqlError)?.kind != .closed { failures.withLock { $0.append("\(error)") } }
          }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(!db.isOpen)
      }
    }
  }
}
