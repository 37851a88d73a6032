extension SqliteDatabase {
  /// What a handle has done since it opened its connection, and the memory that it uses.
  ///
  /// ```swift
  /// let statistics = try db.statistics
  /// print(statistics.statements, statistics.committed, statistics.pageHitRate, statistics.bytes)
  /// ```
  public struct Statistics: Sendable, Hashable {
    /// The use of the statement cache.
    public let statementCache: StatementCacheUse
    /// The number of transactions that were committed, those that the library made for single writes included; a write
    /// outside of every transaction is none.
    public let committed: Int
    /// The number of transactions that were rolled back.
    public let rolledBack: Int
    /// The number of rows inserted, updated and deleted, also those of transactions that were rolled back.
    public let rowsChanged: Int
    /// How often a page was in the page cache.
    public let pageHits: Int
    /// How often a page had to be read.
    public let pageMisses: Int
    /// The number of pages written to the log or the file.
    public let pageWrites: Int
    /// The bytes of the page cache.
    public let pageCacheBytes: Int
    /// The bytes of the parsed schema.
    public let schemaBytes: Int
    /// The bytes of all compiled statements, those of cursors and prepared statements included.
    public let statementBytes: Int

    /// The number of statements run through the cache: all but transaction control, `execute` and prepared ones.
    public var statements: Int { statementCache.hits + statementCache.misses }
    /// The share of pages, 0 to 1, that were in the page cache; 0 before the first.
    public var pageHitRate: Double { pageHits + pageMisses == 0 ? 0 : Double(pageHits) / Double(pageHits + pageMisses) }
    /// The memory of the connection, in bytes.
    public var bytes: Int { pageCacheBytes + schemaBytes + statementBytes }
  }

  /// What the handle has done, and the memory that it uses. SQLite counts all of it anyway.
  ///
  /// Covers this handle alone, not its children; a pool has ``SqlitePool/statistics``. Waits while another thread uses
  /// the handle. Throws `.closed`.
  public var statistics: Statistics {
    get throws {
      try locked {
        let connection = try openConnection()
        let status = ConnectionStatus(connection)
        return Statistics(
          statementCache: StatementCacheUse(of: connection.cache), committed: transactions.committed,
          rolledBack: transactions.rolledBack, rowsChanged: status.changes, pageHits: status.pageHits,
          pageMisses: status.pageMisses, pageWrites: status.pageWrites, pageCacheBytes: status.pageBytes,
          schemaBytes: status.schemaBytes, statementBytes: status.statementBytes)
      }
    }
  }
}
