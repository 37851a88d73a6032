import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Archives every commit to the pool's database until the archive is stopped or the pool closes. Commits by other
  /// pools and processes are archived too.
  ///
  /// ```swift
  /// let archive = try pool.archive(to: "/backups/bikes")
  /// …
  /// try DatabaseArchive(at: "/backups/bikes").restore(to: "bikes.sqlite", at: .time(noon))
  /// ```
  ///
  /// The archive's directory first gets a copy of the database, and then the changed pages of each commit, read from
  /// the WAL. Put the directory on another disk or machine. If the process is killed or the disk is lost, normally at
  /// most the commits of the last `interval` are lost. Each start creates a new copy. Commits that were made while no
  /// archive was running are not archived.
  ///
  /// The WAL is not reset until its commits are archived. The archive resets the WAL every 1,000 pages; writers wait
  /// only during the reset. In connections outside this pool, `wal_checkpoint(TRUNCATE)` and leaving WAL mode throw
  /// `.busy`.
  ///
  /// Failures are retried, and are reported to `didFail`, in ``PoolArchive/status`` and by `health()`. Throws `.misuse`
  /// for invalid options, for an encrypted database, and if the archive belongs to a database at another path. Throws
  /// `.busy` if another pool writes to the archive, and `.full`, `.cannotOpen` and other errors of the file system.
  /// Blocks the thread until the database is copied.
  public func archive(to path: String, _ options: ArchiveOptions = ArchiveOptions()) throws -> PoolArchive {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    guard root.cipher == nil else {
      throw misuse(
        "can't archive an encrypted database: its WAL pages can't be decrypted without the salt in the database file")
    }
    return PoolArchive(try ArchiveRun(self, at: path, options), self)
  }

  /// Archives the pool's database: first a copy of the database, then every commit. The copy is made on a separate
  /// thread.
  public func archive(to path: String, _ options: ArchiveOptions = ArchiveOptions()) async throws -> PoolArchive {
    try await onOwnThread { () throws -> PoolArchive in try self.archive(to: path, options) }
  }
}

/// A running archive of a pool's commits. The pool keeps the archive until the archive is stopped or the pool closes.
public final class PoolArchive: Sendable {
  private let run: ArchiveRun
  private let pool: LockedValue<WeakPool>
  private let token: Int

  private struct WeakPool: Sendable {
    weak var pool: SqlitePool?
  }

  init(_ run: ArchiveRun, _ pool: SqlitePool) {
    self.run = run
    self.pool = LockedValue(WeakPool(pool: pool))
    token = pool.add(
      FileUser(
        pause: run.pause, release: run.release, resume: run.resume, end: { try? run.end() },
        problem: run.problem))
    run.start()
  }

  /// The state of the archive, such as the last archived commit and the lag. Never blocks.
  public var status: ArchiveStatus {
    var status = run.state.withLock { $0 }
    status.lag = run.caughtUp.withLock { $0 }.duration(to: .now)
    return status
  }

  /// Archives all commits made so far. Returns the number of the last commit, for
  /// ``DatabaseArchive/RestorePoint/commit(_:)``.
  ///
  /// Throws the error that prevents archiving, `.closed` after `stop`, and `.busy` inside `withClosed`.
  @discardableResult
  public func flush() throws -> Int { try run.flush() }

  /// Archives all commits made so far, without blocking the thread.
  @discardableResult
  public func flush() async throws -> Int {
    try await onOwnThread { [run] in try run.flush() }
  }

  /// Archives the remaining commits, and ends the archive. A second call does nothing. Throws the error that prevented
  /// archiving the last commits.
  public func stop() throws {
    let pool = pool.withLock { $0.pool }
    pool?.removeFileUser(token)
    if let pool, pool.isOpen { ArchiveRun.giveCheckpointsBack(to: pool) }
    try run.end()
  }

  /// Archives the remaining commits, and ends the archive, without blocking the thread.
  public func stop() async throws { try await onOwnThread { try self.stop() } }
}
