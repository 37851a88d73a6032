import Dispatch
import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Waiting writes that share a commit, and nothing else.
@Suite struct GroupCommitTests {
  /// A configuration whose groups take in every waiting write, even on a slow machine.
  private let patient = PoolConfiguration(maximumGroupTime: .seconds(3_600))

  /// A table with a deferred foreign key, which only COMMIT checks.
  private static let notes: SQL = """
    CREATE TABLE note (id INTEGER PRIMARY KEY, member INTEGER REFERENCES member (id) DEFERRABLE INITIALLY DEFERRED)
    """

  /// Lets `count` writes wait for the writer, so that they run in one group.
  private func runTogether(
    _ pool: SqlitePool, _ count: Int, _ write: @escaping @Sendable (Int) throws -> Void
  ) throws -> [SqlError?] {
    let errors = Mutex<[Int: SqlError]>([:])
    let group = DispatchGroup()
    var isFirstTime = true
    try pool.transaction { _ in
      // The pool runs this closure again if another member of the group rolls it back.
      guard isFirstTime else { return }
      isFirstTime = false
      for index in 0..<count {
        group.enter()
        let thread = Thread {
          if let error = sqlError({ try write(index) }) { errors.withLock { $0[index] = error } }
          group.leave()
        }
        thread.start()
        // The writes start one after the other, in a known order.
        waitUntil { pool.statistics.waitingWrites > index }
      }
    }
    group.wait()
    return errors.withLock { errors in (0..<count).map { errors[$0] } }
  }

  @Test func writesThatWaitShareOneCommitInTheirOrder() throws {
    try withMembers(patient) { pool in
      let before = pool.statistics.commits
      let order = Collected<Int>()
      let errors = try runTogether(pool, 20) { index in
        try pool.transaction { db in
          order.append(index)
          try Member(id: index, name: "\(index)").insert().run(db)
        }
      }
      #expect(errors.allSatisfy { $0 == nil })
      #expect(order.values == Array(0..<20))
      #expect(pool.statistics.commits - before == 1)
      let count = try Member.count().run(pool)
      #expect(count == 20)
    }
  }

  /// The second write conflicts with the first one's row, which the commit rolls back.
  @Test func writeThatFailedOnUncommittedRowsRunsAgain() throws {
    try withMembers(patient) { pool in
      try pool.transaction { db in try db.execute(GroupCommitTests.notes) }
      let errors = try runTogether(pool, 2) { index in
        try pool.transaction { db in
          try db.execute(index == 0 ? "INSERT INTO note VALUES (5, 99)" : "INSERT INTO note VALUES (5, NULL)")
        }
      }
      #expect(errors[0]?.kind == .constraint(.foreignKey))
      #expect(errors[1] == nil)
      #expect(try pool.read { try $0.query("SELECT id FROM note WHERE member IS NULL", as: Int.self) } == [5])
    }
  }

  @Test func maximumGroupOfOneGivesEachWriteACommit() throws {
    try withMembers(PoolConfiguration(maximumGroup: 1)) { pool in
      let before = pool.statistics.commits
      let errors = try runTogether(pool, 5) { index in try Member(id: index, name: "x").insert().run(pool) }
      #expect(errors.allSatisfy { $0 == nil })
      #expect(pool.statistics.commits - before == 6)
    }
  }

  @Test func failedWriteLeavesItsGroupUnharmed() throws {
    try withMembers(patient) { pool in
      let errors = try runTogether(pool, 12) { index in
        try pool.transaction { db in
          try Member(id: index, name: "\(index)").insert().run(db)
          if index % 3 == 1 { try Member(id: index, name: "again").insert().run(db) }
          if index % 3 == 2 { throw SqlError(.other, message: "no") }
        }
      }
      #expect(errors.enumerated().allSatisfy { ($0.offset % 3 == 0) == ($0.element == nil) })
      #expect(errors[1]?.kind == .constraint(.primaryKey))
      #expect(errors[1]?.transaction == .rolledBack)
      let ids = try Member.read().orderBy(Member.id).run(pool).map(\.id)
      #expect(ids == [0, 3, 6, 9])
    }
  }

  @Test func deferredConstraintFailureAffectsOneWrite() throws {
    try withMembers(patient) { pool in
      try pool.transaction { db in try db.execute(GroupCommitTests.notes) }
      let runs = Collected<Int>()
      let errors = try runTogether(pool, 6) { index in
        try pool.transaction { db in
          runs.append(index)
          if index != 3 { try Member(id: index, name: "x").insert().run(db) }
          try db.execute("INSERT INTO note (id, member) VALUES (\(index), \(index))")
        }
      }
      #expect(errors.enumerated().allSatisfy { ($0.offset == 3) == ($0.element?.kind == .constraint(.foreignKey)) })
      let notes = try pool.read { db in try db.query("SELECT id FROM note ORDER BY id", as: Int.self) }
      #expect(notes == [0, 1, 2, 4, 5])
      #expect(runs.values.count == 12, "the shared transaction, and each by itself")
    }
  }

  @Test func rollbackUndoesOnlyTheRowsOfItsClosure() throws {
    try withMembers(patient) { pool in
      let errors = try runTogether(pool, 4) { index in
        _ = try pool.transaction { db in
          try Member(id: index, name: "x").insert().run(db)
          return index == 0 || index == 2 ? TransactionResult.rollback : .commit
        }
      }
      let ids = try Member.read().orderBy(Member.id).run(pool).map(\.id)
      #expect(errors.allSatisfy { $0 == nil })
      #expect(ids == [1, 3])
    }
  }

  @Test func withWriterDoesNotJoinAGroup() throws {
    try withMembers(patient) { pool in
      let before = pool.statistics.commits
      let errors = try runTogether(pool, 3) { index in
        if index == 1 {
          try pool.withWriter { db in try db.execute("VACUUM") }
        } else {
          try Member(id: index, name: "x").insert().run(pool)
        }
      }
      #expect(errors.allSatisfy { $0 == nil })
      #expect(pool.statistics.commits - before == 2)
    }
  }

  @Test func eachGroupedWriteReadsEarlierWrites() throws {
    try withMembers(patient) { pool in
      try Member(id: 1, name: "0").insert().run(pool)
      let errors = try runTogether(pool, 30) { _ in
        try pool.transaction { db in
          let now = Int(try Member.byId(1).run(db)?.name ?? "") ?? -1
          try Member.update(Member.name.set(to: "\(now + 1)")).filter(Member.id == 1).run(db)
        }
      }
      let last = try Member.byId(1).run(pool)?.name
      #expect(errors.allSatisfy { $0 == nil })
      #expect(last == "30")
    }
  }
}
