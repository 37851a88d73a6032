import CSqlableSQLite
import Synchronization

/// SQLite's count of the memory that it has, for the whole process: each of its allocations takes a lock for it.
enum MemoryStatistics {
  private static let areKept = Atomic<Bool>(false)
  private static let isSettled = Atomic<Bool>(false)

  /// Has SQLite keep them. Throws once a connection was opened: SQLite takes it before its first call only.
  static func keep() throws {
    guard !isSettled.load(ordering: .acquiring) else {
      throw SqlError.misuse("memory statistics are kept from the first handle of a process on, or not at all")
    }
    areKept.store(true, ordering: .releasing)
  }

  /// Comes before the first call of SQLite. Where another library was the first, its setting stays.
  static func settle() { settled }

  private static let settled: Void = {
    isSettled.store(true, ordering: .releasing)
    // SQLITE_MISUSE says that SQLite is in use already, and changes nothing.
    if !areKept.load(ordering: .acquiring) { _ = sqlable_config_memory_statistics(0) }
  }()
}
