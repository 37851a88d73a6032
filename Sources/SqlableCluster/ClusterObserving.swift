#if Cluster
import Sqlable
import Dispatch

extension SqliteCluster: ObservedDatabase {
  public var registrations: Registrations { feed.root.registrations }

  /// Returns an asynchronous sequence of changed rows: the rows of the model's table that a transaction of any client
  /// changes after this call.
  ///
  /// ```swift
  /// for await case .row(let row) in try await cluster.changes(on: Bicycle.self, .update) { print(row.id) }
  /// ```
  ///
  /// The first call for a table creates the table `sqlable_change` and triggers that record changes in it. Each client
  /// reads `sqlable_change` after its own commits and every `pollInterval`. Changes are delivered once each, in the
  /// order of `sqlable_change`. As on a pool, `.missed` reports that changes might be missing. This happens after a
  /// schema change, or if entries were deleted before they were read. A row that a conflict clause replaced is not
  /// reported as deleted.
  ///
  /// Throws the errors of `transaction`, and `.schema(.missingTable)` if the table does not exist.
  public func changes<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) async throws -> Changes<RowChange> {
    let observed = try ObservedRows(model, change, in: tableName, id: id)
    try await feed.follow([observed.observer.table], self)
    return Changes(ChangeSubscription(feed.feed, observed, limit)) { $0 }
  }

  /// Calls `body` with the id of each row of the model's table that a transaction of any client changes. `body` runs on
  /// ``queue`` after the commit; see ``changes(on:_:in:id:buffering:)``.
  ///
  /// ```swift
  /// let token = try await cluster.observe(.update, on: Bicycle.self, id: 2) { id in … }
  /// ```
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (_ id: Int) throws -> Void
  ) async throws -> ObserverToken {
    try await observe(change, on: model, in: tableName, id: id) { (change: RowChange) in try body(change.id) }
  }

  /// Calls `body` with each changed row: the kind of change, the id and the key.
  @_disfavoredOverload
  @discardableResult
  public func observe<Model: Sqlable>(
    _ change: Change? = nil, on model: Model.Type, in tableName: String? = nil, id: (any SqlValue)? = nil,
    _ body: @escaping @Sendable (RowChange) throws -> Void
  ) async throws -> ObserverToken {
    let observer = try ObserverRegistry.Observer(of: model, change, in: tableName, id: id, body)
    try await feed.follow([observer.table], self)
    return feed.root.registry.add(observer)
  }
}

extension Runnable where Output: Sendable {
  /// Returns a live result. The sequence delivers the statement's present result, and a new result after commits of any
  /// client that change the statement's tables.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: cluster) { print(bikes.count) }
  /// ```
  ///
  /// Each loop runs its own reads. A result equal to the previous result is skipped. The client detects other clients'
  /// commits within `pollInterval`. Throws `.invalidStatement` for a statement that writes, or that reads a table whose
  /// changes can't be tracked, such as a virtual table. The sequence ends with the error of a failed read.
  public func updates(in cluster: SqliteCluster) -> ClusterUpdates<Self> {
    ClusterUpdates(work: self, cluster: cluster)
  }
}

/// A sequence of results of a statement on a cluster; see `updates(in:)`.
public struct ClusterUpdates<Work: Runnable>: AsyncSequence, Sendable where Work.Output: Sendable {
  let work: Work
  let cluster: SqliteCluster

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let source: ClusterUpdates
    /// The SQL texts that were sent, and the tables that these texts read.
    private var texts: Set<String> = []
    private var tables: Set<[UInt8]> = []
    private var mark: ClusterFeed.Mark?
    private var answers: [SqlAnswer]?
    private var isEnded = false

    fileprivate init(_ source: ClusterUpdates) { self.source = source }

    /// Returns the next result that differs from the previous result; nil if the client was closed.
    public mutating func next() async throws -> Work.Output? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Work.Output? {
      guard !isEnded else { return nil }
      let (work, cluster) = (source.work, source.cluster)
      do {
        guard work.isReadOnly else {
          throw SqlError.invalidStatement("a statement that writes has no live result")
        }
        while true {
          if let mark, try await !cluster.feed.waitForChange(of: tables, since: mark, isolation: actor) { break }
          mark = cluster.feed.mark
          let recorder = RecordingTransport(cluster)
          let output = try await work.run(over: recorder)
          let new = recorder.texts.subtracting(texts)
          if !new.isEmpty {
            // The change table records changes of these tables only from now on, so the result is read again.
            tables.formUnion(try await cluster.feed.follow(tablesOf: new, cluster))
            texts = texts.count > 1_000 ? new : texts.union(new)
            mark = nil
            continue
          }
          defer { answers = recorder.answers }
          if answers == nil || answers != recorder.answers { return output }
        }
      } catch {
        isEnded = true
        if (error as? SqlError)?.kind == .closed { return nil }
        throw error
      }
      isEnded = true
      return nil
    }
  }
}

extension ClusterFeed {
  fileprivate func follow(tablesOf texts: Set<String>, _ cluster: SqliteCluster) async throws -> Set<[UInt8]> {
    let copy = try await ClusterSchemaCopy(of: cluster)
    let read = try copy.db.running { connection in
      try texts.reduce(into: ReadColumns()) { all, text in all.formUnion(try connection.columnsRead(by: text)) }
    }
    guard !read.readsUnobserved else {
      throw SqlError.invalidStatement(
        "the statement reads a table whose changes a cluster can't track, such as a virtual table")
    }
    let tables = read.tables.keys.map { String(decoding: $0, as: UTF8.self) }
    try await follow(tables, cluster)
    return Set(tables.map(\.foldedName))
  }
}

private final class RecordingTransport: SqlTransport {
  private let cluster: SqliteCluster
  private let recorded = LockedValue<(texts: Set<String>, answers: [SqlAnswer])>(([], []))

  init(_ cluster: SqliteCluster) { self.cluster = cluster }

  var texts: Set<String> { recorded.withLock { $0.texts } }
  var answers: [SqlAnswer] { recorded.withLock { $0.answers } }

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    let answers = try await cluster.answers(to: requests)
    recorded.withLock { recorded in
      recorded.texts.formUnion(requests.map(\.sql))
      recorded.answers += answers
    }
    return answers
  }
}
#endif
