/// How a handle's cache of compiled statements has been used since the handle was opened.
///
/// ```swift
/// let use = try db.statementCacheUse
/// print(use.statements, use.hitRate)     // 14 0.998
/// ```
public struct StatementCacheUse: Sendable, Hashable {
  /// How many statements are in it now; at most ``Configuration/statementCacheCapacity``.
  public let statements: Int
  /// How often a statement was found compiled.
  public let hits: Int
  /// How often one had to be compiled.
  public let misses: Int

  /// The share of runs, 0 to 1, that found their statement compiled; 0 before the first.
  public var hitRate: Double { hits + misses == 0 ? 0 : Double(hits) / Double(hits + misses) }
}

extension SqliteDatabase {
  /// How the handle's cache of compiled statements has been used: a rate far below 1 asks for a larger
  /// ``Configuration/statementCacheCapacity``, or says that statements of ever new shapes are run.
  ///
  /// Of this handle alone, not of its children. `BEGIN`, `COMMIT` and the like are not counted. Throws `.closed`.
  public var statementCacheUse: StatementCacheUse {
    get throws {
      try locked {
        let cache = try openConnection().cache
        return StatementCacheUse(statements: cache.count, hits: cache.hits, misses: cache.misses)
      }
    }
  }
}
