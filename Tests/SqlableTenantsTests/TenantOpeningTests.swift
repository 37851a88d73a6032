import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct TenantOpeningTests {
  @Test func aTenantIsCreatedAtItsFirstUse() async throws {
    try await withTenants { tenants in
      #expect(try !tenants.contains("acme"))
      try await tenants["acme"].add("first")
      #expect(try tenants.contains("acme"))
      #expect(try await tenants["acme"].texts() == ["first"])
      #expect(try await tenants["other"].texts() == [])
      let count = try await tenants["acme"].read { db in try Note.count().run(db) }
      #expect(count == 1)
      try await tenants["acme"].transaction { db in try Note("second").insert().run(db) }
      #expect(try await tenants["acme"].texts() == ["first", "second"])
    }
  }

  @Test func aMissingTenantIsRefusedOnRequest() async throws {
    try await withTenants(TenantsConfiguration(createsMissing: false)) { tenants in
      await expectAsync(.tenant(.missing)) { try await tenants["acme"].add("1") }
      #expect(try !tenants.contains("acme"))
      try await tenants.create("acme")
      try await tenants["acme"].add("1")
      await expectAsync(.tenant(.exists)) { try await tenants.create("acme") }
    }
  }

  @Test func manyTasksOpenATenantOnce() async throws {
    try await withTenants { tenants in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<200 { group.addTask { try await tenants["t\(index % 4)"].add("\(index)") } }
        try await group.waitForAll()
      }
      #expect(tenants.statistics.opened == 4)
      for index in 0..<4 { #expect(try await tenants["t\(index)"].texts().count == 50) }
    }
  }

  @Test func openTenantsAreLimitedInAStorm() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 5, threads: 2, waitTimeout: .seconds(300))
    try await withTenants(configuration) { tenants in
      let most = Mutex(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<300 {
          group.addTask {
            try await tenants["t\(index % 60)"].add("\(index)")
            let statistics = tenants.statistics
            most.withLock { $0 = max($0, statistics.open) }
            #expect(statistics.threads <= 4)
          }
        }
        try await group.waitForAll()
      }
      #expect(most.withLock { $0 } <= 5)
      for index in 0..<60 { #expect(try await tenants["t\(index)"].texts().count == 5) }
      #expect(tenants.statistics.waiting == 0)
    }
  }

  @Test func theLeastRecentlyUsedTenantIsClosed() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 3)) { tenants in
      for name in ["a", "b", "c", "a", "d"] { try await tenants[name].add("1") }
      // "b" was closed. Opening it again closes "c".
      let opened = tenants.statistics.opened
      #expect(opened == 4)
      for name in ["a", "d"] { _ = try await tenants[name].texts() }
      #expect(tenants.statistics.opened == opened)
      _ = try await tenants["b"].texts()
      #expect(tenants.statistics.opened == opened + 1)
      for name in ["a", "d"] { _ = try await tenants[name].texts() }
      #expect(tenants.statistics.opened == opened + 1)
    }
  }

  @Test func aTenantInUseIsNotClosed() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 1, waitTimeout: .seconds(300))) { tenants in
      try await tenants["a"].withPool { pool in
        // The end of another use is not the end of this one.
        #expect(try await tenants["a"].texts() == [])
        await expectAsync(.timeout) { try await withDeadline(.milliseconds(50)) { try await tenants["b"].add("1") } }
        try await Note("1").insert().run(pool)
      }
      try await tenants["b"].add("1")
      #expect(try await tenants["a"].texts() == ["1"])
    }
  }

  @Test func aSlowDeletionDoesNotHoldAnIdleTenantsPlace() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 2, waitTimeout: .seconds(300))
    try await withTenants(configuration) { tenants in
      for name in ["busy", "idle"] { try await tenants[name].add("1") }
      let (begun, isReleased) = (Mutex(false), Mutex(false))
      let call = Task {
        try await tenants["busy"].read { _ in
          begun.withLock { $0 = true }
          while !isReleased.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
        }
      }
      try await until { begun.withLock { $0 } }
      let deletion = Task { try await tenants.delete("busy") }
      // The deletion is closing the tenant when a call on it no longer gets a lease.
      try await until { tenants.withState { $0.openPools.count } == 1 }
      // "idle" is closed for this call, although the deletion will free another place.
      let next = Task { try await withDeadline(.seconds(300)) { try await tenants["next"].add("1") } }
      let outcome = await next.result
      isReleased.withLock { $0 = true }
      try outcome.get()
      try await deletion.value
      _ = await call.result
    }
  }

  @Test func callsThatStoppedWaitingCloseNoTenant() throws {
    let begin = ContinuousClock.now
    var state = TenantsState(maximumOpen: 2)
    func wait(_ name: String) throws -> (TenantWaiter, [TenantsState.Work]) {
      let waiter = TenantWaiter(isSweep: false, from: begin, until: nil) { _ in }
      guard case .waits(let work) = try state.enter(waiter, TenantName(name), maximum: 10) else {
        throw SqlError.misuse("\(name) is open")
      }
      return (waiter, work)
    }
    let pool = try SqlitePool.inMemory()
    defer { try? pool.close() }
    var leases: [TenantLease] = []
    for name in ["a", "b"] {
      guard case .open(let slot)? = try wait(name).1.first else { throw SqlError.misuse("\(name) gets no place") }
      leases += state.didOpen(slot, pool).0.map(\.1)
    }
    _ = try wait("first")
    // A tenant that waits for a place behind another, and is then claimed.
    _ = try wait("claimed")
    guard case .claimed = try state.claim(TenantName("claimed"), .waits) else { throw SqlError.misuse("not claimed") }
    let work = leases.flatMap { state.giveBack($0.slot) }
    #expect(work.count == 1)
    #expect(state.idle.count == 1)
  }

  @Test func aLiveResultKeepsItsTenantOpen() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 2, waitTimeout: .seconds(300))
    try await withTenants(configuration) { tenants in
      let (counts, continuation) = AsyncStream<Int>.makeStream()
      let loop = Task {
        try await tenants["live"].withPool { pool in
          for try await count in Note.count().updates(in: pool) { continuation.yield(count) }
        }
      }
      var received = counts.makeAsyncIterator()
      #expect(await received.next() == 0)
      for index in 0..<10 { try await tenants["t\(index)"].add("1") }
      try await tenants["live"].add("1")
      #expect(await received.next() == 1)
      // The loop's tenant was never opened again.
      #expect(tenants.statistics.opened == 11)
      loop.cancel()
      _ = await loop.result
    }
  }

  @Test func waitingCallsAreServedInOrder() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 1, waitTimeout: .seconds(300))
    try await withTenants(configuration) { tenants in
      for index in 0..<8 { try await tenants.create("t\(index)") }
      let order = Mutex<[Int]>([])
      var tasks: [Task<Void, any Error>] = []
      try await tenants["first"].withPool { _ in
        for index in 0..<8 {
          tasks.append(Task { try await tenants["t\(index)"].withPool { _ in order.withLock { $0.append(index) } } })
          try await until { tenants.statistics.waiting == index + 1 }
        }
      }
      for task in tasks { try await task.value }
      #expect(order.withLock { $0 } == Array(0..<8))
    }
  }

  @Test func aCallKeepsItsTurnWhileItsTenantIsCreated() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 1, waitTimeout: .seconds(300))
    try await withTenants(configuration) { tenants in
      let order = Mutex<[String]>([])
      var tasks: [Task<Void, any Error>] = []
      try await tenants["first"].withPool { _ in
        for (index, name) in ["x", "y"].enumerated() {
          tasks.append(Task { try await tenants[name].withPool { _ in order.withLock { $0.append(name) } } })
          try await until { tenants.statistics.waiting == index + 1 }
        }
        try await tenants.create("x")
      }
      for task in tasks { try await task.value }
      #expect(order.withLock { $0 } == ["x", "y"])
    }
  }

  @Test func aCancelledCallStopsWaiting() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 1, waitTimeout: nil)
    try await withTenants(configuration) { tenants in
      try await tenants["a"].withPool { _ in
        let task = Task { try await tenants["b"].add("1") }
        try await until { tenants.statistics.waiting == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(tenants.statistics.waiting == 0)
        await expectAsync(.timeout) { try await withDeadline(.milliseconds(20)) { try await tenants["b"].add("1") } }
      }
      #expect(try !tenants.contains("b"))
    }
  }

  @Test func tooManyWaitingCallsAreRefused() async throws {
    let configuration = TenantsConfiguration(maximumOpen: 1, waitTimeout: .seconds(300), maximumWaiting: 1)
    try await withTenants(configuration) { tenants in
      let task = try await tenants["a"].withPool { _ in
        let task = Task { try await tenants["b"].add("1") }
        try await until { tenants.statistics.waiting == 1 }
        await expectAsync(.busy) { try await tenants["c"].add("1") }
        return task
      }
      try await task.value
    }
  }

  @Test func aDamagedTenantFailsAlone() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 2)) { tenants in
      for name in ["good", "bad"] { try await tenants[name].add("1") }
      try await tenants.close()
      let again = try openTenants(tenants.directory.path, tenants.configuration)
      let path = try again.directory.file(of: TenantName("bad"))
      try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: path))
      await expectAsync(noDatabase) { _ = try await again["bad"].texts() }
      #expect(try await again["good"].texts() == ["1"])
      #expect(again.statistics.failed == 1)
      try await again.delete("bad")
      #expect(try await again.allNames() == ["good"])
      try await again["bad"].add("new")
      #expect(try await again["bad"].texts() == ["new"])
      try await again.close()
    }
  }

  @Test func lockedTenantsDelayNoOther() async throws {
    let pool = PoolConfiguration(handles: Configuration(busyTimeout: 900), readers: 1)
    try await withTenants(TenantsConfiguration(threads: 1, waitTimeout: .seconds(300), pool: pool)) { tenants in
      try await tenants.create("locked")
      let path = try tenants.directory.file(of: TenantName("locked"))
      let other = try SqliteDatabase(filepath: path)
      try other.execute("BEGIN IMMEDIATE")
      let waiting = Task { try await tenants["locked"].add("1") }
      // The only thread waits for the lock meanwhile.
      for index in 0..<5 { try await tenants["t\(index)"].add("1") }
      try other.execute("COMMIT")
      try await waiting.value
      #expect(try await tenants["locked"].texts() == ["1"])
      try other.close()
    }
  }

  @Test func aLockedDirectoryDelaysOnlyItsOwnTenants() async throws {
    let pool = PoolConfiguration(handles: Configuration(busyTimeout: 1), readers: 1)
    try await withTenants(TenantsConfiguration(threads: 1, waitTimeout: .seconds(300), pool: pool)) { tenants in
      for name in ["locked", "other"] { try await tenants.create(name) }
      #expect(try TenantName("locked").directory != TenantName("other").directory)
      let lock = try lockDirectory(of: "locked", tenants)
      let waiting = Task { try await tenants["locked"].add("1") }
      try await tenants["other"].add("1")
      await expectAsync(.busy) { try await waiting.value }
      // A child process that another test starts can still have the descriptor.
      flock(lock, LOCK_UN)
      close(lock)
      try await tenants["locked"].add("2")
      #expect(try await tenants["locked"].texts() == ["2"])
    }
  }

  @Test func slowLoopsOverRowsDelayNoOther() async throws {
    try await withTenants(TenantsConfiguration(threads: 1, waitTimeout: .seconds(300))) { tenants in
      for index in 0..<4 {
        _ = try await Note.insert((0..<200).map { Note("\($0)") }).run(tenants["t\(index)"])
      }
      var loops: [Task<Int, any Error>] = []
      let (steps, continuation) = AsyncStream<Void>.makeStream()
      let begun = Mutex(0)
      for index in 0..<4 {
        loops.append(
          Task {
            try await tenants["t\(index)"].withPool { pool in
              var count = 0
              for try await _ in Note.read().rows(in: pool) {
                if count == 0 {
                  begun.withLock { $0 += 1 }
                  for await _ in steps {}
                }
                count += 1
              }
              return count
            }
          })
      }
      try await until { begun.withLock { $0 } == 4 }
      try await tenants["other"].add("1")
      continuation.finish()
      for loop in loops { #expect(try await loop.value == 200) }
    }
  }

  @Test func twoKeepersShareADirectory() async throws {
    try await withTenants { tenants in
      let other = try openTenants(tenants.directory.path)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<20 {
          for keeper in [tenants, other] { group.addTask { try await keeper["t\(index)"].add("1") } }
        }
        try await group.waitForAll()
      }
      for index in 0..<20 { #expect(try await tenants["t\(index)"].texts() == ["1", "1"]) }
      // An open tenant is not deleted or moved under the other keeper.
      await expectAsync(.busy) { try await tenants.rename("t0", to: "u0") }
      try await other.close()
      try await tenants.rename("t0", to: "u0")
    }
  }

  @Test func aKeeperLeavesNothingBehind() async throws {
    weak var pool: SqlitePool?
    weak var keeper: SqliteTenants?
    try await withDirectoryAsync { directory in
      let tenants = try openTenants(directory)
      for index in 0..<200 { try await tenants["t\(index % 20)"].add("1") }
      try await tenants["t0"].withPool { pool = $0 }
      keeper = tenants
      try await tenants.close()
    }
    try await until { pool == nil && keeper == nil }
  }

  @Test func closedTenantsRefuseCalls() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      try await tenants.close()
      await expectAsync(.closed) { try await tenants["a"].add("2") }
      await expectAsync(.closed) { try await tenants["b"].add("2") }
      await expectAsync(.closed) { try await tenants.create("c") }
    }
  }

  @Test func closingWaitsForATenantThatIsBeingOpened() async throws {
    let pool = PoolConfiguration(handles: Configuration(busyTimeout: 900), readers: 1)
    try await withTenants(TenantsConfiguration(pool: pool)) { tenants in
      try await tenants.create("a")
      let lock = try lockDirectory(of: "a", tenants)
      let call = Task { try await tenants["a"].texts() }
      try await until { tenants.statistics.open == 1 }
      await expectAsync(.busy) { try await tenants.close(within: .zero) }
      await expectAsync(.closed) { _ = try await call.value }
      close(lock)
      try await tenants.close(within: .seconds(300))
      #expect(tenants.statistics.open == 0)
    }
  }

  @Test(arguments: [
    TenantsConfiguration(maximumOpen: 0), TenantsConfiguration(threads: 0),
    TenantsConfiguration(waitTimeout: .seconds(-1)), TenantsConfiguration(maximumWaiting: -1),
    TenantsConfiguration(pool: PoolConfiguration(readers: 0)),
    TenantsConfiguration(pool: PoolConfiguration(handles: Configuration(opensLazily: true))),
  ])
  func aBadConfigurationIsRefused(_ configuration: TenantsConfiguration) {
    withKnownDirectory { directory in
      expectMisuse {
        _ = try openTenants(directory, configuration)
      }
    }
  }

  private func withKnownDirectory(_ body: (String) -> Void) { try? withDirectory(body) }
}
