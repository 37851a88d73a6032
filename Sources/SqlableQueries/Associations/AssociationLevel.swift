import SqlableCore

/// One level of associated rows: the query, and the columns that connect its rows with their parent rows.
package struct AssociationLevel: Sendable, Hashable {
  package enum Form: Sendable, Hashable {
    case rows
    /// An aggregate of the rows.
    case value(SqlExpression)

    package static let count = Form.value(countAll().expression)
  }

  /// The query of the rows. Its limit applies to each parent row.
  package var query: SelectQuery
  package private(set) var path: AssociationPath
  package var form = Form.rows
  package var childLevels: [AssociationLevel] = []

  init(_ query: SelectQuery, _ path: AssociationPath) { (self.query, self.path) = (query, path) }

  mutating func read(fromDatabase database: String) {
    query.clauses.read(fromDatabase: database)
    guard case .linked(let link, let from, let to) = path else { return }
    path = .linked(link.named(link.name, in: database), from: from, to: to)
  }
}

/// The columns that connect associated rows with their parent rows. A key can have several columns.
package enum AssociationPath: Sendable, Hashable {
  /// Columns of the associated rows reference columns of the parent rows.
  case referring([ColumnReference], to: [ColumnReference]?)
  /// Columns of the parent rows reference columns of the associated rows.
  case referred([ColumnReference], to: [ColumnReference]?)
  /// The rows of a link table reference the parent rows and the associated rows.
  case linked(TableInfo, from: [ColumnReference], to: [ColumnReference])

  package var link: TableInfo? { if case .linked(let link, _, _) = self { link } else { nil } }

  static func referring(_ foreignKey: [any ColumnConvertible], to key: [any ColumnConvertible]?) -> AssociationPath {
    .referring(foreignKey.references, to: key?.references)
  }

  static func referred(_ foreignKey: [any ColumnConvertible], to key: [any ColumnConvertible]?) -> AssociationPath {
    .referred(foreignKey.references, to: key?.references)
  }
}

extension [any ColumnConvertible] {
  var references: [ColumnReference] { map { ColumnReference($0.column) } }
}

/// An association path with resolved and checked columns. All lists have the same order.
package struct ResolvedPath {
  /// The positions, in a parent row, of the values that connect the row with its associated rows.
  package let parentPositions: [Int]
  /// The columns of the associated rows or of the link table that contain the connecting values.
  package let columns: [Column]
  /// The positions of `columns` in the associated rows; nil if the link table contains `columns`.
  let positions: [Int]?
  /// The collations with which SQLite compares `columns`.
  let collations: [Collate]
  var link: Link?

  /// The link table, and the columns that join the link table to the associated rows.
  struct Link {
    let table: TableInfo
    let foreignKey: [SqlExpression]
    let key: [SqlExpression]
  }

  /// The connecting columns as one term.
  fileprivate var term: SqlExpression { .row(terms) }
  fileprivate var terms: [SqlExpression] { columns.terms }

  /// Creates the path from pairs of positions: in a parent row, and in `table`, which contains the connecting values.
  fileprivate init(_ pairs: [(parent: Int, column: Int)], in table: TableInfo, through link: Link? = nil) throws {
    // For a row value as the operand of IN, SQLite 3.40 compares the index with the first column's type and collation.
    // It uses no index of texts if the first column is a number, and no index of another collation.
    func rank(_ pair: (parent: Int, column: Int)) -> Int {
      let column = table.columns[pair.column]
      let isText = column.type.storageClass == .text || column.type.storageClass == .blob
      return (isText ? 0 : 1) + (column.definition.options.collation ?? .binary == .binary ? 0 : 2)
    }
    let ordered = (0..<4).flatMap { value in pairs.filter { rank($0) == value } }
    parentPositions = ordered.map(\.parent)
    let positions = ordered.map(\.column)
    columns = positions.map { table.columns[$0] }
    collations = try columns.map { try $0.groupingCollation(in: table) }
    self.positions = link == nil ? positions : nil
    self.link = link
  }
}

extension [Column] {
  fileprivate var terms: [SqlExpression] { map { SqlExpression(.column(ColumnReference($0))) } }
}

/// A query for the rows of a level, and the result columns.
struct LevelQuery {
  let query: SelectQuery
  /// The result columns with the names of the model. `query` can give the columns other names.
  let columns: [ResultColumn]

  init(query: SelectQuery, columns: [ResultColumn]) { (self.query, self.columns) = (query, columns) }

