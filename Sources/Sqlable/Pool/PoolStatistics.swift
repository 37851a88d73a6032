extension SqlitePool {
  /// What a pool is doing, and what it has done since it was opened.
  public struct Statistics: Sendable, Hashable {
    /// How many readers are open, and how many of them nobody uses.
    public let openReaders: Int
    public let idleReaders: Int
    /// How many calls wait for a reader, and how many for the writer.
    public let waitingReads: Int
    public let waitingWrites: Int
    /// Whether somebody writes.
    public let isWriting: Bool
    /// How many calls have ended, in whichever way.
    public let reads: Int
    public let writes: Int
    /// How many commits these writes took.
    public let commits: Int
    /// How long calls have waited for their handles, all together, and the one that has waited the longest.
    public let waited: Duration
    public let longestWait: Duration
    /// How long calls have used their handles, all together, and the one that has used one the longest.
    public let used: Duration
    public let longestUse: Duration
    /// How the handles' caches of compiled statements were used, all together.
    public let statementCache: StatementCacheUse
    /// How many loops over changes, and over live results, are open.
    public let loops: Int
    /// The size of the write-ahead log, in bytes.
    public let walSize: Int
    /// The read that has gone on for the longest: as long as it does, the write-ahead log can't be reused.
    public let oldestRead: ActiveCall?
    /// What the writer does.
    public let write: ActiveCall?

    /// A call that is running.
    public struct ActiveCall: Sendable, Hashable, CustomStringConvertible {
      /// File and line where the call was made.
      public let callSite: String
      /// For how long it has had its handle.
      public let age: Duration
      /// The SQL of the statement that it has spent its time on; nil when none has run for more than some milliseconds.
      public let sql: String?

      public var description: String {
        "the call made at \(callSite), running for \(age.seconds) s" + (sql.map { ": \($0)" } ?? "")
      }
    }
  }

  /// What all calls have done so far.
  struct Counts {
    var reads = 0
    var writes = 0
    var commits = 0
    var waited = Duration.zero
    var longestWait = Duration.zero
    var used = Duration.zero
    var longestUse = Duration.zero

    mutating func began(_ call: PoolCall) {
      guard call.kind != .detection, let start = call.gotHandle else { return }
      let wait = call.begin.duration(to: start)
      waited += wait
      longestWait = max(longestWait, wait)
    }

    mutating func ended(_ call: PoolCall) {
      guard call.kind != .detection else { return }
      if call.kind.isRead { reads += 1 } else { writes += 1 }
      guard let start = call.gotHandle else { return }
      let use = start.duration(to: .now)
      used += use
      longestUse = max(longestUse, use)
    }
  }
}

extension SqlitePool {
  /// What the pool is doing at this moment, and what it has done. Waits for nobody.
  public var statistics: Statistics {
    let now = ContinuousClock.now
    let walSize = Location.size(ofFileAt: filepath + "-wal")
    let loops = feed.count
    return withState { state in
      let handles = state.readers + [state.writer]
      let oldest = state.readers.filter { $0.call != nil }.min { ($0.since ?? now) < ($1.since ?? now) }
      let counts = state.counts
      return Statistics(
        openReaders: state.readers.count, idleReaders: state.idleReaders.count,
        waitingReads: state.waitingReads.count, waitingWrites: state.waitingWrites.count,
        isWriting: !state.writerIsIdle, reads: counts.reads, writes: counts.writes, commits: counts.commits,
        waited: counts.waited, longestWait: counts.longestWait, used: counts.used, longestUse: counts.longestUse,
        statementCache: handles.reduce(.none) { $0.joined(with: $1.cacheUse) },
        loops: loops, walSize: walSize, oldestRead: oldest?.running(at: now), write: state.writer.running(at: now))
    }
  }
}

extension PooledHandle {
  /// Since when its call has had it; to be called with the pool's lock held.
  var since: ContinuousClock.Instant? { call?.gotHandle }

  /// What is being run; to be called with the pool's lock held.
  func running(at now: ContinuousClock.Instant) -> SqlitePool.Statistics.ActiveCall? {
    guard let call, let since else { return nil }
    return SqlitePool.Statistics.ActiveCall(
      callSite: "\(call.place)", age: since.duration(to: now), sql: interruption.longStatement.withLock { $0 })
  }
}
