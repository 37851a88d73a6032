import CBaseline
import Dispatch
import Foundation
import Sqlable
import Synchronization

extension Suite {
  /// Callers who each want their row on the disk before they go on.
  var sharedCommits: [Workload] {
    let count = fixture.scaled(4_096)
    return [
      workload("W11", "inserts that are on the disk, synchronous=FULL, by one caller or by 64", operations: count) {
        try durableInserts(count)
      }
    ]
  }

  private func durableInserts(_ count: Int) throws -> [Workload.Contender] {
    let rows = (1...count).map { MixedRow(number: $0) }
    let typed = rows.map { Typed($0) }
    let rawRows = RawRows(rows)
    let (c, db) = (try fixture.rawWriter(.c), try fixture.writer())
    try c.execute("PRAGMA synchronous = FULL")
    try db.execute("PRAGMA synchronous = FULL")
    let pool = try SqlitePool(
      filepath: fixture.path(of: .sqlable), configuration: PoolConfiguration(handles: .init(synchronous: .full)))
    /// What each caller inserts, one after the other.
    let shares = (0..<Callers.count).map { caller in
      stride(from: caller, to: count, by: Callers.count).map { typed[$0] }
    }
    return [
      writing(Name.c, .c) { baseline_insert(c.db, rawRows.rows.baseAddress, rawRows.count) },
      writing(Name.typed, .sqlable) { try typed.reduce(0) { $0 &+ UInt64(try $1.insert().run(db)) } },
      writing(Name.typed + " pool, 64 threads", .sqlable) {
        try Callers.sum { caller in try shares[caller].reduce(0) { $0 &+ UInt64(try $1.insert().run(pool)) } }
      },
      writing(Name.typed + " pool, 64 tasks", .sqlable) {
        try Callers.sum { caller in
          var sum: UInt64 = 0
          for row in shares[caller] { sum &+= UInt64(try await row.insert().run(pool)) }
          return sum
        }
      },
    ]
  }
}

/// Many who call at the same time.
enum Callers {
  static let count = 64

  /// The sum of what threads give.
  static func sum(_ body: @escaping @Sendable (_ caller: Int) throws -> UInt64) throws -> UInt64 {
    let results = Mutex<(sum: UInt64, error: (any Error)?)>((0, nil))
    let group = DispatchGroup()
    for caller in 0..<count {
      group.enter()
      Thread.detachNewThread {
        let result = Swift.Result { try body(caller) }
        results.withLock { results in
          switch result {
          case .success(let sum): results.sum &+= sum
          case .failure(let error): results.error = error
          }
        }
        group.leave()
      }
    }
    group.wait()
    return try results.withLock { results in
      if let error = results.error { throw error }
      return results.sum
    }
  }

  /// The sum of what tasks give.
  static func sum(_ body: @escaping @Sendable (_ caller: Int) async throws -> UInt64) throws -> UInt64 {
    try blocking {
      try await withThrowingTaskGroup(of: UInt64.self) { group in
        for caller in 0..<count { group.addTask { try await body(caller) } }
        return try await group.reduce(0, &+)
      }
    }
  }
}

/// Waits for what a task gives.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
  let result = Mutex<Swift.Result<Value, any Error>?>(nil)
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    let value: Swift.Result<Value, any Error>
    do { value = .success(try await body()) } catch { value = .failure(error) }
    result.withLock { $0 = value }
    done.signal()
  }
  done.wait()
  guard let value = result.withLock({ $0 }) else { throw CancellationError() }
  return try value.get()
}
