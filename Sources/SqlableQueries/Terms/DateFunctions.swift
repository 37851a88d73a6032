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

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. All parts of a date are NULL outside the years
  /// -4713 to 9999.
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

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL if SQLite does not support the format.
  public func strftime(_ format: String) -> TypedExpression<String?> {
    TypedExpression(expression: .special(.dateFormat, expression, SqlExpression(format)))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`. NULL outside the years -4713 to 9999.
  public func date() -> TypedExpression<String?> { TypedExpression(expression: .special(.day, expression)) }

  /// The date shifted by an interval, in the format of the column: `("a" + ?)`. Shifts by months and years follow the
  /// calendar, with a precision of milliseconds. A day beyond the end of a month moves to the next month: one month
  /// after 31 January is 2 or 3 March.
  ///
  /// ```swift
  /// Car.update(Car.soldAt.set(to: Car.soldAt.adding(1, .day)))
  /// ```
  ///
  /// SQLite's calendar computes shifts by months and years, and all shifts of ISO 8601 text. These shifts are NULL if
  /// the result is outside the years -4713 to 9999.
  public func adding(_ count: Int, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shifted(count, unit), expression))
  }

  /// The date shifted by `count` units, where `count` is a term: `("a" + "b" * 86400)`. The result has the format of
  /// the column. NULL if the date or `count` is NULL, or if SQLite's calendar computes the result and the result is
  /// outside the years -4713 to 9999.
  public func adding(_ count: some TypedTerm<Int>, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shiftedBy(unit), expression, count.expression))
  }

  /// The date shifted by `count` units, where `count` is a nullable term. NULL if the date or `count` is NULL.
  public func adding(_ count: some TypedTerm<Int?>, _ unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.shiftedBy(unit), expression, count.expression))
  }

  /// The first moment of the date's second, minute, hour, day, week, month or year in UTC:
  /// `CAST(strftime('%s', "a", 'unixepoch', 'start of month') AS REAL)`. The result has the format of the column. A
  /// week starts on Monday. NULL outside the years -4713 to 9999.
  ///
  /// ```swift
  /// let month = Car.soldAt.start(of: .month)
  /// Car.select(month, countAll()).groupBy(month).orderBy(month)      // [(Date?, Int)]
  /// ```
  public func start(of unit: DateUnit) -> TypedExpression<Date?> {
    TypedExpression(expression: .special(.startOf(unit), expression))
  }

  /// The seconds from another date to this date, with a fraction: `CAST("a" AS REAL) - CAST("b" AS REAL)`. Negative if
  /// this date is earlier, NULL if a date is NULL. The columns can store their dates in different formats.
  public func seconds(since other: some TypedTerm<some SqlDate>) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.seconds(since: other.expression))
  }

  /// The seconds from a date to this date: `CAST("a" AS REAL) - ?`. NULL if this date is NULL.
  public func seconds(since date: Date) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.seconds(sinceSeconds: SqlExpression(date)))
  }

  /// The number of 24-hour days from another date to this date, with a fraction:
  /// `(CAST("a" AS REAL) - CAST("b" AS REAL)) / ?`. Negative if this date is earlier, NULL if a date is NULL.
  public func days(since other: some TypedTerm<some SqlDate>) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.days(since: other.expression))
  }

  /// The number of 24-hour days from a date to this date: `(CAST("a" AS REAL) - ?) / ?`. NULL if this date is NULL.
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

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. Running the statement throws if the term is not a
  /// date column.
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

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL if SQLite does not support the format.
  public func strftime(_ format: String) -> SqlExpression {
    .special(.dateFormat, expression, SqlExpression(format))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`.
  public func date() -> SqlExpression { .special(.day, expression) }

  /// The date shifted by an interval, in the format of the column: `("a" + ?)`.
  public func adding(_ count: Int, _ unit: DateUnit) -> SqlExpression {
    .special(.shifted(count, unit), expression)
  }

  /// The date shifted by `count` units, where `count` is a term: `("a" + "b" * 86400)`. NULL if the date or `count` is
  /// NULL.
  public func adding(_ count: any SqlTerm, _ unit: DateUnit) -> SqlExpression {
    .special(.shiftedBy(unit), expression, count.expression)
  }

  /// The first moment of the date's second, minute, hour, day, week, month or year, in the format of the column.
  public func start(of unit: DateUnit) -> SqlExpression { .special(.startOf(unit), expression) }

  /// The seconds from another date to this date: `CAST("a" AS REAL) - CAST("b" AS REAL)`. NULL if a date is NULL.
  public func seconds(since other: any SqlTerm) -> SqlExpression { expression.seconds(since: other.expression) }

  /// The seconds from a date to this date.
  public func seconds(since date: Date) -> SqlExpression { expression.seconds(sinceSeconds: SqlExpression(date)) }

  /// The number of 24-hour days from another date to this date. NULL if a date is NULL.
  public func days(since other: any SqlTerm) -> SqlExpression { expression.days(since: other.expression) }

  /// The number of 24-hour days from a date to this date.
  public func days(since date: Date) -> SqlExpression { expression.days(sinceSeconds: SqlExpression(date)) }
}
