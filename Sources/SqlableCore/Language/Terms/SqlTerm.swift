import FoundationEssentials

/// A typed or untyped term.
public protocol AnyTerm: OrderingTerm {
  var expression: SqlExpression { get }
}

/// An untyped ``Column`` or ``SqlExpression``. The operators accept values of any type.
public protocol SqlTerm: AnyTerm {}

/// A ``TypedColumn`` or ``TypedExpression``. The operators accept only values of the term's type.
public protocol TypedTerm<Value>: AnyTerm, Selectable where Value: SqlValue {}

extension SqlExpression: SqlTerm {
  @inlinable
  public var expression: SqlExpression { self }
}

extension Column: SqlTerm {
  public var expression: SqlExpression {
    SqlExpression(leaf: .column(ColumnReference(self)))
  }
}

extension TypedExpression: TypedTerm {}

extension TypedColumn: TypedTerm {
  public var expression: SqlExpression { column.expression }
}

extension TypedTerm {
  /// Returns the same term with an optional type. Use this method to select a single column of a left-joined table.
  ///
  /// ```swift
  /// Car.leftJoin(Garage.self, on: Car.garageId == Garage.id).select(Car.name, Garage.city.typed(as: String?.self))
  /// // SELECT "car"."name", "garage"."city" FROM "car" LEFT JOIN "garage" ON …
  /// ```
  public func typed(as type: Value?.Type) -> TypedExpression<Value?> { TypedExpression(expression: expression) }

  /// Returns the term unchanged, because it already has this type.
  public func typed(as type: Value.Type) -> TypedExpression<Value> { TypedExpression(expression: expression) }
}

extension SqlTerm {
  /// Returns the same term with a type. The query reads the values as this type. The SQL does not change.
  public func typed<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: expression)
  }
}

extension SqlExpression {
  /// Returns a value to combine with this term. If the term is a column, the value is converted to the column's type.
  ///
  /// - Parameter side: The rounding direction for a comparison. If nil, the column must be able to store the value
  ///   exactly.
  package func value(_ value: any SqlValue, _ side: RoundingSide? = nil) -> SqlExpression {
    guard let columnDefinition else { return SqlExpression(value) }
    return SqlExpression(value, for: Column(columnDefinition), side)
  }

  @usableFromInline
  func compared(_ comparison: BinaryOperator, with value: (any SqlValue)?) -> SqlExpression {
    let right = value.map { self.value($0, comparison.side) } ?? SqlExpression(DatabaseValue.null)
    if case .value(.null) = right.node {
      // Compare nil with IS NULL, because "= NULL" is never true.
      switch comparison {
      case .equal: return SqlExpression(.isNull(self))
      case .notEqual: return SqlExpression(.isNotNull(self))
      default: break
      }
    }
    // For a column, `value(_:_:)` has already converted or rejected the value.
    guard columnDefinition == nil else { return SqlExpression(.binary(comparison, self, right)) }
    return combined(comparison, with: right)
  }

  /// Compares the term with a value without boxing the value: a fast path, because most conditions are of this form.
  @inlinable
  consuming func compared<Value: SqlValue>(_ comparison: BinaryOperator, with value: Value) -> SqlExpression {
    guard let type = typeOfValues else { return compared(comparison, with: value as any SqlValue) }
    do { return compared(comparison, in: try value.databaseValue(in: type)) } catch {
      return SqlExpression(invalid: error, of: self)
    }
  }

  /// The type of a term that is a column; nil for any other term. Also nil for a column of decimals or whole seconds,
  /// because such a column can be compared with values that the column can't store.
  @usableFromInline
  var typeOfValues: ColumnType? {
    switch node {
    case .column(let reference), .qualified(_, let reference):
      guard let type = reference.definition?.type, !type.comparesInAnotherForm else { return nil }
      return type
    default: return nil
    }
  }

  /// Compares the column with a value that is already converted for storage in the column. `=` and `<>` with NULL
  /// become `IS NULL` and `IS NOT NULL`.
  @usableFromInline
  package consuming func compared(_ comparison: BinaryOperator, in storage: DatabaseValue) -> SqlExpression {
    if case .null = storage, comparison == .equal { return SqlExpression(.isNull(self)) }
    if case .null = storage, comparison == .notEqual { return SqlExpression(.isNotNull(self)) }
    return combined(comparison, in: storage)
  }

  /// Combines the column with a value that is already converted for storage in the column. A comparison with NULL does
  /// not become `IS NULL`.
  @usableFromInline
  consuming func combined(_ comparison: BinaryOperator, in storage: DatabaseValue) -> SqlExpression {
    if let defect = defect(ofComparing: storage) { return SqlExpression(invalid: defect, of: self) }
    return SqlExpression(comparison: SqlExpression.BinaryTerm(comparison, self, SqlExpression(storage)))
  }

