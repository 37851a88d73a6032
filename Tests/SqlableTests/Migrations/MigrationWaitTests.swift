import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Migrations and plans that wait for other connections that write, or throw because their own thread holds the lock.
@Suite struct MigrationWaitTests {
  private let first = BicycleMigrations.first
  private let all = BicycleMigrations.all

  @Test func aMigrationWaitsForAnotherConnectionThatWrites() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let configuration = Configuration(label: "first", busyTimeout: 0.05)
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: configuration))
      try db.beginTransaction()
      let error = sqlError { try Migrations(all).apply(pool, waitingAtMost: .milliseconds(200)) }
      #expect(error?.kind == .busy)
      #expect(error?.transaction == .some(.none))
      var reports: [String] = []
      let run = try Migrations(all).apply(pool) { _ in
      } waiting: { error in
        reports.append(error.message)
        if reports.count == 3 { try? db.rollbackTransaction() }
      }
      #expect(run == ["bicycles", "color", "the rest"])
      #expect(reports.count >= 3, "\(reports)")
      #expect(reports.allSatisfy { $0.contains("MigrationWaitTests.swift") }, "\(reports)")
      try pool.close()
    }
  }

  @Test func migrationDoesNotWaitForALockOfTheSameThread() throws {
    try withDirectory { directory in
      let configuration = Configuration(busyTimeout: 600)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      let child = try db.createChild()
      let (pool, other) = (try newPool(directory, configuration), try newPool(directory, configuration))
      let begin = ContinuousClock.now
      func expectRefusal(_ line: UInt = #line, _ apply: () throws -> Void) {
        let error = sqlError(apply)
        #expect(error?.kind == .misuse(error?.message ?? ""), "\(line)")
        #expect(error?.message.hasPrefix("can't migrate inside a closure that holds the file's write lock") == true)
      }
      let plan = try Schema(Person.self, Bicycle.self).plan(db)
      try db.transaction { (_: SqliteDatabase) throws -> Void in
        expectRefusal { try Migrations(all).apply(pool) }
        expectRefusal { try Migrations(all).apply(child) }
        expectRefusal { try plan.apply(child) }
      }
      try pool.transaction { (_: SqliteDatabase) throws -> Void in
        expectRefusal { try Migrations(all).apply(other) }
        expectRefusal { try Migrations(all).apply(db) }
      }
      // Without a transaction, the writer delays only other pools.
      try pool.withWriter { (_: SqliteDatabase) throws -> Void in
        expectRefusal { try Migrations(all).apply(other) }
        #expect(try Migrations([first]).apply(db) == ["bicycles"])
      }
      #expect(begin.duration(to: .now) < .seconds(500))
      // The closure's own handle and pool do not wait.
      let steps = try pool.transaction { (db: SqliteDatabase) in try Migrations(all).apply(db) }
      #expect(steps == ["color", "the rest"])
      try pool.transaction { (_: SqliteDatabase) throws -> Void in
        #expect(try Migrations(all).apply(pool) == [])
      }
      try pool.close()
      try other.close()
    }
  }

  private func newPool(_ directory: String, _ configuration: Configuration) throws -> SqlitePool {
    try SqlitePool(filepath: directory + "/a.sqlite", configuration: .init(handles: configuration))
  }

  @Test func migrationDoesNotWaitForItsThreadInMemory() throws {
    let db = try SqliteDatabase.inMemory(configuration: Configuration(busyTimeout: 60))
    let child = try db.createChild()
    try db.transaction { (_: SqliteDatabase) throws -> Void in
      let error = sqlError { try Migrations(all).apply(child) }
      #expect(error?.message.contains("inside a closure that holds the file's write lock") == true)
    }
  }

  @Test func migrationWaitsForAnotherThreadOfTheSameFamily() throws {
    try withDatabase(Configuration(busyTimeout: 0.02)) { db in
      let child = try db.createChild()
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        try? child.transaction { _ in
          isHeld.signal()
          mayEnd.wait()
        }
      }
      isHeld.wait()
      let run = try Migrations(all).apply(db) { _ in
      } waiting: { _ in
        mayEnd.signal()
      }
      #expect(run == ["bicycles", "color", "the rest"])
    }
  }

  @Test func anAsyncMigrationWaitsWithoutAThreadAndIsCancelled() async throws {
    try await withDirectoryAsync { directory in
      let configuration = Configuration(busyTimeout: 0.02)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      let pool = try SqlitePool(
        filepath: directory + "/a.sqlite", configuration: .init(handles: configuration, waitTimeout: nil))
      try db.beginTransaction()
      let (migrations, reports) = (Migrations(all), Collected<SqlError.Kind>())
      // There are more tasks than threads for tasks.
      let tasks = (0..<32).map { _ in
        Task {
          try await migrations.apply(pool) { _ in
          } waiting: {
            reports.append($0.kind)
          }
        }
      }
      try await until { !reports.values.isEmpty }
      for task in tasks.dropFirst() { task.cancel() }
      for task in tasks.dropFirst() {
        await #expect(throws: CancellationError.self) { _ = try await task.value }
      }
      try db.rollbackTransaction()
      #expect(try await tasks[0].value == ["bicycles", "color", "the rest"])
      #expect(reports.values.allSatisfy { $0 == .busy })
      try await pool.close()
    }
  }

  @Test func anAsyncPlanReportsItsSteps() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: .init(waitTimeout: nil))
      let schema = Schema(Person.self, Bicycle.self)
      let (plan, steps) = (try await schema.plan(pool), Collected<Int>())
      try await plan.apply(pool) { steps.append($0.step) }
      #expect(steps.values == Array(plan.steps.indices))
      try await schema.verify(pool)
      try await pool.close()
    }
  }

  @Test func aPlanWaitsForAnotherConnectionThatWrites() throws {
    try withDirectory { directory in
      let configuration = Configuration(busyTimeout: 0)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      let other = try db.createChild()
      let plan = try Schema(Person.self, Bicycle.self).plan(db)
      try other.beginTransaction()
      expectError(.busy) { try plan.apply(db, waitingAtMost: .zero) }
      var count = 0
      try plan.apply(db) { _ in
      } waiting: { _ in
        count += 1
        if count == 3 { try? other.rollbackTransaction() }
      }
      #expect(count == 3)
      try Schema(Person.self, Bicycle.self).verify(db)
    }
  }
}
