/// What a statement reads, and reads again after every commit that could change it; see
/// ``Statement/updates(in:onlyChanges:file:line:)-(SqlitePool,_,_,_)``.
public struct Updates<Value: Sendable>: AsyncSequence, Sendable {
  private let pool: SqlitePool
  private let source: ResultSource<Value>

  init(_ pool: SqlitePool, _ source: ResultSource<Value>) {
    self.pool = pool
    self.source = source
  }

  public func makeAsyncIterator() -> Iterator { Iterator(pool: pool, source: source) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pool: SqlitePool
    private let source: ResultSource<Value>
    private let subscription: ResultSubscription
    /// What was found out about the statement, and of which schema.
    private var known: KnownResult?
    private var contents: ResultContents?
    private var isEnded = false

    fileprivate init(pool: SqlitePool, source: ResultSource<Value>) {
      self.pool = pool
      self.source = source
      subscription = ResultSubscription(pool.feed)
    }

    /// The result as it is now, as soon as it may differ from the last one; nil when the pool was closed.
    ///
    /// Throws what reading it throws, and `CancellationError`; nothing comes after that.
    public mutating func next() async throws -> Value? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
      guard !isEnded else { return nil }
      do {
        while let doubt = try await subscription.next(isolation: actor) {
          // Not again for rows that it never had and has not now.
          if case .rows(let rows) = doubt, let filter = known?.filter, (try? filter.concerns(rows)) == false {
            continue
          }
          let reading = try await pool.performStatement(.read, at: source.place) {
            [source, subscription, known, feed = pool.feed] db in
            try source.read(db, subscription, known, feed)
          }
          known = reading.known
          if source.onlyChanges, let contents, contents == reading.contents { continue }
          contents = reading.contents
          return reading.value
        }
      } catch {
        isEnded = true
        // It was closed while it was read: as if it had been closed a moment earlier.
        if !pool.isOpen, (error as? SqlError)?.kind == .closed { return nil }
        throw error
      }
      isEnded = true
      return nil
    }
  }
}

/// What was found out about a live result.
struct KnownResult: Sendable {
  let schemaVersion: Int64
  let filter: RowFilter?
}

/// How a live result is read.
struct ResultSource<Value: Sendable>: Sendable {
  struct Reading: Sendable {
    let known: KnownResult
    let value: Value
    let contents: ResultContents?
  }

  let place: PoolCall.Place
  /// Whether a result is of interest only when it differs from the one before it.
  let onlyChanges: Bool
  /// The SQL of all statements that it takes.
  let texts: @Sendable () throws -> [String]
  /// The statement whose filter alone decides which rows are in it.
  let filtered: @Sendable () throws -> (query: Query, table: TableInfo)?
  let rows: @Sendable (SqliteDatabase, inout ResultContents?) throws -> Value

  /// Reads it. Says before that what it is read from, when that is not known, or the schema is another one.
  func read(
    _ db: SqliteDatabase, _ subscription: ResultSubscription, _ known: KnownResult?, _ feed: PoolFeed
  ) throws -> Reading {
    let version = try db.locked { try db.openConnection().schemaVersion() }
    var result = known
    if known?.schemaVersion != version {
      let read = try columnsRead(db, version, feed)
      let filter = try rowFilter(db, read, feed)
      // Before the rows are read: what is committed from here on is noted.
      subscription.expect(read, filter)
      result = KnownResult(schemaVersion: version, filter: filter)
    }
    var contents: ResultContents? = onlyChanges ? ResultContents() : nil
    let value = try rows(db, &contents)
    return Reading(
      known: result ?? KnownResult(schemaVersion: version, filter: nil), value: value, contents: contents)
  }

  private func columnsRead(_ db: SqliteDatabase, _ version: Int64, _ feed: PoolFeed) throws -> ReadColumns {
    try texts().reduce(into: ReadColumns()) { all, text in
      let key = PoolFeed.ReadKey(text: text, schemaVersion: version)
      if let known = feed.columnsRead(key) { return all.formUnion(known) }
      let read = try db.locked { try db.openConnection().columnsRead(by: text) }
      feed.note(read, for: key)
      all.formUnion(read)
    }
  }

  private func rowFilter(_ db: SqliteDatabase, _ read: ReadColumns, _ feed: PoolFeed) throws -> RowFilter? {
    guard !read.readsUnobserved, read.tables.count == 1, let (query, table) = try filtered() else { return nil }
    // In UTF-16 texts have another order than in the copy.
    guard try db.locked({ try db.openConnection().pragma("PRAGMA main.encoding") }) == "UTF-8" else { return nil }
    let columns = try db.locked { try db.openConnection().comparedColumns(ofTable: table.name) }
    return feed.filter(query, of: table, columns)
  }
}
