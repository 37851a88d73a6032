extension SqlExpression {
  package struct SyntaxTerm: Sendable, Hashable {
    package var form: Form
    package var terms: [SqlExpression]

    package init(form: Form, terms: [SqlExpression]) {
      (self.form, self.terms) = (form, terms)
    }

    package enum Form: Sendable, Hashable {
      /// `CASE WHEN a THEN b … ELSE c END`: alternating conditions and results; an odd last term is the ELSE result.
      case choice
      /// `CAST(a AS INTEGER)`
      case cast(StorageClass)
      /// `~a`
      case inverted
      /// A part of a date as an integer.
      case datePart(DatePart)
      /// `strftime(b, a)` of the date `a`.
      case dateFormat
      /// `date(a)`
      case day
      /// A date to which a constant number of time units is added.
      case shifted(Int, DateUnit)
      /// The date `a` plus `b` units of time.
      case shiftedBy(DateUnit)
      /// The first moment of the period that contains a date.
      case startOf(DateUnit)
      /// The seconds from 1970 to a date, as a REAL.
      case unixSeconds
      /// `(a, b)`: compared with another row value, or on the left of IN.
      case row
      /// A full-text condition, or a rank, snippet or highlight.
      case fullText(FullTextTerm)
      /// SQL text with embedded terms, in parentheses.
      case fragment(Fragment)

      var bindsValues: Bool { if case .shifted = self { true } else { false } }
    }

    /// The operand that determines the result's storage format, such as the format of a date; nil if there is no such
    /// operand.
    var formTerm: SqlExpression? {
      switch form {
      case .choice: terms.count > 1 ? terms[1] : nil
      case .shifted, .shiftedBy, .startOf: terms.first
      case .cast, .inverted, .datePart, .dateFormat, .day, .unixSeconds, .row, .fullText, .fragment: nil
      }
    }
  }

  package static func special(_ form: SyntaxTerm.Form, _ terms: SqlExpression...) -> SqlExpression {
    SqlExpression(.special(SyntaxTerm(form: form, terms: terms)))
  }

  package static func call(_ function: Call.BuiltIn, _ arguments: [SqlExpression]) -> SqlExpression {
    let mixed = function.facts.result == .ofArguments ? mixedResults(arguments) : mixedDates(arguments)
    if let defect = mixed ?? function.defect(in: arguments) { return SqlExpression(invalid: defect) }
    return SqlExpression(.call(.init(function: .builtIn(function), arguments: arguments)))
  }

  package func call(_ function: Call.BuiltIn, _ arguments: SqlExpression...) -> SqlExpression {
    .call(function, [self] + arguments)
  }
}

extension SqlExpression {
  /// Returns a row value as a term. A row of one term becomes the term itself.
  package static func row(_ terms: [SqlExpression]) -> SqlExpression {
    terms.count == 1 ? terms[0] : SqlExpression(.special(.init(form: .row, terms: terms)))
  }

  package var rowTerms: [SqlExpression]? {
    guard case .special(let special) = node, special.form == .row else { return nil }
    return special.terms
  }
}

extension SqlExpression.QueryTerm {
  var columnCount: Int { kind == .isIn ? term?.rowTerms?.count ?? 1 : 1 }

  /// The term that determines how a scalar subquery's value is stored.
  var formTerm: SqlExpression? {
    guard kind == .scalar, case .term(let term) = query.clauses.results.first else { return nil }
    return term
  }
}

extension SqlExpression.Call {
  var formTerm: SqlExpression? {
    switch facts?.result {
    case .ofArguments, .ofRow: arguments.first
    case .other, .integer, .scaled, nil: nil
    }
  }
}
