import Glibc

/// The holder of a database file's write lock, in this process or another.
///
/// ```swift
/// if let holder = pool.writeLockHolder { print(holder) }
/// // the call at Bikes/Import.swift:42 of handle 7 ("bikes") has held the write lock for 5.2 s
/// ```
///
/// The holder's SQL has placeholders instead of values.
public struct WriteLockHolder: Sendable, Hashable {
  /// The id of the process that holds the lock.
  public let process: Int
  /// The label in the configuration of the handle or pool that holds the lock; nil if the label is unset or unknown.
  public let label: String?
  /// The number of the handle, as in traced events; nil for a holder in another process.
  public let handle: Int?
  /// The file and line of the call that began the transaction; nil if unknown.
  public let callSite: String?
  /// The time for which the holder has had the lock; nil if unknown.
  public let age: Duration?
  /// The SQL that the holder runs, with placeholders instead of values. Nil unless the holder is a pool's statement
  /// that has run for some milliseconds.
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

struct WriteMark: Sendable {
  let site: CallSite?
  let since: CoarseInstant
  /// The connection's interruption, which stores the SQL of a long-running statement; nil if the connection has none.
  let interruption: Interruption?
}

/// An instant precise to some milliseconds. Reading this clock takes a tenth of the time of a precise clock.
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
  /// In this process, the holder is the handle whose transaction holds the lock, possibly this handle. In another
  /// process, the holder is found through the kernel and the lock file (`-gate`) of that process's pool. For a single
  /// statement outside a transaction, only the process is known. Never waits; nil for a database in memory.
  public var writeLockHolder: WriteLockHolder? {
    let path = family.path
    return path.isEmpty ? nil : WriteLockHolder(ofFileAt: path)
  }

  func noteWriteLock(at site: CallSite?) {
    transactions.mark(WriteMark(site: site, since: .now, interruption: connection?.interruption))
  }

  /// Returns the error. If the error says that another connection holds the lock, adds the holder to the message.
  func namingHolder(_ error: any Error) -> any Error {
    guard var error = error as? SqlError, error.kind == .busy, error.code == error.extendedCode, error.code != 0,
      let holder = writeLockHolder, holder.handle != number
    else { return error }
    error.message += "; \(holder)"
    return error
  }
}

extension WriteLockHolder {
  /// The byte of the `-shm` file that a writer locks in WAL mode.
  private static let writeByte = 120
  /// The byte of the database file that a writer locks outside WAL mode.
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

  private static func ofThisProcess(_ path: String) -> WriteLockHolder? {
    mark(ofFileAt: path).map { handle, mark in
      WriteLockHolder(
        process: Int(getpid()), label: handle.configuration.label, handle: handle.number,
        callSite: mark.site.flatMap { $0.isInLibrary ? nil : "\($0)" }, age: mark.since.age,
        sql: mark.interruption?.longStatement.withLock { $0 }.map { StatementShape(of: $0).sql })
    }
  }

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

extension SqliteDatabase {
  /// The handles whose closures run on this thread and delay other writers. Such a closure is a transaction that has
  /// written or will write, or uses the writer of a pool.
  package static var writersOfThisThread: [SqliteDatabase] {
    HandleFamily.allHandles.filter { !$0.isForked && ($0.isInTransactionOfThisThread || $0.isWriterLentHere) }
  }

  private var isInTransactionOfThisThread: Bool {
    guard transactions.writeMark.withLock({ $0 != nil }), lock.tryLock() else { return false }
    defer { lock.unlock() }
    return lock.depth > 1
  }

  private var isWriterLentHere: Bool { belongsToPool && !isLentElsewhere && !configuration.isReadOnly }

  /// True if a write by `other` has to wait for this handle. Call only for a handle in ``writersOfThisThread``. Outside
  /// a transaction, the writer of a pool delays only the writes of other pools.
  package func delaysWrites(by other: SqliteDatabase) -> Bool {
    guard other !== self, isInTransactionOfThisThread || other.belongsToPool else { return false }
    return family === other.family || FileIdentity(family.path).map { $0 == FileIdentity(other.family.path) } ?? false
  }
}
