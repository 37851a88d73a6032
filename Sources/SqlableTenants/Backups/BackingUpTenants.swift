import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool

/// The result of a backup of all tenants.
public struct TenantBackupReport: Sendable {
  /// The number of tenants that were copied.
  public internal(set) var copied = 0
  /// The number of tenants that have not changed since their last backup, and were not copied.
  public internal(set) var unchanged = 0
  /// The number of copied bytes.
  public internal(set) var bytes = 0
  /// The tenants that could not be backed up, and the reasons.
  public internal(set) var failures: [(name: String, error: any Error)] = []

  /// The number of tenants in the report.
  public var count: Int { copied + unchanged + failures.count }
}

extension SqliteTenants {
  /// Backs up each tenant that has changed since its last backup in the directory.
  ///
  /// ```swift
  /// let report = try await tenants.backup(to: "/backups/tenants", bytesPerSecond: 20 << 20, keep: .seconds(604_800))
  /// for (name, error) in report.failures { log(name, error) }
  /// ```
  ///
  /// Each tenant gets another backup beside its earlier backups. The inodes, sizes and times of a tenant's file and WAL
  /// show whether the tenant has changed, so an unchanged tenant is not read. A checkpoint counts as a change. A tenant
  /// that was changed less than three seconds before its last backup is copied again. A tenant is neither opened,
  /// created nor migrated, and its calls continue. `delete`, `rename` and `restore` end the copy of their tenant. A
  /// backup is checked before it gets its name. After an interrupted run, the next run continues with the remaining
  /// tenants.
  ///
  /// Throws `.busy` while another run uses the directory, `.misuse` for a directory inside the tenants' directory and
  /// for a rate or concurrency below 1, `.io` if a directory can't be read, `.closed` once the tenants are closed, and
  /// `CancellationError`.
  ///
  /// - Parameters:
  ///   - directory: The directory of the backups, which is created if it is missing.
  ///   - bytesPerSecond: The maximum rate of all copies together; nil for no limit. Reads for the check don't count.
  ///   - keep: The duration before now for which each tenant can be restored. Older backups that no such restore needs
  ///     are deleted. The backups of a tenant that has been missing for this duration are deleted, too. Nil keeps all
  ///     backups.
  ///   - concurrency: The maximum number of tenants that are copied at once, each on a thread of its own.
  ///   - progress: A closure that receives the report so far, after each tenant.
  public func backup(
    to directory: String, bytesPerSecond: Int? = nil, keep: Duration? = nil, concurrency: Int = 2,
    progress: @Sendable (TenantBackupReport) -> Void = { _ in }
  ) async throws -> TenantBackupReport {
    guard bytesPerSecond.map({ $0 >= 1 }) ?? true else { throw SqlError.misuse("bytesPerSecond must be at least 1") }
    // The directory can be in a slow network file system, so it is not read on the threads of the calls.
    let run = try await onOwnThread { [self] in try TenantBackupRun(self, directory, bytesPerSecond, keep) }
    do {
      let report = try await backUpAll(run, concurrency: concurrency, progress)
      await run.end()
      return report
    } catch {
      await run.end()
      throw error
    }
  }

  private func backUpAll(
    _ run: TenantBackupRun, concurrency: Int, _ progress: @Sendable (TenantBackupReport) -> Void
  ) async throws -> TenantBackupReport {
    var report = TenantBackupReport()
    for try await (name, result) in each(concurrency: concurrency, { try await run.backUp(TenantName($0.name)) }) {
      switch result {
      case .success(.copied(let bytes)):
        report.copied += 1
        report.bytes += bytes
      case .success(.unchanged): report.unchanged += 1
      // The tenant was deleted or handed over after its name was read.
      case .failure(let error as SqlError) where error.kind == .tenant(.missing) || error.kind == .tenant(.handedOver):
        continue
      case .failure(let error as SqlError) where error.kind == .closed: throw error
      case .failure(let error): report.failures.append((name, error))
      }
      progress(report)
    }
    // If the directory has no tenants, record no deletions, because the directory's file system might not be mounted.
    if report.count > 0 { try await onOwnThread { try run.noteDeleted() } }
    return report
  }

  /// Returns the backups of a tenant in a directory of ``backup(to:bytesPerSecond:keep:concurrency:progress:)``, in
  /// ascending order of their times.
  ///
  /// ```swift
  /// if let backup = try tenants.backups(of: "acme", in: "/backups/tenants").last(where: { $0.time <= noon }) {
  ///   try await tenants.restore("acme", from: backup.path)
  /// }
  /// ```
  ///
  /// Blocks the thread for a moment. Throws `.tenant(.invalidName)`, and `.io` if the directory can't be read.
  public func backups(of name: String, in directory: String) throws -> [TenantBackup] {
    try BackupDirectory(path: directory).backups(of: TenantName(name))
  }
}

