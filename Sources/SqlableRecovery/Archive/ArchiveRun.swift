import Dispatch
import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool

/// The archiving of a pool's commits.
///
/// Safe as `@unchecked Sendable`:
/// 1. Before `start()`, only the creator uses the run; afterwards, mutable state is used only on `queue`.
/// 2. `state` has its own lock.
final class ArchiveRun: @unchecked Sendable {
  private let queue = DispatchQueue(label: "sqlable.archive")
  private static let current = DispatchSpecificKey<ObjectIdentifier>()
  private var timer: (any DispatchSourceTimer)?
  private var isEnded = false
  /// True if the pool's file is closed or will be closed soon.
  private var isPaused = false
  let state = LockedValue(ArchiveStatus())
  private let files: ArchiveFiles
  private var lock: ArchiveLock?
  private let options: ArchiveOptions
  private weak var pool: SqlitePool?
  private let root: SqliteDatabase
  private let hold: WALHold
  private let checkpointer: SqliteDatabase
  private let filepath: String
  /// The path that identifies the database; empty for an in-memory database, whose path differs in each pool.
  private let database: String
  private var log: WALReader?
  private var position = WALReader.Position()
  private var pageSize = 0
  /// The number of frames in the WAL at which the archive resets the WAL.
  private var checkpointAt = ArchiveRun.checkpointFrames
  private static let checkpointFrames = 1_000
  /// While a pool is archived, the writer's commits run a checkpoint only at this multiple of the configured WAL size.
  /// Because the archive prevents the reset of the WAL, each commit above the configured size would otherwise run a
  /// checkpoint. Four threads made 21,000 commits a second with these checkpoints, and 37,000 with only the archive's
  /// checkpoints. The writer's checkpoints still run if the archive's checkpoints fail.
  private static let autocheckpointFactor = 16

  /// The open log file of the generation; nil if a new generation must be started.
  private var output: ArchiveFileWriter?
  private var generation = 0
  private var generationBegin = ContinuousClock.now
  private var number = 0
  private var time: Int64 = 0
  private var clock: ArchiveClock
  /// The last time when the archive contained all commits.
  let caughtUp = LockedValue(ContinuousClock.now)

  init(_ pool: SqlitePool, at path: String, _ options: ArchiveOptions) throws {
    try options.validate()
    self.options = options
    self.pool = pool
    root = pool.root
    files = ArchiveFiles(path: path)
    filepath = try root.locked { [root] in try root.openConnection().absolutePath }
    database = pool.memory == nil ? filepath : ""
    lock = try files.lock()
    hold = try WALHold(root)
    checkpointer = try root.createChild(isReadOnly: root.configuration.isReadOnly)
    let last = try files.last()
    (number, time) = (last.number, last.time)
    clock = ArchiveClock(age: last.number == 0 ? archiveTime() : ArchiveClock.age(after: last, keep: options.keep))
    try files.check(database, options)
    queue.setSpecific(key: ArchiveRun.current, value: ObjectIdentifier(self))
    try beginGeneration()
  }

  /// Returns the problem of the archive for `health()`; nil if the archive has no problem.
  func problem(_ limits: SqlitePool.HealthLimits) -> SqlitePool.Health.Problem? {
    if let error = state.withLock({ $0.error }) { return .archiveFails(error) }
    let lag = caughtUp.withLock { $0 }.duration(to: .now)
    return lag > limits.archiveLag && lag - limits.archiveLag > options.interval ? .archiveIsBehind(lag) : nil
  }

