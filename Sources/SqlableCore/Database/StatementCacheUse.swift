/// The use of a handle's statement cache since the handle was opened.
///
/// ```swift
/// let use = try db.statementCacheUse
/// print(use.statements, use.bytes, use.hitRate)     // 14 31902 0.998
/// ```
public struct StatementCacheUse: Sendable, Hashable {
  /// The number of statements in the cache.
  public let statements: Int
  /// The memory of the cached statements in bytes, as of their compilation; at most
  /// ``Configuration/statementCacheBytes``.
  public let bytes: Int
  /// The number of lookups that found their statement in the cache.
  public let hits: Int
  /// The number of lookups whose statement had to be compiled.
  public let misses: Int
  /// The number of evicted statements. Should be far less than `misses`; otherwise the cache is too small.
  public let evictions: Int

  /// The share of runs, 0 to 1, that found their statement in the cache; 0 before the first run.
  public var hitRate: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }
}

extension StatementCacheUse {
  package init(of cache: StatementCache) {
    self.init(
      statements: cache.count, bytes: cache.size, hits: cache.hits, misses: cache.misses, evictions: cache.evictions)
  }

  package static let none = StatementCacheUse(statements: 0, bytes: 0, hits: 0, misses: 0, evictions: 0)

  /// Returns the sum of both uses.
  package func joined(with other: StatementCacheUse) -> StatementCacheUse {
    StatementCacheUse(
      statements: statements + other.statements, bytes: bytes + other.bytes, hits: hits + other.hits,
      misses: misses + other.misses, evictions: evictions + other.evictions)
  }
}

extension SqliteDatabase {
  /// The use of the handle's statement cache. Many evictions call for a larger ``Configuration/statementCacheBytes``. A
  /// hit rate far below 1 without evictions means that the program runs statements of ever new shapes.
  ///
  /// Covers this handle alone, not its children. `BEGIN`, `COMMIT` and the like are not counted. Throws `.closed`.
  public var statementCacheUse: StatementCacheUse {
    get throws {
      try locked {
        StatementCacheUse(of: try openConnection().cache)
      }
    }
  }
}
