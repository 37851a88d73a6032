/// Options of a trace: the statements and transactions that it reports, and the details of the events.
public struct TraceOptions: Sendable, Hashable {
  /// The shortest duration that is reported. Failures are reported at any duration. Default: zero, which reports all.
  public var slowerThan: Duration

  /// The shortest time between two reports of one shape. Default: nil, which sets no such limit.
  public var interval: Duration?

  /// True if reads have their query plans, at the cost of one `EXPLAIN QUERY PLAN` for each reported read. Default:
  /// false.
  public var explains: Bool

  /// The source of index advice for the events; nil for none.
  package var advising: Advising?

  /// The columns whose values the events contain; see ``TracedColumns``. Default: none.
  ///
  /// Each statement then takes longer, because SQLite writes the statement's text with all values. All values but those
  /// of these columns are discarded. The receivers of the events can see these values: take care where the events go.
  public var values: [TracedColumns]

  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, values: [TracedColumns] = []
  ) {
    (self.slowerThan, self.interval, self.explains, self.values) = (slowerThan, interval, explains, values)
  }

  /// Returns options for slow statements with their plans, each shape at most once a minute.
  public static func slow(_ duration: Duration = .milliseconds(100)) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true)
  }

  /// A source of advice. All sources are equal, so that a comparison of options ignores the source.
  package struct Advising: Hashable, Sendable {
    package let source: any AdvisingEvents

    package init(_ source: any AdvisingEvents) { self.source = source }

    package static func == (left: Advising, right: Advising) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
  }
}
