import SqlableCore

/// A sequence of a statement's results: the current result, and a new result after every commit that could change the
/// result.
///
/// See `Statement.updates(in:onlyChanges:)`.
public struct LiveQuery<Value: Sendable>: AsyncSequence, Sendable {
  private let pool: SqlitePool
  private let source: LiveQuerySource<Value>

  package init(_ pool: SqlitePool, _ source: LiveQuerySource<Value>) {
    self.pool = pool
    self.source = source
  }

  public func makeAsyncIterator() -> Iterator { Iterator(pool: pool, source: source) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pool: SqlitePool
    private let source: LiveQuerySource<Value>
    private let loop: LiveQueryLoop<Value>
    private var contents: LiveQueryContents?
    private var isEnded = false

    fileprivate init(pool: SqlitePool, source: LiveQuerySource<Value>) {
      self.pool = pool
      self.source = source
      loop = LiveQueryLoop(pool, source)
    }

    /// Returns the current result when it might differ from the last result; nil if the pool was closed.
    ///
    /// Throws read errors and `CancellationError`, after which the sequence ends.
    public mutating func next() async throws -> Value? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
      guard !isEnded else { return nil }
      do {
        while let (value, contents) = try await loop.next(isolation: actor) {
          // Compare with this loop's last result, because the loop might have missed results in between.
          if source.onlyChanges, let before = self.contents, before == contents { continue }
          self.contents = contents
          return value
        }
      } catch {
        isEnded = true
        // The pool was closed during the read, so the sequence ends.
        if !pool.isOpen, (error as? SqlError)?.kind == .closed { return nil }
        throw error
      }
      isEnded = true
      return nil
    }
  }
}

/// The former name of ``LiveQuery``.
@available(*, deprecated, renamed: "LiveQuery")
public typealias Updates<Value: Sendable> = LiveQuery<Value>

/// The row rule of a live result for one version of the schema.
struct LiveQueryRule: Sendable {
  let schemaVersion: Int64
  let rule: RowRule
}

/// The source of a live result: the identity, the SQL, and the closure that reads the rows.
package struct LiveQuerySource<Value: Sendable>: Sendable {
  struct Fetched: Sendable {
    let rule: LiveQueryRule
    let value: Value
    let contents: LiveQueryContents?
    let pageEnd: PageBoundary?
  }

  let key: LiveQueryRegistry.Key

  let callSite: CallSite
  /// True if the sequence skips a result that equals the previous result.
  let onlyChanges: Bool
  /// Returns the SQL of all statements of the source.
  let texts: @Sendable () throws -> [String]
  /// Returns the statement whose filter selects the rows; nil without such a statement.
  let filtered: @Sendable () throws -> SelectQuery?
  let rows: @Sendable (SqliteDatabase, inout LiveQueryNotes) throws -> Value

  package init(
    key: LiveQueryRegistry.Key, callSite: CallSite, onlyChanges: Bool, texts: @escaping @Sendable () throws -> [String],
    filtered: @escaping @Sendable () throws -> SelectQuery?,
    rows: @escaping @Sendable (SqliteDatabase, inout LiveQueryNotes) throws -> Value
  ) {
    self.key = key
    self.callSite = callSite
    self.onlyChanges = onlyChanges
    self.texts = texts
    self.filtered = filtered
    self.rows = rows
  }

  /// Reads the result. First calls `expect` with the columns, if they are unknown or the schema has changed.
  func read(
    _ db: SqliteDatabase, _ known: LiveQueryRule?, _ feed: PoolFeed, expect: (ReadColumns, RowRule) -> Void
  ) throws -> Fetched {
    let version = try db.locked { try db.openConnection().schemaVersion() }
    var result = LiveQueryRule(schemaVersion: version, rule: known?.rule ?? RowRule())
    if known?.schemaVersion != version {
      let read = try columnsRead(db, version, feed)
      let rule = try rowRule(db, read, feed)
      expect(read, rule)
      result = LiveQueryRule(schemaVersion: version, rule: rule)
    }
    var notes = LiveQueryNotes(comparing: onlyChanges, result.rule.page)
    let value = try rows(db, &notes)
    return Fetched(rule: result, value: value, contents: notes.contents, pageEnd: notes.pageEnd)
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
    // SQLite sorts texts differently in UTF-16 than in the library's UTF-8 copy.
    guard try db.locked({ try db.openConnection().pragma("PRAGMA main.encoding") }) == "UTF-8" else {
      return RowRule()
    }
    let table = query.table
    let columns = try db.locked { try db.openConnection().comparedColumns(ofTable: table.name) }
    let filter = feed.filter(query, columns)
    // If the filter depends on other rows, a row after the page can move into the page.
    guard filter != nil || query.filter == nil else { return RowRule() }
    return RowRule(filter: filter, page: PageOrder(query, columns))
  }
}
