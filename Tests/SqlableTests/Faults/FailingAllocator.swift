import CSqlableSQLite
import Glibc
import Synchronization

/// SQLite's memory, of which allocations can be made to fail. For a process of its own: SQLite takes it once, before it
/// is first used.
enum FailingAllocator {
  private struct Original: @unchecked Sendable {
    // Written once, before SQLite runs.
    let methods = UnsafeMutablePointer<sqlite3_mem_methods>.allocate(capacity: 1)
  }

  private static let original = Original()
  /// How many allocations there were since `arm`.
  private static let count = Atomic(0)
  /// Which of them fail.
  private static let first = Atomic(Int.max)
  private static let end = Atomic(Int.max)
  private static let failed = Atomic(0)

  private typealias Configure = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
  private typealias ConfigureNumbers = @convention(c) (Int32, Int32, Int32) -> Int32

  /// Puts it in the place of SQLite's own; false where that can't be done any more.
  static func install() -> Bool {
    // sqlite3_config is variadic, which Swift can't call. On x86-64 and arm64 Linux variadic integers and pointers are
    // passed as others are, so it may be called as if it had fixed parameters.
    guard let symbol = dlsym(nil, "sqlite3_config") else { return false }
    let configure = unsafeBitCast(symbol, to: Configure.self)
    guard configure(SQLITE_CONFIG_GETMALLOC, original.methods) == SQLITE_OK else { return false }
    var methods = original.methods.pointee
    methods.xMalloc = { FailingAllocator.fails() ? nil : FailingAllocator.original.methods.pointee.xMalloc($0) }
    methods.xRealloc = { FailingAllocator.fails() ? nil : FailingAllocator.original.methods.pointee.xRealloc($0, $1) }
    guard configure(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK else { return false }
    // Without memory set aside for small things, which would not be asked for here.
    return unsafeBitCast(symbol, to: ConfigureNumbers.self)(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK
  }

  /// Has so many allocations fail, from the n-th that comes on, counted from 1.
  static func arm(_ n: Int, length: Int) {
    disarm()
    count.store(0, ordering: .relaxed)
    failed.store(0, ordering: .relaxed)
    end.store(length == Int.max ? length : n + length, ordering: .relaxed)
    first.store(n, ordering: .releasing)
  }

  /// How many failed since `arm`.
  @discardableResult
  static func disarm() -> Int {
    first.store(Int.max, ordering: .releasing)
    return failed.load(ordering: .relaxed)
  }

  private static func fails() -> Bool {
    let first = first.load(ordering: .acquiring)
    guard first != Int.max else { return false }
    let number = count.add(1, ordering: .relaxed).newValue
    guard number >= first, number < end.load(ordering: .relaxed) else { return false }
    failed.add(1, ordering: .relaxed)
    return true
  }
}
