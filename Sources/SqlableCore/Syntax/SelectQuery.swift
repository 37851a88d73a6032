/// The structure of a `SELECT`, independent of the type of its rows.
@usableFromInline
package struct SelectQuery: Sendable, Hashable {
  @usableFromInline
  package enum Form: Sendable, Hashable {
    case rows
    case count
    case exists
  }

  @usableFromInline package let form: Form
  /// All clauses, if the query has more than the inline clauses; nil otherwise.
  private var box: Box?
  // Most queries have only these clauses: one table, a filter and a limit. The three clauses are stored inline, because
  // each modifier copies the query.
  unowned(unsafe) private var inlineTable: TableInfo
  private var inlineFilter: InlineFilter
  private var inlineLimit: Int?

  private enum InlineFilter: Sendable {
    case none
    case condition(SqlExpression)
    /// The value that the table's key must equal, already converted for the key's column. The `SqlExpression` of this
    /// condition is created only when needed.
    case key(DatabaseValue)
  }

  @usableFromInline
  package init(_ form: Form = .rows, of table: TableInfo) {
    self.form = form
    inlineTable = table
    inlineFilter = .none
  }

  /// Creates a query for the row with this key. The table has a single key column, and `key` is already converted for
  /// storage in this column.
  @usableFromInline
  init(of table: TableInfo, storedKey key: DatabaseValue) {
    form = .rows
    inlineTable = table
    inlineFilter = .key(key)
    inlineLimit = 1
  }

  /// Creates a query for the row with an integer key. The table's only key column must be an INTEGER.
  @usableFromInline
  init(of table: Unmanaged<TableInfo>, integerKey: Int64) {
    form = .rows
    inlineTable = table.takeUnretainedValue()
    inlineFilter = .key(.integer(integerKey))
    inlineLimit = 1
  }

  package init(_ source: Source, results: [Result]) { self.init(Clauses(sources: [source], results: results)) }

  package init(_ form: Form, _ query: SelectQuery) {
    self.form = form
    inlineTable = query.inlineTable
    box = query.box
    inlineFilter = query.inlineFilter
    inlineLimit = query.inlineLimit
  }

  package init(rows: [[SqlExpression]]) { self.init(Clauses(sources: [], results: [], rows: rows)) }

  private init(_ clauses: Clauses) {
    form = .rows
    inlineTable = .none
    inlineFilter = .none
    box = Box(clauses)
  }

  /// True if the query reads one table with at most a filter and a limit.
  package var isPlain: Bool { box == nil }

  package var clauses: Clauses {
    _read {
      if let box { yield box.clauses } else { yield inlineClauses }
    }
    _modify {
      if box == nil {
        box = Box(inlineClauses)
        inlineFilter = .none
      } else if !isKnownUniquelyReferenced(&box) {
        box = box.map { Box($0.clauses) }
      }
      yield &box.unsafelyUnwrapped.clauses
    }
  }

  @inline(never)
  private var inlineClauses: Clauses {
    Clauses(
      sources: [Source(table: inlineTable)], results: SelectQuery.wholeRows, filter: inlineCondition,
      limit: inlineLimit.map { .number($0) })
  }

  private var inlineCondition: SqlExpression? {
    switch inlineFilter {
    case .none: nil
    case .condition(let condition): condition
    case .key(let key): inlineTable.columns[inlineTable.key[0]].expression.combined(.equal, in: key)
    }
  }

  /// The value of the key as stored, if the query's only condition is that the key equals a value; otherwise nil.
  var plainKey: DatabaseValue? { if case .key(let key) = inlineFilter { key } else { nil } }

  /// The value of the key as stored, if the query reads one row by its key; otherwise nil. The SQL of such a query
  /// depends only on the table, because the key and the limit 1 are bound.
  var keyOfFirstRow: DatabaseValue? { form == .rows && inlineLimit == 1 ? plainKey : nil }

  /// The table and the key, if the query reads the first row whose key equals an integer; otherwise nil.
  @inline(__always)
  var integerKeyRead: IntegerKeyRead? {
    guard form == .rows, inlineLimit == 1, case .key(.integer(let key)) = inlineFilter else { return nil }
    return IntegerKeyRead(table: .passUnretained(inlineTable), key: key)
  }

  private static let wholeRows: [Result] = [.model(0)]

  /// A reference to all clauses.
  ///
  /// `Sendable` is safe: the clauses are modified only through a unique reference.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var clauses: Clauses

    init(_ clauses: Clauses) { self.clauses = clauses }
  }

  @usableFromInline
  package static func == (left: SelectQuery, right: SelectQuery) -> Bool {
    guard left.form == right.form else { return false }
    if let leftBox = left.box, let rightBox = right.box, leftBox === rightBox { return true }
    return left.clauses == right.clauses
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(clauses)
  }
}

/// A read of the first row whose key equals an integer.
struct IntegerKeyRead {
  let table: Unmanaged<TableInfo>
  let key: Int64
}

extension StatementTree {
  /// The table and the key, if the statement reads the first row whose key equals an integer; otherwise nil.
  @inline(__always)
  var integerKeyRead: IntegerKeyRead? { if case .select(let query) = self { query.integerKeyRead } else { nil } }
}

extension SelectQuery {
  /// The maximum number of tables that SQLite joins.
  package static let maximumSources = 64

  package var table: TableInfo {
    get { box.map { $0.clauses.sources.first?.table ?? .none } ?? inlineTable }
    set {
      if box == nil { inlineTable = newValue } else if !clauses.sources.isEmpty { clauses.sources[0].table = newValue }
    }
  }

