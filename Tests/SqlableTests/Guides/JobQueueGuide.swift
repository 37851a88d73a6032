import Foundation
import Sqlable
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

struct Job: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let statement = column("statement", String.self)
  static let runAfter = column("run_after", Date?.self)
  static let attempts = column("attempts", Int.self)
  static let lastError = column("last_error", String?.self)
  static let tableLayout = [id.column, statement.column, runAfter.column, attempts.column, lastError.column]
  static let tableIndexes = [Index(runAfter, id)]

  var id: Int?
  var statement: String
  /// nil for a job that was set aside.
  var runAfter: Date?
  var attempts = 0
  var lastError: String?
}

extension Job {
  init(row: ReadRow) throws {
    id = try row.get(Job.id)
    statement = try row.get(Job.statement)
    runAfter = try row.get(Job.runAfter)
    attempts = try row.get(Job.attempts)
    lastError = try row.get(Job.lastError)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Job.id, id)
    row.set(Job.statement, statement)
    row.set(Job.runAfter, runAfter)
    row.set(Job.attempts, attempts)
    row.set(Job.lastError, lastError)
  }
}

struct JobQueue<Database: SqlDatabase> {
  let db: Database
  let rules: StatementRules
  var maximumAttempts = 5

  func add(_ work: some Runnable, after date: Date = Date()) throws {
    let document = try AnyStatement(work).json()
    try Job(statement: String(decoding: document, as: UTF8.self), runAfter: date).insert().run(db)
  }

  /// Runs the next job that is due. Returns false if there is none.
  func runNext(at now: Date = Date()) throws -> Bool {
    var taken: Job?
    do {
      return try db.transaction { db in
        taken = try Job.read().filter(Job.runAfter <= now).orderBy(Job.runAfter).orderBy(Job.id).first().run(db)
        guard let job = taken else { return false }
        try AnyStatement(json: Data(job.statement.utf8), rules: rules).run(db)
        try job.delete().run(db)
        return true
      }
    } catch {
      guard let job = taken, (error as? SqlError)?.isRetryable != true else { throw error }
      try postpone(job, because: error, at: now)
      return true
    }
  }

  /// Records a failed attempt, unless another worker has meanwhile run the job or recorded a failed attempt.
  private func postpone(_ job: Job, because error: any Error, at now: Date) throws {
    let attempts = job.attempts + 1
    let next = attempts < maximumAttempts ? now.addingTimeInterval(pow(4, Double(attempts))) : nil
    try Job.update(
      Job.attempts.set(to: attempts), Job.runAfter.set(to: next),
      Job.lastError.set(to: (error as? SqlError)?.description ?? "\(type(of: error))")
    )
    .filter(Job.id == job.id && Job.attempts == job.attempts).run(db)
  }
}

/// The examples and claims of Docs/JobQueue.md.
@Suite struct JobQueueGuide {
  private let rules = StatementRules(models: [Person.self, Bicycle.self])
  private let now = Date(timeIntervalSince1970: 1_000_000)

