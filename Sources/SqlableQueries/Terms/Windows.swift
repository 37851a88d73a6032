// Window functions: a value for each row, computed from the rows around it.

import SqlableCore

extension SqlExpression {
  /// Returns the call over a window. Running the statement throws if the term is not an aggregate or window function.
  fileprivate func calling(over window: WindowClause) -> SqlExpression {
    if case .invalid = node { return self }
    guard case .call(var call) = node, call.takesWindow, call.window == nil else {
      return SqlExpression(invalid: SqlError.invalidStatement("only an aggregate or window function can have a window"))
    }
    call.window = window
    return SqlExpression(.call(call))
  }
}

// Partitions are parameter packs, because an element of a named query's columns can't be converted to `any AnyTerm`.

extension TypedExpression {
  /// Computes a value for each row from the rows of the frame. By default, the frame begins with the first row of the
  /// partition, and ends with the last row that compares as equal to the current row.
  ///
  /// ```swift
  /// rank().over(partitionBy: Flight.carrier, orderBy: Flight.delay.desc)
  /// // rank() OVER (PARTITION BY "carrier" ORDER BY "delay" DESC)
  /// ```
  ///
  /// Only aggregates and window functions can have a window; running any other term throws `.invalidStatement`. Without
  /// an order, an aggregate has the same value in all rows of a partition.
  public func over<each Term: AnyTerm, each Item: OrderingTerm>(
    partitionBy partition: repeat each Term, orderBy item: repeat each Item, frame: WindowFrame? = nil
  ) -> TypedExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: Ordering.list(repeat each item), frame: frame))
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

  public init<each Term: AnyTerm, each Item: OrderingTerm>(
    partitionBy partition: repeat each Term, orderBy item: repeat each Item, frame: WindowFrame? = nil
  ) {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    self.init(partition: terms, order: Ordering.list(repeat each item), frame: frame)
  }

  fileprivate init(partition: [SqlExpression], order: [Ordering], frame: WindowFrame?) {
    window = SqlExpression.WindowClause(partition: partition, order: order.map(\.term), frame: frame)
  }

  private init(_ window: SqlExpression.WindowClause) { self.window = window }

  /// Returns the window with further terms at the end of its ORDER BY.
  ///
  /// ```swift
  /// let perCarrier = Window(partitionBy: Flight.carrier)
  /// Flight.select(rank().over(perCarrier.orderBy(Flight.delay.desc)), countAll().over(perCarrier))
  /// // rank() OVER (PARTITION BY "carrier" ORDER BY "delay" DESC), count(*) OVER (PARTITION BY "carrier")
  /// ```
  public func orderBy<each Item: OrderingTerm>(_ item: repeat each Item) -> Window {
    var window = window
    window.order += Ordering.list(repeat each item).map(\.term)
    return Window(window)
  }

  /// Returns the window with more terms in its PARTITION BY clause: `PARTITION BY "carrier", "origin"`.
  public func partitionBy<each Term: AnyTerm>(_ term: repeat each Term) -> Window {
    var window = window
    for term in repeat each term { window.partition.append(term.expression) }
    return Window(window)
  }

  /// Returns the window with another frame; nil removes the frame.
  public func frame(_ frame: WindowFrame?) -> Window {
    var window = window
    window.frame = frame
    return Window(window)
  }
}

extension SqlExpression {
  /// Computes a value for each row from the rows of the frame. By default, the frame begins with the first row of the
  /// partition, and ends with the last row that compares as equal to the current row.
  public func over<each Term: AnyTerm, each Item: OrderingTerm>(
    partitionBy partition: repeat each Term, orderBy item: repeat each Item, frame: WindowFrame? = nil
  ) -> SqlExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: Ordering.list(repeat each item), frame: frame))
  }

  /// Computes a value for each row over a window that several terms can share.
  public func over(_ window: Window) -> SqlExpression { calling(over: window.window) }
}

/// The number of the row in its partition, from 1: `row_number()`.
public func rowNumber() -> TypedExpression<Int> { TypedExpression(expression: .call(.rowNumber, [])) }

/// The rank of the row in its partition, from 1: `rank()`. Rows that compare as equal share a rank, which leaves a gap
/// before the next rank.
public func rank() -> TypedExpression<Int> { TypedExpression(expression: .call(.rank, [])) }

/// The rank of the row in its partition, without gaps: `dense_rank()`.
public func denseRank() -> TypedExpression<Int> { TypedExpression(expression: .call(.denseRank, [])) }

/// The rank as a number from 0 to 1: `percent_rank()`.
public func percentRank() -> TypedExpression<Double> { TypedExpression(expression: .call(.percentRank, [])) }

