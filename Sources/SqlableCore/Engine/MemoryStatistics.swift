import CSqlableSQLite
import Synchronization

/// SQLite's memory statistics and the allocation of its cached pages, for the whole process. When the statistics are
/// enabled, each SQLite allocation takes a process-wide lock.
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

  /// Applies the settings for SQLite's memory. Call before the first use of SQLite; later calls have no effect.
  static func settle() { settled }

  private static let settled: Void = {
    isSettled.store(true, ordering: .releasing)
    // Ignore SQLITE_MISUSE, which means that SQLite is already in use. The setting is then unchanged.
    if !areKept.load(ordering: .acquiring) { _ = sqlable_config_memory_statistics(0) }
    // Otherwise each connection allocates memory for twenty pages (87 kB) when it reads its first page.
    _ = sqlable_config_single_pages()
  }()
}
