// Date functions, for all storage formats of date columns. Parts and text are in UTC.

import FoundationEssentials
import SqlableCore

/// A date or an optional date, to which the date functions apply.
public protocol SqlDate: SqlValue {}

extension Date: SqlDate {}

extension Optional: SqlDate where Wrapped == Date {}

extension DateTerm {
  private func part(_ part: DatePart) -> OfInt {
    OfInt(expression: .special(.datePart(part), expression))
  }

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. All parts of a date are NULL outside the years
  /// -4713 to 9999. If an untyped term is not a date column, running the statement throws.
  public func year() -> OfInt { part(.year) }

  /// The month, 1 to 12: `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`.
  public func month() -> OfInt { part(.month) }

  /// The day of the month, 1 to 31: `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`.
  public func day() -> OfInt { part(.day) }

  /// The hour, 0 to 23: `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`.
  public func hour() -> OfInt { part(.hour) }

  /// The minute, 0 to 59: `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`.
  public func minute() -> OfInt { part(.minute) }

  /// The second, 0 to 59, without its fraction: `CAST(strftime('%S', "a", 'unixepoch') AS INTEGER)`.
  public func second() -> OfInt { part(.second) }

  /// The day of the week, 0 (Sunday) to 6: `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`.
  public func weekday() -> OfInt { part(.weekday) }

  /// The day of the year, 1 to 366: `CAST(strftime('%j', "a", 'unixepoch') AS INTEGER)`.
  public func dayOfYear() -> OfInt { part(.dayOfYear) }

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL if SQLite does not support the format.
  public func strftime(_ format: String) -> OfText {
    OfText(expression: .special(.dateFormat, expression, SqlExpression(format)))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`. NULL outside the years -4713 to 9999.
  public func date() -> OfText { OfText(expression: .special(.day, expression)) }

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
  public func adding(_ count: Int, _ unit: DateUnit) -> OfDate {
    OfDate(expression: .special(.shifted(count, unit), expression))
  }

  /// The date shifted by `count` units, where `count` is a term: `("a" + "b" * 86400)`. The result has the format of
  /// the column. NULL if the date or `count` is NULL, or if SQLite's calendar computes the result and the result is
  /// outside the years -4713 to 9999.
  public func adding(_ count: some IntegerTerm, _ unit: DateUnit) -> OfDate {
    OfDate(expression: .special(.shiftedBy(unit), expression, count.expression))
  }

  /// The first moment of the date's second, minute, hour, day, week, month or year in UTC:
  /// `CAST(strftime('%s', "a", 'unixepoch', 'start of month') AS REAL)`. The result has the format of the column. A
  /// week starts on Monday. NULL outside the years -4713 to 9999.
  ///
  /// ```swift
  /// let month = Car.soldAt.start(of: .month)
  /// Car.select(month, countAll()).groupBy(month).orderBy(month)      // [(Date?, Int)]
  /// ```
  public func start(of unit: DateUnit) -> OfDate {
    OfDate(expression: .special(.startOf(unit), expression))
  }

  /// The seconds from another date to this date, with a fraction: `CAST("a" AS REAL) - CAST("b" AS REAL)`. Negative if
  /// this date is earlier, NULL if a date is NULL. The columns can store their dates in different formats.
  public func seconds(since other: some DateTerm) -> OfDouble {
    OfDouble(expression: expression.seconds(since: other.expression))
  }

  /// The seconds from a date to this date: `CAST("a" AS REAL) - ?`. NULL if this date is NULL.
  public func seconds(since date: Date) -> OfDouble {
    OfDouble(expression: expression.seconds(sinceSeconds: SqlExpression(date)))
  }

  /// The number of 24-hour days from another date to this date, with a fraction:
  /// `(CAST("a" AS REAL) - CAST("b" AS REAL)) / ?`. Negative if this date is earlier, NULL if a date is NULL.
  public func days(since other: some DateTerm) -> OfDouble {
    OfDouble(expression: expression.days(since: other.expression))
  }

  /// The number of 24-hour days from a date to this date: `(CAST("a" AS REAL) - ?) / ?`. NULL if this date is NULL.
  public func days(since date: Date) -> OfDouble {
    OfDouble(expression: expression.days(sinceSeconds: SqlExpression(date)))
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
