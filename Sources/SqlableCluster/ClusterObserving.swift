#if Cluster
import Sqlable
import Dispatch

extension SqliteCluster: ObservedDatabase {
  public var registrations: Registrations { feed.root.registrations }

  /// Returns the rows of the model's table that transactions of all clients change from now on, as an asynchronous
  /// sequence.
  ///
  /// ```swift
  /// for await case .row(let row) in try await cluster.changes(on: Bicycle.self, .update) { print(row.id) }
  /// ```
  ///
  /// The first call for a table creates the triggers that log its changes, in the same transaction, in the table
  /// `sqlable_change`; each client reads that after its own commits, and every `pollInterval`. Rows come in the order
  /// of the log, each once; `.missed` stands for those that may be missing, as on a pool, and comes when the schema was
  /// changed, or the log was trimmed meanwhile. A row that a conflict replaced is not reported as deleted.
  ///
  /// Throws what `transaction` throws, `.schema(.missingTable)` without the table.
  public func changes<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) async throws -> Changes<RowChange> {
    let observed = try ObservedRows(model, change, in: tableName, id: id)
    try await feed.follow([observed.observer.table], self)
    return Changes(ChangeSubscription(feed.feed, observed, limit)) { $0 }
  }

  /// Calls `body` with the id of each row of the model's table that a transaction of any client changes: after the
  /// commit, on ``queue``; see ``changes(on:_:in:id:buffering:)``.
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

  /// Calls `body` with each changed row: its change, its id and key.
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
  /// Returns a live result: what running it on a cluster gives, at once and again after commits of any client that
  /// change a table it reads.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: cluster) { print(bikes.count) }
  /// ```
  ///
  /// Each loop reads for itself; a result equal to the one before is skipped. Commits become known after at most
  /// `pollInterval`. Throws `.invalidStatement` for what writes, or reads what can't be followed, such as virtual
  /// tables, and ends with an error of a read.
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
    /// The statements that it has sent, and the tables that they read.
    private var texts: Set<String> = []
    private var tables: Set<[UInt8]> = []
    private var mark: ClusterFeed.Mark?
    private var answers: [SqlAnswer]?
    private var isEnded = false

    fileprivate init(_ source: ClusterUpdates) { self.source = source }

    /// Returns the result when it differs from the last one; nil when the client was closed.
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
            // Their changes are logged from here on, and not from before: the result is read once more.
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
  /// Follows the tables that SQL reads, and returns them.
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

/// Keeps what a cluster has answered.
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
