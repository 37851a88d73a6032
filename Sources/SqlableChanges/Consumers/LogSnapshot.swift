import SqlableCore
import SqlablePool

/// The rows of a snapshot that a new consumer receives first.
package struct LogSnapshot<Change: Sendable>: AsyncSequence, Sendable {
  package enum Source: Sendable {
    case pool(PoolRows<SnapshotRow<Change>>)
    /// A call that returns all rows.
    case call(@Sendable () async throws -> [SnapshotRow<Change>])
  }

  private let source: Source

  package init(_ source: Source) { self.source = source }

  package func makeAsyncIterator() -> Iterator {
    switch source {
    case .pool(let rows): Iterator(rows: rows.makeAsyncIterator(), call: nil)
    case .call(let call): Iterator(rows: nil, call: call)
    }
  }

  package struct Iterator: AsyncIteratorProtocol {
    fileprivate var rows: PoolRows<SnapshotRow<Change>>.Iterator?
    /// The call that reads the rows; nil after the call.
    fileprivate var call: (@Sendable () async throws -> [SnapshotRow<Change>])?
    private var received: ArraySlice<SnapshotRow<Change>> = []

    fileprivate init(
      rows: PoolRows<SnapshotRow<Change>>.Iterator?, call: (@Sendable () async throws -> [SnapshotRow<Change>])?
    ) {
      (self.rows, self.call) = (rows, call)
    }

    package mutating func next() async throws -> SnapshotRow<Change>? { try await next(isolation: #isolation) }

    package mutating func next(isolation actor: isolated (any Actor)?) async throws -> SnapshotRow<Change>? {
      if let call = call.take() { received = try await call()[...] }
      return try await rows == nil ? received.popFirst() : rows?.next(isolation: actor)
    }
  }
}
