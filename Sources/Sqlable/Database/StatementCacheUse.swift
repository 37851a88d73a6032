/// How a handle's cache of compiled statements has been used since the handle was opened.
///
/// ```swift
/// let use = try db.statementCacheUse
/// print(use.statements, use.bytes, use.hitRate)     // 14 31902 0.998
/// ```
public struct StatementCacheUse: Sendable, Hashable {
  /// How many statements are in it now.
  public let statements: Int
  /// How many bytes they took when they were compiled; at most ``Configuration/statementCacheBytes``.
  public let bytes: Int
  /// How often a statement was found compiled.
  public let hits: Int
  /// How often one had to be compiled.
  public let misses: Int
  /// How many statements left to make room for others. Far fewer than misses, or the cache is too small.
  public let evictions: Int

  /// The share of runs, 0 to 1, that found their statement compiled; 0 before the first.
  public var hitRate: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }
}

extension StatementCacheUse {
  init(of cache: StatementCache) {
    self.init(
      statements: cache.count, bytes: cache.size, hits: cache.hits, misses: cache.misses, evictions: cache.evictions)
  }

  static let none = StatementCacheUse(statements: 0, bytes: 0, hits: 0, misses: 0, evictions: 0)

  /// That of several caches together.
  func joined(with other: StatementCacheUse) -> StatementCacheUse {
    StatementCacheUse(
      statements: statements + other.statements, bytes: bytes + other.bytes, hits: hits + other.hits,
      misses: misses + other.misses, evictions: evictions + other.evictions)
  }
}

extension SqliteDatabase {
  /// How the handle's cache of compiled statements has been used: many evictions ask for a larger
  /// ``Configuration/statementCacheBytes``; a rate far below 1 without them says that statements of ever new shapes are
  /// run.
  ///
  /// Of this handle alone, not of its children. `BEGIN`, `COMMIT` and the like are not counted. Throws `.closed`.
  public var statementCacheUse: StatementCacheUse {
    get throws {
      try locked {
        StatementCacheUse(of: try openConnection().cache)
      }
    }
  }
}
