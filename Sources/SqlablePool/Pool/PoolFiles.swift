import FoundationEssentials
import SqlableCore

extension SqlitePool {
  /// Opens the database at a file URL; see ``init(filepath:configuration:)``. Throws `.misuse` for other URLs.
  public convenience init(url: URL, configuration: PoolConfiguration = .init()) throws {
    try self.init(filepath: url.databasePath, configuration: configuration)
  }

  /// The files of the database.
  public var files: DatabaseFiles { root.files }

  /// Frees the memory of idle handles that SQLite can rebuild: cached pages and compiled statements.
  ///
  /// ```swift
  /// try pool.releaseMemory()     // after a nightly report
  /// ```
  ///
  /// The method waits for no call, and delays other calls only briefly. Throws `.closed` for a closed pool, and
  /// `.misuse` after `fork`.
  public func releaseMemory() throws {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    releaseIdleMemory()
    try root.releaseMemory()
  }
}

extension SqlitePool: ReleasableMemory {
  package func releaseIdleMemory() {
    guard !root.isForked, let handles = try? withState({ try $0.takeIdle(nil) }) else { return }
    for handle in handles { handle.releaseMemory() }
    for handle in handles { giveBack(handle) }
  }
}
