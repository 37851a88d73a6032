import SqlableCore

extension LocalDatabase {
  /// Returns a live result of several reads: the value of a closure, and a new value after every commit that could
  /// change what the closure has read.
  ///
  /// ```swift
  /// let summaries = pool.updates { db in
  ///   (try Bicycle.count().run(db), try Person.read().orderBy(Person.name).limit(10).run(db))
  /// }
  /// for try await (count, people) in summaries { show(count, people) }
  /// // BEGIN DEFERRED; SELECT count(*) FROM "bicycle"; SELECT … FROM "person" ORDER BY "name" LIMIT 10; COMMIT
  /// ```
  ///
  /// The closure runs on a snapshot, with a handle that can't write, on a thread of the pool. The pool records the
  /// tables and columns that the closure's statements read, at each run. A commit that changes none of them causes no
  /// new run. If every run reads the result of the same single statement of one model, and nothing else, the pool also
  /// evaluates the statement's filter for changed rows, as for a live result of the statement.
  ///
  /// The pool does not record reads with a handle other than the closure's, or reads of values outside of the database.
  /// A change of such a value does not run the closure; the next commit that changes recorded columns does. All loops
  /// over one sequence share the runs of its closure; sequences of two calls of `updates` share none. The sequence
  /// throws the errors of the closure, `.readOnly` for a write, and `CancellationError`.
  public func updates<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) -> LiveQuery<Value> {
    let key = LiveQueryRegistry.Key(ClosureIdentity(), Value.self, onlyChanges: false)
    return LiveQuery(self, LiveQuerySource(key: key, callSite: .init(file: file, line: line), closure: body))
  }

  /// Returns a live result of several reads. With `onlyChanges`, the sequence skips a value that equals the previous
  /// value.
  public func updates<Value: Sendable & Equatable>(
    onlyChanges: Bool, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) -> LiveQuery<Value> {
    guard onlyChanges else { return updates(file: file, line: line, body) }
    let key = LiveQueryRegistry.Key(ClosureIdentity(), Value.self, onlyChanges: true)
    return LiveQuery(
      self,
      LiveQuerySource(
        key: key, callSite: .init(file: file, line: line), closure: body, contents: { LiveQueryContents($0) }))
  }
}

/// An identity for a closure, because closures can't be compared.
private final class ClosureIdentity: Hashable, Sendable {
  static func == (one: ClosureIdentity, other: ClosureIdentity) -> Bool { one === other }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension LocalDatabase {
  /// The pool that reads live results. For a handle, a pool with one reader that all loops over the handle's live
  /// results share.
  package var livePool: SqlitePool {
    if let pool = self as? SqlitePool { return pool }
    let root = registrations.root
    if let pool = root.family.pool as? SqlitePool { return pool }
    return handlePools.withLock { _ in
      if let pool = (root.registry.sink as? PoolFeed)?.owner as? SqlitePool { return pool }
      return SqlitePool(root, PoolConfiguration(handles: root.configuration, readers: 1), isForLiveResults: true)
    }
  }
}

/// The lock that prevents two threads from creating a pool for one handle.
private let handlePools = LockedValue(())

extension SelectQuery {
  /// True if the query reads whole rows of one model, counts such rows, or tests whether such a row exists.
  package var readsWholeRows: Bool {
    let clauses = clauses
    return clauses.sources.count == 1 && clauses.sources[0].alias == nil && clauses.results == [.model(0)]
      && !clauses.isDistinct && clauses.groups.isEmpty && clauses.having == nil && clauses.compounds.isEmpty
  }
}
