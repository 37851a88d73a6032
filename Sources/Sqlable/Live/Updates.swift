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
    private let loop: ResultLoop<Value>
    private var contents: ResultContents?
    private var isEnded = false

    fileprivate init(pool: SqlitePool, source: ResultSource<Value>) {
      self.pool = pool
      self.source = source
      loop = ResultLoop(pool, source)
    }

    /// The result as it is now, as soon as it may differ from the last one; nil when the pool was closed.
    ///
    /// Throws what reading it throws, and `CancellationError`; nothing comes after that.
    public mutating func next() async throws -> Value? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
      guard !isEnded else { return nil }
      do {
        while let (value, contents) = try await loop.next(isolation: actor) {
          // It may have been another in between, which this loop has slept through.
          if source.onlyChanges, let before = self.contents, before == contents { continue }
          self.contents = contents
          return value
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
  let rule: RowRule
}

/// How a live result is read.
struct ResultSource<Value: Sendable>: Sendable {
  struct Fetched: Sendable {
    let known: KnownResult
    let value: Value
    let contents: ResultContents?
    let pageEnd: PageEnd?
  }

  /// What is the same for equal results.
  let key: SharedResults.Key

  let place: PoolCall.CallSite
  /// Whether a result is of interest only when it differs from the one before it.
  let onlyChanges: Bool
  /// The SQL of all statements that it takes.
  let texts: @Sendable () throws -> [String]
  /// The statement whose filter alone decides which rows are in it.
  let filtered: @Sendable () throws -> SelectQuery?
  let rows: @Sendable (SqliteDatabase, inout ResultNotes) throws -> Value

  /// Reads it. Says before that what it is read from, when that is not known, or the schema is another one.
  func read(
    _ db: SqliteDatabase, _ known: KnownResult?, _ feed: PoolFeed, expect: (ReadColumns, RowRule) -> Void
  ) throws -> Fetched {
    let version = try db.locked { try db.openConnection().schemaVersion() }
    var result = KnownResult(schemaVersion: version, rule: known?.rule ?? RowRule())
    if known?.schemaVersion != version {
      let read = try columnsRead(db, version, feed)
      let rule = try rowRule(db, read, feed)
      expect(read, rule)
      result = KnownResult(schemaVersion: version, rule: rule)
    }
    var notes = ResultNotes(comparing: onlyChanges, result.rule.page)
    let value = try rows(db, &notes)
    return Fetched(known: result, value: value, contents: notes.contents, pageEnd: notes.pageEnd)
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

  private func rowRule(_ db: SqliteDatabase, _ read: ReadColumns, _ feed: PoolFeed) throws -> RowRule {
    guard !read.readsUnobserved, read.tables.count == 1, let query = try filtered() else { return RowRule() }
    // In UTF-16 texts have another order than in the copy.
    guard try db.locked({ try db.openConnection().pragma("PRAGMA main.encoding") }) == "UTF-8" else {
      return RowRule()
    }
    let table = query.table
    let columns = try db.locked { try db.openConnection().comparedColumns(ofTable: table.name) }
    let filter = feed.filter(query, columns)
    // A filter that other rows decide may bring a row from behind the page into it.
    guard filter != nil || query.filter == nil else { return RowRule() }
    return RowRule(filter: filter, page: PageOrder(query, columns))
  }
}
