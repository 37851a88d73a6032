import Glibc
import SqlableCore

extension SqlitePool {
  /// Who holds the write lock of the pool's file: this pool, another pool or handle of this process, or another
  /// process.
  ///
  /// ```swift
  /// if let holder = pool.writeLockHolder { print(holder) }
  /// // the call at Bikes/Import.swift:42 of handle 7 ("bikes") has held the write lock for 5.2 s: UPDATE "bicycle" …
  /// ```
  ///
  /// Nil if none does, or it is not known. A pool of another process is known with its call and SQL once it has held
  /// the lock for half a second. Never waits. The errors of calls that have waited for the lock too long name its
  /// holder, too.
  public var writeLockHolder: WriteLockHolder? { root.writeLockHolder }

  /// How long a write runs before other processes can read about it: most end before, at no cost.
  private static let longWrite = Duration.milliseconds(250)

  /// Tells other processes of a write that has been running for long.
  func publishLongWrite() {
    let now = ContinuousClock.now
    guard let write = withState({ $0.writer.running(at: now) }), write.age >= SqlitePool.longWrite else { return }
    gate.publish(
      GateRecord(
        label: configuration.handles.label, callSite: write.callSite, age: write.age,
        sql: write.sql.map { StatementShape(of: $0).sql }))
  }

  /// What an error says of the holder of the lock, if that is not the call of this pool that it names already.
  func otherHolder(than call: PoolCall?) -> String {
    guard let holder = writeLockHolder, holder.callSite != call.map({ "\($0.place)" }) else { return "" }
    return "; \(holder)"
  }
}
