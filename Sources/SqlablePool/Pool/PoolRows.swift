// Rows of a query, read one after another in async code.

import Dispatch
import SqlableCore

extension SelectStatement where Row: Sendable {
  /// Returns the rows of the query as a sequence that holds only some rows in memory.
  ///
  /// ```swift
  /// for try await bike in Bicycle.read().orderBy(Bicycle.id).rows(in: pool) { try await upload(bike) }
  /// ```
  ///
  /// All rows belong to one snapshot. Each loop runs the query, and holds a reader from the first row until the loop
  /// ends: by the last row, a `break` or an error. About 64 rows are in memory. The reader waits while the body of the
  /// loop runs, so keep the loop short: the WAL can't be reset meanwhile. A body that reads from the pool needs another
  /// reader.
  ///
  /// Throws the errors of running the query, and `CancellationError` if the task is cancelled. The deadline of
  /// ``withDeadline(_:_:)`` and the limits of the pool's configuration apply to the whole loop.
  public func rows(
    in pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) -> some AsyncSequence<Row, any Error> & Sendable {
    let query = asSelect()
    return PoolRows(pool: pool, callSite: CallSite(file: file, line: line)) { db, body in
      try query.forEach(db) { row in
        try body(row)
        return .continue
      }
    }
  }
}

/// The rows of a query on a pool, one after another; see `rows(in:)`.
package struct PoolRows<Row: Sendable>: AsyncSequence, Sendable {
  fileprivate let pool: SqlitePool
  fileprivate let callSite: CallSite
  /// A closure that runs the query on a reader, outside a transaction, and passes each row to another closure.
  fileprivate let read: @Sendable (SqliteDatabase, (Row) throws -> Void) throws -> Void

  package init(
    pool: SqlitePool, callSite: CallSite,
    read: @escaping @Sendable (SqliteDatabase, (Row) throws -> Void) throws -> Void
  ) {
    (self.pool, self.callSite, self.read) = (pool, callSite, read)
  }

  package func makeAsyncIterator() -> Iterator { Iterator(rows: self) }

  /// The loop over the rows, which begins to read when the first row is requested.
  package struct Iterator: AsyncIteratorProtocol {
    private let rows: PoolRows
    private var reading: Reading?
    private var received: ArraySlice<Row> = []
    private var isEnded = false

    fileprivate init(rows: PoolRows) { self.rows = rows }

    /// Returns the next row; nil after the last row, and after an error.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws -> Row? {
      guard !isEnded else { return nil }
      do {
        try Task.checkCancellation()
        if received.isEmpty {
          let reading = reading ?? Reading(rows)
          self.reading = reading
          received = try await reading.buffer.take()[...]
        }
      } catch {
        end()
        throw error
      }
      if received.isEmpty { end() }
      return received.popFirst()
    }

    private mutating func end() { (isEnded, reading, received) = (true, nil, []) }
  }

  /// The call that reads the rows. Releasing this object ends the call.
  fileprivate final class Reading: Sendable {
    let buffer = RowBuffer<Row>()
    private let task: Task<Void, Never>

    init(_ rows: PoolRows) {
      task = Task { [buffer] in
        do {
          try await rows.pool.perform(.read, at: rows.callSite) { db in
            try rows.read(db) { row in try buffer.add(row, checking: db.checkInterruption) }
          }
          buffer.end(.success(()))
        } catch { buffer.end(.failure(error)) }
      }
    }

    deinit {
      // End the buffer, because interrupting SQLite does not wake a reader that waits for space in the buffer.
      buffer.end(.failure(CancellationError()))
      task.cancel()
    }
  }
}

/// The rows that were read and not yet received. The thread of the reader waits while the buffer is full.
private final class RowBuffer<Row: Sendable>: Sendable {
  private struct State {
    var rows: [Row] = []
    var waiter: CheckedContinuation<[Row], any Error>?
    var outcome: Result<Void, any Error>?
  }

  private static var capacity: Int { 32 }
  /// The interval at which a thread that waits for space in the buffer checks for an interruption. Stopping the call
  /// does not wake the thread.
  private static var interval: DispatchTimeInterval { .milliseconds(20) }

  private let state = LockedValue(State())
  private let space = DispatchSemaphore(value: 0)

  /// Adds a row; waits while the buffer is full.
  func add(_ row: Row, checking check: () throws -> Void) throws {
    while true {
      let isAdded = try state.withLock { state in
        if case .failure(let error) = state.outcome { throw error }
        guard state.rows.count < RowBuffer.capacity else { return false }
        state.rows.append(row)
        return true
      }
      if isAdded { return deliver() }
      try SharedThreads.whileBlockedByCaller {
        while space.wait(timeout: .now() + RowBuffer.interval) == .timedOut { try check() }
      }
    }
  }

  /// Ends the sequence of rows with an outcome. Has no effect if the sequence already has an outcome.
  func end(_ outcome: Result<Void, any Error>) {
    state.withLock { state in if state.outcome == nil { state.outcome = outcome } }
    deliver()
    space.signal()
  }

  /// Waits for rows, and returns them; returns an empty array after the last row.
  func take() async throws -> [Row] {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.waiter = continuation }
        deliver()
      }
    } onCancel: {
      end(.failure(CancellationError()))
    }
  }

  /// Resumes the waiting loop if there are rows or an outcome. Rows that were read before an error are delivered before
  /// the error.
  private func deliver() {
    typealias Waiter = CheckedContinuation<[Row], any Error>
    let delivery = state.withLock { state -> (waiter: Waiter, result: Result<[Row], any Error>, wasFull: Bool)? in
      guard let waiter = state.waiter else { return nil }
      guard !state.rows.isEmpty || state.outcome != nil else { return nil }
      defer { (state.waiter, state.rows) = (nil, []) }
      let result = state.rows.isEmpty ? state.outcome.map { $0.map { [] } } ?? .success([]) : .success(state.rows)
      return (waiter, result, state.rows.count == RowBuffer.capacity)
    }
    guard let delivery else { return }
    if delivery.wasFull { space.signal() }
    delivery.waiter.resume(with: delivery.result)
  }
}
