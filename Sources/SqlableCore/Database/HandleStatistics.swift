extension SqliteDatabase {
  /// The counters of a handle, and the memory that the handle uses.
  ///
  /// ```swift
  /// let statistics = try db.statistics
  /// print(statistics.statements, statistics.committed, statistics.pageHitRate, statistics.bytes)
  /// ```
  ///
  /// ``committed`` and ``rolledBack`` count since the handle was created. The other counters count since the handle
  /// opened its present connection.
  public struct Statistics: Sendable, Hashable {
    /// The use of the statement cache.
    public let statementCache: StatementCacheUse
    /// The number of committed transactions. A single write outside a transaction is counted only if the library begins
    /// a transaction for the write, for example because there are observers.
    public let committed: Int
    /// The number of transactions that were rolled back.
    public let rolledBack: Int
    /// The number of rows inserted, updated and deleted, including changes that were rolled back.
    public let rowsChanged: Int
    /// The number of times that a page was in the page cache.
    public let pageHits: Int
    /// The number of times that a page was read from the file or the WAL.
    public let pageMisses: Int
    /// The number of pages written to the WAL or the file.
    public let pageWrites: Int
    /// The bytes of the page cache.
    public let pageCacheBytes: Int
    /// The bytes of the parsed schema.
    public let schemaBytes: Int
    /// The bytes of all compiled statements, including the statements of cursors and prepared statements.
    public let statementBytes: Int

    /// The number of statements run through the cache. Transaction control, `execute` and prepared statements do not
    /// use the cache.
    public var statements: Int { statementCache.hits + statementCache.misses }
    /// The share of page requests, from 0 to 1, that the page cache served; 0 before the first request.
    public var pageHitRate: Double { pageHits + pageMisses == 0 ? 0 : Double(pageHits) / Double(pageHits + pageMisses) }
    /// The memory of the connection, in bytes.
    public var bytes: Int { pageCacheBytes + schemaBytes + statementBytes }
  }

  /// The counters of the handle, and the memory that the handle uses. The counters are always maintained.
  ///
  /// Covers this handle alone, not its children. For a pool, use ``SqlitePool/statistics``. Waits while another thread
  /// uses the handle. Throws `.closed`.
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
