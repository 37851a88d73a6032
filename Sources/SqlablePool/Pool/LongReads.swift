import Dispatch
import SqlableCore

/// A timer that checks for long reads and long writes, while the pool has a call.
///
/// `LongReads` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
final class LongReads: @unchecked Sendable {
  private let timer: any DispatchSourceTimer
  private let interval: Duration
  private static let queue = DispatchQueue(label: "sqlable.pool.long-reads")

  init(_ duration: Duration, check: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource(queue: LongReads.queue)
    timer.setEventHandler(handler: check)
    // One timer for all reads, because a timer per read would slow each read. A report is late by at most the interval
    // plus the leeway: 0.3 times the limit, and at most 0.6 seconds.
    interval = min(duration / 4, .milliseconds(500))
    pause()
    timer.resume()
  }

  func start() {
    timer.schedule(
      deadline: .now() + interval.dispatched, repeating: interval.dispatched, leeway: (interval / 5).dispatched)
  }

  func pause() { timer.schedule(deadline: .distantFuture) }

  func end() { timer.cancel() }

  deinit { timer.cancel() }
}

extension SqlitePool.State {
  /// Ends the checks for long calls if the pool has no call. The next call starts the checks again.
  mutating func endChecksIfIdle() {
    guard writer.call == nil, readers.allSatisfy({ $0.call == nil }) else { return }
    isChecked = false
    longCalls?.pause()
  }
}

extension SqlitePool {
  /// Reports each read that has run for longer than `longRead`, once per read.
  func reportLongReads() {
    guard let limit = configuration.longRead else { return }
    let now = ContinuousClock.now
    let reads = withState { state in
      state.readers.compactMap { reader -> Statistics.ActiveCall? in
        guard let call = reader.call, !call.isReported, let read = reader.running(at: now), read.age >= limit else {
          return nil
        }
        call.isReported = true
        return read
      }
    }
    guard !reads.isEmpty else { return }
    let size = currentWALSize
    for read in reads {
      events.send(.longRead(read, walSize: size))
      root.fail(
        SqlError(
          .timeout,
          message: """
            the read at \(read.callSite) has been running for \(read.age.seconds) s; the WAL (\(size) bytes) can't be \
            reset until the read ends
            """, sql: read.sql, label: configuration.handles.label))
    }
  }

  func endOldReads() {
    guard let limit = configuration.maximumRead else { return }
    let now = ContinuousClock.now
    let calls = withState { state in
      state.readers.filter { $0.since.map { $0.duration(to: now) >= limit } ?? false }.compactMap(\.call)
    }
    for call in calls { stop(call, .tooOld) }
  }
}
