#if Cluster
import Sqlable
import Foundation

/// The client of a database that a cluster of dqlite nodes replicates. Needs the package trait `Cluster`.
///
/// ```swift
/// let cluster = try SqliteCluster(nodes: ["10.0.0.1:9000", "10.0.0.2:9000", "10.0.0.3:9000"])
/// let id = try await bike.insert().run(cluster)
/// let reds = try await Bicycle.read().filter(Bicycle.color == "red").run(cluster)
/// ```
///
/// The client finds the leader, and detects when the leader changes. A call returns once a majority of the nodes has
/// stored the call's writes. Without a leader, calls wait for a leader until their deadline. A request that certainly
/// did not run is retried. A commit that was sent but not answered throws `.outcomeUnknown`. With
/// ``ClusterConfiguration/confirmsReads``, a read sees every commit that was acknowledged before the read started.
/// Tasks can share a client.
public final class SqliteCluster: SqlTransport, CheckingTransport {
  public let configuration: ClusterConfiguration
  let leader: ClusterLeader
  let sessions: ClusterSessions
  private let writer: ClusterWriter
  private let confirmation: LeaderConfirmation?
  let feed: ClusterFeed
  let logCopies = ClusterLogCopies()
  let traces = TraceHub()
  let number = SqliteDatabase.newNumber()

  /// Creates a client of the cluster with these nodes, each in the form `host:port`. The client connects at the first
  /// call. One node that answers is enough, because the node lists the other nodes.
  ///
  /// Throws `.misuse` for an empty list, a malformed address or an invalid configuration.
  public init(nodes: [String], configuration: ClusterConfiguration = ClusterConfiguration()) throws {
    try configuration.check()
    guard !nodes.isEmpty else { throw SqlError.misuse("a cluster needs the address of at least one node") }
    self.configuration = configuration
    leader = ClusterLeader(nodes: try nodes.map { try NodeAddress($0) })
    confirmation = configuration.confirmsReads ? LeaderConfirmation(leader) : nil
    sessions = ClusterSessions(leader, confirmation, configuration)
    let feed = try ClusterFeed(configuration)
    writer = ClusterWriter(leader, confirmation, configuration) { [weak feed] in feed?.poke() }
    self.feed = feed
  }