  package var filter: SqlExpression? { box.map(\.clauses.filter) ?? inlineCondition }

  @usableFromInline
  package mutating func filter(_ condition: SqlExpression) {
    guard box == nil else { return clauses.filter.filter(by: condition) }
    var filter = inlineCondition
    filter.filter(by: condition)
    inlineFilter = filter.map(InlineFilter.condition) ?? .none
  }

  @usableFromInline package var limit: Int? {
    get { box.map(\.clauses.limit?.number) ?? inlineLimit }
    set { if box == nil { inlineLimit = newValue } else { clauses.limit = newValue.map { .number($0) } } }
  }

  package var isLimited: Bool { limit != nil || box?.clauses.limit != nil || box?.clauses.offset != nil }

  var defect: SqlError? { box?.clauses.defect }

  @usableFromInline var first: SelectQuery {
    var query = self
    query.takeFirst()
    return query
  }

  package mutating func takeFirst() { restrictLimit(to: 1) }

  package mutating func restrictLimit(to number: Int) {
    if let term = box?.clauses.limit?.term {
      clauses.limit = .term(.call(.scalarMin, [term, SqlExpression(number)]))
    } else {
      limit = limit.map { min($0, number) } ?? number
    }
  }
}

extension SelectQuery {
  package enum Result: Sendable, Hashable {
    case term(SqlExpression)
    /// All columns of the source at an index. Terms can replace some columns.
    case model(Int, replaced: [Replacement] = [])
    /// All columns of a table that the query does not join yet. Running the query before it joins the table throws.
    /// `isOptional` is true if the columns are read as an optional model.
    case table(TableInfo, alias: String?, isOptional: Bool)

    var isUnjoined: Bool { if case .table = self { true } else { false } }
  }

  /// A term that a query reads in place of a column.
  package struct Replacement: Sendable, Hashable {
    package let column: ColumnReference
    package let term: SqlExpression

    package init(column: ColumnReference, term: SqlExpression) {
      (self.column, self.term) = (column, term)
    }
  }

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

      /// True if the join keeps unmatched rows of the earlier tables, with NULL for the joined table.
      var keepsEarlier: Bool { self == .left || self == .full }

      /// True if the join keeps unmatched rows of the joined table, with NULL for the earlier tables.
      package var keepsJoined: Bool { self == .right || self == .full }
    }

    package enum Materialization: String, Sendable, Hashable {
      case materialized, notMaterialized

      package init(_ isMaterialized: Bool) { self = isMaterialized ? .materialized : .notMaterialized }

      var sql: StaticString {
        switch self {
        case .materialized: ") AS MATERIALIZED ("
        case .notMaterialized: ") AS NOT MATERIALIZED ("
        }
      }
    }

    package enum Kind: Sendable, Hashable {
      case table
      /// A named query, whose name is the alias.
      case defined(SelectQuery)
      /// A reference to a named query that an enclosing query defines, for recursion.
      case named
      case call(SqlExpression)
    }

    package var table: TableInfo
    /// The source's name in the statement, if it differs from the table's name.
    @ByteComparedName package var alias: String? = nil
    package var kind = Kind.table
    package var join = Join.inner
    package var condition: SqlExpression?
    /// The query's name, if the source has another alias: `"team" AS "other"`.
    @ByteComparedName package var queryName: String? = nil
    /// The materialization hint of a named query; nil leaves the choice to SQLite.
    package var materialization: Materialization?
    package var indexHint: IndexHint?
    /// True if a full-text search selects the source's rows.
    package var isSearched = false

    /// The depth of the defining query. Stored, because computing this depth for a chain of named queries would visit
    /// the same queries again and again.
    private var definitionSize = SqlExpression.Size()

    package init(table: TableInfo) { self.table = table }

    package var name: String { alias ?? table.name }

    /// The name that a WITH clause defines for the query.
    package var definedName: String? { queryName ?? alias }

    package func alias(_ name: String) -> Source {
      var source = self
      switch kind {
      case .table, .call: break
      case .defined, .named: source.queryName = definedName.isExactly(name) ? nil : definedName
      }
      source.alias = name
      return source
    }

    package var isDefined: Bool { if case .defined = kind { true } else { false } }

    func isNamedLike(_ other: Source) -> Bool {
      guard let name = definedName, let otherName = other.definedName else { return false }
      return name.isSameName(as: otherName)
    }

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

    package mutating func define(_ query: SelectQuery) {
      definitionSize = query.clauses.size
      definitionSize.depth += 1
      kind = .defined(query)
      // A definition that is too deep becomes an error, because trees are walked by recursion.
      guard definitionSize.depth > SqlExpression.maximumDepth else { return }
      let error = SqlError.invalidStatement("named queries are nested more than \(SqlExpression.maximumDepth) deep")
      definitionSize = SqlExpression.Size()
      kind = .defined(
        SelectQuery(rows: [Array(repeating: SqlExpression(invalid: error), count: query.clauses.columnCount)]))
    }
  }

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
    /// The rows of a VALUES clause; empty for a SELECT.
    package var rows: [[SqlExpression]] = []
    package var isDistinct = false
    package var filter: SqlExpression?
    package var groups: [SqlExpression] = []
    package var having: SqlExpression?
    package var compounds: AppendedList<Compound> = []
    package var order: [OrderTerm] = []
    package var limit: RowCount?
    package var offset: RowCount?
    package var defect: SqlError?
    /// The terms that a later outer join must not turn into NULL.
    var requiredResults = RequiredResults()
  }
}
