import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

@Suite struct TransactionControlTests {
  private typealias Control = Connection.Control

  private func compiled(on db: SqliteDatabase) throws -> Set<Control> {
    try db.locked {
      let control = try db.openConnection().control
      return Set(Control.allCases.filter { !control.isEmpty && control[$0.rawValue] != nil })
    }
  }

  @Test func aHandleThatOnlyReadsCompilesNoControlStatement() throws {
    try withDatabase { db in
      let numbers = try db.query("SELECT 1", as: Int.self)
      let found = try compiled(on: db)
      #expect(numbers == [1])
      #expect(found.isEmpty)
    }
  }

  @Test func commitAndRollbackAreCompiledBeforeBegin() throws {
    try withDatabase { db in
      let transaction: Set<Control> = [.beginImmediate, .commit, .rollback]
      let savepoint: Set<Control> = [.savepoint, .release, .rollbackTo]
      let (outer, inner) = try db.transaction(.immediate) { db in
        let outer = try compiled(on: db)
        return try db.transaction { db in (outer, try compiled(on: db)) }
      }
      #expect(outer == transaction)
      #expect(inner == transaction.union(savepoint))
      try db.transaction(.deferred) { _ in }
      let all = try compiled(on: db)
      #expect(all == transaction.union(savepoint).union([.beginDeferred]))
    }
  }
}
