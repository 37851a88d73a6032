// Numbers as rows. A recursive query replaces the extension `generate_series`, so that any build of SQLite works.

import SqlableCore

/// A named query of the numbers of a range, in steps of `step`.
///
/// ```swift
/// let day = series(1...31, as: "day")
/// day.read().leftJoining(Visit.self, on: Visit.at.day() == day.column)
/// // WITH RECURSIVE "day" ("c1") AS (SELECT * FROM (VALUES (?)) UNION ALL
/// //   SELECT "day"."c1" + ? FROM "day" WHERE "day"."c1" < ?) SELECT … FROM "day" LEFT JOIN "visit" ON …
/// ```
///
/// A step below 1 throws `.invalidStatement` when the query runs.
public func series(_ range: ClosedRange<Int>, by step: Int = 1, as name: String) -> NamedColumn<Int> {
  guard step > 0 else {
    let error = SqlError.invalidStatement(
      "the step of a range must be above 0; use series(from:through:by:as:) to count down")
    return values([TypedExpression<Int>(expression: SqlExpression(invalid: error))]).named(name)
  }
  return series(from: range.lowerBound, through: range.upperBound, by: step, as: name)
}

/// A named query of numbers that counts from `start` up or down to `end`. No number is beyond `end`.
///
/// ```swift
/// series(from: 10, through: 1, by: -3, as: "n")     // 10, 7, 4, 1
/// ```
///
/// The query has no rows if the steps lead away from `end`. A step of 0 throws `.invalidStatement` when the query runs.
public func series(from start: Int, through end: Int, by step: Int, as name: String) -> NamedColumn<Int> {
  guard step != 0 else { return values([withoutStep]).named(name) }
  guard step > 0 ? start <= end : start >= end else { return values([start]).limit(0).named(name) }
  // The query adds the step only to numbers before `last`, the last number of the series. So no sum exceeds 64 bits.
  let distance = (step > 0 ? end &- start : start &- end).magnitudeOfDifference
  let last =
    step > 0
    ? end &- Int(truncatingIfNeeded: distance % step.magnitude)
    : end &+ Int(truncatingIfNeeded: distance % step.magnitude)
  return values([start]).named(name) { series in
    series.read().select(series.column + step).filter(step > 0 ? series.column < last : series.column > last)
  }
}

/// A named query of the numbers from one term through another. The terms contain no columns; a parameter is such a
/// term.
///
/// ```swift
/// let number = series(from: Parameter("first"), through: Parameter("last"), as: "number")
/// try db.prepare(number.read()).run(["first": 1, "last": 3])     // 1, 2, 3
/// ```
///
/// The query has no rows if a bound is NULL. A step of 0 throws `.invalidStatement` when the query runs.
public func series(
  from start: some TypedTerm<Int>, through end: some TypedTerm<Int>, by step: Int = 1, as name: String
) -> NamedColumn<Int> {
  guard step != 0 else { return values([withoutStep]).named(name) }
  let bounds = values([rowValue(start, end)]).named(name + "_bounds")
  let (first, last) = bounds.columns
  return bounds.read().select(first).filter(step > 0 ? first <= last : first >= last).named(name) { series in
    let next = series.column + step
    return series.read().select(next).crossJoining(bounds).filter(step > 0 ? next <= last : next >= last)
  }
}

private var withoutStep: TypedExpression<Int> {
  TypedExpression(expression: SqlExpression(invalid: SqlError.invalidStatement("the step of a series can't be 0")))
}

extension Int {
  /// The magnitude of a difference that was computed without an overflow check.
  fileprivate var magnitudeOfDifference: UInt { UInt(bitPattern: self) }
}
