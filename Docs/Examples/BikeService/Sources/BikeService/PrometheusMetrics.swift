import Metrics
import Synchronization

/// Keeps metrics, and writes them in the text form that Prometheus reads.
///
/// Small, and enough for one service: a name has one kind, and only gauges are forgotten, such as those of shops that
/// are no longer the slowest.
final class PrometheusMetrics: MetricsFactory {
  /// A metric with its labels.
  struct Series: Hashable, Comparable {
    let name: String
    /// `{a="1",b="2"}` without the braces.
    let labels: String

    /// Prometheus has no points in names, and names say the unit.
    init(_ label: String, _ dimensions: [(String, String)], suffix: String = "") {
      let words = String(label.map { $0.isLetter || $0.isNumber ? $0 : "_" })
      let unit = PrometheusMetrics.isTime(label) ? "_seconds" : words.hasSuffix("_size") ? "_bytes" : ""
      name = words + unit + suffix
      labels = dimensions.filter { !$0.1.isEmpty }
        .map { name, value in "\(name.replacing(".", with: "_"))=\"\(value.escaped)\"" }.joined(separator: ",")
    }

    static func < (left: Series, right: Series) -> Bool { (left.name, left.labels) < (right.name, right.labels) }

    func line(_ suffix: String = "", _ more: String = "", _ value: some CustomStringConvertible) -> String {
      let all = [labels, more].filter { !$0.isEmpty }.joined(separator: ",")
      return "\(name)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(value)\n"
    }
  }

  private let metrics = Mutex<[Series: any PrometheusMetric]>([:])

  /// All metrics, by name.
  var text: String {
    let sorted = metrics.withLock { $0.sorted { $0.key < $1.key } }
    var text = ""
    var last = ""
    for (series, metric) in sorted {
      if series.name != last { text += "# TYPE \(series.name) \(metric.type)\n" }
      last = series.name
      text += metric.lines(of: series)
    }
    return text
  }

  private func metric<Metric: PrometheusMetric>(_ series: Series, _ make: () -> Metric) -> Metric {
    metrics.withLock { metrics in
      if let known = metrics[series] as? Metric { return known }
      let new = make()
      metrics[series] = new
      return new
    }
  }

  static func isTime(_ label: String) -> Bool { label.hasSuffix("duration") || label.hasSuffix("_time") }

  /// Statements take microseconds: the usual buckets, from 5 ms on, would show one number.
  static let seconds = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  static let counts: [Double] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000]

  // MARK: MetricsFactory

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    metric(Series(label, dimensions, suffix: "_total")) { Number(type: "counter") }
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    metric(Series(label, dimensions)) { Number(type: "gauge") }
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    metric(Series(label, dimensions)) {
      Histogram(bounds: PrometheusMetrics.isTime(label) ? PrometheusMetrics.seconds : PrometheusMetrics.counts)
    }
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    metric(Series(label, dimensions, suffix: PrometheusMetrics.isTime(label) ? "" : "_seconds")) {
      Histogram(bounds: PrometheusMetrics.seconds)
    }
  }

  func destroyCounter(_ handler: any CounterHandler) {}

  func destroyMeter(_ handler: any MeterHandler) {
    metrics.withLock { metrics in metrics = metrics.filter { $0.value as AnyObject !== handler as AnyObject } }
  }

  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}

protocol PrometheusMetric: Sendable {
  var type: String { get }

  func lines(of series: PrometheusMetrics.Series) -> String
}

/// A counter or a gauge.
private final class Number: PrometheusMetric, CounterHandler, MeterHandler {
  let type: String
  private let value = Mutex(0.0)

  init(type: String) { self.type = type }

  func lines(of series: PrometheusMetrics.Series) -> String { series.line("", "", value.withLock { $0 }) }

  func increment(by amount: Int64) { value.withLock { $0 += Double(amount) } }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }
  func set(_ new: Int64) { set(Double(new)) }
  func set(_ new: Double) { value.withLock { $0 = new } }
  func reset() { set(0.0) }
}

/// How many values are not above each bound, and their sum.
private final class Histogram: PrometheusMetric, RecorderHandler, TimerHandler {
  private struct State {
    var counts: [Int]
    var sum = 0.0
  }

  let type = "histogram"
  private let bounds: [Double]
  private let state: Mutex<State>

  init(bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  func record(_ value: Int64) { record(Double(value)) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  func record(_ value: Double) {
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += value
    }
  }

  func lines(of series: PrometheusMetrics.Series) -> String {
    let state = state.withLock { $0 }
    var (text, count) = ("", 0)
    for (bound, more) in zip(bounds.map { "\($0)" } + ["+Inf"], state.counts) {
      count += more
      text += series.line("_bucket", "le=\"\(bound)\"", count)
    }
    return text + series.line("_sum", "", state.sum) + series.line("_count", "", count)
  }
}

extension String {
  fileprivate var escaped: String {
    replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
