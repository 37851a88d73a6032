#if Cluster
import Sqlable
import SqlableChanges

/// A task that reads the end of the change log after each commit of this client and every `pollInterval`, and wakes the
/// loops over the log. The task runs only while there are such loops.
final class ClusterLogWatch: Sendable {
  private struct Loop {
    weak var signal: CommitSignal?
  }

  private struct State {
    var loops: [Loop] = []
    var reading: Task<Void, Never>?
    var isClosed = false
  }

  private let state = LockedValue(State())
  private let pause = PollPause()
  private let feed: PoolFeed
  private let interval: Duration

  init(_ feed: PoolFeed, every interval: Duration) { (self.feed, self.interval) = (feed, interval) }

  func poke() { pause.poke() }

  func close() {
    let reading = state.withLock { state in
      state.isClosed = true
      return state.reading
    }
    reading?.cancel()
    pause.end()
  }

  /// Starts the task, which runs at least until the signal is released.
  func begin(_ cluster: SqliteCluster, for signal: CommitSignal) {
    state.withLock { state in
      state.loops.append(Loop(signal: signal))
      guard state.reading == nil, !state.isClosed else { return }
      // The task has only weak references, so that the client can be released.
      state.reading = Task.detached { [weak self, weak cluster, pause, interval] in
        var last: LogMark?
        while self?.isNeeded() == true, let mark = await self?.readIfOpen(cluster, after: last) {
          last = mark
          await pause.sleep(for: interval)
        }
      }
    }
  }

  /// Returns false if no loop is left or the client is closed. The next loop then starts another task.
  private func isNeeded() -> Bool {
    state.withLock { state in
      state.loops.removeAll { $0.signal == nil }
      if !state.isClosed, !state.loops.isEmpty { return true }
      state.reading = nil
      return false
    }
  }

  /// Reads the log's mark, and wakes the loops if the mark differs from `last`. `last` is nil for the first read.
  /// Returns the new mark; nil if the client was released.
  private func readIfOpen(_ cluster: SqliteCluster?, after last: LogMark?) async -> LogMark? {
    guard let cluster else { return nil }
    let mark: LogMark
    do { mark = try await LogMark(of: cluster) } catch {
      // If the log's tables are missing, wake the loops, so that they throw. After any other error, such as the loss of
      // the leader, the next read detects the changes.
      guard case .schema(.missingTable)? = (error as? SqlError)?.kind else { return last ?? .missing }
      mark = .missing
    }
    for table in mark.changedTables(since: last) {
      var changes = TableChanges()
      changes.isMembershipChanged = true
      feed.didCommit(CommittedChanges(tables: [table.foldedName: changes]))
    }
    return mark
  }
}
#endif
