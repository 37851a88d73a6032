// Terms of decimals. A column of scale 2 stores 12.34 as an integer: 1234 units. A term that does not keep the scale is
// rejected.

extension SqlExpression {
  /// A function that finds the declaration of a column. A decoded term contains only the column's name.
  typealias ColumnLookup = (ColumnReference, _ alias: String?) -> ColumnDefinition?

  /// The operands of an arithmetic operation whose result has the operands' scale. Empty for any other term.
  private var operands: [SqlExpression] {
    switch node {
    case .negative(let term): [term]
    case .binary(let term): term.operation.takesDecimals ? [term.left, term.right] : []
    case .call(let call): call.facts?.result == .scaled ? call.arguments : []
    default: []
    }
  }

  /// The first decimal operand, whose scale the result keeps; nil if no operand is a decimal.
  var decimalOperand: SqlExpression? { operands.first { $0.scale { _, _ in nil } != nil } }

  /// Returns the scale of the term's values; nil if the values are not decimals.
  func scale(_ lookup: ColumnLookup) -> Int? {
    switch node {
    case .column(let reference): return (reference.definition ?? lookup(reference, nil))?.type.scale
    case .qualified(let alias, let reference): return (reference.definition ?? lookup(reference, alias))?.type.scale
    case .collate(let term, _): return term.scale(lookup)
    case .call(let call):
      return call.formTerm?.scale(lookup) ?? scaleOfOperands(lookup)
    case .special(let special): return special.formTerm?.scale(lookup)
    case .query(let term): return term.formTerm?.scale { _, _ in nil }
    case .negative, .binary: return scaleOfOperands(lookup)
    default: return nil
    }
  }

  private func scaleOfOperands(_ lookup: ColumnLookup) -> Int? {
    for term in operands { if let scale = term.scale(lookup) { return scale } }
    return nil
  }

  /// Returns an error if the term would calculate inexactly, or would treat the stored integer of a decimal as an
  /// ordinary number.
  func decimalDefect(_ lookup: ColumnLookup) -> InvalidTerm? {
    switch node {
    case .binary(let term): SqlExpression.defect(of: term.operation, term.left, term.right, lookup)
    case .between(let term, let low, let high):
      SqlExpression.defect(of: .less, term, low, lookup) ?? SqlExpression.defect(of: .less, term, high, lookup)
    case .isIn(let term, let values): term.defect(in: values, lookup)
    case .like(let term, _, _): term.refused(by: "LIKE", lookup)
    case .call(let call): defect(of: call, lookup)
    case .special(let special): defect(of: special, lookup)
    case .query(let term): defect(of: term, lookup)
    default: nil
    }
  }

  private static func defect(
    of operation: BinaryOperator, _ left: SqlExpression, _ right: SqlExpression, _ lookup: ColumnLookup
  ) -> InvalidTerm? {
    let scales = (left.scale(lookup), right.scale(lookup))
    guard scales != (nil, nil) else { return nil }
    let (decimal, other) = scales.0 != nil ? (left, right) : (right, left)
    if operation == .times {
      guard scales.0 == nil || scales.1 == nil, other.isWhole(lookup) else {
        return mismatch("a decimal can only be multiplied by a whole number", of: decimal)
      }
      return nil
    }
    guard operation.isComparison || operation.takesDecimals else { return decimal.refused(by: operation.rawValue) }
    if operation == .remainder, scales.0 == nil { return decimal.refused(by: operation.rawValue) }
    return other.fits(decimal, comparing: operation.isComparison, lookup) ? nil : mixed(decimal)
  }

  /// True if the term can be combined with the decimal: a term of the same scale, a value that is already converted to
  /// the decimal's scale, or a parameter.
  private func fits(_ decimal: SqlExpression, comparing: Bool = false, _ lookup: ColumnLookup) -> Bool {
    switch node {
    case .value(.integer), .value(.null): true
    // A real number can lie between two stored integers, so only comparisons accept real numbers.
    case .value(.real): comparing
    // An invalid term reports its own error.
    case .parameter, .invalid: true
    default: scale(lookup) == decimal.scale(lookup)
    }
  }

  private func defect(in values: [DatabaseValue], _ lookup: ColumnLookup) -> InvalidTerm? {
    guard scale(lookup) != nil else { return nil }
    let fit = values.allSatisfy { SqlExpression($0).fits(self, comparing: true, lookup) }
    return fit ? nil : SqlExpression.mixed(self)
  }

  private func defect(of call: Call, _ lookup: ColumnLookup) -> InvalidTerm? {
    guard let decimal = call.arguments.first(where: { $0.scale(lookup) != nil }) else { return nil }
    guard case .builtIn(let function) = call.function else { return decimal.refused(by: "a registered function") }
    switch function.facts.result {
    case .scaled: return nil
    case .ofArguments: return SqlExpression.defect(among: call.arguments, lookup)
    case .ofRow:
      guard call.arguments[0].scale(lookup) != nil, call.arguments.count < 2 || call.arguments[1].isWhole(lookup) else {
        return decimal.refused(by: function.name)
      }
      return SqlExpression.defect(among: [call.arguments[0]] + call.arguments.dropFirst(2), lookup)
    case .other, .integer: return function.facts.has(.takesDecimals) ? nil : decimal.refused(by: function.name)
    }
  }

