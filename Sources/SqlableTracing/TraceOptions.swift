import SqlableCore

/// Options of a trace: which statements and transactions are reported, and with which details.
public struct TraceOptions: Sendable, Hashable {
  /// The minimum duration of reported events. Failures of any duration are reported. Default: zero.
  public var slowerThan: Duration

  /// The minimum time between two reports of one shape, separately for each kind of error. Default: nil for no minimum.
  public var interval: Duration?

  /// True if events of reads contain query plans. Each reported read then costs one `EXPLAIN QUERY PLAN`. Default:
  /// false.
  public var explains: Bool

  package var advising: Advising?

  /// The columns whose values the events contain; see ``TracedColumns``. Default: none.
  ///
  /// With such columns, each statement takes longer, because SQLite writes the SQL with all values. Values of other
  /// columns are discarded. Receivers can read these values: take care where the events are sent.
  public var values: [TracedColumns]

  /// The minimum severity of reported errors. With a minimum, events without an error are not reported. Default: nil
  /// for all events.
  ///
  /// Each error is reported once: the event of a transaction does not repeat the error of its last statement. Errors
  /// that go to ``ObservedDatabase/didFail`` are reported too.
  public var errorsAtLeast: SqlError.Severity?

  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, values: [TracedColumns] = [],
    errorsAtLeast: SqlError.Severity? = nil
  ) {
    (self.slowerThan, self.interval, self.explains, self.values) = (slowerThan, interval, explains, values)
    self.errorsAtLeast = errorsAtLeast
  }

  func wants(_ event: TraceEvent) -> Bool {
    guard let errorsAtLeast else { return event.isThrown && (event.error != nil || event.duration >= slowerThan) }
    return !event.repeatsError && event.severity.map { $0 >= errorsAtLeast } ?? false
  }

  /// Returns options that report slow statements with their plans, and each shape at most once a minute.
  public static func slow(_ duration: Duration = .milliseconds(100)) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true)
  }

  /// A source of advice that `==` and `hash(into:)` of the options ignore.
  package struct Advising: Hashable, Sendable {
    package let source: any AdvisingEvents

    package init(_ source: any AdvisingEvents) { self.source = source }

    package static func == (left: Advising, right: Advising) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
  }
}
