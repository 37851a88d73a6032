import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Writers in four processes: this one, another with this library, Python and the `sqlite3` shell.
///
/// Loops of this process receive each change of each of them once, in order: every change fits the copy to which the
/// changes before were applied, and at the end the copies equal the tables. `SQLABLE_SWEEP=all` runs for ten minutes.
@Suite(
  .enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), .needsSQLiteProgram,
  .enabled(if: ProofScript.isAvailable, "python3 is not installed"), .needsPreupdateHook, .disabled(if: isInMemory))
struct ForeignCommitProof {
  @Test func loopsReceiveEachChangeOfFourProcessesOnce() async throws {
    let isSweep = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(
        filepath: directory + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
      try await pool.transaction { db in
        try db.createTables(Member.self, ProofBike.self)
        try ChangeLog(Member.self, ProofBike.self).create(db)
      }
      let members = FollowedCopy(Member.self, in: pool) { $0.id }
      let bikes = FollowedCopy(ProofBike.self, in: pool) { $0.id }
      let seed = SeededGenerator.seed
      let shell = try ShellLoop(directory, seed: seed)
      let processes = [
        try ProofScript.start(directory, seed: seed),
        try TestProgram.start(
          "ChangeProofWorker", environment: [ChangeProof.variable: "handle \(seed) \(directory)"]),
      ]
      defer {
        shell.end()
        for process in processes {
          process.signal(SIGKILL)
          process.waitUntilExit()
        }
      }
      var random = SeededGenerator(seed: seed)
      let end = ContinuousClock.now + .seconds(isSweep ? 600 : 4)
      // On a busy machine, the time alone does not suffice for enough changes.
      let limit = end + .seconds(1_200)
      func needsMore() -> Bool {
        guard !members.hasFailed, !bikes.hasFailed, ContinuousClock.now < limit else { return false }
        return members.count <= 100 || bikes.count <= 100
      }
      while ContinuousClock.now < end || needsMore() {
        let steps = (0..<Int.random(in: 1...4, using: &random)).map { _ in random.proofStep() }
        let isUndone = random.chance(10)
        try await pool.transaction { db in
          for step in steps { try db.execute(step) }
          return isUndone ? .rollback : .commit
        }
        // The monitor judges commits of others by the pool's own, so the pool must sometimes be idle.
        try await Task.sleep(for: .microseconds(random.chance(10) ? 50_000 : Int.random(in: 0..<3_000, using: &random)))
      }
      _ = FileManager.default.createFile(atPath: directory + "/pause", contents: nil)
      shell.pause()
      try await until {
        ["handle", "python"].allSatisfy { access(directory + "/paused-\($0)", F_OK) == 0 }
      }
      let end1 = try await Member.read().orderBy(Member.id).run(pool)
      let end2 = try await ProofBike.read().orderBy(ProofBike.id).run(pool)
      try await until { members.rows == end1 && bikes.rows == end2 || members.hasFailed || bikes.hasFailed }
      #expect(members.problem == nil && bikes.problem == nil)
      #expect(members.rows == end1)
      #expect(bikes.rows == end2)
      #expect(members.count > 100 && bikes.count > 100)
      try await pool.close()
      for name in files(in: directory) where name.hasPrefix("problem") {
        Issue.record("\(try String(contentsOfFile: directory + "/" + name, encoding: .utf8))")
      }
    }
  }
}

/// A copy of a table, to which a loop applies each change.
private final class FollowedCopy<Model: Sqlable & Equatable & Sendable>: Sendable {
  private struct State {
    var rows: [Int: Model] = [:]
    var count = 0
    var problem: String?
  }

  private let state = LockedValue(State())

  init(_ model: Model.Type, in pool: SqlitePool, id: @escaping @Sendable (Model) -> Int) {
    let changes = pool.modelChanges(on: model, buffering: 1_000_000)
    Task { [self] in
      for await event in changes {
        let problem: String? =
          switch event {
          case .missed: "missed after \(count) changes"
          case .row(let row): apply(row, id)
          }
        guard let problem else { continue }
        return state.withLock { $0.problem = problem }
      }
    }
  }

  private func apply(_ change: ModelChange<Model>, _ id: (Model) -> Int) -> String? {
    do {
      let (old, new) = (try change.old(), try change.new())
      return state.withLock { state in
        state.count += 1
        if let old {
          guard state.rows.removeValue(forKey: id(old)) == old else { return "\(change.row) of another row" }
        }
        if let new {
          guard state.rows[id(new)] == nil else { return "\(change.row) of a row that is there" }
          state.rows[id(new)] = new
        }
        return nil
      }
    } catch { return "\(change.row): \(error)" }
  }

  var rows: [Model] { state.withLock { state in state.rows.sorted { $0.key < $1.key }.map(\.value) } }
  var count: Int { state.withLock { $0.count } }
  var problem: String? { state.withLock { $0.problem } }
  var hasFailed: Bool { problem != nil }
}
