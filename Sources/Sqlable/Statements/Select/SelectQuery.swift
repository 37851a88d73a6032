/// What a `SELECT` says, the same for all types of rows. Nothing in it is for others to use.
public struct SelectQuery: Sendable, Hashable {
  private var storage: Storage

  init(_ source: Source, results: [Result]) { storage = Storage(Clauses(sources: [source], results: results)) }

  /// All that it says; changed in place where nobody else has the same.
  var clauses: Clauses {
    _read { yield storage.clauses }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.clauses) }
      yield &storage.clauses
    }
  }

  /// Behind one reference: a query is copied at every step of its making and running.
  ///
  /// Sound as `Sendable`: it is changed by one that has the only reference, and by no other.
  private final class Storage: @unchecked Sendable {
    var clauses: Clauses

    init(_ clauses: Clauses) { self.clauses = clauses }
  }

  public static func == (left: SelectQuery, right: SelectQuery) -> Bool {
    left.storage === right.storage || left.clauses == right.clauses
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(clauses) }
}

extension SelectQuery {
  /// A column of the result.
  enum Result: Sendable, Hashable {
    case term(SqlExpression)
    /// All columns of the model of a source, by its place.
    case model(Int)
  }

  /// A table, and how it is joined to those before it.
  @usableFromInline
  struct Source: Sendable, Hashable {
    @usableFromInline
    enum Join: String, Sendable, Hashable {
      case inner = " JOIN "
      case left = " LEFT JOIN "
      case cross = " CROSS JOIN "
    }

    /// Whether it is no table, but a query that goes by the alias.
    enum Common: Sendable, Hashable {
      /// One that is defined around it: a query that names itself.
      case named
      case defined(SelectQuery)
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
    let query: SelectQuery
  }

  struct Clauses: Sendable, Hashable {
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
  }

  /// All terms in it.
  var terms: [SqlExpression] {
    var terms = clauses.sources.compactMap(\.condition) + clauses.groups + clauses.order.map(\.expression)
    for case .defined(let query) in clauses.sources.compactMap(\.common) { terms += query.terms }
    for case .term(let term) in clauses.results { terms.append(term) }
    if let filter = clauses.filter { terms.append(filter) }
    if let having = clauses.having { terms.append(having) }
    for compound in clauses.compounds { terms += compound.query.terms }
    return terms
  }
}

extension TableInfo: Hashable {
  @usableFromInline
  static func == (left: TableInfo, right: TableInfo) -> Bool { left === right }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
