/// What a `SELECT` says, the same for all types of rows. Nothing in it is for others to use.
public struct SelectQuery: Sendable, Hashable {
  private var storage: Storage

  init(_ source: Source, results: [Result]) { storage = Storage(Clauses(sources: [source], results: results)) }

  /// A query of rows that it brings along.
  init(rows: [[SqlExpression]]) { storage = Storage(Clauses(sources: [], results: [], rows: rows)) }

  /// All that it says; changed in place where nobody else has the same.
  var clauses: Clauses {
    _read { yield storage.clauses.value }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.clauses.value) }
      yield &storage.clauses.value
    }
  }

  /// Behind one reference: a query is copied at every step of its making and running.
  ///
  /// Sound as `Sendable`: it is changed by one that has the only reference, and by no other.
  private final class Storage: @unchecked Sendable {
    let clauses: Unchecked<Clauses>

    init(_ clauses: Clauses) { self.clauses = Unchecked(clauses) }

    deinit { clauses.free() }
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
    /// All columns of the model of a source, by its place, some of them replaced by terms.
    case model(Int, replaced: [Replacement] = [])
  }

  /// What is read in the place of a column.
  struct Replacement: Sendable, Hashable {
    let column: ColumnReference
    let term: SqlExpression
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

    /// What it is, if no table.
    enum Kind: Sendable, Hashable {
      case table
      /// A query that goes by the alias.
      case defined(SelectQuery)
      /// One that is defined around it: a query that names itself.
      case named
      /// What a table-valued function gives.
      case call(SqlExpression)
    }

    var table: TableInfo
    /// What it is called in the statement, when not by its own name.
    var alias: String?
    var kind = Kind.table
    var join = Join.inner
    var condition: SqlExpression?
    /// Whether its rows are those that its full-text index finds.
    var isSearched = false

    /// How many queries under a name are in one another here.
    private(set) var depth: Int16 = 0

    var name: String { alias ?? table.name }

    /// Makes it a query that goes by the alias.
    mutating func define(_ query: SelectQuery) {
      depth = query.clauses.depth + 1
      guard depth > SqlExpression.maximumDepth else {
        kind = .defined(query)
        return
      }
      // Trees are walked by recursion: one as deep is not kept.
      let error = SqlError.invalidStatement("queries under a name nest more than \(SqlExpression.maximumDepth) deep")
      depth = 0
      kind = .defined(
        SelectQuery(rows: [Array(repeating: SqlExpression(invalid: error), count: query.clauses.columnCount)]))
    }
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
    /// The rows of VALUES, in the place of all that a SELECT begins with.
    var rows: [[SqlExpression]] = []
    var isDistinct = false
    var filter: SqlExpression?
    var groups: [SqlExpression] = []
    var having: SqlExpression?
    var compounds: [Compound] = []
    var order: [OrderTerm] = []
    var limit: Int?
    var offset: Int?
  }

  /// The query with no more than one level of others in it: more are refused, and would be walked by recursion.
  var flat: SelectQuery {
    guard clauses.compounds.contains(where: { !$0.query.clauses.compounds.isEmpty }) else { return self }
    var query = self
    query.clauses.compounds.removeAll { !$0.query.clauses.compounds.isEmpty }
    var nested = clauses.compounds[0].query
    nested.clauses.compounds = []
    query.clauses.compounds.append(Compound(operation: .union, query: nested))
    return query
  }

  /// All terms in it, those of the queries that it is made of included.
  var terms: [SqlExpression] {
    var terms = clauses.sources.compactMap(\.condition) + clauses.groups + clauses.order.map(\.expression)
    terms += clauses.rows.joined()
    for source in clauses.sources {
      switch source.kind {
      case .table, .named: break
      case .defined(let query): terms += query.terms
      case .call(let call): terms.append(call)
      }
    }
    for result in clauses.results {
      switch result {
      case .term(let term): terms.append(term)
      case .model(_, let replaced): terms += replaced.map(\.term)
      }
    }
    if let filter = clauses.filter { terms.append(filter) }
    if let having = clauses.having { terms.append(having) }
    for compound in clauses.compounds { terms += compound.query.terms }
    return terms
  }
}

extension SelectQuery.Clauses {
  /// How deep its own terms, and the queries that it is made of, are.
  var depth: Int16 {
    var depth: Int16 = 0
    func add(_ terms: some Sequence<SqlExpression>) { for term in terms { depth = max(depth, term.size.depth) } }
    for source in sources { depth = max(depth, source.depth, source.condition?.size.depth ?? 0) }
    for result in results {
      switch result {
      case .term(let term): add([term])
      case .model(_, let replaced): add(replaced.map(\.term))
      }
    }
    add(groups)
    add(order.map(\.expression))
    add([filter, having].compactMap { $0 })
    for compound in compounds { depth = max(depth, compound.query.clauses.depth) }
    return depth
  }

  /// The position in the result, from 1, by which a term that orders or groups has to be called: SQLite does not know it
  /// again where it binds values, and looks for nothing but columns where queries are combined.
  func position(of term: SqlExpression) -> Int? {
    switch term.node {
    case .column, .qualified: return nil
    case .value where compounds.isEmpty: return nil
    default: break
    }
    guard !compounds.isEmpty || term.node.bindsValues else { return nil }
    var position = 1
    for result in results {
      switch result {
      case .term(term): return position
      case .term: position += 1
      case .model(let index, _): position += sources[index].table.count
      }
    }
    return nil
  }
}

extension TableInfo: Hashable {
  @usableFromInline
  static func == (left: TableInfo, right: TableInfo) -> Bool { left === right }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
