// What the clauses of a query come to: its columns, how deep it is, what it defines, and what they refuse.

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
  mutating func refuse(_ modifier: String) {
    guard defect == nil else { return }
    defect = .invalidStatement(
      "\(modifier) after a union, intersect or except would change the first query only: it belongs into each of them, "
        + "or the whole gets a name by named(_:) and is queried")
  }
}