  private func defect(ofComparing storage: DatabaseValue) -> (any Error)? {
    do { _ = try storage.checked() } catch { return error }
    guard let type = typeOfValues, !type.compares(with: storage.storageClass) else { return nil }
    return type.mismatch(storage.storageClass)
  }

  /// Makes an invalid comparison with a column. Running the statement throws the error.
  @usableFromInline
  init(invalid error: any Error, of term: SqlExpression) {
    self.init(invalid: error, column: term.columnDefinition.map(Column.init(_:)))
  }

  package func combined(_ operation: BinaryOperator, with value: any SqlValue) -> SqlExpression {
    combined(operation, with: operand(value, operation))
  }

  /// Returns a value as the right operand of an operation with this term. In a product with a decimal column, a whole
  /// number becomes an integer. In any other operation with a decimal column, the value gets the column's scale.
  func operand(_ value: any SqlValue, _ operation: BinaryOperator) -> SqlExpression {
    guard columnDefinition?.type.scale != nil, operation.takesDecimals else { return SqlExpression(value) }
    guard operation == .times else { return self.value(value) }
    let term = SqlExpression(value)
    guard case .value(.text(let text)) = term.node, let factor = try? Decimal(databaseValue: .text(text)),
      case .exact(let units)? = try? DecimalUnits(factor, scale: 0)
    else { return term }
    return SqlExpression(DatabaseValue.integer(units))
  }

  /// Returns a quotient or remainder whose type is not optional. A divisor for which the result would be NULL is an
  /// error.
  func divided(_ operation: BinaryOperator, by value: any SqlValue) -> SqlExpression {
    let divisor = operand(value, operation)
    switch divisor.node {
    case .value(.integer(0)), .value(.real(0)):
      return SqlExpression(
        invalid: SqlError.invalidStatement("division by 0 gives NULL, but the type of the result is not optional"))
    // SQLite's % converts both operands to integers, so a divisor below 1 becomes 0.
    case .value(.real(let real)) where operation == .remainder && real.magnitude < 1:
      return SqlExpression(
        invalid: SqlError.invalidStatement(
          "% treats a divisor between -1 and 1 as 0 and gives NULL, but the type of the result is not optional"))
    default: return combined(operation, with: divisor)
    }
  }

  package func combined(_ operation: BinaryOperator, with other: SqlExpression) -> SqlExpression {
    if let defect = SqlExpression.defect(of: operation, self, other) { return SqlExpression(invalid: defect) }
    return SqlExpression(.binary(operation, self, other))
  }

  @inlinable
  func isIn<Value: SqlValue>(_ values: some Sequence<Value>) -> SqlExpression {
    guard let type = typeOfValues else { return isIn(values.map { $0 as any SqlValue }) }
    var stored: [DatabaseValue] = []
    stored.reserveCapacity(values.underestimatedCount)
    for value in values {
      do { stored.append(try value.databaseValue(in: type)) } catch { return SqlExpression(invalid: error, of: self) }
    }
    return isIn(stored)
  }

  @usableFromInline
  func isIn(_ values: [DatabaseValue]) -> SqlExpression {
    for value in values {
      if let defect = defect(ofComparing: value) { return SqlExpression(invalid: defect, of: self) }
    }
    return SqlExpression(.isIn(self, values))
  }

  @usableFromInline
  func isIn(_ values: [any SqlValue]) -> SqlExpression {
    var stored: [DatabaseValue] = []
    stored.reserveCapacity(values.count)
    for value in values {
      let term = self.value(value, .equal)
      guard case .value(let storage) = term.node else { return term }
      stored.append(storage)
    }
    return SqlExpression(.isIn(self, stored))
  }

  func isBetween(_ low: any SqlValue, _ high: any SqlValue) -> SqlExpression {
    isBetween(value(low, .above), value(high, .below))
  }

  func isBetween(_ low: SqlExpression, _ high: SqlExpression) -> SqlExpression {
    for (comparison, bound) in [(BinaryOperator.greaterOrEqual, low), (.lessOrEqual, high)] {
      if let defect = SqlExpression.defect(of: comparison, self, bound) { return SqlExpression(invalid: defect) }
    }
    return SqlExpression(.between(self, low, high))
  }

  package func isLike(_ pattern: SqlExpression, escape: Character?) -> SqlExpression {
    SqlExpression(.like(self, pattern, escape: escape.map(String.init) ?? ""))
  }

  package func isLike(_ pattern: String, escape: Character?) -> SqlExpression {
    isLike(SqlExpression(pattern), escape: escape)
  }
}
