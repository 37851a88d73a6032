/// Which statements and transactions a trace reports.
public struct TraceOptions: Sendable, Hashable {
  /// Reports what took at least this long, and what failed. Default: zero, which reports all.
  public var slowerThan: Duration

  /// Reports a statement of one shape at most once in this time. Default: nil, always.
  public var interval: Duration?

  /// Attaches the query plan to reads, at the cost of one `EXPLAIN QUERY PLAN` for each that is reported. Default:
  /// false.
  public var explains: Bool

  /// The source of index advice for the events; nil for none.
  package var advising: Advising?

  /// The columns whose values the events have; see ``TracedColumns``. Default: none.
  ///
  /// A statement then takes longer by the time in which SQLite writes its text with all values, which are dropped but
  /// for those of these columns. Who receives the events may see these values: take care where they go.
  public var values: [TracedColumns]

  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, values: [TracedColumns] = []
  ) {
    (self.slowerThan, self.interval, self.explains, self.values) = (slowerThan, interval, explains, values)
  }

  /// Slow statements with their plans, each shape at most once a minute.
  public static func slow(_ duration: Duration = .milliseconds(100)) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true)
  }

  /// A source of advice, which is equal to every other one.
  package struct Advising: Hashable, Sendable {
    package let source: any AdvisingEvents

    package init(_ source: any AdvisingEvents) { self.source = source }

    package static func == (left: Advising, right: Advising) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
  }
}