  init(_ query: SelectQuery) { self.init(query: query, columns: query.clauses.columns) }
}

extension AssociationLevel {
  /// Resolves the columns that connect rows with a parent table's. Throws if the declarations contradict the path.
  package func resolvedPath(under parentTable: TableInfo) throws -> ResolvedPath {
    let table = try query.checkedTable
    switch path {
    case .referring(let foreignKey, let key):
      let parents = try table.positions(referredToBy: foreignKey, in: parentTable, expecting: key)
      let positions = try foreignKey.map(table.requiredPosition(of:))
      let pairs = Array(zip(parents, positions))
      for (parent, position) in pairs {
        try table.columns[position].checkRefers(to: parentTable.columns[parent], from: table)
      }
      return try ResolvedPath(pairs, in: table)
    case .referred(let foreignKey, let key):
      let positions = try parentTable.positions(referredToBy: foreignKey, in: table, expecting: key)
      let pairs = Array(zip(try foreignKey.map(parentTable.requiredPosition(of:)), positions))
      for (parent, position) in pairs {
        try parentTable.columns[parent].checkRefers(to: table.columns[position], from: parentTable)
      }
      return try ResolvedPath(pairs, in: table)
    case .linked(let link, let from, let to):
      if let defect = link.defect { throw defect }
      let parents = try link.positions(referredToBy: from, in: parentTable, expecting: nil, canPassKey: false)
      let pairs = Array(zip(parents, try from.map(link.requiredPosition(of:))))
      for (parent, position) in pairs {
        try link.columns[position].checkRefers(to: parentTable.columns[parent], from: link)
      }
      let key = try link.positions(referredToBy: to, in: table, expecting: nil, canPassKey: false)
        .map { table.columns[$0] }
      let target = try link.requiredColumns(to)
      for (column, key) in zip(target, key) { try column.checkRefers(to: key, from: link) }
      return try ResolvedPath(
        pairs, in: link, through: .init(table: link, foreignKey: target.terms, key: key.terms))
    }
  }

  /// Returns the positions, in a result row, of the values that connect the row with its parent row.
  func positions(by path: ResolvedPath) -> [Int] {
    path.positions ?? path.columns.indices.map { query.table.count + $0 }
  }

  private func joined(by path: ResolvedPath) -> SelectQuery {
    var rows = query
    if let link = path.link {
      rows.join(SelectQuery.Source(table: link.table), .inner, on: SqlExpression.equal(link.key, link.foreignKey))
    }
    return rows
  }

  /// Returns the query for the associated rows of parent rows with these values, row by row; nil if no row can match.
  func rows(of values: [DatabaseValue], by path: ResolvedPath) -> LevelQuery? {
    let keys = values.keys(ofWidth: path.columns.count)
    var rows = joined(by: path)
    switch form {
    case .value(let term):
      if let defect = defect(ofValue: term) { rows.clauses.defect = defect }
      rows.clauses.order = []
      // One row with the aggregate of no rows. A count does not need this row: a count of no rows is 0.
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
        return rows.ranked(by: path.terms, beside: path.link?.table)
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
      let text = "an aggregate can't use the order of associated rows; use orderBy of the aggregate"
      return .invalidStatement(text).at(table: query.table.name)
    }
    guard !term.hasAggregate, !term.callsRegisteredFunction else { return nil }
    return .noAggregate.at(table: query.table.name)
  }

  /// Returns the subquery that computes the aggregate of a row's associated rows, for queries of `model`.
  func value(under model: (some Sqlable).Type) -> SqlExpression {
    do { return try value(under: TableInfo.of(model)) } catch { return SqlExpression(invalid: error) }
  }

  private func value(under table: TableInfo) throws -> SqlExpression {
    guard case .value(var term) = form else {
      throw SqlError.invalidStatement("associated rows can't be used as a term")
    }
    if let defect = defect(ofValue: term) { throw defect }
    let path = try resolvedPath(under: table)
    var rows = joined(by: path)
    rows.clauses.order = []
    rows.clauses.results = [.term(term)]
    // Throws for columns of the enclosing query, whose rows SQLite would then aggregate.
    _ = try rows.withValues()
    var columns = path.terms
    if rows.clauses.sources.contains(where: { $0.table.hasSameModel(as: table) }) {
      // Rename the inner rows, so that the table's name refers to the enclosing query.
      guard !term.hasText else {
        let text = "an aggregate of rows that reference their own table can't contain SQL text"
        throw SqlError.invalidStatement(text).at(table: table.name)
      }
      (rows, term, columns) = rows.named(term, columns)
      rows.clauses.results = [.term(term)]
    }
    rows.filter(SqlExpression.equal(columns, path.parentPositions.map { table.columns[$0] }.terms))
    return SqlExpression(.query(.init(kind: .scalar, query: rows)))
  }