  /// Runs requests. If all requests are reads, they run on a separate connection, in one snapshot. Otherwise the
  /// requests run together with the waiting writes, in one commit. If one of several requests fails, none is stored.
  public func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    try await answers(to: requests, check: nil)
  }

  package func answers(
    to requests: [SqlRequest], check: (@Sendable ([SqlAnswer]) throws -> Void)?
  ) async throws -> [SqlAnswer] {
    if let transaction = current { return try await transaction.answers(to: requests, check: check) }
    return try await traced(requests) { times in try await self.answers(to: requests, check, times) } ?? []
  }

  private func answers(
    to requests: [SqlRequest], _ check: (@Sendable ([SqlAnswer]) throws -> Void)?, _ times: CallTimes?
  ) async throws -> [SqlAnswer]? {
    try requests.check()
    if requests.isEmpty { return [] }
    let deadline = Deadline.after(configuration.timeout)
    guard requests.allSatisfy(\.isQuery) else {
      return try await writer.run(requests, check: check, before: deadline, times)
    }
    return try await sessions.attempt(before: deadline) { session in
      times?.didSend()
      defer { times?.didAnswer() }
      if requests.count == 1 { return [try await session.answer(to: requests[0], before: deadline)] }
      return try await ClusterSession.withSnapshot(on: session, before: deadline) {
        try await session.answers(to: requests, before: deadline)
      }
    }
  }

  /// Calls `body`, which runs the requests. Reports the requests to traces, if any trace is active.
  fileprivate func traced(
    _ requests: [SqlRequest], _ body: (CallTimes?) async throws -> [SqlAnswer]?
  ) async throws -> [SqlAnswer]? {
    guard !requests.isEmpty, let call = TracedCall(on: self) else {
      do { return try await body(nil) } catch { throw error.labelled(configuration.label) }
    }
    let isTransaction = requests.count > 1
    do {
      // Nil means that an earlier call with the same id has already stored its change.
      guard let answers = try await body(call.times) else { return nil }
      call.add(requests, .success(answers))
      if isTransaction { call.end(.committed) }
      await call.deliver()
      return answers
    } catch {
      let error = error.labelled(configuration.label)
      call.add(requests, .failure(error))
      if isTransaction { call.end(.init(error), error) }
      await call.deliver()
      throw error.traced
    }
  }

  @discardableResult
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await atSite(file, line) {
      do { return try await work.run(over: self) } catch { throw await reported(error) }
    }
  }

  /// Calls `body` with the file and line as the call site for trace events, if any trace is active.
  func atSite<Value>(
    _ file: StaticString, _ line: UInt, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    guard TraceCount.isPositive else { return try await body() }
    return try await TracedCall.$site.withValue(
      CallSite(file: file, line: line), operation: body, isolation: isolation)
  }

  /// Calls `body` in a transaction. The transaction commits when `body` returns, and rolls back when `body` throws.
  ///
  /// ```swift
  /// try await cluster.transaction { tx in
  ///   guard var bike = try await Bicycle.byId(7).run(tx) else { return }
  ///   bike.ownerId = owner
  ///   try await bike.update().run(tx)
  /// }
  /// ```
  ///
  /// No other write of the cluster runs during the transaction. If the leader is lost before the commit is sent,
  /// nothing is stored and `body` is called again. So `body` should have no effects outside the database. Calls on the
  /// cluster inside `body` belong to the transaction. Throws `.outcomeUnknown` if the commit was sent but not answered,
  /// and `.timeout` if the transaction did not get its turn before the deadline.
  @discardableResult
  public func transaction<Value>(
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line,
    _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    if let transaction = current { return try await transaction.nested(isolation: isolation, body) }
    let deadline = Deadline.after(configuration.timeout)
    return try await atSite(file, line, isolation: isolation) {
      try await transaction(enforcesForeignKeys: true, before: deadline, isolation: isolation, body)
    }
  }

  /// Calls `body` in a separate transaction. If the outcome of the commit is unknown, and `record` is not nil, the
  /// client reads the record to learn whether the commit is stored. No other call uses the same record.
  func transaction<Value>(
    _ record: TransactionRecord? = nil, enforcesForeignKeys: Bool, before deadline: ContinuousClock.Instant,
    isolation: isolated (any Actor)? = #isolation, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    let value = try await writer.transaction(
      record, enforcesForeignKeys: enforcesForeignKeys, before: deadline, of: self, isolation: isolation, body)
    guard let value else { throw SqlError.withoutAnswer }
    return value
  }

  /// Calls `body` in a transaction that is stored only once, even if the call is repeated with the same id.
  ///
  /// ```swift
  /// let order = UUID()
  /// try await retrying { try await cluster.transaction(id: order) { tx in … } }
  /// ```
  ///
  /// The id is stored in the same commit. If the transaction of an earlier call with this id is stored, the call
  /// returns nil without calling `body`. After an unknown outcome, the client checks whether the id is stored, and
  /// repeats the transaction if the id is missing. So `.outcomeUnknown` is thrown only if no node answered before the
  /// deadline, or if a disk was full at the commit. The cluster keeps ids for the configuration's `transactionIdAge`.
  @discardableResult
  public func transaction<Value>(
    id: UUID, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line,
    _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value? {
    guard current == nil else { throw SqlError.misuse("a transaction with an id can't run inside another transaction") }
    let record = TransactionRecord(id: id, age: configuration.transactionIdAge)
    return try await atSite(file, line, isolation: isolation) {
      try await writer.transaction(
        record, before: Deadline.after(configuration.timeout), of: self, isolation: isolation, body)
    }
  }

  /// Runs a statement that is stored only once, even if the call is repeated with the same id.
  ///
  /// ```swift
  /// let id = try await cluster.run(bike.insert(), id: request.key)
  /// ```
  ///
  /// Works as ``transaction(id:isolation:file:line:_:)`` does, for one statement, which shares its commit with other
  /// writes. Returns nil if the statement of an earlier call with this id is stored. Throws `.misuse` inside a
  /// transaction.
  @discardableResult
  public func run<Work: Runnable>(
    _ work: Work, id: UUID, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output? where Work.Output: Sendable {
    guard current == nil else { throw SqlError.misuse("a statement with an id can't run inside a transaction") }
    let record = TransactionRecord(id: id, age: configuration.transactionIdAge)
    let transport = RepeatableTransport(cluster: self, writer: writer, record: record)
    return try await atSite(file, line) {
      do { return try await work.run(over: transport) } catch {
        guard error is RepeatableTransport.StoredBefore else {
          throw await reported(error.labelled(configuration.label))
        }
        return nil
      }
    }
  }

  /// Calls `body` in a read-only transaction. All reads of the transaction see one snapshot. If the leader is lost,
  /// `body` is called again.
  ///
  /// ```swift
  /// let (count, first) = try await cluster.read { tx in
  ///   (try await Bicycle.count().run(tx), try await Bicycle.read().first().run(tx))
  /// }
  /// ```
  public func read<Value>(
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line,
    _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    try await atSite(file, line, isolation: isolation) { try await snapshot(isolation: isolation, body) }
  }

  /// Calls `body` in a read-only transaction, or in the transaction to which the call belongs.
  func snapshot<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    if let transaction = current { return try await body(transaction) }
    let deadline = Deadline.after(configuration.timeout)
    let call = TracedCall(on: self)
    do {
      let value = try await sessions.attempt(before: deadline) { session in
        call?.times.didSend()
        return try await ClusterSession.withSnapshot(on: session, before: deadline) {
          let transaction = ClusterTransaction(session, self, before: deadline, call, isReadOnly: true)
          do { return try await transaction.run(isolation: isolation, body) } catch {
            throw transaction.nodeFailure ?? error
          }
        }
      }
      await call?.ended(.committed)
      return value
    } catch {
      await call?.ended(.rolledBack, error)
      throw error
    }
  }

  var current: ClusterTransaction? {
    var transaction = ClusterTransaction.current
    while let candidate = transaction {
      if candidate.cluster === self, !candidate.isEnded { return candidate }
      transaction = candidate.outer
    }
    return nil
  }

  /// Ends all waiting calls with an error, and closes the connections. Later calls throw `.closed`.
  public func close() {
    leader.close()
    feed.close()
    writer.close()
    sessions.close()
    confirmation?.close()
  }

  deinit { close() }

  /// The counters of the client, and the last known leader.
  public var statistics: ClusterStatistics {
    let counts = writer.counts
    return ClusterStatistics(
      leader: leader.last.map { "\($0)" }, leaderChanges: leader.changes, writes: counts.writes, commits: counts.commits
    )
  }
}

