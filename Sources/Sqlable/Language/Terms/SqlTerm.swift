/// A term of any kind, typed or not, where its type does not matter.
public protocol AnyTerm: Sendable {
  var expression: SqlExpression { get }
}

/// An untyped ``Column`` or ``SqlExpression``: what operators with unchecked values are defined on.
public protocol SqlTerm: AnyTerm {}

/// A ``TypedColumn`` or ``TypedExpression``: what operators with values of its type are defined on.
public protocol TypedTerm<Value>: AnyTerm {
  associatedtype Value: SqlValue
}

extension SqlExpression: SqlTerm {
  public var expression: SqlExpression { self }
}

extension Column: SqlTerm {
  public var expression: SqlExpression { SqlExpression(.column(ColumnReference(self))) }
}

extension TypedExpression: TypedTerm {}

extension TypedColumn: TypedTerm {
  public var expression: SqlExpression { column.expression }
}

extension TypedTerm {
  /// The same term, whose value may be NULL: for a column of a left-joined table, read without its model.
  ///
  /// ```swift
  /// Car.leftJoin(Garage.self, on: Car.garageId == Garage.id).select(Car.name, Garage.city.typed(as: String?.self))
  /// // SELECT "car"."name", "garage"."city" FROM "car" LEFT JOIN "garage" ON …
  /// ```
  public func typed(as type: Value?.Type) -> TypedExpression<Value?> { TypedExpression(expression: expression) }
}

extension SqlTerm {
  /// Says which type the values have, for what reads them typed: SQL has no other form of it.
  public func typed<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: expression)
  }
}

extension SqlExpression {
  /// A value that meets this term: in the form of the column that it is.
  func value(_ value: any SqlValue) -> SqlExpression {
    guard let columnDefinition else { return SqlExpression(value) }
    return SqlExpression(value, for: Column(columnDefinition))
  }

  func compared(_ comparison: BinaryOperator, with value: (any SqlValue)?) -> SqlExpression {
    let right = value.map { self.value($0) } ?? SqlExpression(SqlStorage.null)
    if case .value(.null) = right.node {
      // nil on the right means IS NULL: "= NULL" is never true, which nobody wants to say.
      switch comparison {
      case .equal: return SqlExpression(.isNull(self))
      case .notEqual: return SqlExpression(.isNotNull(self))
      default: break
      }
    }
    // What meets a column has its form, or is refused, already.
    guard columnDefinition == nil else { return SqlExpression(.binary(comparison, self, right)) }
    return combined(comparison, with: right)
  }

  func combined(_ operation: BinaryOperator, with value: any SqlValue) -> SqlExpression {
    combined(operation, with: SqlExpression(value))
  }

  func combined(_ operation: BinaryOperator, with other: SqlExpression) -> SqlExpression {
    if let defect = SqlExpression.defect(of: operation, self, other) { return SqlExpression(invalid: defect) }
    return SqlExpression(.binary(operation, self, other))
  }

  func isIn(_ values: some Sequence<some SqlValue>) -> SqlExpression {
    var stored: [SqlStorage] = []
    stored.reserveCapacity(values.underestimatedCount)
    for value in values {
      let term = self.value(value)
      guard case .value(let storage) = term.node else { return term }
      stored.append(storage)
    }
    return SqlExpression(.isIn(self, stored))
  }

  func isBetween(_ low: any SqlValue, _ high: any SqlValue) -> SqlExpression {
    SqlExpression(.between(self, value(low), value(high)))
  }

  func isLike(_ pattern: String, escape: Character?) -> SqlExpression {
    SqlExpression(.like(self, SqlExpression(pattern), escape: escape.map(String.init) ?? ""))
  }

  func function(_ function: Function) -> SqlExpression { SqlExpression(.function(function, [self])) }
}
