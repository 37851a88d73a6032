import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A child process forked inside a transaction closure neither ends the parent's transaction nor waits for its lock.
struct ForkInTransactionTests {
  @Test(.disabled(if: isSanitized), arguments: [Configuration.JournalMode.wal, .delete])
  func aForkedChildDoesNotEndTheTransaction(_ mode: Configuration.JournalMode) throws {
    // The cache is small, so the transaction has written to its files before the fork.
    try withDatabase(.init(journalMode: mode, cacheSize: 100)) { db in
      try db.createTable(Person.self)
      let name = String(repeating: "n", count: 1000)
      try Person.insert((1...1000).map { Person(id: $0, name: name) }).run(db)
      // The child's call runs once before the fork: a lock that another thread holds stays locked in the child.
      #expect(try Person.count().run(db) == 1000)
      for isThrowing in [false, true] {
        var child: pid_t = -1
        var hasWaited = false
        do {
          try db.transaction { db in
            try Person.updateAll(Person.name.set(to: name + "\(isThrowing)")).run(db)
            var status: Int32 = -1
            // An alarm ends a child that waits for such a lock, or that gets no processor. Another child then follows.
            for _ in 0..<5 {
              child = Fork.begin()
              if child == 0 {
                // A call in the child must throw. The child reports the result by its exit status and runs nothing
                // else.
                if (try? Person.count().run(db)) != nil { _exit(1) }
                if isThrowing { throw CancellationError() }
                return
              }
              try #require(child > 0)
              status = Fork.wait(for: child)
              if status & 0x7F != SIGALRM { break }
            }
            hasWaited = true
            #expect(status == 0)
            try Person(id: nil, name: "later").insert().run(db)
          }
          if child == 0 { _exit(2) }
        } catch {
          if child == 0 { _exit(0) }
          throw error
        }
        #expect(hasWaited)
        #expect(try Person.count().filter(Person.name == name + "\(isThrowing)").run(db) > 0)
        #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      }
      #expect(try Person.count().filter(Person.name == "later").run(db) == 1)
      #expect(try Person.count().run(db) == 1002)
    }
  }
}
