import SqlableCore

extension SqlitePool {
  /// Returns the open pools of this process on the file at a path, in the order in which they were opened.
  ///
  /// ```swift
  /// let pool = SqlitePool.pools(at: path).first
  /// ```
  ///
  /// Paths that lead to the same file are the same, also relative paths, symbolic links and hard links. The process
  /// does not retain its pools: a pool is found while the program has a reference to the pool. Never waits, and never
  /// opens a file.
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
