extension SqlExpression {
  /// A term that SQL spells in a way of its own.
  struct SpecialForm: Sendable, Hashable {
    var form: Form
    var terms: [SqlExpression]

    enum Form: Sendable, Hashable {
      /// `CASE WHEN a THEN b … ELSE c END`: conditions and results in turn, and what is left at the end.
      case choice
      /// `CAST(a AS INTEGER)`
      case cast(StorageClass)
      /// `~a`
      case inverted
      /// A part of a date as an integer, by the letter that `strftime` has for it.
      case datePart(Character)
      /// `strftime(b, a)` of the date `a`.
      case dateFormat
      /// `date(a)`
      case day
      /// A date and the number of units that are added to it.
      case shifted(Int, DateUnit)
      /// What a full-text index finds, and tells of what it has found.
      case fullText(FullTextTerm)

      /// Whether its first term has to be a date.
      var takesDate: Bool {
        switch self {
        case .datePart, .dateFormat, .day, .shifted: true
        case .choice, .cast, .inverted, .fullText: false
        }
      }

      var bindsValues: Bool { if case .shifted = self { true } else { false } }
    }

    /// The term in whose form the values are.
    var formTerm: SqlExpression? {
      switch form {
      case .choice: terms.count > 1 ? terms[1] : nil
      case .shifted: terms.first
      case .cast, .inverted, .datePart, .dateFormat, .day, .fullText: nil
      }
    }
  }

  static func special(_ form: SpecialForm.Form, _ terms: SqlExpression...) -> SqlExpression {
    SqlExpression(.special(SpecialForm(form: form, terms: terms)))
  }

  static func call(_ function: Call.BuiltIn, _ arguments: [SqlExpression]) -> SqlExpression {
    if let defect = mixedDates(arguments) { return SqlExpression(invalid: defect) }
    return SqlExpression(.call(.init(function: .builtIn(function), arguments: arguments)))
  }

  /// The function of this term and further ones.
  func call(_ function: Call.BuiltIn, _ arguments: SqlExpression...) -> SqlExpression {
    .call(function, [self] + arguments)
  }
}

extension SqlExpression.QueryTerm {
  /// The term in whose form the values of a query that stands for one are.
  var formTerm: SqlExpression? {
    guard kind == .scalar, case .term(let term) = query.clauses.results.first else { return nil }
    return term
  }
}

extension SqlExpression.Call {
  /// The argument in whose form the values are.
  var formTerm: SqlExpression? {
    guard case .builtIn(let function) = self.function else { return nil }
    switch function {
    case .min, .max, .scalarMin, .scalarMax, .coalesce, .nullif, .lag, .lead, .firstValue, .lastValue:
      return arguments.first
    default: return nil
    }
  }
}
