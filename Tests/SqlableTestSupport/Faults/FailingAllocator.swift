import CSqlableSQLite
import Glibc

import struct Synchronization.Atomic

/// An allocator for SQLite whose allocations can be made to fail. SQLite takes an allocator once, before its first use,
/// so this needs a separate process.
enum FailingAllocator {
  private struct Original: @unchecked Sendable {
    // Sound: written once, before SQLite runs.
    let methods = UnsafeMutablePointer<sqlite3_mem_methods>.allocate(capacity: 1)
  }

  private static let original = Original()
  /// The number of allocations since `arm`.
  private static let count = Atomic(0)
  /// The range of allocations that fail.
  private static let first = Atomic(Int.max)
  private static let end = Atomic(Int.max)
  private static let failed = Atomic(0)

  private typealias Configure = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
  private typealias ConfigureNumbers = @convention(c) (Int32, Int32, Int32) -> Int32

  /// Replaces SQLite's allocator; false if SQLite no longer takes one.
  static func install() -> Bool {
    // sqlite3_config is variadic, and Swift can't call variadic functions. On x86-64 and arm64 Linux, variadic integers
    // and pointers are passed like others, so a call with fixed parameters works.
    guard let symbol = dlsym(nil, "sqlite3_config") else { return false }
    let configure = unsafeBitCast(symbol, to: Configure.self)
    guard configure(SQLITE_CONFIG_GETMALLOC, original.methods) == SQLITE_OK else { return false }
    var methods = original.methods.pointee
    methods.xMalloc = { FailingAllocator.fails() ? nil : FailingAllocator.original.methods.pointee.xMalloc($0) }
    methods.xRealloc = { FailingAllocator.fails() ? nil : FailingAllocator.original.methods.pointee.xRealloc($0, $1) }
    guard configure(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK else { return false }
    // Lookaside memory would bypass this allocator.
    return unsafeBitCast(symbol, to: ConfigureNumbers.self)(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK
  }

  /// Makes `length` allocations fail, from the n-th on, counted from 1.
  static func arm(_ n: Int, length: Int) {
    disarm()
    count.store(0, ordering: .relaxed)
    failed.store(0, ordering: .relaxed)
    end.store(length == Int.max ? length : n + length, ordering: .relaxed)
    first.store(n, ordering: .releasing)
  }

  /// Ends the failures, and returns how many allocations failed since `arm`.
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
