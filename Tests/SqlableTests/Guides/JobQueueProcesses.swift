import Foundation
import Glibc
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Tests of the queue of Docs/JobQueue.md whose worker processes are killed.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct JobQueueProcesses {
  private func withJobs(_ count: Int, _ body: (String, SqliteDatabase) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/jobs.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600))
      try db.createTables(Person.self, Job.self)
      let queue = JobQueue(db: db, rules: JobWorker.rules)
      try db.transaction { _ in
        for number in 1...count { try queue.add(Person(id: nil, name: "\(number)").insert()) }
      }
      try body(path, db)
    }
  }

  @Test func killedProcessesLoseAndRepeatNoJob() throws {
    let count = times(600)
    try withJobs(count) { path, db in
      var workers = try (0..<3).map { _ in try JobWorker(path) }
      // The kill hits each worker during its work, because workers take a job several times per millisecond.
      var kills = 0
      try waitUntil(within: .seconds(600)) {
        if try Job.count().run(db) == 0 { return true }
        let done = try Person.count().run(db)
        guard kills < 6, done > kills * count / 8 else { return false }
        workers[kills % 3].kill()
        workers[kills % 3] = try JobWorker(path)
        kills += 1
        return false
      }
      for worker in workers { #expect(worker.end()) }
      let names = try Person.read().run(db).map(\.name)
      #expect(names.count == count)
      #expect(Set(names) == Set((1...count).map(String.init)))
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  /// The process is killed after the job's effect and before the commit of its transaction.
  @Test func jobRunsAgainIfItsProcessIsKilledBeforeTheCommit() throws {
    try withJobs(1) { path, db in
      let hold = ScalarFunction("hold") { (name: String) in name + " held" }
      try db.register(hold)
      let queue = JobQueue(db: db, rules: JobWorker.rules)
      try queue.add(Person.updateAll(Person.name.set(to: hold(Person.name))))
      let worker = try JobWorker(path)
      #expect(worker.waitUntilItHolds())
      #expect(try Person.read().run(db).map(\.name) == ["1"])
      #expect(try Job.count().run(db) == 1)
      worker.kill()
      #expect(try Person.read().run(db).map(\.name) == ["1"])
      #expect(try Job.read().run(db).map(\.attempts) == [0])
      #expect(try queue.runNext())
      #expect(try !queue.runNext())
      #expect(try Person.read().run(db).map(\.name) == ["1 held"])
    }
  }
}

/// A worker process that runs jobs until its input ends.
private final class JobWorker {
  static let rules = StatementRules(kinds: [.insert, .updateAll], models: [Person.self])
  fileprivate static let variable = "SQLABLE_JOB_WORKER"
  fileprivate static let mark = "<holding>"

  private let process: ChildProcess

  init(_ path: String) throws {
    process = try TestProgram.start("JobWorkerProcess", environment: [JobWorker.variable: path])
  }

  /// Waits until a job calls the function `hold`.
  func waitUntilItHolds() -> Bool {
    var text = ""
    while !text.contains(JobWorker.mark) {
      let data = process.output.availableData
      if data.isEmpty { return false }
      text += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  /// `kill -9`: the process gets no chance to clean up.
  func kill() {
    process.signal(SIGKILL)
    process.waitUntilExit()
  }

  /// Lets the process end by itself, and returns whether its tests passed.
  func end() -> Bool { process.end() }
}

/// The program of the worker process.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[JobWorker.variable] != nil, "a process of its own"))
struct JobWorkerProcess {
  @Test func work() throws {
    let path = try #require(ProcessInfo.processInfo.environment[JobWorker.variable])
    let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600))
    try db.register(
      ScalarFunction("hold") { (name: String) in
        print(JobWorker.mark)
        fflush(nil)
        _ = readLine()
        return name
      })
    let queue = JobQueue(db: db, rules: JobWorker.rules)
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    while true {
      if try queue.runNext() { continue }
      if poll(&input, 1, 5) > 0 { break }
    }
    try db.close()
  }
}
