extension SelectQuery.Clauses {
  /// The depth of the clauses' terms, including nested queries.
  package var size: SqlExpression.Size {
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
    for compound in compounds {
      let part = compound.query.clauses
      var partSize = part.size
      if part.isNested { partSize.depth += 1 }
      size.join(partSize)
    }
    for term in order { size.join(term.expression.size) }
    add([limit?.term, offset?.term].compactMap(\.self))
    return size
  }

  package var columns: [ResultColumn] {
    guard rows.isEmpty else { return rows[0].map { _ in ResultColumn() } }
    return results.flatMap { result -> [ResultColumn] in
      switch result {
      case .term(let term): [ResultColumn(type: term.columnDefinition?.type)]
      case .model(let index, _): sources[index].table.columns.map { ResultColumn($0) }
      case .table(let table, _, _): table.columns.map { ResultColumn($0) }
      }
    }
  }

  var dateFormats: [ColumnType.DateFormat?] {
    guard rows.isEmpty else { return rows[0].map(\.dateFormat) }
    return results.flatMap { result -> [ColumnType.DateFormat?] in
      switch result {
      case .term(let term): [term.dateFormat]
      case .model(let index, _): sources[index].table.columns.map(\.type.dateFormat)
      case .table(let table, _, _): table.columns.map(\.type.dateFormat)
      }
    }
  }

  package var columnNames: [String?] {
    guard rows.isEmpty else { return rows[0].map { _ in nil } }
    return results.flatMap { result -> [String?] in
      switch result {
      case .term(let term): [term.columnName]
      case .model(let index, _): sources[index].table.columns.map(\.name)
      case .table(let table, _, _): table.columns.map(\.name)
      }
    }
  }

  var definesQueries: Bool {
    sources.contains(where: \.isDefined)
      || compounds.contains { !$0.query.clauses.isNested && $0.query.clauses.sources.contains(where: \.isDefined) }
  }

  /// True if the query has clauses that SQLite allows in a part of a combined query only inside a subquery.
  var isNested: Bool { !compounds.isEmpty || !order.isEmpty || limit != nil || offset != nil }

  /// True if another query can be appended to this combined query as one more part. Otherwise this query must first
  /// become a subquery. All operators must be the same, UNION or UNION ALL, and the query must have no order or limit.
  func continues(_ operation: SelectQuery.Compound.Operator) -> Bool {
    guard operation == .union || operation == .unionAll, !compounds.isEmpty, order.isEmpty else { return false }
    return limit == nil && offset == nil && defect == nil && compounds.allSatisfy { $0.operation == operation }
  }

  /// The named queries that the clauses use, with repetitions. Combined parts that become subqueries define their own
  /// named queries, which are not included.
  var definedSources: [SelectQuery.Source] {
    let parts = compounds.map(\.query.clauses).filter { !$0.isNested }
    return (sources + parts.flatMap(\.sources)).filter(\.isDefined)
  }

  /// Sets the result's columns. If a model's table is already joined, the result refers to the joined table.
  mutating func give(_ results: [SelectQuery.Result]) {
    guard results.contains(where: \.isUnjoined) else {
      self.results = results
      return
    }
    let former = self.results
    self.results = results.map { result in
      guard case .table(let table, let alias, let isOptional) = result else { return result }
      let matches = sources.indices.filter {
        sources[$0].table.hasSameModel(as: table) && sources[$0].alias.isExactly(alias)
      }
      guard let match = matches.first else { return result }
      if matches.count > 1 {
        note(.invalidStatement("table \(table.name) is in the query twice; use an alias").at(table: table.name))
      } else if let join = joinMissing(match), !isOptional {
        let message = "\(join) may find no row of \(alias ?? table.name); select \(alias ?? table.name) as an optional"
        note(.invalidStatement(message).at(table: table.name))
      }
      // Keep the terms that replace columns of the model.
      return former.first { if case .model(match, _) = $0 { true } else { false } } ?? .model(match)
    }
  }

  /// If a join can leave the table at this position without a row, returns the join's description for an error message;
  /// otherwise nil.
  func joinMissing(_ index: Int) -> String? {
    if sources[index].join.keepsEarlier { return "a \(sources[index].join.rawValue) join" }
    return sources[(index + 1)...].first(where: \.join.keepsJoined).map { "a \($0.join.rawValue) join" }
  }

  /// True if a join can leave a table without a row.
  package var missesRows: Bool { sources.contains { $0.join.keepsEarlier || $0.join.keepsJoined } }

  mutating func findResults() {
    if results.contains(where: \.isUnjoined) { give(results) }
  }

  mutating func read(from table: String) {
    guard let first = sources.first else {
      return note(.invalidStatement("in(_:) needs a query that reads a table, not literal rows"))
    }
    sources[0].table = first.table.named(table)
  }

