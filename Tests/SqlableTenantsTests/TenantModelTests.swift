import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// Random calls of 64 tasks on 1,000 tenants, of which 50 are open, against a model of the tenants' rows.
///
/// Each task has its own tenants, so that the model knows each result, and uses two tenants that all tasks share. For
/// more calls: `SQLABLE_SWEEP=all`; for other calls: `SQLABLE_SEED`.
@Suite struct TenantModelTests {
  private static let tasks = 64
  private static let calls = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" ? 2_000 : 25

  @Test func randomCallsMatchAModel() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 50, waitTimeout: .seconds(1_000))
    try await withTenants(configuration) { tenants in
      let models = try await withThrowingTaskGroup(of: [String: [String]].self) { group in
        for task in 0..<TenantModelTests.tasks {
          group.addTask {
            var caller = RandomCaller(tenants, task, 1_000 / TenantModelTests.tasks)
            for _ in 0..<times(TenantModelTests.calls) { try await caller.call() }
            return caller.model
          }
        }
        return try await group.reduce(into: [String: [String]]()) { all, model in
          all.merge(model) { one, _ in one }
        }
      }
      #expect(tenants.statistics.open <= 50)
      var found: [String: [String]] = [:]
      for try await (name, texts) in tenants.each({ try await $0.texts() }) where !name.hasPrefix("shared") {
        found[name] = try texts.get()
      }
      #expect(found == models)
    }
  }
}

/// A task with its own tenants and their model.
private struct RandomCaller {
  private let tenants: SqliteTenants
  private var random: SeededGenerator
  private let task: Int
  private let names: [String]
  private var count = 0
  /// The rows of the task's tenants. A tenant without an entry does not exist.
  private(set) var model: [String: [String]] = [:]

  init(_ tenants: SqliteTenants, _ task: Int, _ count: Int) {
    (self.tenants, self.task) = (tenants, task)
    random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(task))
    names = (0..<count).map { "\(task)-\($0)" }
  }

  mutating func call() async throws {
    let (name, other) = (random.pick(names), random.pick(names))
    count += 1
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35:
      try await tenants[name].add("\(count)")
      model[name, default: []].append("\(count)")
    case 35..<60:
      let texts = try await tenants[name].texts()
      #expect(texts == model[name] ?? [], "\(name) after \(count) calls")
      model[name] = model[name] ?? []
    case 60..<68:
      let exists = model[name] != nil
      try await expecting(exists ? nil : .missing) { try await tenants.delete(name) }
      model[name] = nil
    case 68..<76:
      let problem = name == other ? .exists : problem(name, other)
      try await expecting(problem) { try await tenants.rename(name, to: other, within: .seconds(1_000)) }
      if problem == nil { (model[other], model[name]) = (model[name], nil) }
    case 76..<84:
      let problem = name == other ? .exists : problem(name, other)
      try await expecting(problem) { try await tenants.copy(name, to: other) }
      if problem == nil { model[other] = model[name] }
    case 84..<90:
      try await expecting(model[name] != nil ? .exists : nil) { try await tenants.create(name) }
      model[name] = model[name] ?? []
    case 90..<93: try await stopACall()
    default: try await useSharedTenants()
    }
  }

  private func problem(_ name: String, _ other: String) -> SqlError.TenantProblem? {
    model[name] == nil ? .missing : model[other] != nil ? .exists : nil
  }

  private func expecting(_ problem: SqlError.TenantProblem?, _ body: () async throws -> Void) async throws {
    do {
      try await body()
      #expect(problem == nil)
    } catch let error as SqlError where problem.map({ error.kind == .tenant($0) }) ?? false {
    }
  }

  /// A call whose task is cancelled, while it waits or runs.
  private mutating func stopACall() async throws {
    let tenants = tenants
    let task = Task { try await tenants["shared-a"].texts() }
    await Task.yield()
    task.cancel()
    _ = await task.result
  }

  /// Calls on tenants that other tasks delete meanwhile.
  private mutating func useSharedTenants() async throws {
    let name = random.pick(["shared-a", "shared-b"])
    let isDeletion = random.chance(20)
    do {
      if isDeletion { try await tenants.delete(name) } else { try await tenants[name].add("\(task)") }
    } catch let error as SqlError where error.kind == .tenant(.deleted) || error.kind == .tenant(.missing) {
    }
  }
}
