import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Archives every commit to the pool's database, by this pool and by others, until it is stopped or the pool closes.
  ///
  /// ```swift
  /// let archive = try pool.archive(to: "/backups/bikes")
  /// …
  /// try DatabaseArchive(at: "/backups/bikes").restore(to: "bikes.sqlite", at: .time(noon))
  /// ```
  ///
  /// The directory gets a copy of the database, and then what each commit has changed: pages from the write-ahead log.
  /// Put it on another disk or machine. A process that is killed, or a disk that is lost, costs the commits of the last
  /// `interval`. Each start makes a new copy: what was committed while nothing archived is in no archive.
  ///
  /// Until its commits are archived the log is not begun anew; the archive sees to that every 1,000 pages, and keeps
  /// writers waiting for as long as a checkpoint takes. A connection that is not this pool's may write, too, but must
  /// not run `wal_checkpoint(TRUNCATE)` or leave WAL mode, which throws `.busy` there.
  ///
  /// Failures are retried, and reported to `didFail`, in ``PoolArchive/status`` and by `health()`. Throws `.misuse`
  /// for invalid options, for an encrypted database, and for the archive of a database at another path. Throws `.busy`
  /// if another pool writes to the archive, and `.full`, `.cannotOpen` and others of the file system. It blocks the
  /// thread until the database is copied.
  public func archive(to path: String, _ options: ArchiveOptions = ArchiveOptions()) throws -> PoolArchive {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    guard root.cipher == nil else {
      throw misuse("an encrypted database can't be archived: its log has pages that only its own file's salt opens")
    }
    return PoolArchive(try ArchiveRun(self, at: path, options), self)
  }

  /// Archives every commit to the pool's database; the copy is made on a thread of its own.
  public func archive(to path: String, _ options: ArchiveOptions = ArchiveOptions()) async throws -> PoolArchive {
    try await onOwnThread { () throws -> PoolArchive in try self.archive(to: path, options) }
  }
}

/// The archiving of a pool's commits, which goes on until it is stopped or the pool is closed: the pool keeps it.
public final class PoolArchive: Sendable {
  private let run: ArchiveRun
  private let pool: Guarded<WeakPool>
  private let token: Int

  private struct WeakPool: Sendable {
    weak var pool: SqlitePool?
  }

  init(_ run: ArchiveRun, _ pool: SqlitePool) {
    self.run = run
    self.pool = Guarded(WeakPool(pool: pool))
    token = pool.add(
      FileUser(
        pause: run.pause, release: run.release, resume: run.resume, end: { try? run.end() },
        problem: run.problem))
    run.start()
  }

  /// How far the archive is. Never waits.
  public var status: ArchiveStatus {
    var status = run.state.withLock { $0 }
    status.lag = run.caughtUp.withLock { $0 }.duration(to: .now)
    return status
  }

  /// Archives what is committed now; returns the number of the last commit, for ``DatabaseArchive/Moment/commit(_:)``.
  ///
  /// Throws what keeps it from being archived, and `.closed` after `stop`.
  @discardableResult
  public func flush() throws -> Int { try run.flush() }

  /// Archives what is committed now, without blocking the thread.
  @discardableResult
  public func flush() async throws -> Int {
    try await onOwnThread { [run] in try run.flush() }
  }

  /// Archives what is committed, and ends. Stopping again does nothing. Throws what kept the last commits from being
  /// archived.
  public func stop() throws {
    let pool = pool.withLock { $0.pool }
    pool?.removeFileUser(token)
    if let pool, pool.isOpen { ArchiveRun.giveCheckpointsBack(to: pool) }
    try run.end()
  }

  /// Archives what is committed, and ends, without blocking the thread.
  public func stop() async throws { try await onOwnThread { try self.stop() } }
}
