import SqlableCore

/// One level of associated rows: the query of the rows, and the path that connects the rows with their parent rows.
package struct AssociationLevel: Sendable, Hashable {
  package enum Form: Sendable, Hashable {
    case rows
    case value(SqlExpression)

    package static let count = Form.value(countAll().expression)
  }

  /// The query of the rows. Its limit applies to each parent row.
  package var query: SelectQuery
  package internal(set) var path: AssociationPath
  package var form = Form.rows
  package var childLevels: [AssociationLevel] = []

  init(_ query: SelectQuery, _ path: AssociationPath) { (self.query, self.path) = (query, path) }

  mutating func read(fromDatabase database: String) {
    query.clauses.read(fromDatabase: database)
    path.read(fromDatabase: database)
  }

  /// Makes the level read from `database`, except tables for which `in(database:)` has set a database.
  mutating func inherit(database: String) {
    if query.table.database == nil { query.clauses.read(fromDatabase: database) }
    path.inherit(database: database)
  }
}

struct LevelQuery {
  let query: SelectQuery
  /// The result columns, named as in the model. The columns of `query` itself can have other names.
  let columns: [ResultColumn]

  init(query: SelectQuery, columns: [ResultColumn]) { (self.query, self.columns) = (query, columns) }

  init(_ query: SelectQuery) { self.init(query: query, columns: query.clauses.columns) }
}

extension AssociationLevel {
  /// Returns the positions, in a result row, of the values that connect the row with its parent row.
  func positions(by path: ResolvedPath) -> [Int] {
    path.positions ?? path.columns.indices.map { query.table.count + $0 }
  }

  private func joined(by path: ResolvedPath) -> SelectQuery {
    var rows = query
    for (source, condition) in path.joins { rows.join(source, .inner, on: condition) }
    return rows
  }

  /// Returns the query for the rows that are associated with the parent rows; nil if no row can match. `values`
  /// contains the key or foreign key of each parent row, one row after another.
  func rows(of values: [DatabaseValue], by path: ResolvedPath) -> LevelQuery? {
    let keys = values.keys(ofWidth: path.columns.count)
    var rows = joined(by: path)
    switch form {
    case .value(let term):
      if let defect = defect(ofValue: term) { rows.clauses.defect = defect }
      rows.clauses.order = []
      // Add a row with the aggregate's value for an empty set. A count needs no such row: it is 0.
      var none = rows
      none.clauses.results = path.columns.map { _ in .term(SqlExpression(DatabaseValue.null)) } + [.term(term)]
      none.filter(SqlExpression(.binary(.equal, path.terms[0], SqlExpression(DatabaseValue.null))))
      if keys.isEmpty { return form == .count || values.isEmpty ? nil : LevelQuery(none) }
      rows.filter(SqlExpression(.isIn(path.term, keys)))
      rows.clauses.results = (path.terms + [term]).map { .term($0) }
      rows.clauses.groups = path.terms
      if form != .count { rows.clauses.compounds = [SelectQuery.Compound(operation: .unionAll, query: none)] }
    case .rows:
      guard !keys.isEmpty else { return nil }
      rows.filter(SqlExpression(.isIn(path.term, keys)))
      if path.positions == nil { rows.clauses.results += path.terms.map { .term($0) } }
      if rows.isLimited {
        if rows.clauses.order.contains(where: \.expression.hasAggregate) {
          rows.clauses.defect = .invalidStatement("associated rows can't be ordered by an aggregate")
        }
        return rows.ranked(by: path.terms)
      }
    }
    return LevelQuery(rows)
  }

  /// Returns the error for a term that can't be an aggregate of the rows; nil for a valid term.
  private func defect(ofValue term: SqlExpression) -> SqlError? {
    if query.isLimited {
      return .invalidStatement("an aggregate of associated rows can't have a limit").at(table: query.table.name)
    }
    if form != .count, !query.clauses.order.isEmpty {
      let text = "an aggregate can't use the order of associated rows; pass `orderBy:` to the aggregate"
      return .invalidStatement(text).at(table: query.table.name)
    }
    guard !term.hasAggregate, !term.callsRegisteredFunction else { return nil }
    return .noAggregate.at(table: query.table.name)
  }

  func value(under model: (some Sqlable).Type) -> SqlExpression {
    do { return try value(under: TableInfo.of(model)) } catch { return SqlExpression(invalid: error) }
  }

  private func value(under table: TableInfo) throws -> SqlExpression {
    guard case .value(var term) = form else {
      throw SqlError.invalidStatement(
        "an association that reads rows can't be used as a term; use `count()` or another aggregate of the association")
    }
    if let defect = defect(ofValue: term) { throw defect }
    let path = try resolvedPath(under: table)
    var rows = joined(by: path)
    rows.clauses.order = []
    rows.clauses.results = [.term(term)]
    // Throw if the term uses a column of the enclosing query: SQLite would aggregate the rows of that query instead.
    _ = try rows.withValues()
    var columns = path.terms
    let isRepeated = rows.clauses.sources.contains {
      $0.table.hasSameModel(as: table) || $0.name.isSameName(as: table.name)
    }
    if isRepeated {
      // The inner rows also read the table of the enclosing query. Put the inner rows in a subquery with an alias, so
      // that in the filter below the name of the table refers to the enclosing query.
      guard !term.hasText else {
        let text = "an aggregate over an association from a table to itself can't contain SQL text"
        throw SqlError.invalidStatement(text).at(table: table.name)
      }
      (rows, term, columns) = rows.named(term, columns)
      rows.clauses.results = [.term(term)]
    }
    rows.filter(SqlExpression.equal(columns, path.parentPositions.map { table.columns[$0] }.terms))
    return SqlExpression(.query(.init(kind: .scalar, query: rows)))
  }