  /// Returns the condition that a row of a model has associated rows.
  func existence(under model: (some Sqlable).Type) -> SqlExpression {
    do { return try existence(under: TableInfo.of(model)) } catch { return SqlExpression(invalid: error) }
  }

  private func existence(under table: TableInfo) throws -> SqlExpression {
    guard !query.isLimited else {
      throw SqlError.invalidStatement("a condition that associated rows exist can't have a limit").at(
        table: query.table.name)
    }
    let path = try resolvedPath(under: table)
    var rows = query
    rows.clauses.order = []
    if let link = path.link {
      // Use two nested IN subqueries instead of a join, so that no table needs an alias.
      rows.clauses.results = link.key.map { .term($0) }
      let targets = rows
      rows = SelectQuery(of: link.table)
      rows.filter(SqlExpression.row(link.foreignKey).isIn(targets))
    }
    for column in path.columns where column.type.isNullable { rows.filter([column].terms[0].isNotNull) }
    rows.clauses.results = path.terms.map { .term($0) }
    let columns = path.parentPositions.map { table.columns[$0] }
    return .all(columns.filter(\.type.isNullable).terms.map(\.isNotNull) + [.row(columns.terms).isIn(rows)])
  }
}

extension SelectQuery {
  fileprivate var checkedTable: TableInfo {
    get throws {
      if let defect = table.defect { throw defect }
      return table
    }
  }

  /// Returns a query that numbers the rows of each group and keeps the numbers within the limit and offset.
  fileprivate func ranked(by group: [SqlExpression], beside link: TableInfo?) -> LevelQuery {
    var numbered = self
    let columns = clauses.columns
    let number = SqlExpression(
      .call(
        .init(function: .builtIn(.rowNumber), arguments: [], window: .init(partition: group, order: clauses.order))))
    (numbered.clauses.order, numbered.clauses.limit, numbered.clauses.offset) = ([], nil, nil)
    numbered.clauses.results.append(.term(number))
    var source = Source(table: TableInfo.columns(of: columns.map { $0.type ?? .blob } + [.integer]))
    let name = freeName("ranked", beside: link)
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
    let name = rows.adding(term).freeName("associated", beside: nil)
    source.alias = name
    source.define(rows)
    let columns = source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
    var (renamed, first) = (term, 0)
    for source in clauses.sources {
      renamed = renamed.replacing(source.table) { [first] in columns[first + $0] }
      first += source.table.count
    }
    return (SelectQuery(source, results: []), renamed, columns.suffix(connecting.count))
  }

  private func adding(_ term: SqlExpression) -> SelectQuery {
    var query = self
    query.clauses.results.append(.term(term))
    return query
  }

  /// Returns a name for a subquery that no table or query inside this query has.
  private func freeName(_ word: String, beside link: TableInfo?) -> String {
    var takenNames = Set([link?.name.foldedName].compactMap(\.self))
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
  /// Returns the distinct rows of `width` values that contain no NULL, as one list.
  fileprivate func keys(ofWidth width: Int) -> [DatabaseValue] {
    guard width > 1 else { return Array(Set(filter { $0 != .null })) }
    let rows = stride(from: 0, to: count, by: width).map { self[$0..<Swift.min($0 + width, count)] }
    return Set(rows.filter { !$0.contains(.null) }).flatMap { $0 }
  }
}

extension SqlExpression {
  /// The condition that the terms of two lists are equal.
  fileprivate static func equal(_ terms: [SqlExpression], _ others: [SqlExpression]) -> SqlExpression {
    .all(zip(terms, others).map { SqlExpression(.binary(.equal, $0, $1)) })
  }

  /// True if the term calls a function of the program. Only SQLite can tell if such a function is an aggregate.
  fileprivate var callsRegisteredFunction: Bool {
    if case .call(let call) = node, case .named = call.function { return true }
    return node.hasTerm(where: \.callsRegisteredFunction)
  }

  fileprivate var hasText: Bool {
    var hasText = false
    visit({ if case .special(let special) = $0.node, case .fragment = special.form { hasText = true } }, { _ in })
    return hasText
  }
}
