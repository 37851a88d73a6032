import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// A live service that is killed again and again.
///
/// The service reports each call before and after it. After the kill, each tenant must have the rows of the calls that
/// were acknowledged, and all or nothing of the call that was not. For more kills: `SQLABLE_SWEEP=all`.
@Suite struct TenantKillTests {
  private static let kills = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" ? 200 : 4

  @Test(.enabled(if: TestProgram.isAvailable && !isSanitized, "the tests are no program of their own here"))
  func aKilledServiceLosesNoAcknowledgedCall() async throws {
    try await withDirectoryAsync { directory in
      var random = SeededGenerator(seed: SeededGenerator.seed)
      var (state, calls) = (KilledService.State(), 0)
      for kill in 0..<TenantKillTests.kills {
        let process = try TestProgram.start(
          "KilledServiceProcess",
          environment: [KilledService.directory: directory, "SQLABLE_SEED": "\(random.next())"])
        let delay = Duration.milliseconds(Int.random(in: 50..<1_500, using: &random))
        let history = KilledService.history(of: process, killedAfter: delay)
        calls += history.count
        var pending: [Int: KilledService.Call] = [:]
        for event in history {
          if case .began(let call) = event.kind {
            pending[event.task] = call
          } else if let call = pending[event.task] {
            state.apply(call)
            pending[event.task] = nil
          }
        }
        let found = try await KilledService.read(directory)
        for task in 0..<KilledService.tasks {
          var next = state
          if let call = pending[task] { next.apply(call) }
          let (now, before, after) = (found.tenants(of: task), state.tenants(of: task), next.tenants(of: task))
          #expect(
            now == before || now == after, "kill \(kill), task \(task), during \(String(describing: pending[task]))")
        }
        state = found
      }
      #expect(calls > 0)
    }
  }
}

/// The test of the separate process.
@Suite(.enabled(if: KilledService.path != nil, "a process of its own"))
struct KilledServiceProcess {
  @Test func serveUntilTheKill() async throws {
    let path = try #require(KilledService.path)
    let state = try await KilledService.read(path)
    let tenants = try KilledService.tenants(path)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<KilledService.tasks {
        group.addTask {
          var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(task))
          var state = state
          // The parent kills this process long before. Without a parent, the process ends.
          for number in 0..<100_000 {
            guard let call = state.randomCall(of: task, number, &random) else { continue }
            FaultProcess.say("B \(task) \(call.text)")
            try await call.run(tenants)
            FaultProcess.say("E \(task)")
            state.apply(call)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

private enum KilledService {
  static let directory = "SQLABLE_KILLED_SERVICE"
  static var path: String? { ProcessInfo.processInfo.environment[directory] }
  static let tasks = 8

  static func tenants(_ path: String) throws -> SqliteTenants {
    try openTenants(
      path + "/tenants", TenantsConfiguration(maximumOpen: 12, waitTimeout: .seconds(600), createsMissing: false))
  }

  static func read(_ path: String) async throws -> State {
    let tenants = try tenants(path)
    var state = State()
    for try await (name, texts) in tenants.each({ try await $0.texts() }) { state.rows[name] = try texts.get() }
    try await tenants.close()
    return state
  }

  /// A call on tenants of one task.
  enum Call: Equatable {
    case create(String)
    case delete(String)
    case rename(String, String)
    case copy(String, String)
    /// Two rows in one transaction.
    case add(String, Int)

    var text: String {
      switch self {
      case .create(let name): "create \(name)"
      case .delete(let name): "delete \(name)"
      case .rename(let name, let other): "rename \(name) \(other)"
      case .copy(let name, let other): "copy \(name) \(other)"
      case .add(let name, let number): "add \(name) \(number)"
      }
    }

    init?(_ words: [Substring]) {
      switch (words.first, words.count) {
      case ("create", 2): self = .create(String(words[1]))
      case ("delete", 2): self = .delete(String(words[1]))
      case ("rename", 3): self = .rename(String(words[1]), String(words[2]))
      case ("copy", 3): self = .copy(String(words[1]), String(words[2]))
      case ("add", 3): self = .add(String(words[1]), Int(words[2]) ?? 0)
      default: return nil
      }
    }

    func run(_ tenants: SqliteTenants) async throws {
      switch self {
      case .create(let name): try await tenants.create(name)
      case .delete(let name): try await tenants.delete(name)
      case .rename(let name, let other): try await tenants.rename(name, to: other)
      case .copy(let name, let other): try await tenants.copy(name, to: other)
      case .add(let name, let number):
        try await tenants[name].transaction { db in
          try Note("\(number)").insert().run(db)
          try Note("-\(number)").insert().run(db)
        }
      }
    }
  }

  /// The rows of each tenant.
  struct State: Equatable {
    var rows: [String: [String]] = [:]

    func tenants(of task: Int) -> [String: [String]] { rows.filter { $0.key.hasPrefix("t\(task)-") } }

    mutating func apply(_ call: Call) {
      switch call {
      case .create(let name): rows[name] = []
      case .delete(let name): rows[name] = nil
      case .rename(let name, let other): (rows[other], rows[name]) = (rows[name], nil)
      case .copy(let name, let other): rows[other] = rows[name]
      case .add(let name, let number): rows[name, default: []] += ["\(number)", "-\(number)"]
      }
    }

    /// Returns a call that succeeds in this state; nil for none.
    func randomCall(of task: Int, _ number: Int, _ random: inout SeededGenerator) -> Call? {
      let names = (0..<4).map { "t\(task)-\($0)" }
      let (name, other) = (random.pick(names), random.pick(names))
      guard rows[name] != nil else { return .create(name) }
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<8: return .delete(name)
      case 8..<16: return rows[other] == nil ? .rename(name, other) : nil
      case 16..<24: return rows[other] == nil ? .copy(name, other) : nil
      default: return .add(name, number)
      }
    }
  }

  struct Event {
    enum Kind {
      case began(Call)
      case ended
    }

    let task: Int
    let kind: Kind
  }

  /// Returns the reports of a process, which is killed some time after its first report.
  static func history(of process: ChildProcess, killedAfter delay: Duration) -> [Event] {
    var data = Data()
    var isKilled = false
    let identifier = process.processIdentifier
    while true {
      let more = process.output.availableData
      guard !more.isEmpty else { break }
      data += more
      guard !isKilled, String(decoding: data, as: UTF8.self).contains("<fault>B") else { continue }
      isKilled = true
      Thread.detachNewThread {
        Thread.sleep(forTimeInterval: delay / .seconds(1))
        kill(identifier, SIGKILL)
      }
    }
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("<fault>") else { return nil }
      let words = line.dropFirst("<fault>".count).split(separator: " ")
      guard words.count >= 2, let task = Int(words[1]) else { return nil }
      if words[0] == "E" { return Event(task: task, kind: .ended) }
      return Call(Array(words[2...])).map { Event(task: task, kind: .began($0)) }
    }
  }
}
