import FoundationEssentials
import SqlableCore

extension SqlitePool {
  /// Opens the database at a file URL; see ``init(filepath:configuration:)``. Throws `.misuse` for another URL.
  public convenience init(url: URL, configuration: PoolConfiguration = .init()) throws {
    try self.init(filepath: url.databasePath, configuration: configuration)
  }

  /// The files of the database.
  public var files: DatabaseFiles { root.files }

  /// Frees memory that SQLite can rebuild, cached pages and compiled statements, of the handles that no call uses.
  ///
  /// ```swift
  /// try pool.releaseMemory()     // after a nightly report
  /// ```
  ///
  /// Waits for no call, and no call waits for more than a moment. Throws `.closed` and, after `fork`, `.misuse`.
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
