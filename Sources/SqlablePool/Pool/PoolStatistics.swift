import SqlableCore

extension SqlitePool {
  /// The size of the WAL, in bytes. If the path is a symbolic link, the WAL is beside the link's target.
  var currentWALSize: Int { Location.size(ofFileAt: root.family.path + "-wal") }

  /// A pool's current activity, and its totals since the pool was opened.
  public struct Statistics: Sendable, Hashable {
    /// The number of open readers.
    public let openReaders: Int
    /// The number of open readers that no call uses.
    public let idleReaders: Int
    /// The number of calls that wait for a reader.
    public let waitingReads: Int
    /// The number of calls that wait for the writer.
    public let waitingWrites: Int
    /// True if a call holds the writer.
    public let isWriting: Bool
    /// The number of completed reads, including failed reads.
    public let reads: Int
    /// The number of completed writes, including failed writes.
    public let writes: Int
    /// The number of commits by writing calls. A commit that several calls share counts once. Commits inside
    /// `withWriter` and `yieldingTransaction` are not counted.
    public let commits: Int
    /// The total time that calls have waited for handles.
    public let waited: Duration
    /// The longest time that a call has waited for a handle.
    public let longestWait: Duration
    /// The total time that calls have held handles.
    public let used: Duration
    /// The longest time that a call has held a handle.
    public let longestUse: Duration
    /// The use of the statement caches of all handles.
    public let statementCache: StatementCacheUse
    /// The number of running loops over changes and over live results. A loop runs as long as its iterator exists.
    public let loops: Int
    /// The size of the WAL, in bytes.
    public let walSize: Int
    /// The read that has run the longest. The WAL can't be reset until this read ends.
    public let oldestRead: ActiveCall?
    /// The call that holds the writer.
    public let write: ActiveCall?

    /// A running call.
    public struct ActiveCall: Sendable, Hashable, CustomStringConvertible {
      /// The file and line of the call.
      public let callSite: String
      /// The time for which the call has held its handle.
      public let age: Duration
      /// The SQL of the call's running statement; nil unless the statement has run for more than some milliseconds.
      public let sql: String?

      public var description: String {
        "the call at \(callSite), running for \(age.seconds) s" + (sql.map { ": \($0)" } ?? "")
      }
    }
  }

  struct Counts {
    var reads = 0
    var writes = 0
    var commits = 0
    var waited = Duration.zero
    var longestWait = Duration.zero
    var used = Duration.zero
    var longestUse = Duration.zero

    mutating func waited(_ call: PoolCall) {
      guard call.kind != .detection else { return }
      let wait = call.begin.duration(to: call.handleTime)
      waited += wait
      longestWait = max(longestWait, wait)
    }

    mutating func ended(_ call: PoolCall, at end: ContinuousClock.Instant) {
      guard call.kind != .detection, !call.isAbandoned, !call.isCounted else { return }
      if call.kind.isRead { reads += 1 } else { writes += 1 }
      guard call.hasHandle else { return }
      let use = call.handleTime.duration(to: end)
      used += use
      longestUse = max(longestUse, use)
    }
  }
}

extension SqlitePool.State {
  /// The counts of all calls, including reads with a claim.
  var allCounts: SqlitePool.Counts {
    var all = counts
    for reader in readers {
      all.reads += reader.claimCounts.reads
      all.used += reader.claimCounts.used
      all.longestUse = max(all.longestUse, reader.claimCounts.longest)
    }
    return all
  }

  mutating func resetCounts() {
    counts = SqlitePool.Counts()
    // The claimants never reset their counts, so `counts` contains the negative sums.
    for reader in readers {
      counts.reads -= reader.claimCounts.reads
      counts.used -= reader.claimCounts.used
      reader.claimCounts.forgetLongest()
    }
  }
}

extension SqlitePool {
  /// The pool's current activity and its totals. Reading this property never waits for a call.
  public var statistics: Statistics {
    let now = ContinuousClock.now
    let walSize = currentWALSize
    let loops = feed.loopCount
    return withState { state in
      let handles = state.readers + [state.writer]
      let oldest = state.readers.filter { $0.call != nil }.min { ($0.since ?? now) < ($1.since ?? now) }
      let counts = state.allCounts
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
  /// The time at which the running call got the handle. Hold the pool's lock while reading this property.
  var since: ContinuousClock.Instant? { call?.gotHandle }

  /// Returns the running call. Hold the pool's lock while calling this method.
  func running(at now: ContinuousClock.Instant) -> SqlitePool.Statistics.ActiveCall? {
    guard let call, let since else { return nil }
    return SqlitePool.Statistics.ActiveCall(
      callSite: "\(call.callSite)", age: since.duration(to: now), sql: interruption.longStatement.withLock { $0 })
  }
}
