// Static type checks that reject expressions for which SQLite would return nonsense.

extension SqlExpression {
  package init(invalid term: InvalidTerm) {
    node = .invalid(term)
    size = Size()
  }

  @usableFromInline
  package init(invalid error: any Error, column: Column? = nil) {
    let located = column.map { SqlExpression.located(error, column: $0) } ?? error
    let known = located as? SqlError ?? .invalidStatement("the conversion of a value in the statement threw an error")
    self.init(invalid: InvalidTerm(error: known, column: column.map { ColumnReference($0) }))
  }

  /// The term that determines how this term's values are stored, such as the column under a COLLATE; by default this
  /// term.
  var columnTerm: SqlExpression {
    switch node {
    case .collate(let term, _): term.columnTerm
    case .call(let call): (call.formTerm ?? decimalOperand)?.columnTerm ?? self
    case .special(let special): special.formTerm?.columnTerm ?? self
    case .query(let term): term.formTerm?.columnTerm ?? self
    case .negative, .binary: decimalOperand?.columnTerm ?? self
    default: self
    }
  }

  /// The column that determines how the term's values are stored; nil if no column does. Values that are compared with
  /// the term are converted to the column's type.
  package var columnDefinition: ColumnDefinition? {
    switch columnTerm.node {
    case .column(let reference), .qualified(_, let reference): reference.definition
    default: nil
    }
  }

  /// The storage format of the term's dates: the format of their column, or of a registered function's results. Nil if
  /// the format is unknown, or if the term is not a date.
  var dateFormat: ColumnType.DateFormat? {
    if case .call(let call) = columnTerm.node { return call.result.format }
    return columnDefinition?.type.dateFormat
  }

  /// True if the term is a bound NULL or REAL, such as a date that is bound without a column.
  var isRealValue: Bool {
    switch node {
    case .value(.real), .value(.null): true
    default: false
    }
  }

  /// The classes of values that operators distinguish. SQLite treats INTEGER and REAL alike.
  fileprivate enum Values: Equatable {
    case numbers
    case nonNumbers(StorageClass)

    init?(_ storageClass: StorageClass) {
      switch storageClass {
      case .null: return nil
      case .integer, .real: self = .numbers
      case .text, .blob: self = .nonNumbers(storageClass)
      }
    }
  }

  fileprivate var values: Values? {
    switch node {
    case .column(let reference), .qualified(_, let reference):
      // SQLite converts nothing in a BLOB column, so the column can contain any value that another program stored.
      guard let storageClass = reference.definition?.type.storageClass, storageClass != .blob else { return nil }
      return Values(storageClass)
    case .value(let value): return Values(value.storageClass)
    case .binary(let term): return term.operation.takesNumbers ? .numbers : nil
    case .negative: return .numbers
    case .collate(let term, _): return term.values
    case .call(let call): return call.formTerm?.values
    case .special(let special): return special.formTerm?.values
    default: return nil
    }
  }

  /// Returns an error if the operator is known to make no sense for these operands.
  package static func defect(of operation: BinaryOperator, _ left: SqlExpression, _ right: SqlExpression)
    -> InvalidTerm?
  {
    if operation.takesNumbers {
      for term in [left, right] {
        guard case .nonNumbers(let storageClass) = term.values else { continue }
        return mismatch("\(operation.rawValue) takes numbers, but was given \(storageClass)", of: term)
      }
    } else if operation.isComparison {
      if let leftValues = left.values, let rightValues = right.values, leftValues != rightValues {
        return mismatch(
          "the compared terms have different types and are never equal; convert a term with cast(to:)", of: left)
      }
      return mixedDates([left, right]) ?? mixedValue(left, right) ?? mixedValue(right, left)
    }
    return nil
  }

  /// Returns an error if `value` is a bound REAL, and `other` is a date that is not stored in seconds. The REAL might
  /// be a date, because a date without a column is bound in seconds.
  private static func mixedValue(_ value: SqlExpression, _ other: SqlExpression) -> InvalidTerm? {
    guard case .value(.real) = value.node, other.dateFormat?.isInSeconds == false else { return nil }
    return mismatch(SqlExpression.mixedForms, of: other)
  }

  /// Returns an error if an operation that returns one of the terms would mix dates in different storage formats. A
  /// bound date without a column is in seconds.
  static func mixedResults(_ terms: [SqlExpression]) -> InvalidTerm? {
    if let defect = mixedDates(terms) { return defect }
    guard let other = terms.first(where: { $0.dateFormat?.isInSeconds == false }) else { return nil }
    return terms.lazy.compactMap { mixedValue($0, other) }.first
  }

  private static let mixedForms =
    "an operation mixes dates in different storage formats; convert the dates with seconds(since:)"

  /// Returns an error if the terms are known to be dates in different storage formats.
  package static func mixedDates(_ terms: some Sequence<SqlExpression>) -> InvalidTerm? {
    var known: SqlExpression?
    for term in terms where term.dateFormat != nil {
      guard known?.canMixDates(with: term) ?? true else { return mismatch(mixedForms, of: term) }
      known = term
    }
    return nil
  }

  private func canMixDates(with other: SqlExpression) -> Bool {
    guard let format = dateFormat, let another = other.dateFormat else { return true }
    guard columnDefinition != nil, other.columnDefinition != nil else { return format.canMix(with: another) }
    return format.written == another.written
  }

  /// Returns the term, or an invalid term if the column can't store the term's values unchanged.
  package func storable(in column: Column) -> SqlExpression {
    let type = columnDefinition?.type
    if column.type.scale != nil, type == nil, !isUnknownUntilBound {
      let actual = "a term of unknown scale"
      return SqlExpression(invalid: SqlError.encoding(expected: column.type.name, found: actual), column: column)
    }
    if type == nil, let format = dateFormat, column.type.dateFormat?.canMix(with: format) == false {
      let found = ColumnType.date(format).name
      return SqlExpression(invalid: SqlError.encoding(expected: column.type.name, found: found), column: column)
    }
    guard let type, !column.type.takesValues(of: type) else { return self }
    return SqlExpression(invalid: SqlError.encoding(expected: column.type.name, found: type.name), column: column)
  }

  /// True if the term is NULL or a parameter. Binding converts a parameter's value to the type of the column.
  private var isUnknownUntilBound: Bool {
    switch node {
    case .value(.null), .parameter: true
    default: false
    }
  }

  static func mismatch(_ message: String, of term: SqlExpression) -> InvalidTerm {
    let definition = term.columnDefinition
    return InvalidTerm(
      error: SqlError.invalidStatement(message).at(table: nil, column: definition?.name),
      column: definition.map { .declared($0) })
  }
}

extension SqlExpression.Call.BuiltIn {
  /// Returns an error if the function expects numbers and an argument is known not to be a number.
  package func defect(in arguments: [SqlExpression]) -> SqlExpression.InvalidTerm? {
    guard facts.has(.takesNumbers) else { return nil }
    for term in arguments {
      guard case .nonNumbers(let storageClass) = term.values else { continue }
      return SqlExpression.mismatch("\(name) takes numbers, but was given \(storageClass)", of: term)
    }
    return nil
  }
}

extension SqlExpression.BinaryOperator {
  /// True if the operator is arithmetic. SQLite would convert a TEXT or BLOB operand to a number, usually 0.
  fileprivate var takesNumbers: Bool {
    switch self {
    case .plus, .minus, .times, .divided, .remainder, .bitAnd, .bitOr, .shiftedLeft, .shiftedRight: true
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isSame, .isNotSame, .concatenated,
      .matchesGlob, .matchesRegexp, .json, .jsonValue:
      false
    }
  }
}
