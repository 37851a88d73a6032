import Glibc

/// The holder of a database file's write lock, in this process or another.
///
/// ```swift
/// if let holder = pool.writeLockHolder { print(holder) }
/// // the call at Bikes/Import.swift:42 of handle 7 ("bikes") has held the write lock for 5.2 s
/// ```
///
/// A holder shows the shape of the SQL, never its values.
public struct WriteLockHolder: Sendable, Hashable {
  /// The id of the process that holds the lock.
  public let process: Int
  /// The label of the configuration of the handle or pool; nil if there is no label or the holder's label is unknown.
  public let label: String?
  /// The number of the handle, as in traced events; nil in other processes.
  public let handle: Int?
  /// The file and line of the call that began the transaction; nil if unknown.
  public let callSite: String?
  /// The time for which the holder has had the lock; nil if unknown.
  public let age: Duration?
  /// The shape of the SQL that the holder runs; nil unless a pool's statement has run for some milliseconds.
  public let sql: String?
}

extension WriteLockHolder: CustomStringConvertible {
  public var description: String {
    var text = callSite.map { "the call at \($0) of " } ?? ""
    text += handle.map { "handle \($0)" } ?? "process \(process)"
    if let label { text += " (\"\(label)\")" }
    text += age.map { " has held the write lock for \($0.seconds) s" } ?? " holds the write lock"
    return text + (sql.map { ": \($0)" } ?? "")
  }
}

/// A handle's transaction that has the write lock.
struct WriteMark: Sendable {
  let site: CallSite?
  let since: CoarseInstant
  /// The connection's interruption, which has the SQL of a statement that runs for long; nil if the connection has
  /// none.
  let interruption: Interruption?
}

/// A moment to within some milliseconds. Reading the coarse clock takes a tenth of the time of an exact reading.
struct CoarseInstant: Sendable {
  private let time: timespec

  static var now: CoarseInstant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return CoarseInstant(time: time)
  }

  var age: Duration {
    let now = CoarseInstant.now.time
    return .seconds(now.tv_sec - time.tv_sec) + .nanoseconds(now.tv_nsec - time.tv_nsec)
  }
}

extension SqliteDatabase {
  /// The holder of the write lock of the handle's file; nil if no handle or process holds the lock, or if the holder is
  /// unknown.
  ///
  /// In this process, the holder is the handle, this one or another, whose transaction has the lock. For another
  /// process, the kernel and the gate file of the process's pool report the holder. A single statement outside of a
  /// transaction shows as its process only. Never waits; nil for a database in memory.
  public var writeLockHolder: WriteLockHolder? {
    let path = family.path
    return path.isEmpty ? nil : WriteLockHolder(ofFileAt: path)
  }

  /// Records that a transaction of the handle has acquired the write lock.
  func noteWriteLock(at site: CallSite?) {
    transactions.mark(WriteMark(site: site, since: .now, interruption: connection?.interruption))
  }

  /// Returns the error, with the lock's holder in its message if the error says that another connection holds the lock.
  func namingHolder(_ error: any Error) -> any Error {
    guard var error = error as? SqlError, error.kind == .busy, error.code == error.extendedCode, error.code != 0,
      let holder = writeLockHolder, holder.handle != number
    else { return error }
    error.message += "; \(holder)"
    return error
  }
}

extension WriteLockHolder {
  /// The byte of the `-shm` file that SQLite locks to write.
  private static let writeByte = 120
  /// The byte of the database file that SQLite locks to write outside of WAL mode.
  private static let reservedByte = 0x4000_0001

  /// Finds the holder of the lock. Nil if no handle or process holds the lock, or the holder is unknown.
  package init?(ofFileAt path: String) {
    if let holder = WriteLockHolder.ofThisProcess(path) {
      self = holder
      return
    }
    guard
      let process = KernelLocks.writer(ofByte: WriteLockHolder.writeByte, inFileAt: path + "-shm")
        ?? KernelLocks.writer(ofByte: WriteLockHolder.reservedByte, inFileAt: path)
    else { return nil }
    self =
      GateRecord(besideFileAt: path)?.holder(in: process)
      ?? WriteLockHolder(process: process, label: nil, handle: nil, callSite: nil, age: nil, sql: nil)
  }

  /// True if this thread is inside the closure of the transaction that holds the lock.
  package static func isThisThread(ofFileAt path: String) -> Bool {
    guard let lock = mark(ofFileAt: path)?.handle.lock, lock.tryLock() else { return false }
    defer { lock.unlock() }
    return lock.depth > 1
  }

  private static func ofThisProcess(_ path: String) -> WriteLockHolder? {
    mark(ofFileAt: path).map { handle, mark in
      WriteLockHolder(
        process: Int(getpid()), label: handle.configuration.label, handle: handle.number,
        callSite: mark.site.flatMap { $0.isInLibrary ? nil : "\($0)" }, age: mark.since.age,
        sql: mark.interruption?.longStatement.withLock { $0 }.map { StatementShape(of: $0).sql })
    }
  }

  /// The handle of this process whose transaction holds the lock.
  private static func mark(ofFileAt path: String) -> (handle: SqliteDatabase, mark: WriteMark)? {
    guard let file = FileIdentity(path) else { return nil }
    for handle in HandleFamily.allHandles {
      guard let mark = handle.transactions.writeMark.withLock({ $0 }) else { continue }
      let other = handle.family.path
      if other == path || FileIdentity(other) == file { return (handle, mark) }
    }
    return nil
  }
}