  func start() {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in try? self?.archive() }
    timer.schedule(deadline: .now() + options.interval.dispatched, repeating: options.interval.dispatched)
    timer.resume()
    self.timer = timer
  }

  /// Archives all commits made so far, and returns the number of the last commit. Throws `.closed` after `end()`.
  func flush() throws -> Int {
    // Don't tidy inside a pool's closure: this call then runs on the pool's thread, where `tidy` can't write. The timer
    // calls `tidy` later.
    let isOutside = pool?.withState { $0.ownHandle == nil } ?? true
    return try queue.sync {
      guard !isEnded else { throw SqlError(.closed, message: "the archive was stopped") }
      guard !isPaused else {
        throw SqlError(
          .busy, message: "the file is closed until the closure of withClosed returns; the archive continues afterwards"
        )
      }
      try archive(tidies: isOutside)
      return number
    }
  }

  /// Archives all commits made so far, and allows resets of the WAL again. A second call does nothing.
  func end() throws {
    // `sync` on the same queue would deadlock. `end` is called on this queue if the last reference to the pool is
    // released here.
    if DispatchQueue.getSpecific(key: ArchiveRun.current) == ObjectIdentifier(self) { return try endHere() }
    try queue.sync { try endHere() }
  }

  private func endHere() throws {
    guard !isEnded else { return }
    isEnded = true
    timer?.cancel()
    try finish()
  }

  /// Turns the configured automatic checkpoints on again, as soon as the pool's writer is free. Returns without waiting
  /// for the writer.
  static func giveCheckpointsBack(to pool: SqlitePool) {
    startThread { try? pool.withWriter { db in try db.setAutocheckpoint(1) } }
  }

  // MARK: While the pool's file is closed

  /// Stops archiving, and waits for the archive's running work. Call `pause` before the pool makes its calls wait,
  /// because the running work can call the pool.
  func pause() { queue.sync { isPaused = true } }

  /// Archives the last commits, and stops using the file.
  func release() {
    queue.sync {
      guard !isEnded else { return }
      if output != nil, hold.isHeld {
        do { try archiveCommits() } catch { note(error) }
      }
      hold.end()
      (output, log) = (nil, nil)
    }
  }

  /// Continues with a new generation, because the file might be a different file now.
  func resume() { queue.sync { isPaused = false } }

  // MARK: On the queue

  private func archive(tidies: Bool = true) throws {
    // A timer event can arrive after the end, or during a pause.
    guard !isEnded, !isPaused else { return }
    do {
      try lockAgain()
      if output == nil || !hold.isHeld || clock.isStepped { try beginGeneration() }
      try archiveCommits()
      try demandFiles()
      if tidies { try tidy() }
      state.withLock { $0.error = nil }
    } catch {
      if !isEnded { note(error) }
      throw error
    }
  }

  private func finish() throws {
    defer {
      output = nil
      hold.close()
      try? checkpointer.close()
      lock = nil
    }
    guard output != nil, hold.isHeld else { return }
    try archiveCommits()
    try demandFiles()
  }

  /// Throws if the archive's files are gone. Before it throws, this method allows resets of the WAL again, because the
  /// next generation starts with a new copy of the database, and does not need the WAL.
  private func demandFiles() throws {
    guard let output, let lock else { return }
    let base = files.base(ofGeneration: generation)
    guard !lock.isIntact || !output.isIntact || access(base, F_OK) != 0 else { return }
    hold.end()
    self.output = nil
    if !lock.isIntact { self.lock = nil }
    state.withLock { $0.gaps += 1 }
    throw SqlError(
      .cannotOpen,
      message:
        "the archive at \(files.path) was removed or replaced, and its commits are lost; create or mount the "
        + "directory, and the archive starts with a new copy of the database"
    )
  }

  /// Locks the archive's directory again after it was removed and recreated. This method does not create the directory,
  /// because the archive's disk might not be mounted.
  private func lockAgain() throws {
    guard lock == nil else { return }
    var info = stat()
    guard stat(files.path, &info) == 0 else { throw SqlError.system("open", files.path, errno) }
    let lock = try files.lock()
    try files.check(database, options)
    let last = try files.last()
    number = max(number, last.number)
    self.lock = lock
  }

  private func note(_ error: any Error) {
    let error = (error as? SqlError) ?? SqlError(.other, message: "can't write the archive")
    let isNew = state.withLock { state in
      defer { state.error = error }
      return state.error != error
    }
    if isNew { root.fail(error) }
    guard hold.isHeld, output != nil, let end = try? hold.logEnd() else { return }
    guard walSize(end.frames) > options.maximumWalSize else { return }
    // Let SQLite reset the WAL: a gap in the archive is better than a disk that the WAL has filled.
    hold.end()
    output = nil
    state.withLock { $0.gaps += 1 }
  }

  // MARK: Generations

  /// Starts a generation: copies the database with all commits made so far.
  private func beginGeneration() throws {
    // First archive all commits up to the copy in the previous generation, so that each of them can be restored.
    let continues = output != nil && hold.isHeld
    if continues { try archiveCommits() } else { try readWAL() }
    try withWriteLock {
      if continues { try archiveCommits() }
      hold.end()
      try hold.begin()
      if !continues, let log, let end = try hold.logEnd() { try log.read(from: &position, to: end) { _ in } }
    }
    output = nil
    clock = ArchiveClock(age: clock.age)
    // The times of commits never decrease, unless the clock was set back by more than the tolerance. After such a
    // change of the clock, the archive uses the new time, so that later commits are found by their real times.
    time = clock.now < time.addingSaturated(-ArchiveClock.tolerance) ? clock.now : max(time, clock.now)
    state.withLock { $0.isCopying = true }
    defer { state.withLock { $0.isCopying = false } }
    let first = number + 1
    try files.makeGeneration(first) { directory in
      let base = directory + "/" + ArchiveFiles.baseName
      try hold.copy(to: base)
      var description = GenerationDescription(commit: first, time: time)
      description.age = clock.age
      description.continues = continues
      description.database = database
      (description.baseSize, description.baseSum) = try ArchiveFiles.sum(ofFileAt: base)
      try ArchiveFiles.write(description, to: directory)
    }
    (generation, generationBegin, number) = (first, .now, first)
    output = try ArchiveFileWriter(
      in: files.directory(ofGeneration: first), from: first + 1, after: WALChecksum(isBigEndian: false))
    noteArchived()
    try removeOld()
  }

  /// Reads the WAL to its end without archiving. `beginGeneration` calls this method before it takes the write lock.
  /// Only later commits remain to be read under the lock, so writers wait only briefly.
  private func readWAL() throws {
    hold.end()
    output = nil
    position = WALReader.Position()
    let log = try self.log ?? openWAL()
    self.log = log
    if let end = try logEnd() { try log.read(from: &position, to: end) { _ in } }
  }

  /// Opens the WAL file. The file exists only after a connection has read the database.
  private func openWAL() throws -> WALReader {
    try hold.begin()
    defer { hold.end() }
    return try WALReader(besideFileAt: filepath)
  }

  private func logEnd() throws -> (frames: Int, salts: UInt64)? {
    try hold.begin()
    defer { hold.end() }
    return try hold.logEnd()
  }

  private func removeOld() throws {
    guard let keep = options.keep else { return }
    // If the conversion fails, `keep` is longer than any possible age.
    guard let age = Int64(exactly: (keep / .microseconds(1)).rounded()) else { return }
    let oldest = clock.age.addingSaturated(-age)
    let generations = try files.generations()
    // A generation is needed until the next generation is older than `keep`.
    for (old, next) in zip(generations, generations.dropFirst()) {
      guard try files.description(ofGeneration: next).steadyAge < oldest else { return }
      try files.removeGeneration(old)
    }
  }

  // MARK: Commits

  private func archiveCommits() throws {
    guard var output, let log, let end = try hold.logEnd() else { return }
    let salts = position.salts
    let pending = end.frames - (end.salts == salts ? position.frames : 0)
    state.withLock { $0.pendingBytes = walSize(max(0, pending)) }
    var isNew = false
    try log.read(from: &position, to: end) { commit in
      if output.size >= options.fileSize {
        try output.sync()
        output = try ArchiveFileWriter(
          in: files.directory(ofGeneration: generation), from: number + 1, after: output.sum)
        self.output = output
      }
      pageSize = commit.pageSize
      let now = max(time, clock.now)
      let record = ArchiveRecord(
        number: number + 1, time: now, pageCount: commit.pages.count, databasePages: Int(commit.databasePages),
        pageSize: commit.pageSize)
      try output.append(commit, record, from: log)
      (number, time, isNew) = (number + 1, now, true)
    }
    if position.salts != salts { checkpointAt = ArchiveRun.checkpointFrames }
    guard isNew else { return caughtUp.withLock { $0 = .now } }
    do { try output.sync() } catch {
      // After a failed sync, the file's content is undefined. Without an open file, the next run begins a new
      // generation. The database copy of the new generation contains these commits.
      self.output = nil
      throw error
    }
    noteArchived()
  }

  private func noteArchived() {
    state.withLock { state in
      (state.commit, state.time, state.pendingBytes) = (number, Date(archived: time), 0)
    }
    caughtUp.withLock { $0 = .now }
  }

  /// Resets the WAL if it is long, and creates a new copy of the database if the present copy is old.
  private func tidy() throws {
    if generationBegin.duration(to: .now) >= options.baseInterval { return try beginGeneration() }
    guard position.frames >= checkpointAt, pool?.isOpen == true else { return }
    // This checkpoint does not take the writer's turn, so that other calls can write meanwhile.
    try checkpoint()
    // Archive the commits that were made during the checkpoint now, so that writers wait only briefly afterwards.
    try archiveCommits()
    if let pool, let limit = pool.configuration.maximumWalSize, walSize(position.frames) >= limit {
      // Hold reads back, because overlapping reads would prevent the reset of the WAL.
      try pool.withReadsHeldBack(for: WALSizeLimiter.patience) { _ in try resetWAL() }
    } else {
      try resetWAL()
    }
    // If other readers prevent the reset, the next attempt waits until the WAL has grown by another 1,000 frames.
    checkpointAt = position.frames + ArchiveRun.checkpointFrames
  }

  private func walSize(_ frames: Int) -> Int { frames * (WALFormat.frameHeaderSize + pageSize) }

  private func resetWAL() throws {
    try withWriteLock {
      try archiveCommits()
      // The hold can end now: while this connection holds the write lock, no other connection commits or resets the
      // WAL.
      hold.end()
      defer { if !hold.isHeld { output = nil } }
      try checkpoint()
      try hold.begin()
    }
  }

  private func checkpoint() throws { try checkpointer.checkpoint() }

  /// Calls `body` while no connection can write to the database.
  private func withWriteLock(_ body: () throws -> Void) throws {
    guard let pool else { throw SqlError(.closed, message: "the pool of the archive no longer exists") }
    try pool.withWriter { db in
      try db.setAutocheckpoint(ArchiveRun.autocheckpointFactor)
      try db.beginTransaction()
      defer { try? db.rollbackTransaction() }
      try body()
    }
  }
}

extension SqliteDatabase {
  fileprivate func setAutocheckpoint(_ factor: Int) throws {
    try locked { try openConnection().setAutocheckpoint(pages: configuration.walAutocheckpoint * factor) }
  }
}

extension Date {
  init(archived time: Int64) { self.init(timeIntervalSince1970: Double(time) / 1_000_000) }

  /// The time in microseconds since 1970. Times outside the range of Int64 become the first or last time in the range.
  var archived: Int64 {
    let time = (timeIntervalSince1970 * 1_000_000).rounded(.down)
    return Int64(exactly: time) ?? (time < 0 ? .min : .max)
  }
}
