/// The use of a handle's statement cache since the handle opened its connection.
///
/// ```swift
/// let use = try db.statementCacheUse
/// print(use.statements, use.bytes, use.hitRate)     // 14 31902 0.998
/// ```
public struct StatementCacheUse: Sendable, Hashable {
  /// The number of statements in the cache.
  public let statements: Int
  /// The memory of the cached statements in bytes, measured when the statements were compiled. At most
  /// ``Configuration/statementCacheBytes``.
  public let bytes: Int
  /// The number of lookups that found a compiled statement.
  public let hits: Int
  /// The number of lookups after which the statement had to be compiled.
  public let misses: Int
  /// The number of evicted statements. Should be far less than `misses`; otherwise the cache is too small.
  public let evictions: Int

  package init(statements: Int, bytes: Int, hits: Int, misses: Int, evictions: Int) {
    (self.statements, self.bytes, self.hits, self.misses, self.evictions) = (statements, bytes, hits, misses, evictions)
  }

  /// The share of lookups, from 0 to 1, that found a compiled statement; 0 before the first lookup.
  public var hitRate: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }
}

extension StatementCacheUse {
  package init(of cache: StatementCache) {
    self.init(
      statements: cache.count, bytes: cache.size, hits: cache.hits, misses: cache.misses, evictions: cache.evictions)
  }

  package static let none = StatementCacheUse(statements: 0, bytes: 0, hits: 0, misses: 0, evictions: 0)

  package func joined(with other: StatementCacheUse) -> StatementCacheUse {
    StatementCacheUse(
      statements: statements + other.statements, bytes: bytes + other.bytes, hits: hits + other.hits,
      misses: misses + other.misses, evictions: evictions + other.evictions)
  }
}

extension SqliteDatabase {
  /// The use of the handle's statement cache. If there are many evictions, increase
  /// ``Configuration/statementCacheBytes``. A hit rate far below 1 without evictions means that the program rarely
  /// repeats a statement's text.
  ///
  /// Covers this handle alone, not its children. `BEGIN`, `COMMIT` and the like are not counted. Throws `.closed` if
  /// the handle is closed.
  public var statementCacheUse: StatementCacheUse {
    get throws {
      try locked {
        StatementCacheUse(of: try openConnection().cache)
      }
    }
  }
}