  private static func defect(among terms: [SqlExpression], _ lookup: ColumnLookup) -> InvalidTerm? {
    let decimal = terms[0]
    guard decimal.scale(lookup) != nil else { return mixed(terms.first { $0.scale(lookup) != nil } ?? decimal) }
    for term in terms {
      // Refuse a parameter, because its value would be bound without the scale.
      if case .parameter = term.node { return mixed(decimal) }
      guard term.fits(decimal, lookup) else { return mixed(decimal) }
    }
    return nil
  }

  private func defect(of special: SyntaxTerm, _ lookup: ColumnLookup) -> InvalidTerm? {
    switch special.form {
    case .choice:
      let results = special.results
      guard results.contains(where: { $0.scale(lookup) != nil }) else { return nil }
      return SqlExpression.defect(among: results, lookup)
    // A cast to an integer returns the stored integer: 1234 for 12.34 with two decimal places.
    case .cast(.integer): return nil
    default:
      guard let decimal = special.terms.first(where: { $0.scale(lookup) != nil }) else { return nil }
      return decimal.refused(by: "this term")
    }
  }

  private func defect(of query: QueryTerm, _ lookup: ColumnLookup) -> InvalidTerm? {
    guard query.kind == .isIn, let term = query.term else { return nil }
    let columnScale = query.query.clauses.columns.first?.type?.scale
    return term.scale(lookup) == columnScale ? nil : SqlExpression.mixed(term)
  }

  private static func mixed(_ term: SqlExpression) -> InvalidTerm {
    mismatch("a decimal can't be combined with a number of another scale or without a scale; use `units`", of: term)
  }

  private func refused(by operation: String, _ lookup: ColumnLookup) -> InvalidTerm? {
    scale(lookup) == nil ? nil : refused(by: operation)
  }

  private func refused(by operation: String) -> InvalidTerm {
    SqlExpression.mismatch("\(operation) does not support decimals; convert the decimal with `units`", of: self)
  }

  /// True if the term's values are known to be NULL or integers, and not stored decimals.
  private func isWhole(_ lookup: ColumnLookup) -> Bool {
    switch node {
    case .value(let value): return value.storageClass == .integer || value == .null
    case .column, .qualified, .query:
      let type = definition(lookup)?.type.base
      return type == .integer || type == .boolean
    case .negative(let term), .collate(let term, _): return term.isWhole(lookup)
    case .binary(let term):
      return term.operation.takesDecimals && term.left.isWhole(lookup) && term.right.isWhole(lookup)
    case .call(let call): return call.isWhole { $0.isWhole(lookup) }
    case .special(let special):
      switch special.form {
      case .cast(.integer), .datePart, .inverted: return true
      case .choice: return special.results.allSatisfy { $0.isWhole(lookup) }
      default: return false
      }
    default: return false
    }
  }

  private func definition(_ lookup: ColumnLookup) -> ColumnDefinition? {
    switch node {
    case .column(let reference): reference.definition ?? lookup(reference, nil)
    case .qualified(let alias, let reference): reference.definition ?? lookup(reference, alias)
    default: columnDefinition
    }
  }
}

extension SqlExpression.BinaryOperator {
  /// True if the operator is an arithmetic operator that keeps a decimal's scale.
  var takesDecimals: Bool {
    switch self {
    case .plus, .minus, .times, .remainder: true
    default: false
    }
  }

  /// The direction in which the comparison rounds an operand that the column can't store; nil for an operator that is
  /// not a comparison.
  var side: RoundingSide? {
    switch self {
    case .equal, .notEqual, .isSame, .isNotSame: .equal
    case .less, .greaterOrEqual: .above
    case .greater, .lessOrEqual: .below
    default: nil
    }
  }

  var flipped: Self {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: self
    }
  }
}

extension SqlExpression.SyntaxTerm {
  fileprivate var results: [SqlExpression] {
    terms.indices.filter { !$0.isMultiple(of: 2) || $0 == terms.count - 1 }.map { terms[$0] }
  }
}

extension SqlExpression.Call {
  /// True if the call's results are NULL or integers. `isWhole` checks an argument.
  fileprivate func isWhole(_ isWhole: (SqlExpression) -> Bool) -> Bool {
    switch facts?.result {
    case .integer: true
    case .scaled, .ofArguments: arguments.allSatisfy(isWhole)
    case .ofRow: (arguments.prefix(1) + arguments.dropFirst(2)).allSatisfy(isWhole)
    case .other, nil: function == .countRows
    }
  }
}
