// Terms with their own SQL syntax.

extension Renderer {
  func write(_ special: SqlExpression.SpecialForm, stack: Int) throws {
    switch special.form {
    case .choice: try writeChoice(special.terms, stack: stack)
    case .cast(let type): try write("CAST(", special.terms, " AS \(type))", stack: stack)
    case .inverted:
      sql.append("~")
      for term in special.terms { try write(term, within: .atom, stack: stack + 1) }
    case .datePart(let part):
      sql.append(text: "CAST(strftime('%\(part.letter)', ")
      try writeDate(special.terms, "a date part", stack: stack)
      sql.append(") AS INTEGER)")
    case .dateFormat:
      sql.append("strftime(")
      for term in special.terms.dropFirst() {
        try write(constant: term, within: .any, stack: stack + 5)
        sql.append(", ")
      }
      try writeDate(special.terms, "strftime(_:)", stack: stack)
      sql.append(")")
    case .day:
      sql.append("date(")
      try writeDate(special.terms, "date()", stack: stack)
      sql.append(")")
    case .shifted(let count, let unit): try writeDate(special.terms, plus: count, unit, stack: stack)
    case .row:
      for (index, term) in special.terms.enumerated() {
        sql.append(index == 0 ? "(" : ", ")
        try write(term, within: .any, stack: stack + 5)
      }
      sql.append(")")
    case .fullText(let term): try write(term, special.terms, stack: stack)
    case .fragment(let fragment): try write(fragment, around: special.terms, stack: stack)
    }
  }

  /// Writes SQL text around terms. In parentheses, so that it is one term whatever stands beside it.
  private func write(_ fragment: SqlExpression.Fragment, around terms: [SqlExpression], stack: Int) throws {
    var inner = self
    if fragment.hasQuery, !sql.isKey { inner = try insideSubquery() }
    sql.append("(")
    for (index, text) in fragment.texts.enumerated() {
      sql.append(text)
      if index < terms.count { try inner.write(terms[index], within: .atom, stack: stack + 12) }
    }
    sql.append(")")
  }

  /// The precedence of a term of this form.
  func strength(of form: SqlExpression.SpecialForm.Form) -> Strength {
    switch form {
    case .inverted: .unary
    case .fullText(let term) where term.isCondition: .equality
    default: .atom
    }
  }

  private func write(_ start: StaticString, _ terms: [SqlExpression], _ end: String, stack: Int) throws {
    sql.append(start)
    for term in terms { try write(term, within: .any, stack: stack + 5) }
    sql.append(text: end)
  }

  private func writeChoice(_ terms: [SqlExpression], stack: Int) throws {
    sql.append("CASE")
    for (index, term) in terms.enumerated() {
      if !index.isMultiple(of: 2) {
        sql.append(" THEN ")
      } else if index == terms.count - 1 {
        sql.append(" ELSE ")
      } else {
        sql.append(" WHEN ")
      }
      try write(term, within: .any, stack: stack + 7)
    }
    sql.append(" END")
  }

  // MARK: Dates

  /// The storage format of a term's dates.
  private func dateFormat(of terms: [SqlExpression], _ wanted: String) throws -> ColumnType.DateFormat {
    let column = try terms.first.flatMap(column(of:))
    // Whether a value is a date depends on its storage class, and a key does not contain values.
    if case .value = terms.first?.node { sql.refuseKey() }
    // A date without a column is bound in the default format.
    if column == nil, terms.first?.isRealValue == true { return .unixSecondsWithFraction }
    guard case .date(let format) = column?.type.base else {
      throw SqlError.invalidStatement(
        "\(wanted) requires a date column, not \(column.map { "column \($0.name)" } ?? "another term")"
      )
      .at(table: column.map { scope.tableName(of: .declared($0)) } ?? scope.table.name, column: column?.name)
    }
    return format
  }

  /// Writes a date as an argument of SQLite's date functions.
  private func writeDate(_ terms: [SqlExpression], _ wanted: String, stack: Int) throws {
    let format = try dateFormat(of: terms, wanted)
    guard let date = terms.first else { return }
    switch format {
    case .unixSecondsWithFraction, .unixSeconds:
      try write(date, within: .any, stack: stack + 5)
      sql.append(", 'unixepoch'")
    case .unixMilliseconds:
      try write(date, within: .product, stack: stack + 5)
      sql.append(" / 1000.0, 'unixepoch'")
    case .iso8601: try write(date, within: .any, stack: stack + 5)
    }
  }

  /// Writes a date with an interval added, in the format of its column.
  private func writeDate(_ terms: [SqlExpression], plus count: Int, _ unit: DateUnit, stack: Int) throws {
    let format = try dateFormat(of: terms, "adding(_:_:)")
    let value = try SqlExpression.SpecialForm.shift(by: count, unit, in: format)
    switch (format, unit.seconds) {
    case (.unixSecondsWithFraction, .some), (.unixSeconds, .some), (.unixMilliseconds, .some):
      // Parenthesized, so that it is an atom in any context.
      sql.append("(")
      for term in terms { try write(term, within: .sum, stack: stack + 5) }
      sql.append(" + ?)")
    case (.iso8601, _): try writeDate("strftime('%Y-%m-%dT%H:%M:%fZ', ", terms, ")", stack: stack)
    case (.unixSecondsWithFraction, nil):
      // A Julian day is no more precise than milliseconds.
      try writeDate("round((julianday(", terms, ") - 2440587.5) * 86400.0, 3)", stack: stack)
    case (.unixSeconds, nil): try writeDate("CAST(strftime('%s', ", terms, ") AS INTEGER)", stack: stack)
    case (.unixMilliseconds, nil):
      try writeDate("CAST(round((julianday(", terms, ") - 2440587.5) * 86400000.0) AS INTEGER)", stack: stack)
    }
    parameters.append(value)
  }

  private func writeDate(_ start: StaticString, _ terms: [SqlExpression], _ end: StaticString, stack: Int) throws {
    sql.append(start)
    try writeDate(terms, "adding(_:_:)", stack: stack + 5)
    sql.append(", ?")
    sql.append(end)
  }
}

extension SqlExpression.SpecialForm {
  /// The bound value for an interval added to a date of this format.
  static func shift(by count: Int, _ unit: DateUnit, in format: ColumnType.DateFormat) throws -> DatabaseValue {
    guard format != .iso8601, let seconds = unit.seconds else {
      return .text("\(count < 0 ? "" : "+")\(count) \(unit.rawValue)s")
    }
    let (sum, overflow) = count.multipliedReportingOverflow(by: format == .unixMilliseconds ? seconds * 1000 : seconds)
    guard !overflow else { throw SqlError.invalidStatement("the interval added to a date is out of range") }
    return .integer(Int64(sum))
  }
}
