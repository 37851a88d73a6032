extension Renderer {
  private func dateFormat(of terms: [SqlExpression], _ wanted: String) throws -> ColumnType.DateFormat {
    let column = try terms.first.flatMap(column(of:))
    // Write no cache key: only the storage class shows whether a bound value can be a date, and a key contains no
    // values.
    if case .value = terms.first?.node { sql.refuseKey() }
    // A date without a column is bound in the default format.
    if column == nil, terms.first?.isRealValue == true { return .unixSecondsWithFraction }
    guard case .date(let format) = column?.type.base else {
      throw SqlError.invalidStatement(
        "\(wanted) needs a date column, not \(column.map { "column \($0.name)" } ?? "another term")"
      )
      .at(table: column.map { scope.tableName(of: .declared($0)) } ?? scope.table.name, column: column?.name)
    }
    return format.written
  }

  func writeDateFormat(_ terms: [SqlExpression], stack: Int) throws {
    sql.append("strftime(")
    for term in terms.dropFirst() {
      try write(constant: term, within: .any, stack: stack + 5)
      sql.append(", ")
    }
    try writeDate(terms, "strftime(_:)", stack: stack)
    sql.append(")")
  }

  func writeDate(_ terms: [SqlExpression], _ wanted: String, stack: Int) throws {
    let format = try dateFormat(of: terms, wanted)
    guard let date = terms.first else { return }
    switch format {
    case .unixSecondsWithFraction, .unixSeconds:
      try write(date, within: .any, stack: stack + 5)
      sql.append(", 'unixepoch'")
    case .unixMilliseconds:
      try write(date, within: .product, stack: stack + 5)
      sql.append(" / 1000.0, 'unixepoch'")
    case .iso8601, .iso8601AssumingUTC, .sqliteText: try write(date, within: .any, stack: stack + 5)
    }
  }

  /// Writes a date plus an interval, in the storage format of the date's column.
  func writeDate(_ terms: [SqlExpression], plus count: Int, _ unit: DateUnit, stack: Int) throws {
    let format = try dateFormat(of: terms, "adding(_:_:)")
    let value = try SqlExpression.SyntaxTerm.shift(by: count, unit, in: format)
    switch (format, unit.seconds) {
    case (.unixSecondsWithFraction, .some), (.unixSeconds, .some), (.unixMilliseconds, .some):
      // Parenthesized, so that the term is an atom in any context.
      sql.append("(")
      for term in terms { try write(term, within: .sum, stack: stack + 5) }
      sql.append(" + ?)")
    default: try writeDate(terms, in: format, stack: stack) { sql.append("?") }
    }
    parameters.append(value)
  }

  /// Writes the sum of a date and a number of time units, in the storage format of the date's column. The number is the
  /// value of a term.
  func writeDate(_ terms: [SqlExpression], plusTermOf unit: DateUnit, stack: Int) throws {
    let format = try dateFormat(of: terms, "adding(_:_:)")
    guard terms.count == 2 else { return }
    if !format.isText, let seconds = unit.seconds {
      sql.append("(")
      try write(terms[0], within: .sum, stack: stack + 5)
      sql.append(" + ")
      try write(terms[1], within: .product, stack: stack + 7)
      sql.append(text: " * \(format == .unixMilliseconds ? seconds * 1000 : seconds))")
    } else {
      try writeDate(terms, in: format, stack: stack) {
        let (days, name) = unit.modifier
        // In SQLite, `||` binds more tightly than `*`, so the product needs parentheses.
        if days > 1 { sql.append("(") }
        try write(terms[1], within: days > 1 ? .product : .concatenation, stack: stack + 10)
        if days > 1 { sql.append(text: " * \(days))") }
        sql.append(text: " || ' \(name)'")
      }
    }
  }

  /// Writes a date with a modifier of SQLite's date functions, in the storage format of the date's column.
  private func writeDate(
    _ terms: [SqlExpression], in format: ColumnType.DateFormat, stack: Int, modifier: () throws -> Void
  ) throws {
    sql.append(format.function.start)
    try writeDate(terms, "adding(_:_:)", stack: stack + 5)
    sql.append(", ")
    try modifier()
    sql.append(format.function.end)
  }

  /// Writes the first moment of the period that contains a date, in the storage format of the date's column.
  func writeStart(of unit: DateUnit, _ terms: [SqlExpression], stack: Int) throws {
    let format = try dateFormat(of: terms, "start(of:)")
    let isText = format.isText
    sql.append(
      isText ? "strftime(" : format == .unixMilliseconds ? "(CAST(strftime('%s', " : "CAST(strftime('%s', ")
    // SQLite has modifiers only for the start of a day, a month and a year. For a shorter unit, an inner `strftime`
    // returns the start as a text.
    let isInner = !isText && unit.startsWithinDay
    if isInner { sql.append("strftime(") }
    if isText || isInner { sql.append(text: "'\(unit.startPattern(in: format))', ") }
    try writeDate(terms, "start(of:)", stack: stack + 5)
    // The Monday on or before a day is the first Monday on or after the day six days earlier.
    if unit == .week { sql.append(", '-6 days', 'weekday 1'") }
    if !isText, !isInner { sql.append(text: ", 'start of \(unit == .week ? "day" : unit.rawValue)'") }
    if isInner { sql.append(")") }
    switch format {
    case .iso8601, .iso8601AssumingUTC, .sqliteText: sql.append(")")
    case .unixSeconds: sql.append(") AS INTEGER)")
    case .unixSecondsWithFraction: sql.append(") AS REAL)")
    case .unixMilliseconds: sql.append(") AS INTEGER) * 1000)")
    }
  }

  func writeUnixSeconds(_ terms: [SqlExpression], stack: Int) throws {
    let wanted = "a difference of dates"
    switch try dateFormat(of: terms, wanted) {
    case .unixSecondsWithFraction, .unixSeconds:
      sql.append("CAST(")
      for term in terms { try write(term, within: .any, stack: stack + 5) }
      sql.append(" AS REAL)")
    case .unixMilliseconds:
      sql.append("(")
      for term in terms { try write(term, within: .product, stack: stack + 5) }
      sql.append(" / 1000.0)")
    case .iso8601, .iso8601AssumingUTC, .sqliteText:
      sql.append("round((julianday(")
      try writeDate(terms, wanted, stack: stack + 5)
      sql.append(") - 2440587.5) * 86400.0, 3)")
    }
  }
}

