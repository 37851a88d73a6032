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

extension SelectQuery.Clauses {
  /// How deep its terms lie upon one another, those of the queries that it is made of included.
  var size: SqlExpression.Size {
    var size = SqlExpression.Size()
    func add(_ terms: some Sequence<SqlExpression>) { for term in terms { size.join(term.size) } }
    for source in sources {
      size.join(source.size)
      if let condition = source.condition { size.join(condition.size) }
    }
    for result in results {
      switch result {
      case .term(let term): size.join(term.size)
      case .model(_, let replaced): for replacement in replaced { size.join(replacement.term.size) }
      case .table: break
      }
    }
    rows.forEach(add)
    if let filter { size.join(filter.size) }
    add(groups)
    if let having { size.join(having.size) }
    for compound in compounds { size.join(compound.query.clauses.size) }
    for term in order { size.join(term.expression.size) }
    return size
  }

  /// What is known of the columns of the result.
  var columns: [ResultColumn] {
    guard rows.isEmpty else { return rows[0].map { _ in ResultColumn() } }
    return results.flatMap { result -> [ResultColumn] in
      switch result {
      case .term(let term): [ResultColumn(type: term.columnDefinition?.type)]
      case .model(let index, _): sources[index].table.columns.map { ResultColumn($0) }
      case .table(let table, _, _): table.columns.map { ResultColumn($0) }
      }
    }
  }

  /// Whether a query goes by a name in it.
  var definesQueries: Bool {
    sources.contains(where: \.isDefined)
      || compounds.contains { $0.query.clauses.sources.contains(where: \.isDefined) }
  }

  /// The queries that go by a name in it, as often as they stand there.
  var definedSources: [SelectQuery.Source] {
    (sources + compounds.flatMap(\.query.clauses.sources)).filter(\.isDefined)
  }

  /// Makes these things the result: each table of them the one that is joined by now, if it is.
  mutating func give(_ results: [SelectQuery.Result]) {
    guard results.contains(where: \.isUnjoined) else {
      self.results = results
      return
    }
    let former = self.results
    self.results = results.map { result in
      guard case .table(let table, let alias, let isOptional) = result else { return result }
      let places = sources.indices.filter {
        sources[$0].table.isOfSameModel(as: table) && sources[$0].alias.isExactly(alias)
      }
      guard let place = places.first else { return result }
      if places.count > 1 {
        note(.invalidStatement("table \(table.name) is there twice; one of them needs an alias").at(table: table.name))
      } else if sources[place].join == .left, !isOptional {
        let message = "a left join may find no row of \(alias ?? table.name), whose columns are selected as if it did"
        note(.invalidStatement(message).at(table: table.name))
      }
      // With terms in the place of columns, where it was read with them.
      return former.first { if case .model(place, _) = $0 { true } else { false } } ?? .model(place)
    }
  }

  /// Finds the tables of the result among those that are joined now.
  mutating func findResults() {
    if results.contains(where: \.isUnjoined) { give(results) }
  }

  /// Reads the first table's rows from another one.
  mutating func read(from table: String) {
    guard let first = sources.first else { return note(.invalidStatement("rows of values are of no table")) }
    sources[0].table = first.table.named(table)
  }

  private mutating func note(_ defect: SqlError) { self.defect = self.defect ?? defect }

  /// How many columns the result has.
  var columnCount: Int {
    guard rows.isEmpty else { return rows[0].count }
    return results.reduce(0) { count, result in
      switch result {
      case .term: count + 1
      case .model(let index, _): count + sources[index].table.count
      case .table(let table, _, _): count + table.count
      }
    }
  }

  /// The position in the result, from 1, by which a term that orders or groups has to be called: SQLite does not know
  /// it again where it binds values, and looks for nothing but columns where queries are combined.
  func position(of term: SqlExpression) -> Int? {
    if sources.isEmpty { return positionInParts(term) }
    switch term.node {
    case .column, .qualified: return nil
    case .value where compounds.isEmpty: return nil
    default: break
    }
    guard !compounds.isEmpty || term.node.bindsValues else { return nil }
    return positionOfResult(term)
  }

  private func positionOfResult(_ term: SqlExpression) -> Int? {
    var position = 1
    for result in results {
      switch result {
      case .term(term): return position
      case .term: position += 1
      case .model(let index, _): position += sources[index].table.count
      case .table(let table, _, _): position += table.count
      }
    }
    return nil
  }

  /// The position of a column in the parts that rows of values are combined with, whose columns have no names.
  private func positionInParts(_ term: SqlExpression) -> Int? {
    for compound in compounds {
      let part = compound.query.clauses
      if let position = part.positionOfResult(term) ?? part.positionInModel(term) { return position }
    }
    return nil
  }

  /// The position of a column of a model that is a result.
  private func positionInModel(_ term: SqlExpression) -> Int? {
    var position = 1
    for result in results {
      guard case .model(let index, let replaced) = result else {
        position += 1
        continue
      }
      let source = sources[index]
      let own: Int? =
        switch term.node {
        case .column(let column) where source.alias == nil: source.table.position(of: column)
        case .qualified(let alias, let column) where source.alias?.isExactly(alias) == true:
          source.table.position(of: column)
        default: nil
        }
      let isReplaced = replaced.contains { own != nil && source.table.position(of: $0.column) == own }
      if let own, !isReplaced { return position + own }
      position += source.table.count
    }
    return nil
  }
}

extension TableInfo {
  func position(of reference: ColumnReference) -> Int? {
    reference.definition.map(position(of:)) ?? position(named: reference.name)
  }
}

extension TableInfo: Hashable {
  @usableFromInline
  static func == (left: TableInfo, right: TableInfo) -> Bool { left === right }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension SelectQuery.Clauses {
  /// Notes what comes after a query was combined with others. Here and not behind `clauses`, whose coroutine the
  /// compiler (6.3, debug) ends before it compares an optional of so many bytes with nil.
  fileprivate mutating func refuse(_ modifier: String) {
    guard defect == nil else { return }
    defect = .invalidStatement(
      "\(modifier) after a union, intersect or except would change the first query only: it belongs into each of them, "
        + "or the whole gets a name by named(_:) and is queried")
  }
}
