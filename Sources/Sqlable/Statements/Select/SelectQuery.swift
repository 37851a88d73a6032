/// What a `SELECT` says, the same for all types of rows. Nothing in it is for others to use.
public struct SelectQuery: Sendable, Hashable {
  /// A column of the result.
  enum Result: Sendable, Hashable {
    case term(SqlExpression)
    /// All columns of the model of a source, by its place.
    case model(Int)
  }

  /// A table, and how it is joined to those before it.
  struct Source: Sendable, Hashable {
    enum Join: String, Sendable, Hashable {
      case inner = " JOIN "
      case left = " LEFT JOIN "
      case cross = " CROSS JOIN "
    }

    /// Whether it is no table, but a query that goes by the alias.
    enum Common: Sendable, Hashable {
      /// One that is defined around it: a query that names itself.
      case named
      case defined(Indirect<SelectQuery>)
    }

    let table: TableInfo
    /// What it is called in the statement, when not by its own name.
    var alias: String?
    var common: Common?
    var join = Join.inner
    var condition: SqlExpression?

    var name: String { alias ?? table.name }
  }

  /// Another query whose rows are added, or taken away.
  struct Compound: Sendable, Hashable {
    enum Operator: String, Sendable, Hashable {
      case union = " UNION "
      case unionAll = " UNION ALL "
      case intersect = " INTERSECT "
      case except = " EXCEPT "
    }

    let operation: Operator
    let query: Indirect<SelectQuery>
  }

  var sources: [Source]
  var results: [Result]
  var isDistinct = false
  var filter: SqlExpression?
  var groups: [SqlExpression] = []
  var having: SqlExpression?
  var compounds: [Compound] = []
  var order: [OrderTerm] = []
  var limit: Int?
  var offset: Int?

  /// All terms in it.
  var terms: [SqlExpression] {
    var terms = sources.compactMap(\.condition) + groups + order.map(\.expression)
    for case .defined(let query) in sources.compactMap(\.common) { terms += query.value.terms }
    for case .term(let term) in results { terms.append(term) }
    if let filter { terms.append(filter) }
    if let having { terms.append(having) }
    for compound in compounds { terms += compound.query.value.terms }
    return terms
  }
}

/// A value behind a reference: what a type holds of itself.
final class Indirect<Value: Sendable & Hashable>: Sendable, Hashable {
  let value: Value

  init(_ value: Value) { self.value = value }

  static func == (left: Indirect, right: Indirect) -> Bool { left.value == right.value }
  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension TableInfo: Hashable {
  @usableFromInline
  static func == (left: TableInfo, right: TableInfo) -> Bool { left === right }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
