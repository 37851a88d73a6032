// Date functions, for all storage formats of date columns. Parts and text are in UTC.

import FoundationEssentials
import SqlableCore

/// A date or an optional date, to which the date functions apply.
public protocol SqlDate: SqlValue {}

extension Date: SqlDate {}

extension Optional: SqlDate where Wrapped == Date {}

extension TypedTerm where Value: SqlDate {
  private func part(_ part: DatePart) -> TypedExpression<Int?> {
    TypedExpression(expression: .special(.datePart(part), expression))
  }

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. NULL outside the years -4713 to
  /// 9999, as all parts of a date are.
  public func year() -> TypedExpression<Int?> { part(.year) }

  /// The month, 1 to 12: `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`.
  public func month() -> TypedExpression<Int?> { part(.month) }

  /// The day of the month, 1 to 31: `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`.
  public func day() -> TypedExpression<Int?> { part(.day) }

  /// The hour, 0 to 23: `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`.
  public func hour() -> TypedExpression<Int?> { part(.hour) }

  /// The minute, 0 to 59: `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`.
  public func minute() -> TypedExpression<Int?> { part(.minute) }

  /// The second, 0 to 59, without its fraction: `CAST(strftime('%S', "a", 'unixepoch') AS INTEGER)`.
  public func second() -> TypedExpression<Int?> { part(.second) }

  /// The day of the week, 0 (Sunday) to 6: `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`.
  public func weekday() -> TypedExpression<Int?> { part(.weekday) }

  /// The day of the year, 1 to 366: `CAST(strftime('%j', "a", 'unixepoch') AS INTEGER)`.
  public func dayOfYear() -> TypedExpression<Int?> { part(.dayOfYear) }

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL for a format that SQLite does not know.
  public func strftime(_ format: String) -> TypedExpression<String?> {
    TypedExpression(expression: .special(.dateFormat, expression, SqlExpression(format)))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`. NULL outside the years -4713 to 9999.
  public func date() -> TypedExpression<String?> { TypedExpression(expression: .special(.day, expression)) }

  /// The date shifted by an interval, in the format of the column: `("a" + ?)`. Months and years follow the calendar,
  /// to the millisecond; a day beyond the end of a month falls into the next: a month after 31 January is 2 or 3 March.
  ///
  /// ```swift
  /// Car.update(Car.soldAt.set(to: Car.soldAt.adding(1, .day)))
  /// ```
  ///
  /// NULL if SQLite's calendar is used and the result is outside the years -4713 to 9999: for months and years, and in
  /// a column of ISO 8601 text.
  public func adding(_ count: Int, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shifted(count, unit), expression))
  }

  /// The date shifted by as many units as a term says, in the format of the column: `("a" + "b" * 86400)`. NULL if
  /// either is, or if the result is outside of SQLite's years.
  public func adding(_ count: some TypedTerm<Int>, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shiftedBy(unit), expression, count.expression))
  }

  /// The date shifted by as many units as a term says; NULL if either is.
  public func adding(_ count: some TypedTerm<Int?>, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shiftedBy(unit), expression, count.expression))
  }

  /// The first moment of the date's second, minute, hour, day, week, month or year in UTC, in the format of the column:
  /// `CAST(strftime('%s', "a", 'unixepoch', 'start of month') AS REAL)`. A week begins on Monday. NULL outside the
  /// years -4713 to 9999.
  ///
  /// ```swift
  /// let month = Car.soldAt.start(of: .month)
  /// Car.select(month, countAll()).groupBy(month).orderBy(month)      // [(Date?, Int)]
  /// ```
  public func start(of unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.startOf(unit), expression))
  }

  /// The seconds from another date to this one, with their fraction: `CAST("a" AS REAL) - CAST("b" AS REAL)`. Negative
  /// if this one is earlier, NULL if either is. The columns may store their dates in different formats.
  public func seconds(since other: some TypedTerm<some SqlDate>) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.seconds(since: other.expression))
  }

  /// The seconds from a date to this one: `CAST("a" AS REAL) - ?`. NULL if this one is.
  public func seconds(since date: Date) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.seconds(sinceSeconds: SqlExpression(date)))
  }

  /// The days of 24 hours from another date to this one, with their fraction:
  /// `(CAST("a" AS REAL) - CAST("b" AS REAL)) / ?`. Negative if this one is earlier, NULL if either is.
  public func days(since other: some TypedTerm<some SqlDate>) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.days(since: other.expression))
  }

  /// The days of 24 hours from a date to this one: `(CAST("a" AS REAL) - ?) / ?`. NULL if this one is.
  public func days(since date: Date) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.days(sinceSeconds: SqlExpression(date)))
  }
}

