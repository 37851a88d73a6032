import Foundation
import Sqlable
import SqlableBackup
import SqlableTenants
import Synchronization

extension Program {
  /// Random calls of 64 tasks on 1,000 tenants, of which 50 are open, and backups of all meanwhile. Memory, threads and
  /// open files must stay.
  func soak(_ duration: Duration) async throws {
    let (tenants, other) = (
      try tenants(in: directory + "/here", open: 50), try tenants(in: directory + "/there", open: 10)
    )
    let template = directory + "/template.backup"
    _ = try await Note("template").insert().run(tenants["template"])
    try await tenants["template"].withPool { pool in try await pool.backup(to: template) }
    let (begin, end) = (ContinuousClock.now, ContinuousClock.now + duration)
    let (calls, failures) = (CallCount(), FailureCount())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          while ContinuousClock.now < end {
            let begin = ContinuousClock.now
            do { try await randomCall(tenants, other, template) } catch { failures.add(error) }
            calls.add(begin.duration(to: .now))
          }
        }
      }
      group.addTask {
        while ContinuousClock.now < end {
          do {
            let report = try await tenants.backup(to: directory + "/backups", keep: .seconds(30))
            for failure in report.failures { failures.add(failure.error) }
          } catch { failures.add(error) }
          try await Task.sleep(for: min(.seconds(60), max(.milliseconds(1), ContinuousClock.now.duration(to: end))))
        }
      }
      group.addTask {
        while ContinuousClock.now < end {
          try await Task.sleep(for: min(.seconds(60), max(.milliseconds(1), ContinuousClock.now.duration(to: end))))
          let use = ProcessUse.now()
          let minutes = Int((begin.duration(to: .now) / .seconds(60)).rounded())
          print(
            "\(minutes) min: \(use.memory / 1_000) kB, \(use.threads) threads, \(use.files) files, "
              + "\(calls.count) calls, longest \(text: calls.longest), \(tenants.statistics.open) open")
          failures.report()
          fflush(nil)
        }
      }
      try await group.waitForAll()
    }
    for tenants in [tenants, other] { try await tenants.close() }
    let use = ProcessUse.now()
    print(
      "closed: \(use.memory / 1_000) kB, of which \(ProcessUse.allocated / 1_000) kB are allocated, "
        + "\(use.threads) threads, \(use.files) files")
    fflush(nil)
  }

  private func randomCall(_ tenants: SqliteTenants, _ other: SqliteTenants, _ template: String) async throws {
    let (name, newName) = ("soak-\(Int.random(in: 0..<1_000))", "soak-\(Int.random(in: 0..<1_000))")
    switch Int.random(in: 0..<1_000) {
    case 0..<550: _ = try await Note.byId(1).run(tenants[name])
    case 550..<900: _ = try await Note("row").insert().run(tenants[name])
    case 900..<920: try await tenants.delete(name)
    case 920..<940: try await tenants.copy(name, to: newName)
    case 940..<960: try await tenants.rename(name, to: newName)
    case 960..<980:
      try await tenants[name].withPool { pool in
        var count = 0
        for try await _ in Note.count().updates(in: pool) {
          count += 1
          if count == 3 { break }
          _ = try await Note("loop").insert().run(pool)
        }
      }
    case 980..<984: try await tenants.restore(name, from: template)
    case 984..<986:
      try await tenants.handOver(name) { try await other.receive($0) }
      try await other.handOver(name) { try await tenants.receive($0) }
    default:
      let call = Task { _ = try await Note.read().run(tenants[name]) }
      await Task.yield()
      call.cancel()
      _ = await call.result
    }
  }
}

/// The errors that the soak does not expect, by kind.
private final class FailureCount: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func add(_ error: any Error) {
    if let error = error as? SqlError, error.isOrdinary { return }
    counts.withLock { $0[String(describing: error), default: 0] += 1 }
  }

  func report() {
    for (error, count) in counts.withLock({ $0 }) { print("  \(count) times: \(error)") }
  }
}

extension SqlError {
  /// True for the errors of calls on tenants that other tasks change.
  fileprivate var isOrdinary: Bool {
    switch kind {
    case .tenant, .busy: true
    default: false
    }
  }
}
