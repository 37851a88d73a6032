#if Metrics
import Metrics
import Sqlable

struct MetricDimension: Sendable, Hashable {
  let name: String
  let value: String
  /// True if the number of different values depends on the program's statements.
  let isUnbounded: Bool

  init(_ name: String, _ value: String, isUnbounded: Bool = false) {
    (self.name, self.value, self.isUnbounded) = (name, value, isUnbounded)
  }
}

/// A cache of a back end's metrics by label and dimensions.
///
/// The number of metrics is limited, because a back end keeps every metric until the process ends. Beyond the limit,
/// unbounded dimensions have the value `_OTHER`.
///
/// Only one thread at a time uses this object. With two threads, a metric could be created twice, because the lock is
/// not held while the back end is called.
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

  func record(_ value: Double, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.recorders, label, dimensions) {
      factory.makeRecorder(label: label, dimensions: $0, aggregate: true)
    }.record(value)
  }

  func set(_ value: Double, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.meters, label, dimensions) { factory.makeMeter(label: label, dimensions: $0) }.set(value)
  }

  func count(_ count: Int, _ label: String, _ dimensions: [MetricDimension]) {
    handler(\.counters, label, dimensions) { factory.makeCounter(label: label, dimensions: $0) }
      .increment(by: Int64(count))
  }

  /// Sets the series of a metric, and removes all other series of the metric from the back end.
  func setOnly(_ values: [(dimensions: [MetricDimension], value: Double)], _ label: String) {
    let kept = Set(values.map(\.dimensions))
    let removed = state.withLock { state in
      let keys = state.meters.keys.filter { $0.label == label && !kept.contains($0.dimensions) }
      state.counts[label, default: 0] -= keys.count
      return keys.compactMap { state.meters.removeValue(forKey: $0) }
    }
    for meter in removed { factory.destroyMeter(meter) }
    for (dimensions, value) in values { set(value, label, dimensions) }
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
