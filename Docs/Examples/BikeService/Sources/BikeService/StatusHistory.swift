import Sqlable
import Synchronization

/// The rates of reads and writes in the last two minutes, as of the requests of the status page: nothing is counted
/// while none is made.
final class StatusHistory: Sendable {
  struct Rates: Sendable {
    let time: ContinuousClock.Instant
    let reads: Double
    let writes: Double
  }

  private struct State {
    var last: (time: ContinuousClock.Instant, reads: Int, writes: Int)?
    var rates: [Rates] = []
  }

  static let span = Duration.seconds(120)
  private let state = Mutex(State())

  /// Adds what has happened since the last request, if that was half a second ago, and returns all rates, the latest
  /// last. After ten seconds without a request it begins anew: a mean of hours says nothing about now.
  func add(_ statistics: SqlitePool.Statistics, at now: ContinuousClock.Instant = .now) -> [Rates] {
    state.withLock { state in
      let (reads, writes) = (statistics.reads, statistics.writes)
      state.rates.removeAll { $0.time.duration(to: now) > StatusHistory.span }
      guard let last = state.last else {
        state.last = (now, reads, writes)
        return state.rates
      }
      let seconds = last.time.duration(to: now) / .seconds(1)
      guard seconds >= 0.5 else { return state.rates }
      state.last = (now, reads, writes)
      guard seconds <= 10 else { return state.rates }
      // Less than before: someone has reset the statistics.
      state.rates.append(
        Rates(
          time: now, reads: Double(max(0, reads - last.reads)) / seconds,
          writes: Double(max(0, writes - last.writes)) / seconds))
      return state.rates
    }
  }
}
