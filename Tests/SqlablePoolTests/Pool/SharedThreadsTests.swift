import Foundation
import SqlableCore
import Testing

@testable import SqlablePool
@testable import SqlableTestSupport

@Suite struct SharedThreadsTests {
  @Test func closuresRunInOrderOnAtMostTheLimit() async throws {
    let threads = SharedThreads(limit: 3)
    let (order, running) = (Mutex<[Int]>([]), Mutex((now: 0, most: 0)))
    for index in 0..<500 {
      threads.async {
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        if index % 50 == 0 { usleep(1_000) }
        order.withLock { $0.append(index) }
        running.withLock { $0.now -= 1 }
      }
    }
    try await until { order.withLock { $0.count } == 500 }
    #expect(running.withLock { $0.most } <= 3)
    #expect(threads.count <= 3)
    let single = SharedThreads(limit: 1)
    let inOrder = Mutex<[Int]>([])
    for index in 0..<500 { single.async { inOrder.withLock { $0.append(index) } } }
    try await until { inOrder.withLock { $0.count } == 500 }
    #expect(inOrder.withLock { $0 } == Array(0..<500))
  }

  @Test func aBlockedThreadHasAStandIn() async throws {
    let threads = SharedThreads(limit: 1)
    let done = Mutex(0)
    let release = DispatchSemaphore(value: 0)
    threads.async { SharedThreads.whileBlocked { release.wait() } }
    threads.async { done.withLock { $0 += 1 } }
    try await until { done.withLock { $0 } == 1 }
    // A second blocked thread has no stand-in: there are at most twice as many threads as the limit.
    threads.async {
      done.withLock { $0 += 1 }
      SharedThreads.whileBlocked { release.wait() }
    }
    threads.async { done.withLock { $0 += 1 } }
    try await until { done.withLock { $0 } == 2 }
    #expect(threads.count == 2)
    #expect(done.withLock { $0 } == 2)
    release.signal()
    try await until { done.withLock { $0 } == 3 }
    release.signal()
    try await until { threads.count <= 1 }
  }

  @Test func waitsForCallersDoNotCount() async throws {
    let threads = SharedThreads(limit: 1)
    let (waiting, done) = (Mutex(0), Mutex(0))
    let release = DispatchSemaphore(value: 0)
    for _ in 0..<5 {
      threads.async {
        waiting.withLock { $0 += 1 }
        SharedThreads.whileBlockedByCaller { release.wait() }
        done.withLock { $0 += 1 }
      }
    }
    try await until { waiting.withLock { $0 } == 5 }
    for _ in 0..<5 { release.signal() }
    try await until { done.withLock { $0 } == 5 }
  }

  @Test func idleThreadsEnd() async throws {
    let threads = SharedThreads(limit: 4)
    let done = Mutex(0)
    for _ in 0..<100 { threads.async { done.withLock { $0 += 1 } } }
    try await until { done.withLock { $0 } == 100 }
    try await until { threads.count == 0 }
    threads.async { done.withLock { $0 += 1 } }
    try await until { done.withLock { $0 } == 101 }
  }
}
