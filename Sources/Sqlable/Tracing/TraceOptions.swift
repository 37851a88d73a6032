/// Which statements and transactions a trace reports.
public struct TraceOptions: Sendable, Hashable {
  /// Reports what took at least this long, and what failed. Default: zero, which reports all.
  public var slowerThan: Duration

  /// Reports a statement of one shape at most once in this time. Default: nil, always.
  public var interval: Duration?

  /// Attaches the query plan to reads, at the cost of one `EXPLAIN QUERY PLAN` for each that is reported. Default:
  /// false.
  public var explains: Bool

  /// Attaches index advice to reads and writes: indexes for tables that they scan completely to find some rows.
  /// Default: false.
  ///
  /// The indexes are tested in a copy of the schema, on a thread and a connection of their own, once in a minute for a
  /// shape; the event is delivered on that thread, some milliseconds late. A database in memory has none.
  public var advises: Bool

  /// The columns whose values the events have; see ``TracedColumns``. Default: none.
  ///
  /// A statement then takes longer by the time in which SQLite writes its text with all values, which are dropped but
  /// for those of these columns. Who receives the events may see these values: take care where they go.
  public var values: [TracedColumns]

  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, advises: Bool = false,
    values: [TracedColumns] = []
  ) {
    (self.slowerThan, self.interval, self.explains) = (slowerThan, interval, explains)
    (self.advises, self.values) = (advises, values)
  }

  /// Slow statements with their plans, each shape at most once a minute; with index advice, if asked for.
  public static func slow(_ duration: Duration = .milliseconds(100), advises: Bool = false) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true, advises: advises)
  }
}