/// The counters of a cluster's client since its creation, and the last known leader.
public struct ClusterStatistics: Sendable, Hashable, Codable {
  /// The address of the last known leader; nil if the leader is unknown.
  public let leader: String?
  /// The number of times that the client found a different leader.
  public let leaderChanges: Int
  /// The number of stored writes and transactions.
  public let writes: Int
  /// The number of commits that stored these writes and transactions.
  public let commits: Int
}

extension SqlError {
  static var closedCluster: SqlError { SqlError(.closed, message: "the client of the cluster is closed") }
}

/// A transport that sends requests together with a transaction record.
private struct RepeatableTransport: CheckingTransport {
  struct StoredBefore: Error {}

  let cluster: SqliteCluster
  let writer: ClusterWriter
  let record: TransactionRecord

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    try await answers(to: requests, check: nil)
  }

  func answers(
    to requests: [SqlRequest], check: (@Sendable ([SqlAnswer]) throws -> Void)?
  ) async throws -> [SqlAnswer] {
    let answers = try await cluster.traced(requests) { times in
      try requests.check()
      let deadline = Deadline.after(cluster.configuration.timeout)
      return try await writer.run(requests, record, check: check, before: deadline, times)
    }
    guard let answers else { throw StoredBefore() }
    return answers
  }
}

extension SqlRequest {
  /// True if the request can be sent as a read: `isReadOnly` is true, and the SQL text is a query. A write sent as a
  /// read would end the node's process.
  var isQuery: Bool { isReadOnly && ClusterStatement.cache.value(of: sql).isQuery }
}

extension [SqlRequest] {
  /// Throws `.misuse` for a statement that a cluster can't run. Nothing is sent then.
  func check() throws {
    for request in self {
      guard let refusal = ClusterStatement.cache.value(of: request.sql).refusal else { continue }
      var error = SqlError.misuse(refusal)
      error.sql = request.sql
      throw error
    }
  }
}
#endif
