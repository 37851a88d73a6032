import Sqlable
import SqlableTenants

extension Program {
  /// Random calls of 64 tasks on 1,000 tenants, of which 50 are open. Memory, threads and open files must stay.
  func soak(_ duration: Duration) async throws {
    let tenants = try tenants(open: 50)
    let end = ContinuousClock.now + duration
    let calls = CallCount()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          while ContinuousClock.now < end {
            let begin = ContinuousClock.now
            do { try await randomCall(tenants) } catch let error as SqlError where error.isOrdinary {}
            calls.add(begin.duration(to: .now))
          }
        }
      }
      group.addTask {
        while ContinuousClock.now < end {
          try await Task.sleep(for: min(.seconds(60), max(.milliseconds(1), ContinuousClock.now.duration(to: end))))
          let use = ProcessUse.now()
          print(
            "\(use.memory / 1_000) kB, \(use.threads) threads, \(use.files) files, \(calls.count) calls, "
              + "longest \(text: calls.longest), \(tenants.statistics.open) open")
        }
      }
      try await group.waitForAll()
    }
    try await tenants.close()
    let use = ProcessUse.now()
    print("closed: \(use.memory / 1_000) kB, \(use.threads) threads, \(use.files) files")
  }

  private func randomCall(_ tenants: SqliteTenants) async throws {
    let (name, other) = ("soak-\(Int.random(in: 0..<1_000))", "soak-\(Int.random(in: 0..<1_000))")
    switch Int.random(in: 0..<1_000) {
    case 0..<550: _ = try await Note.byId(1).run(tenants[name])
    case 550..<900: _ = try await Note("row").insert().run(tenants[name])
    case 900..<920: try await tenants.delete(name)
    case 920..<940: try await tenants.copy(name, to: other)
    case 940..<960: try await tenants.rename(name, to: other)
    case 960..<980:
      try await tenants[name].withPool { pool in
        var count = 0
        for try await _ in Note.count().updates(in: pool) {
          count += 1
          if count == 3 { break }
          _ = try await Note("loop").insert().run(pool)
        }
      }
    default:
      let call = Task { _ = try await Note.read().run(tenants[name]) }
      await Task.yield()
      call.cancel()
      _ = await call.result
    }
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
