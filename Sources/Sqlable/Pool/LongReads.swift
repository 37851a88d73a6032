import Dispatch

/// Reports reads that go on for long.
///
/// Sound as `Sendable`: nothing changes but the source's state, which Dispatch guards.
final class LongReads: @unchecked Sendable {
  private let timer: any DispatchSourceTimer
  private static let queue = DispatchQueue(label: "sqlable.pool.long-reads")

  init(_ duration: Duration, look: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource(queue: LongReads.queue)
    timer.setEventHandler(handler: look)
    // Late by a quarter at most; a timer for each read would cost every read something.
    let interval = (duration / 4).dispatched
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: interval)
    timer.resume()
  }

  func end() { timer.cancel() }

  deinit { timer.cancel() }
}

extension SqlitePool {
  /// Reports the reads that have gone on for longer than the configuration says, each once.
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
    let size = Location.size(ofFileAt: filepath + "-wal")
    for read in reads {
      root.fail(
        SqlError(
          .timeout,
          message: """
            the read made at \(read.callSite) has gone on for \(read.age.seconds) s; as long as it does, the write-ahead log \
            (\(size) bytes) can't be reused
            """, sql: read.sql, label: configuration.handles.label))
    }
  }
}