  package mutating func read(fromDatabase database: String) {
    guard let first = sources.first else {
      return note(.invalidStatement("in(_:) needs a query that reads a table, not literal rows"))
    }
    sources[0].table = first.table.named(first.table.name, in: database)
  }

  package mutating func hint(_ hint: IndexHint) {
    guard !sources.isEmpty else { return note(.invalidStatement("literal rows can't use an index")) }
    sources[0].indexHint = hint
  }

  /// Sets the index that SQLite must use for the table whose model declares the index.
  package mutating func hint(_ index: Index) {
    let matches = sources.indices.filter { sources[$0].table.indexes.contains(index) }
    guard let match = matches.first else {
      return note(.invalidStatement("no model of the query declares the index; pass the name of the index"))
    }
    guard matches.count == 1 else {
      return note(
        .invalidStatement("several tables of the query declare this index; call indexed(by:) on an alias of one table")
          .at(table: sources[match].table.name))
    }
    sources[match].indexHint = IndexHint(name: index.name(in: sources[match].table))
  }

  mutating func note(_ defect: SqlError) { self.defect = self.defect ?? defect }

  /// True if the query returns exactly the rows of its joined tables that meet its filter. False for a query with
  /// DISTINCT, groups, a limit, combined queries or a selected term.
  var hasRowsOfTables: Bool {
    guard !sources.isEmpty, compounds.isEmpty, !isDistinct, groups.isEmpty, having == nil else { return false }
    return limit == nil && offset == nil
      && results.allSatisfy { result in
        // A term can be an aggregate, which combines many rows into one. Also, a term is checked while it is written,
        // and a count without a subquery would not write the term.
        if case .model(_, []) = result { true } else { false }
      }
  }

  /// The only value of the only literal row, if this value is an `.exists` or `.count` subquery; otherwise nil.
  var question: SqlExpression.QueryTerm? {
    guard rows.count == 1, rows[0].count == 1, case .query(let term) = rows[0][0].node else { return nil }
    guard filter == nil, groups.isEmpty, having == nil, !isDistinct else { return nil }
    return term.kind == .exists || term.kind == .count ? term : nil
  }

  package var columnCount: Int {
    guard rows.isEmpty else { return rows[0].count }
    return results.reduce(0) { count, result in
      switch result {
      case .term: count + 1
      case .model(let index, _): count + sources[index].table.count
      case .table(let table, _, _): count + table.count
      }
    }
  }

  /// Returns the position, counted from 1, of the result column that ORDER BY and GROUP BY must name instead of
  /// repeating a term. Nil if they can repeat the term. The position is needed in two cases: SQLite does not recognize
  /// a repeated term that binds values, and a combined query can only be ordered by its columns.
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

  func positionOfResult(_ term: SqlExpression) -> Int? {
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

  /// Searches the queries after the first one of a UNION or similar. Returns the term's position in the first result
  /// that contains the term. Used if the first query has literal rows, whose columns have no names.
  private func positionInParts(_ term: SqlExpression) -> Int? {
    for compound in compounds {
      let part = compound.query.clauses
      if let position = part.positionOfResult(term) ?? part.positionInModel(term) { return position }
    }
    return nil
  }

  private func positionInModel(_ term: SqlExpression) -> Int? {
    var position = 1
    for result in results {
      guard case .model(let index, let replaced) = result else {
        position += 1
        continue
      }
      let source = sources[index]
      let columnPosition: Int? =
        switch term.node {
        case .column(let column) where source.alias == nil: source.table.position(of: column)
        case .qualified(let alias, let column) where source.alias?.isExactly(alias) == true:
          source.table.position(of: column)
        default: nil
        }
      let isReplaced = replaced.contains {
        columnPosition != nil && source.table.position(of: $0.column) == columnPosition
      }
      if let columnPosition, !isReplaced { return position + columnPosition }
      position += source.table.count
    }
    return nil
  }
}

extension TableInfo {
  package func position(of reference: ColumnReference) -> Int? {
    reference.definition.map(position(of:)) ?? position(named: reference.name)
  }
}

extension TableInfo: Hashable {
  @usableFromInline
  package static func == (left: TableInfo, right: TableInfo) -> Bool { left === right }

  @usableFromInline
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension SelectQuery.Clauses {
  /// Records an error for a modifier after a union, intersect or except.
  ///
  /// A method of `Clauses`, not of `SelectQuery`, because of a bug in Swift 6.3: in debug builds, an access to
  /// `SelectQuery.clauses` ends before `defect` is compared with nil.
  mutating func refuse(_ modifier: String) {
    guard defect == nil else { return }
    defect = .invalidStatement(
      "\(modifier) after a union, intersect or except would apply to the first query only; add it to each query, or "
        + "wrap the result in named(_:)"
    )
  }
}

extension SqlExpression {
  fileprivate var columnName: String? {
    switch node {
    case .column(let column), .qualified(_, let column): column.name
    default: nil
    }
  }
}
