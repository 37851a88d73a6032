#if Metrics
import Metrics
import Sqlable

/// A dimension of a metric, and its value.
struct MetricDimension: Sendable, Hashable {
  let name: String
  let value: String
  /// True if the program's statements say how many values there are.
  let isUnbounded: Bool

  init(_ name: String, _ value: String, isUnbounded: Bool = false) {
    (self.name, self.value, self.isUnbounded) = (name, value, isUnbounded)
  }
}

/// The metrics of a back end by label and dimensions, each made once.
///
/// Their number is bounded, since a back end keeps each forever: beyond the limit unbounded dimensions are `_OTHER`.
/// Used by one thread at a time; the lock is not held while the back end is called.
final class MetricSeries: Sendable {
  private struct Key: Hashable {
    let label: String
    let dimensions: [MetricDimension]
  }

  private struct State {
    var recorders: [Key: any RecorderHandler] = [:]
    var meters: [Key: any MeterHandler] = [:]
    var counters: [Key: any CounterHandler] = [:]
    var counts: [String: Int] = [:]
  }

  private static let maximumCount = 1_000
  private let factory: any MetricsFactory
  private let state = LockedValue(State())

  init(_ factory: any MetricsFactory) { self.factory = factory }

  /// Adds a value to a histogram.
  func record(_ value: Double, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.recorders, label, dimensions) {
      factory.makeRecorder(label: label, dimensions: $0, aggregate: true)
    }.record(value)
  }

  /// Sets a gauge.
  func set(_ value: Double, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.meters, label, dimensions) { factory.makeMeter(label: label, dimensions: $0) }.set(value)
  }

  /// Adds to a counter.
  func count(_ count: Int, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.counters, label, dimensions) { factory.makeCounter(label: label, dimensions: $0) }
      .increment(by: Int64(count))
  }

  private func handler<Handler>(
    _ handlers: WritableKeyPath<State, [Key: Handler]>, _ label: String, _ dimensions: [MetricDimension],
    _ make: ([(String, String)]) -> Handler
  ) -> Handler {
    var key = Key(label: label, dimensions: dimensions)
    let (known, isFull) = state.withLock { state in
      (state[keyPath: handlers][key], state.counts[label, default: 0] >= MetricSeries.maximumCount)
    }
    if let known { return known }
    if isFull {
      key = Key(label: label, dimensions: dimensions.map { $0.isUnbounded ? MetricDimension($0.name, "_OTHER") : $0 })
      if let known = state.withLock({ $0[keyPath: handlers][key] }) { return known }
    }
    let new = make(key.dimensions.map { ($0.name, $0.value) })
    state.withLock { state in
      state[keyPath: handlers][key] = new
      state.counts[label, default: 0] += 1
    }
    return new
  }
}
#endif
