// Dates, in whatever form their column has them. Parts and texts are in UTC.

import FoundationEssentials

/// A date, or a date that may be NULL: what functions of dates take.
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
  private func part(_ letter: Character) -> TypedExpression<Value.Part> {
    TypedExpression(expression: .special(.datePart(letter), expression))
  }

  /// `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`: the year; NULL outside the years 0 to 9999.
  public func year() -> TypedExpression<Value.Part> { part("Y") }

  /// `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`: 1 to 12.
  public func month() -> TypedExpression<Value.Part> { part("m") }

  /// `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`: 1 to 31.
  public func day() -> TypedExpression<Value.Part> { part("d") }

  /// `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`: 0 to 23.
  public func hour() -> TypedExpression<Value.Part> { part("H") }

  /// `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`: 0 to 59.
  public func minute() -> TypedExpression<Value.Part> { part("M") }

  /// `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`: 0, Sunday, to 6.
  public func weekday() -> TypedExpression<Value.Part> { part("w") }

  /// `strftime('%Y-%m', "a", 'unixepoch')`: a text of that format; NULL for a format that SQLite does not know.
  public func strftime(_ format: String) -> TypedExpression<String?> {
    TypedExpression(expression: .special(.dateFormat, expression, SqlExpression(format)))
  }

  /// `date("a", 'unixepoch')`: the day as a text like `2026-11-21`; NULL outside the years 0 to 9999.
  public func date() -> TypedExpression<String?> { TypedExpression(expression: .special(.day, expression)) }

  /// `("a" + ?)`: another date, in the form of the column. Months and years go by the calendar, to the millisecond; a
  /// day that a month has not got is one of the next.
  public func adding(_ count: Int, _ unit: DateUnit) -> TypedExpression<Value> {
    TypedExpression(expression: .special(.shifted(count, unit), expression))
  }
}

extension SqlTerm {
  private func part(_ letter: Character) -> SqlExpression { .special(.datePart(letter), expression) }

  /// `CAST(strftime('%Y', "a", 'unixepoch') AS INTEGER)`: the year. What is no date column throws when it is run.
  public func year() -> SqlExpression { part("Y") }

  /// `CAST(strftime('%m', "a", 'unixepoch') AS INTEGER)`: 1 to 12.
  public func month() -> SqlExpression { part("m") }

  /// `CAST(strftime('%d', "a", 'unixepoch') AS INTEGER)`: 1 to 31.
  public func day() -> SqlExpression { part("d") }

  /// `CAST(strftime('%H', "a", 'unixepoch') AS INTEGER)`: 0 to 23.
  public func hour() -> SqlExpression { part("H") }

  /// `CAST(strftime('%M', "a", 'unixepoch') AS INTEGER)`: 0 to 59.
  public func minute() -> SqlExpression { part("M") }

  /// `CAST(strftime('%w', "a", 'unixepoch') AS INTEGER)`: 0, Sunday, to 6.
  public func weekday() -> SqlExpression { part("w") }

  /// `strftime('%Y-%m', "a", 'unixepoch')`: a text of that format; NULL for a format that SQLite does not know.
  public func strftime(_ format: String) -> SqlExpression {
    .special(.dateFormat, expression, SqlExpression(format))
  }

  /// `date("a", 'unixepoch')`: the day as a text like `2026-11-21`.
  public func date() -> SqlExpression { .special(.day, expression) }

  /// `("a" + ?)`: another date, in the form of the column.
  public func adding(_ count: Int, _ unit: DateUnit) -> SqlExpression {
    .special(.shifted(count, unit), expression)
  }
}
