import Foundation
import Glibc
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// A second process with a pool on a file: the test program, started again with the suite `PoolProcessTests`.
///
/// The parent controls it with lines on its standard input.
final class PoolProcess: @unchecked Sendable {
  /// The task of a process.
  enum Work: String {
    /// After its first line, writes for a second and a half, then reports the number of its transactions.
    case writing
    /// After its first line, writes a row and reports it. Commits after the next line.
    case holding
    /// The same with a `fork` inside the transaction. Reports the process id of the child.
    case forking
    /// Runs a `Soak` and reports its events.
    case soaking
    /// Commits other values for some seconds beside a loop over changes. The loop makes the writer check for external
    /// commits hundreds of times a second.
    case doubting
    /// Waits with a live result and a loop over changes for some seconds, then reports the number of its threads'
    /// wake-ups in as many seconds.
    case idling
  }

  fileprivate static let variable = "SQLABLE_POOL_PROCESS"
  fileprivate static let mark = "<pool>"

  private let process: ChildProcess
  private var rest = ""

  /// `stack` is the stack size of its threads in kilobytes.
  init(_ work: Work, _ path: String, id: Int = 0, seconds: Double = 0, stack: Int? = nil) throws {
    process = try TestProgram.start(
      "PoolProcessTests", environment: [PoolProcess.variable: "\(work.rawValue) \(id) \(seconds) \(path)"],
      stack: stack)
  }

  /// Returns the next line of the process, or an empty text at the end of its output.
  func answer() -> String {
    while true {
      while let end = rest.firstIndex(of: "\n") {
        let line = rest[..<end]
        rest = String(rest[rest.index(after: end)...])
        if line.hasPrefix(PoolProcess.mark) { return String(line.dropFirst(PoolProcess.mark.count)) }
      }
      let data = process.output.availableData
      if data.isEmpty { return "" }
      rest += String(decoding: data, as: UTF8.self)
    }
  }

  func goOn() throws { try process.input.write(contentsOf: Data("\n".utf8)) }

  func signal(_ number: Int32) { process.signal(number) }

  /// Stops the process and returns when all of its threads have stopped.
  func stop() {
    signal(SIGSTOP)
    let tasks = "/proc/\(process.processIdentifier)/task"
    let isStopped = { (task: String) in
      let text = (try? String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)) ?? ") T"
      return text.split(separator: ")").last?.hasPrefix(" T") ?? true
    }
    waitUntil { files(in: tasks).allSatisfy(isStopped) }
  }

  /// `kill -9`: the process gets no chance to clean up.
  func kill() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

  /// Lets the process end by itself. Returns true if its tests passed.
  func end() -> Bool {
    process.end()
  }
}

/// The tasks of a `PoolProcess`; disabled in the test run itself.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[PoolProcess.variable] != nil, "a process of its own"))
struct PoolProcessTests {

  /// Returns the task of this process and its arguments.
  private func order() throws -> (work: PoolProcess.Work, id: Int, seconds: Double, pool: SqlitePool) {
    let text = try #require(ProcessInfo.processInfo.environment[PoolProcess.variable])
    let parts = text.split(separator: " ", maxSplits: 3).map(String.init)
    let (work, id) = (try #require(PoolProcess.Work(rawValue: parts[0])), try #require(Int(parts[1])))
    // On a busy machine, a process can wait for long.
    let handles = Configuration(busyTimeout: 600, synchronous: work == .soaking ? .normal : .full)
    let pool = try SqlitePool(filepath: parts[3], configuration: .init(handles: handles, waitTimeout: nil))
    return (work, id, try #require(Double(parts[2])), pool)
  }

  @Test func childProcessSoaks() async throws {
    let (work, id, seconds, pool) = try order()
    guard work == .soaking else { return }
    say("ready")
    _ = readLine()
    let lock = NSLock()
    let soak = Soak(pool, writers: id..<(id == 10 ? id + 3 : id + 2), readers: 5, seconds: seconds) { report in
      lock.withLock { say(report.line) }
    }
    await soak.run()
    say("done")
    try await pool.close()
  }

  @Test func childProcessDoesItsTask() throws {
    let (work, id, seconds, pool) = try order()
    switch work {
    case .writing:
      say("ready")
      _ = readLine()
      let end = ContinuousClock.now + .milliseconds(1_500)
      var count = 0
      while ContinuousClock.now < end {
        try Member(id: id + count, name: "x").insert().run(pool)
        count += 1
      }
      say("\(count)")
    case .holding, .forking:
      say("ready")
      _ = readLine()
      try pool.transaction { db in
        try Member(id: id, name: "x").insert().run(db)
        let child = work == .forking ? Fork.begin() : 1
        if child == 0 {
          alarm(0)
          sleep(600)
          _exit(0)
        }
        say("\(child)")
        _ = readLine()
      }
      say("done")
    case .soaking: break
    case .doubting:
      let listening = Task { for await _ in pool.changes(on: Member.self) {} }
      let end = ContinuousClock.now + .seconds(seconds)
      var count = 0
      while ContinuousClock.now < end {
        try Member(id: id, name: "\(count)").save().run(pool)
        count += 1
        // Without a pause, the check of the next transaction would resolve the uncertainty.
        usleep(2_500)
      }
      listening.cancel()
      say("done")
    case .idling:
      let count = LockedValue(0)
      let loops =
        [
          Task { for await _ in pool.changes(on: Member.self) {} },
          Task { for try await value in Member.count().updates(in: pool) { count.withLock { $0 = value } } },
        ] as [Any]
      try Member(id: id, name: "x").insert().run(pool)
      while count.withLock({ $0 }) == 0 { usleep(1_000) }
      usleep(UInt32(seconds * 1e6))
      let before = wakeUps
      usleep(UInt32(seconds * 1e6))
      say("\(wakeUps - before)")
      withExtendedLifetime(loops) {}
    }
    try pool.close()
  }

  private var wakeUps: Int {
    files(in: "/proc/self/task").reduce(0) { total, task in
      let status = (try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
      return total + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
    }
  }

  private func say(_ text: String) {
    print(PoolProcess.mark + text)
    fflush(nil)
  }
}
