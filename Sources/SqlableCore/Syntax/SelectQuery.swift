/// The structure of a `SELECT`, independent of the type of its rows. The type has no public members.
public struct SelectQuery: Sendable, Hashable {
  /// The form of the result: the rows, their number, or whether there are any.
  @usableFromInline
  package enum Form: Sendable, Hashable {
    case rows
    /// The number of rows.
    case count
    /// True if there are any rows.
    case exists
  }

  @usableFromInline package let form: Form
  /// All clauses, if there are more than those stored inline; nil otherwise.
  private var box: Box?
  // The clauses of most queries: a filter and limit on one table. Stored inline, because a query is copied at each step
  // of building and running it.
  unowned(unsafe) private var inlineTable: TableInfo
  private var inlineFilter: SqlExpression?
  private var inlineLimit: Int?

  /// A query of one table.
  @usableFromInline
  package init(_ form: Form = .rows, of table: TableInfo) {
    self.form = form
    inlineTable = table
  }

  package init(_ source: Source, results: [Result]) { self.init(Clauses(sources: [source], results: results)) }

  /// A query of which only the number or existence of rows may matter.
  package init(_ form: Form, _ query: SelectQuery) {
    self.form = form
    inlineTable = query.inlineTable
    box = query.box
    inlineFilter = query.inlineFilter
    inlineLimit = query.inlineLimit
  }

  /// A query of literal rows.
  package init(rows: [[SqlExpression]]) { self.init(Clauses(sources: [], results: [], rows: rows)) }

  private init(_ clauses: Clauses) {
    form = .rows
    inlineTable = .none
    box = Box(clauses)
  }

  /// True if the query reads one table with at most a filter and a limit.
  package var isPlain: Bool { box == nil }

  /// All clauses; modified in place if the box is not shared.
  package var clauses: Clauses {
    _read {
      if let box { yield box.clauses } else { yield inlineClauses }
    }
    _modify {
      if box == nil {
        box = Box(inlineClauses)
        inlineFilter = nil
      } else if !isKnownUniquelyReferenced(&box) {
        box = box.map { Box($0.clauses) }
      }
      yield &box.unsafelyUnwrapped.clauses
    }
  }

  private var inlineClauses: Clauses {
    Clauses(
      sources: [Source(table: inlineTable)], results: SelectQuery.wholeRows, filter: inlineFilter,
      limit: inlineLimit.map { .number($0) })
  }

  private static let wholeRows: [Result] = [.model(0)]

  /// The clauses behind a single reference.
  ///
  /// Sound as `Sendable`: it is modified only through a unique reference.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var clauses: Clauses

    init(_ clauses: Clauses) { self.clauses = clauses }
  }

  public static func == (left: SelectQuery, right: SelectQuery) -> Bool {
    guard left.form == right.form else { return false }
    if let leftBox = left.box, let rightBox = right.box, leftBox === rightBox { return true }
    return left.clauses == right.clauses
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(clauses)
  }
}

extension SelectQuery {
  /// The maximum number of tables that SQLite joins.
  package static let maximumSources = 64

  /// The first table.
  package var table: TableInfo {
    get { box.map { $0.clauses.sources.first?.table ?? .none } ?? inlineTable }
    set {
      if box == nil { inlineTable = newValue } else if !clauses.sources.isEmpty { clauses.sources[0].table = newValue }
    }
  }

  package var filter: SqlExpression? { box.map(\.clauses.filter) ?? inlineFilter }

  /// Adds a condition to the filter.
  @usableFromInline
  package mutating func filter(_ condition: SqlExpression) {
    if box == nil { inlineFilter.and(condition) } else { clauses.filter.and(condition) }
  }

  /// The limit, if it is a number.
  @usableFromInline package var limit: Int? {
    get { box.map(\.clauses.limit?.number) ?? inlineLimit }
    set { if box == nil { inlineLimit = newValue } else { clauses.limit = newValue.map { .number($0) } } }
  }

  /// True if the query has a limit or an offset.
  package var isLimited: Bool { limit != nil || box?.clauses.limit != nil || box?.clauses.offset != nil }

  var defect: SqlError? { box?.clauses.defect }

  /// The query limited to its first row.
  @usableFromInline var first: SelectQuery {
    var query = self
    query.takeFirst()
    return query
  }

