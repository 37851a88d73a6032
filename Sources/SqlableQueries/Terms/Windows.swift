// Window functions: a value for each row, computed from the rows around it.

import SqlableCore

extension SqlExpression {
  /// The call over a window. Running it throws if the term is not an aggregate or window function.
  fileprivate func calling(over window: WindowClause) -> SqlExpression {
    if case .invalid = node { return self }
    guard case .call(var call) = node, call.takesWindow, call.window == nil else {
      return SqlExpression(invalid: SqlError.invalidStatement("only an aggregate or window function can have a window"))
    }
    call.window = window
    return SqlExpression(.call(call))
  }
}

// Partitions are parameter packs: the compiler can't convert an element of a named query's columns to `any AnyTerm`.

extension TypedExpression {
  /// Computes a value for each row from the rows of its partition up to it, or from the rows of the frame.
  ///
  /// ```swift
  /// rank().over(partitionBy: Flight.carrier, orderBy: Flight.delay.desc)
  /// // rank() OVER (PARTITION BY "carrier" ORDER BY "delay" DESC)
  /// ```
  ///
  /// It applies to aggregates and window functions; running any other term throws `.invalidStatement`. Without an
  /// order, all rows of a partition have the same value.
  public func over<each Term: AnyTerm>(
    partitionBy partition: repeat each Term, orderBy order: Ordering..., frame: WindowFrame? = nil
  ) -> TypedExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: order, frame: frame))
  }

  /// Computes a value for each row over a window that several terms can share.
  public func over(_ window: Window) -> TypedExpression {
    TypedExpression(expression: expression.calling(over: window.window))
  }
}

/// A window that several window functions can share.
///
/// ```swift
/// let perCarrier = Window(partitionBy: Flight.carrier, orderBy: Flight.delay.desc)
/// Flight.select(Flight.id, rank().over(perCarrier), Flight.delay.sum().over(perCarrier))
/// ```
public struct Window: Sendable, Hashable {
  let window: SqlExpression.WindowClause

  public init<each Term: AnyTerm>(
    partitionBy partition: repeat each Term, orderBy order: Ordering..., frame: WindowFrame? = nil
  ) {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    self.init(partition: terms, order: order, frame: frame)
  }

  fileprivate init(partition: [SqlExpression], order: [Ordering], frame: WindowFrame?) {
    window = SqlExpression.WindowClause(partition: partition, order: order.map(\.term), frame: frame)
  }

  private init(_ window: SqlExpression.WindowClause) { self.window = window }

  /// The same window with a further order for rows that its own does not tell apart.
  ///
  /// ```swift
  /// let perCarrier = Window(partitionBy: Flight.carrier)
  /// Flight.select(rank().over(perCarrier.orderBy(Flight.delay.desc)), countAll().over(perCarrier))
  /// // rank() OVER (PARTITION BY "carrier" ORDER BY "delay" DESC), count(*) OVER (PARTITION BY "carrier")
  /// ```
  public func orderBy(_ orderings: Ordering...) -> Window {
    var window = window
    window.order += orderings.map(\.term)
    return Window(window)
  }

  /// The same window with its partitions divided further: `PARTITION BY "carrier", "origin"`.
  public func partitionBy<each Term: AnyTerm>(_ term: repeat each Term) -> Window {
    var window = window
    for term in repeat each term { window.partition.append(term.expression) }
    return Window(window)
  }

  /// The same window with another frame, or without one for nil.
  public func frame(_ frame: WindowFrame?) -> Window {
    var window = window
    window.frame = frame
    return Window(window)
  }
}

extension SqlExpression {
  /// Computes a value for each row from the rows of its partition up to it, or from the rows of the frame.
  public func over<each Term: AnyTerm>(
    partitionBy partition: repeat each Term, orderBy order: Ordering..., frame: WindowFrame? = nil
  ) -> SqlExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: order, frame: frame))
  }

  /// Computes a value for each row over a window that several terms can share.
  public func over(_ window: Window) -> SqlExpression { calling(over: window.window) }
}

/// The number of the row in its partition, from 1: `row_number()`.
public func rowNumber() -> TypedExpression<Int> { TypedExpression(expression: .call(.rowNumber, [])) }

/// The rank of the row in its partition, from 1: `rank()`. Rows that compare as equal have the same rank, and a gap
/// follows them.
public func rank() -> TypedExpression<Int> { TypedExpression(expression: .call(.rank, [])) }