extension SqlExpression {
  fileprivate func seconds(since other: SqlExpression) -> SqlExpression {
    seconds(sinceSeconds: .special(.unixSeconds, other))
  }

  fileprivate func seconds(sinceSeconds other: SqlExpression) -> SqlExpression {
    SqlExpression(.binary(.minus, .special(.unixSeconds, self), other))
  }

  fileprivate func days(since other: SqlExpression) -> SqlExpression {
    days(sinceSeconds: .special(.unixSeconds, other))
  }

  fileprivate func days(sinceSeconds other: SqlExpression) -> SqlExpression {
    SqlExpression(.binary(.divided, seconds(sinceSeconds: other), SqlExpression(DatabaseValue.real(86_400))))
  }
}

extension SqlTerm {
  private func part(_ part: DatePart) -> SqlExpression { .special(.datePart(part), expression) }

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. Running it throws if the term is not a date column.
  public func year() -> SqlExpression { part(.year) }

  /// The month, 1 to 12: `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`.
  public func month() -> SqlExpression { part(.month) }

  /// The day of the month, 1 to 31: `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`.
  public func day() -> SqlExpression { part(.day) }

  /// The hour, 0 to 23: `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`.
  public func hour() -> SqlExpression { part(.hour) }

  /// The minute, 0 to 59: `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`.
  public func minute() -> SqlExpression { part(.minute) }

  /// The second, 0 to 59, without its fraction: `CAST(strftime('%S', "a", 'unixepoch') AS INTEGER)`.
  public func second() -> SqlExpression { part(.second) }

  /// The day of the week, 0 (Sunday) to 6: `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`.
  public func weekday() -> SqlExpression { part(.weekday) }

  /// The day of the year, 1 to 366: `CAST(strftime('%j', "a", 'unixepoch') AS INTEGER)`.
  public func dayOfYear() -> SqlExpression { part(.dayOfYear) }

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL for a format that SQLite does not know.
  public func strftime(_ format: String) -> SqlExpression {
    .special(.dateFormat, expression, SqlExpression(format))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`.
  public func date() -> SqlExpression { .special(.day, expression) }

  /// The date shifted by an interval, in the format of the column: `("a" + ?)`.
  public func adding(_ count: Int, _ unit: DateUnit) -> SqlExpression {
    .special(.shifted(count, unit), expression)
  }

  /// The date shifted by as many units as a term says: `("a" + "b" * 86400)`. NULL if either is.
  public func adding(_ count: any SqlTerm, _ unit: DateUnit) -> SqlExpression {
    .special(.shiftedBy(unit), expression, count.expression)
  }

  /// The first moment of the date's second, minute, hour, day, week, month or year, in the format of the column.
  public func start(of unit: DateUnit) -> SqlExpression { .special(.startOf(unit), expression) }

  /// The seconds from another date to this one: `CAST("a" AS REAL) - CAST("b" AS REAL)`. NULL if either is.
  public func seconds(since other: any SqlTerm) -> SqlExpression { expression.seconds(since: other.expression) }

  /// The seconds from a date to this one.
  public func seconds(since date: Date) -> SqlExpression { expression.seconds(sinceSeconds: SqlExpression(date)) }

  /// The days of 24 hours from another date to this one. NULL if either is.
  public func days(since other: any SqlTerm) -> SqlExpression { expression.days(since: other.expression) }

  /// The days of 24 hours from a date to this one.
  public func days(since date: Date) -> SqlExpression { expression.days(sinceSeconds: SqlExpression(date)) }
}
