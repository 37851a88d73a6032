import CSqlableSQLite
import Synchronization

/// SQLite's memory statistics, for the whole process. When enabled, each SQLite allocation takes a process-wide lock.
enum MemoryStatistics {
  private static let areKept = Atomic<Bool>(false)
  private static let isSettled = Atomic<Bool>(false)

  /// Enables the statistics. Throws once a connection has been opened: SQLite accepts the setting only before its first
  /// use.
  static func keep() throws {
    guard !isSettled.load(ordering: .acquiring) else {
      throw SqlError.misuse("keepMemoryStatistics() must be called before the first handle is opened")
    }
    areKept.store(true, ordering: .releasing)
  }

  /// Applies the setting; call before the first call of SQLite. If another library used SQLite first, its setting
  /// stays.
  static func settle() { settled }

  private static let settled: Void = {
    isSettled.store(true, ordering: .releasing)
    // SQLITE_MISUSE means that SQLite is already in use; nothing changes then.
    if !areKept.load(ordering: .acquiring) { _ = sqlable_config_memory_statistics(0) }
  }()
}
