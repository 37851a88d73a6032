// Date functions, for all storage formats of date columns. Parts and text are in UTC.

import FoundationEssentials

/// A date or an optional date, to which the date functions apply.
public protocol SqlDate: SqlValue {
  associatedtype Part: SqlValue
}

extension Date: SqlDate {
  public typealias Part = Int
}

extension Optional: SqlDate where Wrapped == Date {
  public typealias Part = Int?
}

extension TypedTerm where Value: SqlDate {
  private func part(_ part: DatePart) -> TypedExpression<Value.Part> {
    TypedExpression(expression: .special(.datePart(part), expression))
  }

  /// The year: `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`. NULL outside the years 0 to 9999.
  public func year() -> TypedExpression<Value.Part> { part(.year) }

  /// The month, 1 to 12: `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`.
  public func month() -> TypedExpression<Value.Part> { part(.month) }

  /// The day of the month, 1 to 31: `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`.
  public func day() -> TypedExpression<Value.Part> { part(.day) }

  /// The hour, 0 to 23: `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`.
  public func hour() -> TypedExpression<Value.Part> { part(.hour) }

  /// The minute, 0 to 59: `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`.
  public func minute() -> TypedExpression<Value.Part> { part(.minute) }

  /// The day of the week, 0 (Sunday) to 6: `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`.
  public func weekday() -> TypedExpression<Value.Part> { part(.weekday) }

  /// The date formatted as text: `strftime('%Y-%m', "a", 'unixepoch')`. NULL for a format that SQLite does not know.
  public func strftime(_ format: String) -> TypedExpression<String?> {
    TypedExpression(expression: .special(.dateFormat, expression, SqlExpression(format)))
  }

  /// The day as text like `2026-11-21`: `date("a", 'unixepoch')`. NULL outside the years 0 to 9999.
  public func date() -> TypedExpression<String?> { TypedExpression(expression: .special(.day, expression)) }

  /// The date shifted by an interval, in the format of the column: `("a" + ?)`. Months and years follow the calendar,
  /// to the millisecond; a day beyond the end of a month falls into the next.
  public func adding(_ count: Int, _ unit: DateUnit) -> TypedExpression<Value> {
    TypedExpression(expression: .special(.shifted(count, unit), expression))
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

  /// The day of the week, 0 (Sunday) to 6: `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`.
  public func weekday() -> SqlExpression { part(.weekday) }

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
}