  private func withQueue(
    _ configuration: Configuration = Configuration(), _ body: (SqliteDatabase, JobQueue<SqliteDatabase>) throws -> Void
  ) throws {
    try withDatabase(configuration) { db in
      for model: any Sqlable.Type in [Person.self, Bicycle.self, Job.self] { try db.createTable(model) }
      try body(db, JobQueue(db: db, rules: rules))
    }
  }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  @Test func aJobIsAStatementThatRunsWhenItIsDue() throws {
    try withQueue { db, queue in
      try queue.add(Person(id: nil, name: "later").insert(), after: now + 60)
      try queue.add(Person.insert([Person(id: nil, name: "first"), Person(id: nil, name: "first too")]), after: now)
      try queue.add(Person.update(Person.name.set(to: "second")).filter(Person.name == "first"), after: now)
      let documents = try Job.select(Job.statement).orderBy(Job.id).run(db)
      #expect(
        documents == [
          #"{"insert":{"into":"person","row":{"name":"later"}},"sqlable":1}"#,
          #"{"insert":{"into":"person","rows":[{"name":"first"},{"name":"first too"}]},"sqlable":1}"#,
          #"{"sqlable":1,"update":{"set":[{"column":"name","to":"second"}],"table":"person","#
            + #""where":{"=":[{"column":"name"},"first"]}}}"#,
        ])
      #expect(try queue.runNext(at: now))
      #expect(try names(db) == ["first", "first too"])
      #expect(try queue.runNext(at: now))
      #expect(try names(db) == ["second", "first too"])
      #expect(try !queue.runNext(at: now))
      #expect(try queue.runNext(at: now + 60))
      #expect(try names(db) == ["second", "first too", "later"])
      #expect(try Job.count().run(db) == 0)
    }
  }

  @Test func jobIsAddedInTheTransactionOfItsCause() throws {
    struct OutOfStock: Error {}
    try withQueue { db, _ in
      let nextYear = now + 365 * 86_400
      try db.transaction { db in
        let id = try Bicycle(name: "Norco", color: "red").insert().run(db)
        try JobQueue(db: db, rules: rules).add(Bicycle.delete(Bicycle.id == id), after: nextYear)
      }
      try? db.transaction { db in
        try JobQueue(db: db, rules: rules).add(Bicycle.deleteAll(), after: nextYear)
        throw OutOfStock()
      }
      let queue = JobQueue(db: db, rules: rules)
      #expect(try queue.runNext(at: nextYear))
      #expect(try !queue.runNext(at: nextYear))
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  @Test func workerRunsDueJobs() throws {
    try withQueue { db, queue in
      try queue.add(Person(id: nil, name: "Ann").insert())
      try queue.add(Person(id: nil, name: "Bob").insert())
      func sleep(_ seconds: UInt32) {}
      var rounds = 0
      func isStopping() -> Bool {
        rounds += 1
        return rounds > 3
      }
      while !isStopping() {
        do {
          if try !queue.runNext() { sleep(1) }
        } catch let error as SqlError where error.isRetryable {
          continue  // another process writes for longer than the busy timeout; no job was taken
        }
      }
      #expect(try names(db) == ["Ann", "Bob"])
    }
  }

  @Test func effectIsUndoneIfTheJobCannotEnd() throws {
    try withQueue { db, queue in
      try queue.add(Person(id: nil, name: "Ann").insert(), after: now)
      try db.execute("CREATE TRIGGER stay BEFORE DELETE ON job BEGIN SELECT raise(ABORT, 'stay'); END")
      #expect(try queue.runNext(at: now))
      #expect(try names(db) == [])
      #expect(try Job.read().run(db).map(\.attempts) == [1])
      try db.execute("DROP TRIGGER stay")
      #expect(try queue.runNext(at: now + 4))
      #expect(try names(db) == ["Ann"])
      #expect(try Job.count().run(db) == 0)
    }
  }

  @Test func failedJobIsRetriedWithBackoffAndThenSetAside() throws {
    try withQueue { db, queue in
      let secret = "hunter2"
      try Bicycle(id: 1, name: secret, color: secret).insert().run(db)
      try queue.add(Bicycle(id: 2, name: secret, color: secret).insert(), after: now)
      try queue.add(Person(id: nil, name: "not held up").insert(), after: now)
      #expect(try queue.runNext(at: now))
      #expect(try queue.runNext(at: now))
      #expect(try !queue.runNext(at: now))
      #expect(try names(db) == ["not held up"])
      var time = now
      for delay in [4.0, 16, 64, 256] {
        #expect(try !queue.runNext(at: time + delay - 1))
        time += delay
        #expect(try queue.runNext(at: time))
        #expect(try !queue.runNext(at: time))
      }
      #expect(try !queue.runNext(at: .distantFuture))
      let poisonous = try Job.read().filter(Job.runAfter == nil).run(db)  // [Job]
      for job in poisonous { print(job.statement, job.lastError ?? "") }
      try Bicycle.delete(Bicycle.id == 1).run(db)  // not shown
      try Job.update(Job.runAfter.set(to: Date()), Job.attempts.set(to: 0)).filter(Job.runAfter == nil).run(db)
      #expect(poisonous.map(\.attempts) == [5])
      let error = try #require(poisonous.first?.lastError)
      #expect(error.contains("UNIQUE constraint failed: bicycle.name, bicycle.color"))
      #expect(!error.contains(secret))
      #expect(try queue.runNext())
      #expect(try Bicycle.read().run(db).map(\.id) == [2])
      #expect(try Job.count().run(db) == 0)
    }
  }

  @Test func invalidJobIsSetAsideAndBlocksNoOther() throws {
    try withQueue { db, _ in
      var queue = JobQueue(db: db, rules: StatementRules(kinds: [.insert], models: [Person.self]))
      queue.maximumAttempts = 1
      for statement in [
        "no document", #"{"insert":{"into":"car","row":{}},"sqlable":1}"#,
        #"{"delete":{"all":true,"from":"person"},"sqlable":1}"#,
        #"{"insert":{"into":"person","row":{"salary":7}},"sqlable":1}"#,
      ] {
        try Job(statement: statement, runAfter: now).insert().run(db)
      }
      try queue.add(Person(id: nil, name: "Ann").insert(), after: now)
      for _ in 0..<5 { #expect(try queue.runNext(at: now)) }
      #expect(try names(db) == ["Ann"])
      let errors = try Job.read().filter(Job.runAfter == nil).orderBy(Job.id).run(db).map { $0.lastError ?? "" }
      #expect(
        errors.map { $0.prefix { $0 != "(" && $0 != ";" }.trimmingCharacters(in: .whitespaces) } == [
          "SqlError.invalidStatement: the document is not valid JSON at byte 0: unknown word",
          "SqlError.invalidStatement: unknown table",
          "SqlError.invalidStatement: the decoder does not allow statements of kind deleteAll",
          "SqlError.schema: table person has no column salary",
        ])
    }
  }

  /// A function of the program may throw any error with any text.
  @Test func anErrorOfTheProgramIsStoredWithoutItsText() throws {
    struct Refused: Error { let name: String }
    try withQueue { db, queue in
      let check = ScalarFunction("check_name") { (name: String) -> String in throw Refused(name: name) }
      try db.register(check)
      try Person(id: 1, name: "hunter2").insert().run(db)
      try queue.add(Person.updateAll(Person.name.set(to: check(Person.name))), after: now)
      #expect(try queue.runNext(at: now))
      #expect(try Job.read().run(db).map(\.lastError) == ["Refused"])
    }
  }

  @Test(.needsSQLiteProgram)
  func lockOfAnotherProcessDoesNotCountAsAnAttempt() throws {
    try withQueue(.init(busyTimeout: 0.02)) { db, queue in
      try queue.add(Person(id: nil, name: "Ann").insert(), after: now)
      let other = try SQLiteProcess(db.filepath)
      defer { other.quit() }
      try other.run("BEGIN IMMEDIATE;")
      let error = expectError(.busy) { _ = try queue.runNext(at: now) }
      #expect(error?.isRetryable == true)
      #expect(try Job.read().run(db).map(\.attempts) == [0])
      try other.run("ROLLBACK;")
      #expect(try queue.runNext(at: now))
      #expect(try names(db) == ["Ann"])
    }
  }

  /// A handle that runs another worker's action after each failed transaction.
  private struct Interrupted: SqlDatabase {
    let db: SqliteDatabase
    let next: @Sendable () throws -> Void

    func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output { try work.run(db) }

    func withTransaction<Value>(
      _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
    ) throws -> Value {
      do { return try db.transaction(kind, body) } catch {
        try next()
        throw error
      }
    }
  }

  @Test func failureIsNotRecordedIfAnotherWorkerTookTheJob() throws {
    try withQueue { db, queue in
      let fails = Mutex(true)
      let check = ScalarFunction("check_name") { (name: String) -> String in
        if fails.withLock({ $0 }) { throw CancellationError() }
        return name + " checked"
      }
      try db.register(check)
      try Person(id: 1, name: "Ann").insert().run(db)
      let other = JobQueue(db: try db.createChild(), rules: rules)
      let statement = Person.updateAll(Person.name.set(to: check(Person.name)))

      // The other worker fails twice.
      try queue.add(statement, after: now)
      let failing = Interrupted(db: db) { [now] in
        _ = try other.runNext(at: now)
        _ = try other.runNext(at: now + 4)
      }
      #expect(try JobQueue(db: failing, rules: rules).runNext(at: now))
      #expect(try Job.read().run(db).map(\.attempts) == [2])

      // The other worker succeeds.
      let succeeding = Interrupted(db: db) { [now] in
        fails.withLock { $0 = false }
        _ = try other.runNext(at: now + 20)
      }
      #expect(try JobQueue(db: succeeding, rules: rules).runNext(at: now + 20))
      #expect(try names(db) == ["Ann checked"])
      #expect(try Job.count().run(db) == 0)
    }
  }

  @Test func threadsTakeNoJobTwice() throws {
    try withMembers(PoolConfiguration(handles: .init(busyTimeout: 600))) { pool in
      try pool.transaction { db in
        for model: any Sqlable.Type in [Person.self, Job.self] { try db.createTable(model) }
        let queue = JobQueue(db: db, rules: rules)
        for number in 0..<300 { try queue.add(Person(id: nil, name: "\(number)").insert()) }
      }
      let counts = Collected<Int>()
      onThreads(8) { [rules] thread in
        do {
          let handle = try SqliteDatabase(filepath: pool.filepath, configuration: .init(busyTimeout: 600))
          var count = 0
          func work(on db: some SqlDatabase) throws {
            while try JobQueue(db: db, rules: rules).runNext() { count += 1 }
          }
          if thread < 4 { try work(on: pool) } else { try work(on: handle) }
          counts.append(count)
          try handle.close()
        } catch { Issue.record(error) }
      }
      let names = try Person.read().run(pool).map(\.name)
      #expect(names.count == 300)
      #expect(Set(names).count == 300)
      #expect(counts.values.reduce(0, +) == 300)
      let left = try Job.count().run(pool)
      #expect(left == 0)
    }
  }
}