/// The rank of the row in its partition, without gaps: `dense_rank()`.
public func denseRank() -> TypedExpression<Int> { TypedExpression(expression: .call(.denseRank, [])) }

/// The rank as a number from 0 to 1: `percent_rank()`.
public func percentRank() -> TypedExpression<Double> { TypedExpression(expression: .call(.percentRank, [])) }

/// The fraction of rows up to this one: `cume_dist()`.
public func cumulativeDistribution() -> TypedExpression<Double> { TypedExpression(expression: .call(.cumeDist, [])) }

/// The number, from 1, of the row's group when its partition is divided into `count` groups: `ntile(?)`.
public func ntile(_ count: Int) -> TypedExpression<Int> {
  TypedExpression(expression: .call(.ntile, [SqlExpression(count)]))
}

extension TypedTerm {
  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is none.
  // Disfavored: for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lag(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is none.
  public func lag<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is none.
  // Disfavored: for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lead(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is none.
  public func lead<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// The value of an earlier row of the partition, or another value if there is none: `lag("a", ?, ?)`.
  ///
  /// ```swift
  /// Flight.delay.lag(1, default: 0).over(orderBy: Flight.day.asc)     // lag("delay", ?, ?) OVER (ORDER BY "day")
  /// ```
  public func lag(_ rows: Int = 1, default value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows), expression.value(value)))
  }

  /// The value of an earlier row of the partition, or that of a term in this row if there is none: `lag("a", ?, "b")`.
  public func lag(_ rows: Int = 1, default term: some TypedTerm<Value>) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows), term.expression))
  }

  /// The value of a later row of the partition, or another value if there is none: `lead("a", ?, ?)`.
  ///
  /// ```swift
  /// Flight.delay.lead(1, default: 0).over(orderBy: Flight.day.asc)     // lead("delay", ?, ?) OVER (ORDER BY "day")
  /// ```
  public func lead(_ rows: Int = 1, default value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows), expression.value(value)))
  }

  /// The value of a later row of the partition, or that of a term in this row if there is none: `lead("a", ?, "b")`.
  public func lead(_ rows: Int = 1, default term: some TypedTerm<Value>) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows), term.expression))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  // Disfavored: for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func firstValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  public func firstValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty. By default the frame ends
  /// at the current row.
  // Disfavored: for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lastValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lastValue))
  }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty. By default the frame ends
  /// at the current row.
  public func lastValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lastValue))
  }

  /// The value of the frame's row with a number, from 1: `nth_value("a", ?)`. NULL if it has fewer rows. Running it
  /// with a number below 1 throws `.invalidStatement`.
  // Disfavored: for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func nthValue(_ number: Int) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.nthValue(number))
  }

  /// The value of the frame's row with a number, from 1: `nth_value("a", ?)`. NULL if it has fewer rows. Running it
  /// with a number below 1 throws `.invalidStatement`.
  public func nthValue<Wrapped>(_ number: Int) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.nthValue(number))
  }
}

extension SqlExpression {
  fileprivate func nthValue(_ number: Int) -> SqlExpression {
    guard number > 0 else {
      return SqlExpression(
        invalid: SqlError.invalidStatement("the number of a row in a window frame must be at least 1"))
    }
    return call(.nthValue, SqlExpression(number))
  }
}

extension SqlTerm {
  /// The value of an earlier row of the partition, or another value if there is none: `lag("a", ?, ?)`.
  public func lag(_ rows: Int = 1, default value: any SqlValue) -> SqlExpression {
    expression.call(.lag, SqlExpression(rows), expression.value(value))
  }

  /// The value of a later row of the partition, or another value if there is none: `lead("a", ?, ?)`.
  public func lead(_ rows: Int = 1, default value: any SqlValue) -> SqlExpression {
    expression.call(.lead, SqlExpression(rows), expression.value(value))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  public func firstValue() -> SqlExpression { expression.call(.firstValue) }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty.
  public func lastValue() -> SqlExpression { expression.call(.lastValue) }

  /// The value of the frame's row with a number, from 1: `nth_value("a", ?)`. NULL if it has fewer rows.
  public func nthValue(_ number: Int) -> SqlExpression { expression.nthValue(number) }

  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is none.
  public func lag(_ rows: Int = 1) -> SqlExpression { expression.call(.lag, SqlExpression(rows)) }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is none.
  public func lead(_ rows: Int = 1) -> SqlExpression { expression.call(.lead, SqlExpression(rows)) }
}