  package mutating func takeFirst() { restrictLimit(to: 1) }

  /// Limits the query to a number of rows, or to fewer if it has a smaller limit.
  package mutating func restrictLimit(to number: Int) {
    if let term = box?.clauses.limit?.term {
      clauses.limit = .term(.call(.scalarMin, [term, SqlExpression(number)]))
    } else {
      limit = limit.map { min($0, number) } ?? number
    }
  }
}

extension SelectQuery {
  /// A limit or an offset.
  package enum RowCount: Sendable, Hashable, ExpressibleByIntegerLiteral {
    case number(Int)
    /// A term without columns of the query, such as a parameter. Less than 0 is 0.
    case term(SqlExpression)

    package init(integerLiteral number: Int) { self = .number(number) }

    /// A term, or the number that it is.
    package init(_ term: SqlExpression) {
      if case .value(.integer(let value)) = term.node, let number = Int(exactly: value) {
        self = .number(number)
      } else {
        self = .term(term)
      }
    }

    package var number: Int? { if case .number(let number) = self { number } else { nil } }
    package var term: SqlExpression? { if case .term(let term) = self { term } else { nil } }

    func map(_ term: (SqlExpression) throws -> SqlExpression) rethrows -> RowCount {
      guard case .term(let original) = self else { return self }
      let mapped = try term(original)
      return .term(mapped)
    }
  }
}

extension SelectQuery {
  /// One or several columns of the result.
  package enum Result: Sendable, Hashable {
    case term(SqlExpression)
    /// All columns of the source at an index, some of them replaced by terms.
    case model(Int, replaced: [Replacement] = [])
    /// All columns of a table that is not joined yet; running such a query throws. `isOptional` is whether they are
    /// read as an optional model.
    case table(TableInfo, alias: String?, isOptional: Bool)

    var isUnjoined: Bool { if case .table = self { true } else { false } }
  }

  /// A term read instead of a column.
  package struct Replacement: Sendable, Hashable {
    package let column: ColumnReference
    package let term: SqlExpression

    package init(column: ColumnReference, term: SqlExpression) {
      (self.column, self.term) = (column, term)
    }
  }

  /// A table, or a query or call in its place, with its join to the sources before it.
  @usableFromInline
  package struct Source: Sendable, Hashable {
    @usableFromInline
    package enum Join: String, Sendable, Hashable {
      case inner, left, right, full, cross

      var sql: StaticString {
        switch self {
        case .inner: " JOIN "
        case .left: " LEFT JOIN "
        case .right: " RIGHT JOIN "
        case .full: " FULL JOIN "
        case .cross: " CROSS JOIN "
        }
      }

      /// True if the join keeps rows of the earlier tables that have no match, with NULL for its own table.
      var keepsEarlier: Bool { self == .left || self == .full }

      /// True if the join keeps rows of its own table that have no match, with NULL for the earlier tables.
      package var keepsJoined: Bool { self == .right || self == .full }
    }

    /// The hint of a named query.
    package enum Materialization: String, Sendable, Hashable {
      case materialized, notMaterialized

      init(_ isMaterialized: Bool) { self = isMaterialized ? .materialized : .notMaterialized }

      var sql: StaticString {
        switch self {
        case .materialized: ") AS MATERIALIZED ("
        case .notMaterialized: ") AS NOT MATERIALIZED ("
        }
      }
    }

    /// The origin of the rows.
    package enum Kind: Sendable, Hashable {
      case table
      /// A named query, whose name is the alias.
      case defined(SelectQuery)
      /// A reference to a query defined by an enclosing one, for recursion.
      case named
      /// A table-valued function.
      case call(SqlExpression)
    }

    package var table: TableInfo
    /// The name in the statement, if it differs from the table's.
    @ByteComparedName package var alias: String? = nil
    package var kind = Kind.table
    package var join = Join.inner
    package var condition: SqlExpression?
    /// The name of a query that goes by another one here: `"team" AS "other"`.
    @ByteComparedName package var queryName: String? = nil
    /// True if SQLite must compute the rows of a named query once; nil leaves that to SQLite.
    package var materialization: Materialization?
    /// The index that SQLite must use for the source.
    package var indexHint: IndexHint?
    /// True if a full-text search selects its rows.
    package var isSearched = false

    /// The depth of the defining query. Stored, because in a chain of named queries each may be used many times.
    private var definitionSize = SqlExpression.Size()

    package init(table: TableInfo) { self.table = table }

    package var name: String { alias ?? table.name }

    /// The name under which a query is defined.
    package var definedName: String? { queryName ?? alias }

    /// Returns the source under another name.
    func alias(_ name: String) -> Source {
      var source = self
      switch kind {
      case .table, .call: break
      case .defined, .named: source.queryName = definedName.isExactly(name) ? nil : definedName
      }
      source.alias = name
      return source
    }

    /// True if the source is a named query.
    package var isDefined: Bool { if case .defined = kind { true } else { false } }

    /// True if both are named queries of the same name.
    func isNamedLike(_ other: Source) -> Bool {
      guard let name = definedName, let otherName = other.definedName else { return false }
      return name.isSameName(as: otherName)
    }

    /// True if both are the same named query.
    func isDefinedLike(_ other: Source) -> Bool {
      isNamedLike(other) && kind == other.kind && materialization == other.materialization && table == other.table
    }

    package var size: SqlExpression.Size {
      switch kind {
      case .table, .named: SqlExpression.Size()
      case .defined: definitionSize
      case .call(let call): call.size
      }
    }

    /// Makes the source a named query.
    package mutating func define(_ query: SelectQuery) {
      definitionSize = query.clauses.size
      definitionSize.depth += 1
      kind = .defined(query)
      // Trees are walked by recursion: a tree that is too deep must not be kept.
      guard definitionSize.depth > SqlExpression.maximumDepth else { return }
      let error = SqlError.invalidStatement("named queries are nested more than \(SqlExpression.maximumDepth) deep")
      definitionSize = SqlExpression.Size()
      kind = .defined(
        SelectQuery(rows: [Array(repeating: SqlExpression(invalid: error), count: query.clauses.columnCount)]))
    }
  }

