import CSqlableSQLite
import Synchronization

/// SQLite's memory statistics, for the whole process. When enabled, each SQLite allocation takes a process-wide lock.
enum MemoryStatistics {
  private static let areKept = Atomic<Bool>(false)
  private static let isSettled = Atomic<Bool>(false)

  /// Enables the statistics. Throws after a connection has been opened, because SQLite is then already in use.
  static func keep() throws {
    guard !isSettled.load(ordering: .acquiring) else {
      throw SqlError.misuse("keepMemoryStatistics() must be called before the first handle is opened")
    }
    areKept.store(true, ordering: .releasing)
  }

  /// Applies the setting. Call before the first use of SQLite; later, the setting has no effect.
  static func settle() { settled }

  private static let settled: Void = {
    isSettled.store(true, ordering: .releasing)
    // SQLITE_MISUSE means that SQLite is already in use and the setting is unchanged.
    if !areKept.load(ordering: .acquiring) { _ = sqlable_config_memory_statistics(0) }
  }()
}
