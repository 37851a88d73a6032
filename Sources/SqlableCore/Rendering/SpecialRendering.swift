// Terms with their own SQL syntax.

extension Renderer {
  func write(_ special: SqlExpression.SyntaxTerm, stack: Int) throws {
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
    case .dateFormat: try writeDateFormat(special.terms, stack: stack)
    case .day:
      sql.append("date(")
      try writeDate(special.terms, "date()", stack: stack)
      sql.append(")")
    case .shifted(let count, let unit): try writeDate(special.terms, plus: count, unit, stack: stack)
    case .shiftedBy(let unit): try writeDate(special.terms, plusTermOf: unit, stack: stack)
    case .startOf(let unit): try writeStart(of: unit, special.terms, stack: stack)
    case .unixSeconds: try writeUnixSeconds(special.terms, stack: stack)
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

  /// Writes SQL text with embedded terms. Parentheses make the text one term in any context.
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

  func strength(of form: SqlExpression.SyntaxTerm.Form) -> Precedence {
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
}