  /// Another query that is combined with this one.
  package struct Compound: Sendable, Hashable {
    package enum Operator: String, Sendable, Hashable {
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

    package let operation: Operator
    package let query: SelectQuery

    package init(operation: Operator, query: SelectQuery) {
      (self.operation, self.query) = (operation, query)
    }
  }

  package struct Clauses: Sendable, Hashable {
    package var sources: [Source]
    package var results: [Result]
    /// The rows of VALUES, which replace the SELECT.
    package var rows: [[SqlExpression]] = []
    package var isDistinct = false
    package var filter: SqlExpression?
    package var groups: [SqlExpression] = []
    package var having: SqlExpression?
    package var compounds: [Compound] = []
    package var order: [OrderTerm] = []
    package var limit: RowCount?
    package var offset: RowCount?
    /// The error that running the query throws.
    package var defect: SqlError?
    /// Terms that a later outer join must not make NULL.
    var requiredResults = RequiredResults()
  }
}

extension SelectQuery {
  /// Records an error if the query is combined: the modifier would apply to its first part only.
  mutating func refuseIfCombined(_ modifier: String) {
    if !isPlain, !clauses.compounds.isEmpty { clauses.refuse(modifier) }
  }

  /// The query as a part of a combined query. If combined queries are nested too deeply, running the result throws, and
  /// the parts of this query are dropped: trees are walked by recursion.
  var asPart: SelectQuery {
    guard clauses.isNested, clauses.size.depth >= SqlExpression.maximumDepth else { return self }
    var query = self
    query.clauses.compounds = []
    let message = "combined queries are nested more than \(SqlExpression.maximumDepth) deep"
    // In place: a copy of an error from behind the accessor reads freed memory with Swift 6.3.1.
    query.clauses.note(.invalidStatement(message))
    return query
  }

  /// Combines the query with another query, whose own parts stay together.
  mutating func combine(_ operation: Compound.Operator, with other: SelectQuery) {
    guard other.clauses.continues(operation) else {
      return clauses.compounds.append(Compound(operation: operation, query: other.asPart))
    }
    // a UNION (b UNION c) is a UNION b UNION c, in which each may be the next step of a recursion.
    var first = other
    first.clauses.compounds = []
    clauses.compounds.append(Compound(operation: operation, query: first))
    clauses.compounds += other.clauses.compounds
  }
}
