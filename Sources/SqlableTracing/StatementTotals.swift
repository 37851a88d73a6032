import SqlableCore

/// Statistics of traced statements by shape: the number of runs and their durations.
///
/// ```swift
/// let totals = StatementTotals()
/// pool.trace { event in totals.add(event) }
/// for statement in totals.top(10) { print(statement) }
/// // 5120 runs, 61.440 ms, p50 0.011 ms, p99 0.040 ms: SELECT "id", "name" FROM "bicycle" WHERE "color" = ?
/// ```
///
/// Memory is bounded: beyond the limit, the shapes with the smallest total durations are merged into ``others``. All
/// members can be used from any thread.
public final class StatementTotals: Sendable {
  /// The statistics of all runs of one shape.
  public struct Total: Sendable, Hashable {
    /// The SQL without its values. For transactions, the statements that started and ended the transaction.
    public let sql: String
    public let kind: TraceEvent.Kind
    public let table: String?
    /// The number of runs, including failed runs.
    public let count: Int
    public let failures: Int
    /// The sum of all durations.
    public let total: Duration
    /// The median duration, exact to within an eighth.
    public let p50: Duration
    /// The duration that 99 % of the runs did not exceed, exact to within an eighth.
    public let p99: Duration
    public let longest: Duration
    public let rowsRead: Int
    public let rowsChanged: Int
    /// The number of rows that SQLite visited without an index.
    public let rowsScanned: Int
  }

  /// The sort key of `top(_:by:)`.
  public enum Order: Sendable, Hashable {
    case total, count, p99, longest
  }

  private struct Key: Hashable {
    let sql: String
    let kind: TraceEvent.Kind
  }

  private struct State {
    var totals: [Key: RunningTotal] = [:]
    var others = RunningTotal(sql: "", kind: .other, table: nil)

    /// Merges the half of the shapes with the smallest total durations into `others`. Merging half of the shapes makes
    /// the sort rare, even if new shapes keep arriving.
    mutating func joinLeast() {
      let least = totals.ordered { $0.value.total < $1.value.total }.prefix(totals.count / 2)
      for (key, total) in least {
        others.join(total)
        totals[key] = nil
      }
    }
  }

  private let maximumShapes: Int
  private let state = LockedValue(State())

  /// - Parameter maximumShapes: The maximum number of shapes that are counted separately, at least 2. Each shape uses
  /// up to 2 KiB.
  public init(maximumShapes: Int = 1_000) { self.maximumShapes = max(2, maximumShapes) }

  /// Counts a statement or transaction that has ended.
  public func add(_ event: TraceEvent) {
    state.withLock { state in
      let key = Key(sql: event.sql, kind: event.kind)
      if state.totals[key] == nil, state.totals.count >= maximumShapes { state.joinLeast() }
      state.totals[key, default: RunningTotal(sql: event.sql, kind: event.kind, table: event.table)].add(event)
    }
  }

  /// Returns the shapes with the largest values of `order`, largest first.
  public func top(_ count: Int = 100, by order: Order = .total) -> [Total] {
    let totals = state.withLock { state in state.totals.values.map(\.result) }
    let sorted = totals.ordered { left, right in
      switch order {
      case .total: (left.total, right.sql) > (right.total, left.sql)
      case .count: (left.count, right.sql) > (right.count, left.sql)
      case .p99: (left.p99, right.sql) > (right.p99, left.sql)
      case .longest: (left.longest, right.sql) > (right.longest, left.sql)
      }
    }
    return Array(sorted.prefix(max(0, count)))
  }

  /// The combined statistics of the shapes that are not counted separately.
  public var others: Total { state.withLock(\.others.result) }

  /// Discards all totals.
  public func reset() { state.withLock { $0 = State() } }
}

private struct RunningTotal {
  let sql: String
  let kind: TraceEvent.Kind
  let table: String?
  var (count, failures) = (0, 0)
  var (total, longest) = (Duration.zero, Duration.zero)
  var (rowsRead, rowsChanged, rowsScanned) = (0, 0, 0)
  var durations = DurationHistogram()

  init(sql: String, kind: TraceEvent.Kind, table: String?) { (self.sql, self.kind, self.table) = (sql, kind, table) }

  mutating func add(_ event: TraceEvent) {
    let duration = event.duration
    count += 1
    if event.error != nil { failures += 1 }
    total += duration
    longest = max(longest, duration)
    rowsRead += event.rowsRead
    rowsChanged += event.rowsChanged
    rowsScanned += event.rowsScanned
    durations.add(duration)
  }

  mutating func join(_ other: RunningTotal) {
    count += other.count
    failures += other.failures
    total += other.total
    longest = max(longest, other.longest)
    rowsRead += other.rowsRead
    rowsChanged += other.rowsChanged
    rowsScanned += other.rowsScanned
    durations.join(other.durations)
  }

  var result: StatementTotals.Total {
    StatementTotals.Total(
      sql: sql, kind: kind, table: table, count: count, failures: failures, total: total,
      p50: min(durations.quantile(0.5), longest), p99: min(durations.quantile(0.99), longest), longest: longest,
      rowsRead: rowsRead, rowsChanged: rowsChanged, rowsScanned: rowsScanned)
  }
}

/// A histogram of durations. The upper bound of a bucket exceeds the lower bound by an eighth at most.
private struct DurationHistogram {
  /// The number of durations in each bucket. There are eight buckets for each power of two, in nanoseconds.
  private var counts: [UInt32] = []
  private var count = 0

  mutating func add(_ duration: Duration) {
    let bucket = DurationHistogram.bucket(of: duration)
    if bucket >= counts.count { counts += Array(repeating: 0, count: bucket + 1 - counts.count) }
    counts[bucket] &+= 1
    count += 1
  }

  mutating func join(_ other: DurationHistogram) {
    if other.counts.count > counts.count { counts += Array(repeating: 0, count: other.counts.count - counts.count) }
    for (bucket, more) in other.counts.enumerated() { counts[bucket] &+= more }
    count += other.count
  }

  /// Returns a duration that this share of the runs did not exceed, rounded up: 0.5 returns the median.
  func quantile(_ share: Double) -> Duration {
    let wanted = (Double(count) * share).rounded(.up)
    var seen = 0.0
    for (bucket, count) in counts.enumerated() {
      seen += Double(count)
      if seen >= wanted, count > 0 { return DurationHistogram.upperBound(of: bucket) }
    }
    return .zero
  }

  private static func bucket(of duration: Duration) -> Int {
    let nanoseconds = UInt64(max(0, duration / .nanoseconds(1)))
    guard nanoseconds >= 8 else { return Int(nanoseconds) }
    let exponent = 63 - nanoseconds.leadingZeroBitCount
    return (exponent - 2) * 8 + Int(nanoseconds >> UInt64(exponent - 3)) - 8
  }

  private static func upperBound(of bucket: Int) -> Duration {
    guard bucket >= 8 else { return .nanoseconds(bucket) }
    let exponent = bucket / 8 + 2
    return .nanoseconds((Int64(bucket % 8) + 9) << Int64(exponent - 3))
  }
}

extension StatementTotals.Total: CustomStringConvertible {
  public var description: String {
    var text =
      "\(count) runs, \(total.millisecondsText) ms, p50 \(p50.millisecondsText) ms, p99 \(p99.millisecondsText) ms"
    switch kind {
    case .transaction(.committed): text += ": transactions, committed"
    case .transaction(.rolledBack): text += ": transactions, rolled back"
    case .transaction(.unknown): text += ": transactions with unknown outcome"
    default: break
    }
    return sql.isEmpty ? text : "\(text): \(sql)"
  }
}
