// Window functions: a value for every row, made of the rows around it.

extension SqlExpression {
  /// The call over a window. What is no call throws when the statement is run.
  fileprivate func calling(over window: WindowClause) -> SqlExpression {
    guard case .call(var call) = node, call.takesWindow, call.window == nil else {
      return SqlExpression(invalid: SqlError.invalidStatement("only an aggregate or window function has a window"))
    }
    call.window = window
    return SqlExpression(.call(call))
  }
}

// Partitions are packs: the compiler can't make `any AnyTerm` of an element of a named query's columns.

extension TypedExpression {
  /// Makes a value for every row, of the rows of its partition up to it, or of those of the frame.
  ///
  /// ```swift
  /// rank().over(partitionBy: Flight.carrier, orderBy: Flight.delay.desc)
  /// // rank() OVER (PARTITION BY "carrier" ORDER BY "delay" DESC)
  /// ```
  ///
  /// For aggregates and window functions; anything else throws `.invalidStatement` when the statement is run. Without
  /// an order a partition is one group, and every row has the same value.
  public func over<each Term: AnyTerm>(
    partitionBy partition: repeat each Term, orderBy order: Ordering..., frame: WindowFrame? = nil
  ) -> TypedExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: order, frame: frame))
  }

  /// Makes a value for every row, of the rows of a window that several terms share.
  public func over(_ window: Window) -> TypedExpression {
    TypedExpression(expression: expression.calling(over: window.window))
  }
}

/// Which rows a window function takes, for several of them.
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
}

extension SqlExpression {
  /// Makes a value for every row, of the rows of its partition up to it, or of those of the frame.
  public func over<each Term: AnyTerm>(
    partitionBy partition: repeat each Term, orderBy order: Ordering..., frame: WindowFrame? = nil
  ) -> SqlExpression {
    var terms: [SqlExpression] = []
    for term in repeat each partition { terms.append(term.expression) }
    return over(Window(partition: terms, order: order, frame: frame))
  }

  /// Makes a value for every row, of the rows of a window that several terms share.
  public func over(_ window: Window) -> SqlExpression { calling(over: window.window) }
}

/// `row_number()`: the number of the row in its partition, from 1.
public func rowNumber() -> TypedExpression<Int> { TypedExpression(expression: .call(.rowNumber, [])) }

/// `rank()`: as `rowNumber()`, but rows that are equal by the order have the same number, and the next ones follow
/// after a gap.
public func rank() -> TypedExpression<Int> { TypedExpression(expression: .call(.rank, [])) }

/// `dense_rank()`: as `rank()`, without gaps.
public func denseRank() -> TypedExpression<Int> { TypedExpression(expression: .call(.denseRank, [])) }

/// `percent_rank()`: the rank as a number from 0 to 1.
public func percentRank() -> TypedExpression<Double> { TypedExpression(expression: .call(.percentRank, [])) }

/// `cume_dist()`: the share of rows up to this one.
public func cumulativeDistribution() -> TypedExpression<Double> { TypedExpression(expression: .call(.cumeDist, [])) }

/// `ntile(?)`: the number, from 1, of the part that the row is in when a partition is cut into `count` parts.
public func ntile(_ count: Int) -> TypedExpression<Int> {
  TypedExpression(expression: .call(.ntile, [SqlExpression(count)]))
}

extension TypedTerm {
  /// `lag("a", ?)`: the value of an earlier row of the partition; NULL where there is none.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func lag(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// `lag("a", ?)`: the value of an earlier row of the partition; NULL where there is none.
  public func lag<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lag, SqlExpression(rows)))
  }

  /// `lead("a", ?)`: the value of a later row of the partition; NULL where there is none.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func lead(_ rows: Int = 1) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// `lead("a", ?)`: the value of a later row of the partition; NULL where there is none.
  public func lead<Wrapped>(_ rows: Int = 1) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lead, SqlExpression(rows)))
  }

  /// `first_value("a")`: the value of the first row of the frame; NULL where that is empty.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func firstValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// `first_value("a")`: the value of the first row of the frame; NULL where that is empty.
  public func firstValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.firstValue))
  }

  /// `last_value("a")`: the value of the last row of the frame, which ends with the current row unless it says
  /// otherwise; NULL where the frame is empty.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func lastValue() -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.lastValue))
  }

  /// `last_value("a")`: the value of the last row of the frame, which ends with the current row unless it says
  /// otherwise; NULL where the frame is empty.
  public func lastValue<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.lastValue))
  }
}

extension SqlTerm {
  /// `lag("a", ?)`: the value of an earlier row of the partition; NULL where there is none.
  public func lag(_ rows: Int = 1) -> SqlExpression { expression.call(.lag, SqlExpression(rows)) }

  /// `lead("a", ?)`: the value of a later row of the partition; NULL where there is none.
  public func lead(_ rows: Int = 1) -> SqlExpression { expression.call(.lead, SqlExpression(rows)) }
}
