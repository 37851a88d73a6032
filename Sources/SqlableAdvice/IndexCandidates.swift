import SqlableCore

/// The columns by which a statement finds rows, grouped by table. These columns are candidates for an index.
struct IndexCandidates {
  private(set) var tables: [Table] = []

  struct Table {
    let name: String
    let table: TableInfo
    var uses = Uses()

    var lists: [[IndexColumn]] { uses.lists.filter { !isKey($0) } }

    /// True if `columns` contains only the first column of the table's key. Such a column needs no further index.
    private func isKey(_ columns: [IndexColumn]) -> Bool {
      table.key.prefix(1).map { table.columns[$0].name } == columns.prefix(1).map(\.name) && columns.count == 1
    }
  }

  struct Uses {
    var equal: [IndexColumn] = []
    var compared: [IndexColumn] = []
    var order: [IndexColumn] = []
    var groups: [IndexColumn] = []

    var lists: [[IndexColumn]] {
      var lists: [[IndexColumn]] = []
      func add(_ columns: [IndexColumn]) {
        if !columns.isEmpty, !lists.contains(columns) { lists.append(columns) }
      }
      // A column that is compared for equality has one value, so the column has no effect on the order.
      let order = order.filter { column in !equal.contains { $0.name.isExactly(column.name) } }
      let compared = compared.filter { column in !equal.contains { $0.name.isExactly(column.name) } }
      let isOrdered = !order.isEmpty
      if isOrdered, compared.isEmpty { add(equal + order) }
      for column in compared { add(equal + [column]) }
      if isOrdered { add(equal + order) }
      add(equal)
      for column in equal { add([column]) }
      add(groups)
      return lists
    }
  }

  mutating func add(_ tree: StatementTree) {
    let source = SelectQuery.Source(table: tree.tableInfo)
    switch tree {
    case .select(let query): add(query.clauses, outer: [])
    case .insert(let query):
      add([source])
      if let inserted = query.rest.value.source { add(inserted.clauses, outer: []) }
    case .update(let query):
      add(query.selection, query.tables)
      for source in query.tables {
        if let condition = source.condition { add(condition, query.tables) }
        if case .defined(let definition) = source.kind { add(definition.clauses, outer: []) }
      }
      for assignment in query.rest.value.assignments { add(subqueriesOf: assignment.value, query.tables) }
    case .delete(let query): add(query.selection, [source])
    }
  }

  private mutating func add(_ selection: RowSelection, _ sources: [SelectQuery.Source]) {
    add(sources)
    if let filter = selection.filter { add(filter, sources) }
    addOrder(selection.rest.value.order, sources)
  }

  mutating func add(_ query: SelectQuery.Clauses, outer: [SelectQuery.Source]) {
    let sources = query.sources + outer
    add(query.sources)
    for source in query.sources {
      if let condition = source.condition { add(condition, sources) }
      if case .defined(let definition) = source.kind { add(definition.clauses, outer: []) }
    }
    if let filter = query.filter { add(filter, sources) }
    for case .term(let term) in query.results { add(subqueriesOf: term, sources) }
    for group in query.groups {
      if let (table, column) = column(group, sources) { tables[table].uses.groups.append(column) }
    }
    // An index can provide the order only if the statement has one table, no groups and no compounds.
    if query.sources.count == 1, query.groups.isEmpty, query.compounds.isEmpty { addOrder(query.order, query.sources) }
    for compound in query.compounds { add(compound.query.clauses, outer: outer) }
  }

  private mutating func add(_ sources: [SelectQuery.Source]) {
    for source in sources where source.kind == .table && !tables.contains(where: { $0.name.isExactly(source.name) }) {
      tables.append(Table(name: source.name, table: source.table))
    }
  }

  private mutating func addOrder(_ order: [OrderTerm], _ sources: [SelectQuery.Source]) {
    for (index, term) in order.enumerated() {
      // An index helps `.ascNullsLast` and `.descNullsFirst` only in the first term: SQLite then reads the index in two
      // parts, NULLs and values.
      guard index == 0 || term.direction == .asc || term.direction == .desc,
        let (table, indexedColumn) = column(term.expression, sources)
      else { return }
      tables[table].uses.order.append(IndexColumn(name: indexedColumn.name, isDescending: !term.direction.isUpwards))
    }
  }

  // MARK: Conditions

  private mutating func add(_ condition: SqlExpression, _ sources: [SelectQuery.Source]) {
    switch condition.node {
    case .all(let terms):
      for term in terms { add(term, sources) }
      return
    case .binary(let binary):
      for term in [binary.left, binary.right] { add(term, as: binary.operation, sources) }
    case .isIn(let term, _), .isNull(let term): addEqual(term, sources)
    case .between(let term, _, _): addCompared(term, sources)
    case .query(let query): if let needle = query.term { addEqual(needle, sources) }
    default: break
    }
    add(subqueriesOf: condition, sources)
  }

  private mutating func add(
    _ term: SqlExpression, as operation: SqlExpression.BinaryOperator, _ sources: [SelectQuery.Source]
  ) {
    switch operation {
    case .equal, .isSame: addEqual(term, sources)
    case .less, .lessOrEqual, .greater, .greaterOrEqual: addCompared(term, sources)
    default: break
    }
  }

  private mutating func addEqual(_ term: SqlExpression, _ sources: [SelectQuery.Source]) {
    for term in term.rowTerms ?? [term] {
      guard let (table, column) = column(term, sources), !tables[table].uses.equal.contains(column) else { continue }
      tables[table].uses.equal.append(column)
    }
  }

  private mutating func addCompared(_ term: SqlExpression, _ sources: [SelectQuery.Source]) {
    guard let (table, column) = column(term, sources), !tables[table].uses.compared.contains(column) else { return }
    tables[table].uses.compared.append(column)
  }

  private mutating func add(subqueriesOf term: SqlExpression, _ sources: [SelectQuery.Source]) {
    if case .query(let query) = term.node { add(query.query.clauses, outer: sources) }
    for term in term.node.terms { add(subqueriesOf: term, sources) }
  }

  /// Returns the table and the column that a term refers to; nil if the term is not a column of these tables.
  private func column(_ term: SqlExpression, _ sources: [SelectQuery.Source]) -> (table: Int, column: IndexColumn)? {
    let (alias, reference): (String?, ColumnReference)
    switch term.node {
    case .column(let column): (alias, reference) = (nil, column)
    case .qualified(let name, let column): (alias, reference) = (name, column)
    default: return nil
    }
    let source =
      sources.first { $0.alias.isExactly(alias) && $0.table.position(of: reference) != nil }
      ?? sources.first { alias == nil && $0.table.position(of: reference) != nil }
    guard let source, let table = tables.firstIndex(where: { $0.name.isExactly(source.name) }) else { return nil }
    return (table, IndexColumn(name: reference.name, isDescending: false))
  }
}
