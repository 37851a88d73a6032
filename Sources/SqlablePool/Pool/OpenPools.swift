import SqlableCore

extension SqlitePool {
  /// Returns the open pools of this process on the file at a path, in the order in which they were opened.
  ///
  /// ```swift
  /// let pool = SqlitePool.pools(at: path).first
  /// ```
  ///
  /// Relative paths, symbolic links and hard links find the same pools as the absolute path of the file. The library
  /// does not retain pools, so a pool is found only while the program has a reference to the pool. Never waits, and
  /// never opens a file.
  public static func pools(at path: String) -> [SqlitePool] { open { $0.isAt(path) } }

  /// Returns the open pools of this process whose handles have a label, in the order in which they were opened.
  ///
  /// ```swift
  /// let main = SqlitePool.pools(labelled: "main")     // PoolConfiguration(handles: Configuration(label: "main"))
  /// ```
  public static func pools(labelled label: String) -> [SqlitePool] {
    open { _ in true }.filter { $0.configuration.handles.label == label }
  }

  private static func open(where isWanted: (HandleFamily) -> Bool) -> [SqlitePool] {
    HandleFamily.families.filter(isWanted).compactMap { $0.pool as? SqlitePool }.filter(\.isOpen)
  }
}