extension SqlExpression.SyntaxTerm {
  /// Returns the bound value for an interval that is added to a date of this format.
  static func shift(by count: Int, _ unit: DateUnit, in format: ColumnType.DateFormat) throws -> DatabaseValue {
    guard !format.isText, let seconds = unit.seconds else {
      let (days, name) = unit.modifier
      let (number, overflow) = count.multipliedReportingOverflow(by: days)
      guard !overflow else { throw SqlError.invalidStatement("the interval added to a date is out of range") }
      return .text("\(number < 0 ? "" : "+")\(number) \(name)")
    }
    let (sum, overflow) = count.multipliedReportingOverflow(by: format == .unixMilliseconds ? seconds * 1000 : seconds)
    guard !overflow else { throw SqlError.invalidStatement("the interval added to a date is out of range") }
    return .integer(Int64(sum))
  }
}

extension DateUnit {
  /// The unit in terms of SQLite's date modifiers: 7 `days` for a week, 1 `months` for a month.
  fileprivate var modifier: (count: Int, name: String) { self == .week ? (7, "days") : (1, rawValue + "s") }

  fileprivate var startsWithinDay: Bool { self == .second || self == .minute || self == .hour }

  /// Returns the `strftime` pattern that writes the first moment of a date's period as text. For a numeric storage
  /// format, SQLite then converts the text to a number. The pattern of a week expects the week's Monday.
  fileprivate func startPattern(in format: ColumnType.DateFormat) -> String {
    let (day, time) =
      switch self {
      case .second: ("%Y-%m-%d", "%H:%M:%S.000")
      case .minute: ("%Y-%m-%d", "%H:%M:00.000")
      case .hour: ("%Y-%m-%d", "%H:00:00.000")
      case .day, .week: ("%Y-%m-%d", "00:00:00.000")
      case .month: ("%Y-%m-01", "00:00:00.000")
      case .year: ("%Y-01-01", "00:00:00.000")
      }
    return switch format {
    case .sqliteText: "\(day) \(time)"
    case .iso8601, .iso8601AssumingUTC: "\(day)T\(time)Z"
    case .unixSecondsWithFraction, .unixSeconds, .unixMilliseconds: "\(day)T\(time)"
    }
  }
}
