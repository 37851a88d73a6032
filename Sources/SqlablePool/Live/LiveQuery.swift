import SqlableCore

/// A sequence of a statement's results: the current result, and a new result after every commit that could change the
/// result.
///
/// See `Statement.updates(in:onlyChanges:)`.
public struct LiveQuery<Value: Sendable>: AsyncSequence, Sendable {
  private let pool: SqlitePool
  private let source: LiveQuerySource<Value>

  package init(_ database: some LocalDatabase, _ source: LiveQuerySource<Value>) {
    pool = database.livePool
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

    /// Waits until the current result might differ from the last result, and returns the current result; nil if the
    /// pool was closed.
    ///
    /// Throws read errors and `CancellationError`, after which the sequence ends.
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
        // The pool or handle was closed during the read, so the sequence ends.
        if pool.endsLoops(error) { return nil }
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

/// The rule and the columns that show whether a commit can change a live result. Valid for one version of the schema.
struct LiveQueryRule: Sendable {
  let schemaVersion: Int64
  var rule = RowRule()
  /// The columns that all runs of a closure have read; empty for a statement.
  var read = ReadColumns()
  /// The query that was the only statement in every run of a closure; nil if there is no such query. `rule` is derived
  /// from this query.
  var query: SelectQuery?
}

/// The source of a live result: the identity, the SQL, and the closure that reads the rows.
package struct LiveQuerySource<Value: Sendable>: Sendable {
  struct Fetched: Sendable {
    let rule: LiveQueryRule
    let value: Value
    let contents: LiveQueryContents?
    let pageEnd: PageBoundary?
    /// True if this fetch has changed the columns or the rule of the query. The feed might have missed commits to new
    /// columns since the rows were read.
    var isExpectedLate = false
  }

  let key: LiveQueryRegistry.Key

  let callSite: CallSite
  /// True if the sequence skips a result that equals the previous result.
  let onlyChanges: Bool
  private let work: Work

  private enum Work {
    /// A query. `texts` returns the SQL of all its statements. `filtered` returns the statement whose filter selects
    /// the rows; nil if there is no such statement.
    case query(
      texts: @Sendable () throws -> [String], filtered: @Sendable () throws -> SelectQuery?,
      rows: @Sendable (SqliteDatabase, inout LiveQueryNotes) throws -> Value)
    /// A closure. `contents` returns the contents of a value, for comparing results.
    case closure(@Sendable (SqliteDatabase) throws -> Value, contents: @Sendable (Value) -> LiveQueryContents?)
  }

  package init(
    key: LiveQueryRegistry.Key, callSite: CallSite, onlyChanges: Bool, texts: @escaping @Sendable () throws -> [String],
    filtered: @escaping @Sendable () throws -> SelectQuery?,
    rows: @escaping @Sendable (SqliteDatabase, inout LiveQueryNotes) throws -> Value
  ) {
    self.key = key
    self.callSite = callSite
    self.onlyChanges = onlyChanges
    work = .query(texts: texts, filtered: filtered, rows: rows)
  }

  init(
    key: LiveQueryRegistry.Key, callSite: CallSite, closure: @escaping @Sendable (SqliteDatabase) throws -> Value,
    contents: (@Sendable (Value) -> LiveQueryContents)? = nil
  ) {
    self.key = key
    self.callSite = callSite
    onlyChanges = contents != nil
    work = .closure(closure, contents: { contents?($0) })
  }

  /// True for a query, which may run on the calling thread; false for a closure.
  var isShort: Bool { if case .query = work { true } else { false } }

  /// Reads the result. Calls `expect` with the columns that the result reads, if these columns are unknown or have
  /// changed.
  func read(
    _ db: SqliteDatabase, _ known: LiveQueryRule?, _ feed: PoolFeed, expect: (ReadColumns, RowRule) -> Void
  ) throws -> Fetched {
    switch work {
    case .query(let texts, let filtered, let rows):
      let version = try db.locked { try db.openConnection().schemaVersion() }
      var result = LiveQueryRule(schemaVersion: version, rule: known?.rule ?? RowRule())
      if known?.schemaVersion != version {
        let read = try columnsRead(by: texts(), db, version, feed)
        result.rule = try rowRule(filtered(), db, read, feed)
        expect(read, result.rule)
      }
      var notes = LiveQueryNotes(comparing: onlyChanges, result.rule.page)
      let value = try rows(db, &notes)
      return Fetched(rule: result, value: value, contents: notes.contents, pageEnd: notes.pageEnd)
    case .closure(let body, let contents):
      return try db.transaction(.deferred) { db in
        let (value, recorder) = try db.locked { try db.openConnection().recordingStatements { try body(db) } }
        let version = try db.locked { try db.openConnection().schemaVersion() }
        let before = known.flatMap { $0.schemaVersion == version ? $0 : nil }
        var result = before ?? LiveQueryRule(schemaVersion: version, query: recorder.onlyQuery)
        result.read.formUnion(try columnsRead(by: recorder.texts, db, version, feed))
        if result.query != recorder.onlyQuery { result.query = nil }
        let isLate = before == nil || before?.read != result.read || before?.query != result.query
        if isLate {
          let query = result.query.flatMap { $0.readsWholeRows ? $0 : nil }
          result.rule = RowRule(filter: try rowRule(query, db, result.read, feed).filter)
          expect(result.read, result.rule)
        }
        return Fetched(rule: result, value: value, contents: contents(value), pageEnd: nil, isExpectedLate: isLate)
      }
    }
  }

  private func columnsRead(
    by texts: some Sequence<String>, _ db: SqliteDatabase, _ version: Int64, _ feed: PoolFeed
  ) throws -> ReadColumns {
    try texts.reduce(into: ReadColumns()) { all, text in
      let key = PoolFeed.ReadKey(text: text, schemaVersion: version)
      if let known = feed.columnsRead(key) { return all.formUnion(known) }
      let read = try db.locked { try db.openConnection().columnsRead(by: text) }
      feed.note(read, for: key)
      all.formUnion(read)
    }
  }

  private func rowRule(
    _ query: SelectQuery?, _ db: SqliteDatabase, _ read: ReadColumns, _ feed: PoolFeed
  ) throws -> RowRule {
    guard let query, !read.readsUnobserved, read.tables.count == 1 else { return RowRule() }
    // In a UTF-16 file, SQLite sorts texts in another order than the library, which sorts UTF-8 copies of the texts.
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

extension SqlitePool {
  /// True if a call failed because the pool was closed meanwhile. In this case, a loop ends without an error.
  package func endsLoops(_ error: any Error) -> Bool {
    (!isOpen || !root.isOpen) && (error as? SqlError)?.kind == .closed
  }
}