  func existence(under model: (some Sqlable).Type) -> SqlExpression {
    do { return try existence(under: TableInfo.of(model)) } catch { return SqlExpression(invalid: error) }
  }

  private func existence(under table: TableInfo) throws -> SqlExpression {
    guard !query.isLimited else {
      throw SqlError.invalidStatement("`exists`, `whereAny` and `whereNone` can't use an association with a limit")
        .at(table: query.table.name)
    }
    let path = try resolvedPath(under: table)
    var rows = joined(by: path)
    rows.clauses.order = []
    for (column, term) in zip(path.columns, path.terms) where column.type.isNullable { rows.filter(term.isNotNull) }
    rows.clauses.results = path.terms.map { .term($0) }
    let columns = path.parentPositions.map { table.columns[$0] }
    return .all(columns.filter(\.type.isNullable).terms.map(\.isNotNull) + [.row(columns.terms).isIn(rows)])
  }
}

extension SelectQuery {
  /// Returns a query that numbers the rows of each group, and keeps the rows within the limit and offset.
  fileprivate func ranked(by group: [SqlExpression]) -> LevelQuery {
    var numbered = self
    let columns = clauses.columns
    let number = SqlExpression(
      .call(
        .init(function: .builtIn(.rowNumber), arguments: [], window: .init(partition: group, order: clauses.order))))
    (numbered.clauses.order, numbered.clauses.limit, numbered.clauses.offset) = ([], nil, nil)
    numbered.clauses.results.append(.term(number))
    var source = Source(table: TableInfo.columns(of: columns.map { $0.type ?? .blob } + [.integer]))
    let name = freeName("ranked")
    source.alias = name
    source.define(numbered)
    let terms = source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
    var query = SelectQuery(source, results: terms.dropLast().map { .term($0) })
    let rowNumber = terms[terms.count - 1]
    do throws(SqlError) {
      let skipped = try clauses.offset.map { value throws(SqlError) in try count(value, "an offset") } ?? 0
      if let limit = clauses.limit {
        let (last, isBeyond) = try count(limit, "a limit").addingReportingOverflow(skipped)
        query.filter(SqlExpression(.binary(.lessOrEqual, rowNumber, SqlExpression(isBeyond ? Int.max : last))))
      }
      if skipped > 0 { query.filter(SqlExpression(.binary(.greater, rowNumber, SqlExpression(skipped)))) }
    } catch {
      query.clauses.defect = error
    }
    query.clauses.order = [OrderTerm(expression: rowNumber, order: .asc)]
    return LevelQuery(query: query, columns: columns)
  }

  /// Returns the rows as a named subquery, with `term` and `connecting` rewritten for the subquery's columns.
  fileprivate func named(
    _ term: SqlExpression, _ connecting: [SqlExpression]
  ) -> (SelectQuery, SqlExpression, [SqlExpression]) {
    var rows = self
    rows.clauses.results = clauses.sources.indices.map { .model($0) } + connecting.map { .term($0) }
    var source = Source(table: TableInfo.columns(of: rows.clauses.columns.map { $0.type ?? .blob }))
    let name = rows.adding(term).freeName("associated")
    source.alias = name
    source.define(rows)
    let columns = source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
    var (renamed, first) = (term, 0)
    for source in clauses.sources {
      // If a table has an alias, terms can refer to the table only by the alias.
      if source.alias == nil { renamed = renamed.replacing(source.table) { [first] in columns[first + $0] } }
      first += source.table.count
    }
    return (SelectQuery(source, results: []), renamed, columns.suffix(connecting.count))
  }

  private func adding(_ term: SqlExpression) -> SelectQuery {
    var query = self
    query.clauses.results.append(.term(term))
    return query
  }

  /// Returns `word`, with a number if necessary, as a name that no table and no subquery of this query has.
  private func freeName(_ word: String) -> String {
    var takenNames: Set<[UInt8]> = []
    visit({ _ in }, { source in takenNames.insert(source.name.foldedName) })
    var (name, number) = (word, 1)
    while takenNames.contains(name.foldedName) { (name, number) = ("\(word)_\(number + 1)", number + 1) }
    return name
  }

  private func count(_ count: SelectQuery.RowCount, _ name: String) throws(SqlError) -> Int {
    guard let number = count.number else {
      throw .invalidStatement("\(name) of associated rows must be a number").at(table: table.name)
    }
    guard number >= 0 else { throw .invalidStatement("\(name) can't be negative").at(table: table.name) }
    return number
  }
}

extension SqlError {
  static var noAggregate: SqlError { .invalidStatement("a value of associated rows must be an aggregate") }
}

extension [DatabaseValue] {
  /// Splits the values into rows of `width` values, and returns the distinct rows without NULL, concatenated into one
  /// list.
  fileprivate func keys(ofWidth width: Int) -> [DatabaseValue] {
    guard width > 1 else { return Array(Set(filter { $0 != .null })) }
    let rows = stride(from: 0, to: count, by: width).map { self[$0..<($0 + width)] }
    return Set(rows.filter { !$0.contains(.null) }).flatMap { $0 }
  }
}

extension SqlExpression {
  /// True if the term calls a function that the program registers. Only SQLite knows whether such a function is an
  /// aggregate.
  fileprivate var callsRegisteredFunction: Bool {
    if case .call(let call) = node, case .named = call.function { return true }
    return node.hasTerm(where: \.callsRegisteredFunction)
  }

  var hasText: Bool {
    var hasText = false
    visit({ if case .special(let special) = $0.node, case .fragment = special.form { hasText = true } }, { _ in })
    return hasText
  }
}
