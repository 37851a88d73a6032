/// A sort direction. NULL comes before all values in `asc` and after all values in `desc`.
public enum Order: String, Sendable, Hashable, Codable {
  case asc, desc
}

@usableFromInline
package struct OrderTerm: Sendable, Hashable {
  package let expression: SqlExpression
  package var direction: Direction

  /// A sort direction together with the position of NULL. The raw values are the names in JSON documents.
  package enum Direction: String, Sendable, Hashable, Codable {
    case asc, desc, ascNullsLast, descNullsFirst

    package var isUpwards: Bool { self == .asc || self == .ascNullsLast }

    var sql: StaticString {
      switch self {
      case .asc: ""
      case .desc: " DESC"
      case .ascNullsLast: " NULLS LAST"
      case .descNullsFirst: " DESC NULLS FIRST"
      }
    }
  }

  package init(expression: SqlExpression, direction: Direction) {
    self.expression = expression
    self.direction = direction
  }

  @usableFromInline
  package init(expression: SqlExpression, order: Order) {
    self.expression = expression
    direction = order == .asc ? .asc : .desc
  }
}
