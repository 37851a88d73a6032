import Glibc
import SqlableCore

extension SqlitePool {
  /// The holder of the write lock of the pool's file: this pool, another pool or handle, or another process.
  ///
  /// ```swift
  /// if let holder = pool.writeLockHolder { print(holder) }
  /// // the call at Bikes/Import.swift:42 of handle 7 ("bikes") has held the write lock for 5.2 s: UPDATE "bicycle" …
  /// ```
  ///
  /// Nil if the lock is free or its holder is unknown. For a pool in another process, the call and SQL are known after
  /// the pool has held the lock for about a second. Reading this property never waits. The errors of calls that waited
  /// too long for the lock also name its holder.
  public var writeLockHolder: WriteLockHolder? { root.writeLockHolder }

  /// The duration after which a write is published to other processes. Most writes end earlier and are not published.
  private static let longWrite = Duration.milliseconds(250)

  func publishLongWrite() {
    let now = ContinuousClock.now
    guard let write = withState({ $0.writer.running(at: now) }), write.age >= SqlitePool.longWrite else { return }
    gate.publish(
      GateRecord(
        label: configuration.handles.label, callSite: write.callSite, age: write.age,
        sql: write.sql.map { StatementShape(of: $0).sql }))
  }

  /// Returns the part of an error message that names the write lock's holder; empty if the holder is unknown or is
  /// `call`.
  func otherHolder(than call: PoolCall?) -> String {
    guard let holder = writeLockHolder, holder.callSite != call.map({ "\($0.callSite)" }) else { return "" }
    return "; \(holder)"
  }
}