private final class TenantBackupRun: Sendable {
  enum Outcome {
    case copied(bytes: Int)
    case unchanged
  }

  private let tenants: SqliteTenants
  private let backups: BackupDirectory
  private let lock: Int32
  private let rate: CopyRate
  /// The earliest time to which tenants must be restorable; nil for all times.
  private let start: Date?
  /// The number of running calls of `backUp`, and whether the run has ended.
  private let state = LockedValue((running: 0, isEnded: false))

  init(_ tenants: SqliteTenants, _ directory: String, _ bytesPerSecond: Int?, _ keep: Duration?) throws {
    guard !directory.isEmpty, !directory.utf8.contains(0) else {
      throw SqlError.misuse("the path of the backups' directory can't be empty or contain a NUL byte")
    }
    guard !tenants.directory.contains(directory) else {
      throw SqlError.misuse("the backups can't be in the directory of the tenants: \(directory)")
    }
    lock = try BackupDirectory(path: directory).lock()
    // Resolve the path now, because the working directory might change later.
    backups = BackupDirectory(path: FileIdentity.resolved(directory) ?? directory)
    self.tenants = tenants
    rate = CopyRate(bytesPerSecond: bytesPerSecond)
    start = keep.map { Date(timeIntervalSinceNow: -($0 / .seconds(1))) }
  }

  /// Waits until all copies have ended, and releases the lock. Copies can still run after a cancellation or an error.
  func end() async {
    while state.withLock({ state in
      state.isEnded = true
      return state.running > 0
    }) {
      // Pause in a separate task. In the caller's task, the pause would end at once after a cancellation.
      await Task { try? await Task.sleep(for: .milliseconds(1)) }.value
    }
    // Unlock, because a forked process can keep the descriptor open.
    flock(lock, LOCK_UN)
    close(lock)
  }

  func backUp(_ name: TenantName) async throws -> Outcome {
    let isEnded = state.withLock { state in
      if !state.isEnded { state.running += 1 }
      return state.isEnded
    }
    guard !isEnded else { throw CancellationError() }
    defer { state.withLock { $0.running -= 1 } }
    let isUnchanged: Bool = try await onOwnThread { [self] in try self.isUnchanged(name) }
    guard !isUnchanged else { return .unchanged }
    // The rate limit delays the start of the copy. A delay during the copy would hold a snapshot, and the tenant's WAL
    // would grow.
    try await Task.sleep(until: rate.next, clock: .continuous)
    return try await tenants.readingFile(name) { [self] file in try copy(file, of: name) }
  }

  private func isUnchanged(_ name: TenantName) throws -> Bool {
    guard let state = TenantFileState(tenants.directory.file(of: name)) else { throw tenants.missing(name) }
    try backups.noteExists(name)
    let all = try backups.backups(of: name)
    guard let last = all.last, last.mark == state.mark else { return false }
    try backups.removeOld(all, before: start)
    return true
  }

  private func copy(_ file: ReadTenantFile, of name: TenantName) throws -> Outcome {
    let target = try backups.newFile(of: name)
    let progress = LockedValue((pages: 0, bytes: 0, time: Date()))
    let options = BackupOptions(pagesPerStep: 64) { [rate, stop = file.stop] now in
      let pages = progress.withLock { last in
        // The first step of a copy begins the snapshot, so the time of this step is the backup's time. Without a WAL, a
        // commit of another connection restarts the copy with a new snapshot.
        let isNew = now.copiedPages <= last.pages || last.bytes == 0
        if isNew { last.time = Date() }
        let pages = isNew ? now.copiedPages : now.copiedPages - last.pages
        last.pages = now.copiedPages
        last.bytes += pages * now.pageSize
        return pages
      }
      rate.add(pages * now.pageSize)
      if now.copiedPages < now.totalPages { try stop.sleep(until: rate.next, stop.check) }
    }
    try file.db.writeBackup(to: target, options, file.stop)
    try file.check()
    let (_, bytes, time) = progress.withLock { $0 }
    // The last backup must have the latest time, even if the clock was set back.
    let earliest = try backups.backups(of: name).last.map { $0.time.addingTimeInterval(0.00001) }
    let mark = file.state.isSettled ? file.state.mark : nil
    try backups.finish(target, of: name, max(time, earliest ?? time), mark: mark)
    try backups.removeOld(backups.backups(of: name), before: start)
    return .copied(bytes: bytes)
  }

  func noteDeleted() throws {
    guard let start else { return }
    for index in 0..<TenantName.directories {
      for name in try backups.tenants(inDirectory: index) where !tenants.directory.exists(name) {
        // A tenant whose hand-over is unfinished might stay here, so don't note it as deleted.
        guard !tenants.directory.isAway(name) || tenants.directory.isGone(name) else { continue }
        try backups.noteDeleted(name, before: start)
      }
    }
  }
}
