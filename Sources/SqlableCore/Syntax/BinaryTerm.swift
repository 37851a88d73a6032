extension SqlExpression {
  /// A class, because reading a field of an indirect enum case copies all fields. Most filters compare a column with a
  /// value, and each run reads the fields.
  package final class BinaryTerm: Sendable {
    package let operation: BinaryOperator
    package let left: SqlExpression
    package let right: SqlExpression
    /// The declared column that the term compares with a value; nil for any other term. `left` retains the column.
    let comparedColumn: Unmanaged<ColumnDefinition>?

    init(_ operation: BinaryOperator, _ left: SqlExpression, _ right: SqlExpression) {
      (self.operation, self.left, self.right) = (operation, left, right)
      if operation.isComparison, case .column(.declared(let column)) = left.node, case .value = right.node {
        comparedColumn = .passUnretained(column)
      } else {
        comparedColumn = nil
      }
    }
  }
}

extension SqlExpression.Node {
  package static func binary(
    _ operation: SqlExpression.BinaryOperator, _ left: SqlExpression, _ right: SqlExpression
  ) -> SqlExpression.Node {
    .binary(SqlExpression.BinaryTerm(operation, left, right))
  }
}