/// The fraction of the partition's rows that precede the current row or compare as equal to it: `cume_dist()`.
public func cumulativeDistribution() -> TypedExpression<Double> { TypedExpression(expression: .call(.cumeDist, [])) }

/// The number of the row's group, from 1, after the partition was divided into `count` groups: `ntile(?)`.
public func ntile(_ count: Int) -> TypedExpression<Int> {
  TypedExpression(expression: .call(.ntile, [SqlExpression(count)]))
}

extension TypedTerm {
  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is no such row.
  // Disfavored, because for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lag(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is no such row.
  public func lag<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is no such row.
  // Disfavored, because for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lead(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is no such row.
  public func lead<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// The value of an earlier row of the partition, or `value` if there is no such row: `lag("a", ?, ?)`.
  ///
  /// ```swift
  /// Flight.delay.lag(1, default: 0).over(orderBy: Flight.day.asc)     // lag("delay", ?, ?) OVER (ORDER BY "day")
  /// ```
  public func lag(_ rows: Int = 1, default value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows), expression.value(value)))
  }

  /// The value of an earlier row of the partition: `lag("a", ?, "b")`. If there is no such row, the value of `term` in
  /// the current row.
  public func lag(_ rows: Int = 1, default term: some TypedTerm<Value>) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows), term.expression))
  }

  /// The value of a later row of the partition, or `value` if there is no such row: `lead("a", ?, ?)`.
  ///
  /// ```swift
  /// Flight.delay.lead(1, default: 0).over(orderBy: Flight.day.asc)     // lead("delay", ?, ?) OVER (ORDER BY "day")
  /// ```
  public func lead(_ rows: Int = 1, default value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows), expression.value(value)))
  }

  /// The value of a later row of the partition: `lead("a", ?, "b")`. If there is no such row, the value of `term` in
  /// the current row.
  public func lead(_ rows: Int = 1, default term: some TypedTerm<Value>) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows), term.expression))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  // Disfavored, because for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func firstValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  public func firstValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty. By default the frame ends
  /// at the last row that compares as equal to the current row.
  // Disfavored, because for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func lastValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lastValue))
  }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty. By default the frame ends
  /// at the last row that compares as equal to the current row.
  public func lastValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lastValue))
  }

  /// The value of row `number` of the frame, counted from 1: `nth_value("a", ?)`. NULL if the frame has fewer rows.
  /// Running the statement with a number below 1 throws `.invalidStatement`.
  // Disfavored, because for a nullable term another overload returns a single optional.
  @_disfavoredOverload
  public func nthValue(_ number: Int) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.nthValue(number))
  }

  /// The value of row `number` of the frame, counted from 1: `nth_value("a", ?)`. NULL if the frame has fewer rows.
  /// Running the statement with a number below 1 throws `.invalidStatement`.
  public func nthValue<Wrapped>(_ number: Int) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.nthValue(number))
  }
}

extension SqlExpression {
  fileprivate func nthValue(_ number: Int) -> SqlExpression {
    guard number > 0 else {
      return SqlExpression(
        invalid: SqlError.invalidStatement("the row number of nthValue must be at least 1"))
    }
    return call(.nthValue, SqlExpression(number))
  }
}

extension SqlTerm {
  /// The value of an earlier row of the partition, or `value` if there is no such row: `lag("a", ?, ?)`.
  public func lag(_ rows: Int = 1, default value: any SqlValue) -> SqlExpression {
    expression.call(.lag, SqlExpression(rows), expression.value(value))
  }

  /// The value of a later row of the partition, or `value` if there is no such row: `lead("a", ?, ?)`.
  public func lead(_ rows: Int = 1, default value: any SqlValue) -> SqlExpression {
    expression.call(.lead, SqlExpression(rows), expression.value(value))
  }

  /// The value of the first row of the frame: `first_value("a")`. NULL if the frame is empty.
  public func firstValue() -> SqlExpression { expression.call(.firstValue) }

  /// The value of the last row of the frame: `last_value("a")`. NULL if the frame is empty.
  public func lastValue() -> SqlExpression { expression.call(.lastValue) }

  /// The value of row `number` of the frame, counted from 1: `nth_value("a", ?)`. NULL if the frame has fewer rows.
  public func nthValue(_ number: Int) -> SqlExpression { expression.nthValue(number) }

  /// The value of an earlier row of the partition: `lag("a", ?)`. NULL if there is no such row.
  public func lag(_ rows: Int = 1) -> SqlExpression { expression.call(.lag, SqlExpression(rows)) }

  /// The value of a later row of the partition: `lead("a", ?)`. NULL if there is no such row.
  public func lead(_ rows: Int = 1) -> SqlExpression { expression.call(.lead, SqlExpression(rows)) }
}
