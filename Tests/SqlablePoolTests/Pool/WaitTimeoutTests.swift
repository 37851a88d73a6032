import Dispatch
import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Messages of calls that wait longer than the `waitTimeout`.
@Suite struct WaitTimeoutTests {
  @Test func aTimeoutNamesTheCallsThatHeldTheReader() throws {
    try withPool(PoolConfiguration(readers: 1, waitTimeout: .seconds(5))) { pool in
      let lengths = (2...4).map { "the call at Long.swift:1 held the handle for \($0)." }
      var message = ""
      // On a busy machine, the calls can take longer: one attempt in five is enough.
      for _ in 0..<5 where !lengths.contains(where: { message.contains($0) }) {
        message = messageOfATimeout(pool)
      }
      #expect(lengths.contains { message.contains($0) }, "\(message)")
    }
  }

  /// The message of a read that waits for the only reader, while one call and then another one hold it.
  private func messageOfATimeout(_ pool: SqlitePool) -> String {
    let errors = Collected<SqlError>()
    let isHeld = DispatchSemaphore(value: 0)
    let release = DispatchSemaphore(value: 0)
    onThreads(3) { thread in
      switch thread {
      case 0:
        let hold = {
          try pool.read(file: "Long.swift", line: 1) { _ in
            isHeld.signal()
            isHeld.signal()
            WaitTimeoutTests.waitForReads(2, pool)
            usleep(2_000_000)
          }
        }
        while (try? hold()) == nil { usleep(1_000) }
      case 1:
        isHeld.wait()
        // This call waits first, so it gets the reader before the other call times out.
        try? pool.read(file: "Short.swift", line: 2) { _ in release.wait() }
      default:
        isHeld.wait()
        WaitTimeoutTests.waitForReads(1, pool)
        if let error = sqlError({ try pool.read { _ in } }) { errors.append(error) }
        release.signal()
      }
    }
    return errors.values.first?.message ?? ""
  }

  /// Waits until this many reads wait, or for four seconds.
  private static func waitForReads(_ count: Int, _ pool: SqlitePool) {
    let end = ContinuousClock.now + .seconds(4)
    while pool.statistics.waitingReads < count, ContinuousClock.now < end { usleep(200) }
  }
}
