import Dispatch
import Foundation
import Glibc
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Worker threads of pools.
@Suite struct PoolThreadTests {
  /// Dispatch has at most 255 threads for a process.
  @Test func blockedReadersDoNotStarveOtherPoolsAndQueues() async throws {
    try await withMembers { pool in
      let blocked = try (0..<70).map { _ in try SqlitePool(filepath: pool.filepath) }
      let (waiting, goOn) = (Collected<Int>(), DispatchSemaphore(value: 0))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for pool in blocked {
          for _ in 0..<4 {
            group.addTask {
              try await pool.read { db in
                waiting.append(1)
                goOn.wait()
              }
            }
          }
        }
        try await until { waiting.values.count == 280 }
        let count = try await pool.read { db in try Member.count().run(db) }
        #expect(count == 0)
        await withCheckedContinuation { continuation in DispatchQueue(label: "other").async { continuation.resume() } }
        for _ in waiting.values { goOn.signal() }
        try await group.waitForAll()
      }
      for pool in blocked { try await pool.close() }
    }
  }

  private static func isAlive(_ thread: Int32) -> Bool { access("/proc/self/task/\(thread)", F_OK) == 0 }

  /// Returns the id of the thread that a worker has started.
  private func thread(of worker: WorkerThread) async -> Int32 {
    await withCheckedContinuation { continuation in
      worker.async {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        continuation.resume(returning: path?.split(separator: "/").last.flatMap { Int32($0) } ?? 0)
      }
    }
  }

  @Test func threadEndsWithItsWorkerOrWhenIdle() async throws {
    let first = await thread(of: WorkerThread())
    try await until { !PoolThreadTests.isAlive(first) }
    let idle = WorkerThread()
    let second = await thread(of: idle)
    try await until { !PoolThreadTests.isAlive(second) }
    // The next block starts another thread.
    _ = await thread(of: idle)
  }

  @Test func aWorkerRunsItsBlocksInOrder() async throws {
    let (worker, done) = (WorkerThread(), Collected<Int>())
    for number in 0..<1_000 { worker.async { done.append(number) } }
    try await until { done.values.count == 1_000 }
    #expect(done.values == Array(0..<1_000))
  }
}
