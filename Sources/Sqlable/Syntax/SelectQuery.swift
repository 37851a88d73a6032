/// What a `SELECT` says, the same for all types of rows. Nothing in it is for others to use.
public struct SelectQuery: Sendable, Hashable {
  /// What is asked of the rows.
  @usableFromInline
  enum Form: Sendable, Hashable {
    case rows
    /// How many there are.
    case count
    /// Whether there are any.
    case exists
  }

  @usableFromInline let form: Form
  /// All that it says, if that is more than what follows here.
  private var box: Box?
  // What most queries say: which rows of one table. Without memory of its own, since a query is copied at every step of
  // its making and running.
  unowned(unsafe) private var ownTable: TableInfo
  private var ownFilter: SqlExpression?
  private var ownLimit: Int?

  /// The rows of one table, or their number.
  @usableFromInline
  init(_ form: Form = .rows, of table: TableInfo) {
    self.form = form
    ownTable = table
  }

  init(_ source: Source, results: [Result]) { self.init(Clauses(sources: [source], results: results)) }

  /// A query of rows that it brings along.
  init(rows: [[SqlExpression]]) { self.init(Clauses(sources: [], results: [], rows: rows)) }

  private init(_ clauses: Clauses) {
    form = .rows
    ownTable = .none
    box = Box(clauses)
  }

  /// Whether it is about one table, and has a filter and a limit at most.
  var isPlain: Bool { box == nil }

  /// All that it says; changed in place where nobody else has the same.
  var clauses: Clauses {
    _read {
      if let box { yield box.clauses } else { yield ownClauses }
    }
    _modify {
      if box == nil {
        box = Box(ownClauses)
        ownFilter = nil
      } else if !isKnownUniquelyReferenced(&box) {
        box = box.map { Box($0.clauses) }
      }
      yield &box.unsafelyUnwrapped.clauses
    }
  }

  private var ownClauses: Clauses {
    Clauses(
      sources: [Source(table: ownTable)], results: SelectQuery.wholeRows, filter: ownFilter, limit: ownLimit)
  }

  private static let wholeRows: [Result] = [.model(0)]

  /// Behind one reference.
  ///
  /// Sound as `Sendable`: it is changed by one that has the only reference, and by no other.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var clauses: Clauses

    init(_ clauses: Clauses) { self.clauses = clauses }
  }

  public static func == (left: SelectQuery, right: SelectQuery) -> Bool {
    guard left.form == right.form else { return false }
    if let own = left.box, let other = right.box, own === other { return true }
    return left.clauses == right.clauses
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(clauses)
  }
}

extension SelectQuery {
  /// The first table.
  var table: TableInfo {
    get { box.map { $0.clauses.sources.first?.table ?? .none } ?? ownTable }
    set {
      if box == nil { ownTable = newValue } else if !clauses.sources.isEmpty { clauses.sources[0].table = newValue }
    }
  }

  var filter: SqlExpression? { box.map(\.clauses.filter) ?? ownFilter }

  /// Keeps the rows that meet a condition too.
  @usableFromInline
  mutating func filter(_ condition: SqlExpression) {
    if box == nil { ownFilter.and(condition) } else { clauses.filter.and(condition) }
  }

  @usableFromInline var limit: Int? {
    get { box.map(\.clauses.limit) ?? ownLimit }
    set { if box == nil { ownLimit = newValue } else { clauses.limit = newValue } }
  }

  /// Whether it is a part of the rows by number.
  var isLimited: Bool { limit != nil || box?.clauses.offset != nil }

  var defect: SqlError? { box?.clauses.defect }

  /// The query of the first row only.
  @usableFromInline var first: SelectQuery {
    var query = self
    query.takeFirst()
    return query
  }

  mutating func takeFirst() { limit = limit.map { min($0, 1) } ?? 1 }
}

extension SelectQuery {
  /// A column of the result.
  enum Result: Sendable, Hashable {
    case term(SqlExpression)
    /// All columns of the model of a source, by its place, some of them replaced by terms.
    case model(Int, replaced: [Replacement] = [])
    /// All columns of a table that is not joined yet: what a query can't be run with. Whether it may be absent says
    /// what they are read as.
    case table(TableInfo, alias: String?, isOptional: Bool)

    var isUnjoined: Bool { if case .table = self { true } else { false } }
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
    enum Join: Sendable, Hashable {
      case inner, left, cross

      var sql: StaticString {
        switch self {
        case .inner: " JOIN "
        case .left: " LEFT JOIN "
        case .cross: " CROSS JOIN "
        }
      }
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
    @ByBytes var alias: String? = nil
    var kind = Kind.table
    var join = Join.inner
    var condition: SqlExpression?
    /// Whether its rows are those that its full-text index finds.
    var isSearched = false

    /// How deep the query is that it is defined by. Kept: in a chain of them each may be named many times.
    private var definitionSize = SqlExpression.Size()

    init(table: TableInfo) { self.table = table }

    var name: String { alias ?? table.name }

    /// Whether it is a query that goes by the alias.
    var isDefined: Bool { if case .defined = kind { true } else { false } }

    var size: SqlExpression.Size {
      switch kind {
      case .table, .named: SqlExpression.Size()
      case .defined: definitionSize
      case .call(let call): call.size
      }
    }

    /// Makes it a query that goes by the alias.
    mutating func define(_ query: SelectQuery) {
      definitionSize = query.clauses.size
      definitionSize.depth += 1
      kind = .defined(query)
      // Trees are walked by recursion: one as deep is not kept.
      guard definitionSize.depth > SqlExpression.maximumDepth else { return }
      let error = SqlError.invalidStatement("queries under a name nest more than \(SqlExpression.maximumDepth) deep")
      definitionSize = SqlExpression.Size()
      kind = .defined(
        SelectQuery(rows: [Array(repeating: SqlExpression(invalid: error), count: query.clauses.columnCount)]))
    }
  }

  /// Another query whose rows are added, or taken away.
  struct Compound: Sendable, Hashable {
    enum Operator: Sendable, Hashable {
      case union, unionAll, intersect, except

      var sql: StaticString {
        switch self {
        case .union: " UNION "
        case .unionAll: " UNION ALL "
        case .intersect: " INTERSECT "
        case .except: " EXCEPT "
        }
      }
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
    /// Why it can't be run.
    var defect: SqlError?
  }
}

extension SelectQuery {
  /// Notes what would change the first of several combined queries, as if it changed their result.
  mutating func refuseIfCombined(_ modifier: String) {
    if !isPlain, !clauses.compounds.isEmpty { clauses.refuse(modifier) }
  }

  /// The query as a part of one that combines it with others. When it is combined itself running that throws, and what
  /// it is made of is not kept: trees are walked by recursion.
  var asPart: SelectQuery {
    guard !clauses.compounds.isEmpty else { return self }
    var query = self
    query.clauses.compounds = [Compound(operation: .union, query: SelectQuery(rows: []))]
    return query
  }
}
