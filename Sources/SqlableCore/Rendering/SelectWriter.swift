/// A writer of a `SELECT` with all its clauses, as a statement or inside a statement. Writes SQL or a cache key.
///
/// A check that has the same result for the same cache key runs only while SQL is written.
struct SelectWriter {
  let sql: SqlBuffer
  let parameters: ParameterBuffer
  var outer: Scope?
  /// The names of the named queries that the enclosing queries define.
  var defined: [String] = []
  var baseStack = 0
  /// True if the query is part of a term. A query in a statement's own clauses is not part of a term.
  var isNested = false
  /// The names of the queries that this query and its sibling definitions define.
  var named: [String] = []
  var isInText = false
  /// The named queries that this query can use: those of enclosing queries and sibling definitions.
  var visible: [SelectQuery.Source] = []

  func write(statement query: SelectQuery) throws {
    if query.isPlain { return try writePlain(query) }
    switch query.form {
    case .rows: try write(query)
    case .exists:
      sql.append("SELECT EXISTS (")
      try write(existenceIn: query)
      sql.append(")")
    case .count: try write(countOf: query)
    }
  }

  /// Writes a query of one table with at most a filter and a limit.
  private func writePlain(_ query: borrowing SelectQuery) throws {
    let (table, limit, form) = (query.table, query.limit, query.form)
    try table.checkDeclarations()
    let renderer = Renderer(
      table: table, sql.isKey ? nil : Scope(table, isInText: isInText), sql: sql, parameters: parameters)
    switch (form, limit) {
    case (.rows, _) where sql.qualifiesColumns && !sql.isKey:
      sql.append("SELECT ")
      renderer.writeStored(table.columns.indices)
      sql.append(" FROM ")
      sql.append(table)
    case (.rows, _): sql.append(selectAllOf: table)
    case (.exists, _): sql.append("SELECT EXISTS (SELECT 1 FROM ")
    case (.count, nil): sql.append("SELECT count(*) FROM ")
    case (.count, _): sql.append("SELECT count(*) FROM (SELECT 1 FROM ")
    }
    if form != .rows { sql.append(table) }
    if let filter = query.filter {
      sql.append(" WHERE ")
      try renderer.write(filter)
    }
    try renderer.write(limit: limit, offset: nil)
    if form == .exists || (form == .count && limit != nil) { sql.append(")") }
  }

  /// Writes a SELECT that counts a query's rows. The query becomes a subquery, unless the query returns exactly the
  /// rows of its tables.
  func write(countOf query: SelectQuery) throws {
    var clauses = query.clauses
    if let defect = clauses.defect { throw defect }
    guard clauses.hasRowsOfTables else {
      sql.append("SELECT count(*) FROM (")
      try SelectWriter(
        sql: sql, parameters: parameters, outer: outer, defined: defined, baseStack: baseStack + 8, isNested: isNested,
        named: named, isInText: isInText
      ).write(existenceIn: query)
      return sql.append(")")
    }
    let order = clauses.order
    clauses.order = []
    try write(clauses, columns: nil, results: .count)
    if !order.isEmpty { try renderer(clauses, definesQueries: clauses.definesQueries).check(order) }
  }

  func write(_ query: SelectQuery, columns: Int? = nil) throws { try write(query.clauses, columns: columns) }

  /// Writes a query for which only the existence or number of rows matters.
  func write(existenceIn query: SelectQuery) throws {
    var clauses = query.clauses
    let isPlain = !clauses.isDistinct && clauses.compounds.isEmpty && clauses.rows.isEmpty
    // Omit the results only if all are models: an aggregate returns a row even if the tables are empty.
    if isPlain, clauses.results.allSatisfy({ if case .model(_, []) = $0 { true } else { false } }) {
      clauses.results = []
    }
    try write(clauses, columns: nil, results: clauses.results.isEmpty ? .one : .selected)
  }

  private enum Results {
    case selected
    case one
    case count
  }

  private func write(_ query: SelectQuery.Clauses, columns: Int?, results: Results = .selected) throws {
    if let defect = query.defect { throw defect }
    if !sql.isKey, let columns, case let count = query.columnCount, columns != count {
      throw SqlError.invalidStatement("a subquery used as a value has \(count) columns instead of one")
    }
    let definesQueries = query.definesQueries
    if definesQueries { try writeCommonTables(query) }
    let renderer = try renderer(query, definesQueries: definesQueries)
    try writeCore(query, renderer, results: results, isPart: !query.compounds.isEmpty)
    try writeCompounds(query, definesQueries: definesQueries)
    if !query.order.isEmpty { try writeOrder(query, renderer) }
    try renderer.write(limit: query.limit, offset: query.offset)
  }

  private func writeCompounds(_ query: SelectQuery.Clauses, definesQueries: Bool) throws {
    guard !query.compounds.isEmpty else { return }
    // Every part uses the names and columns of the whole combined query.
    let names = names(of: query)
    let (columns, count) = sql.isKey ? ([], 0) : (query.columns, query.columnCount)
    // The writer for parts that are themselves combined, ordered or limited. Such a part becomes a subquery, because
    // SQLite allows no parentheses around a part of a combined query.
    var nested = self
    nested.baseStack += 8
    nested.named = names
    if query.compounds.contains(where: { $0.query.clauses.isNested }) {
      if sql.isKey, definesQueries { nested.defined = definedNames(query) }
      nested.visible = visible(afterDefining: query.definedSources)
    }
    for compound in query.compounds {
      let other = compound.query.clauses
      if let defect = other.defect { throw defect }
      if !sql.isKey { try check(query, columns, count, canBeCombinedWith: other) }
      sql.append(compound.operation.sql)
      if other.isNested {
        sql.append("SELECT * FROM (")
        try nested.write(other, columns: nil)
        sql.append(")")
      } else {
        let part = try renderer(other, definesQueries: definesQueries)
        try writeCore(other, part, named: sql.isKey ? [] : names, isPart: true)
      }
    }
  }

  /// Returns a term's position in the result, if the term contains a column of an enclosing query; otherwise nil.
  /// SQLite does not resolve such a column in ORDER BY and GROUP BY.
  private func position(
    ofOuter term: SqlExpression, in query: SelectQuery.Clauses, _ renderer: Renderer
  ) throws -> Int? {
    guard !sql.isKey, outer != nil, let column = renderer.scope.outerColumn(of: term) else { return nil }
    if let position = query.positionOfResult(term) { return position }
    throw SqlError.invalidStatement(
      "a subquery orders or groups by a term with a column of the enclosing query; select this term in the subquery too"
    ).at(table: nil, column: column.name)
  }

  private func writeOrder(_ query: SelectQuery.Clauses, _ renderer: Renderer) throws {
    try renderer.write(query.order) { term in
      if let position = try query.position(of: term) ?? position(ofOuter: term, in: query, renderer) { return position }
      // If the first part consists of literal rows, it has no tables in which SQLite could look up the term's columns.
      guard !query.compounds.isEmpty, term.node.bindsValues || query.sources.isEmpty else { return nil }
      throw SqlError.invalidStatement("combined queries can only be ordered by columns of their result")
    }
  }

  /// Throws if two parts of a combined query have different numbers of columns, or if corresponding columns have
  /// different date formats or decimal scales.
  private func check(
    _ query: SelectQuery.Clauses, _ columns: [ResultColumn], _ count: Int,
    canBeCombinedWith other: SelectQuery.Clauses
  ) throws {
    guard other.columnCount == count else {
      throw SqlError.invalidStatement("queries of \(count) and \(other.columnCount) columns can't be combined")
    }
    let formats = zip(query.dateFormats, other.dateFormats)
    for ((column, otherColumn), (format, otherFormat)) in zip(zip(columns, other.columns), formats) {
      if let format, let otherFormat, format.written != otherFormat.written {
        // A registered function can return dates in seconds. Such dates can be mixed with the dates of any column that
        // stores seconds.
        let isComputed = column.type == nil || otherColumn.type == nil
        guard isComputed, format.canMix(with: otherFormat) else {
          throw SqlError.invalidStatement("combined queries mix dates in different storage formats")
        }
      }
      if column.type?.scale != otherColumn.type?.scale {
        throw SqlError.invalidStatement(
          "a combined query has decimals of different scales, or decimals and other numbers")
      }
    }
  }

  func beginTables(_ query: SelectQuery.Clauses) throws -> Renderer {
    let definesQueries = query.definesQueries
    if definesQueries { try writeCommonTables(query) }
    return try renderer(query, definesQueries: definesQueries)
  }

  func writeOtherTables(_ query: SelectQuery.Clauses, _ renderer: Renderer) throws {
    let names = sql.isKey ? [] : renderer.scope.named
    for (index, source) in query.sources.dropFirst().enumerated() {
      try source.table.checkDeclarations()
      var source = source
      source.condition = nil
      sql.append(index == 0 ? " FROM " : " JOIN ")
      try write(source, renderer, renderer, hidden: names)
    }
  }

  private func renderer(_ query: SelectQuery.Clauses, definesQueries: Bool = false) throws -> Renderer {
    guard !sql.isKey else {
      return Renderer(
        table: query.sources.first?.table ?? .none, nil, defined: definesQueries ? definedNames(query) : defined,
        sql: sql, parameters: parameters)
    }
    let scope = try Scope(query.sources, outer: outer, named: names(of: query), isInText: isInText)
    try checkHidesNone(query.sources)
    return Renderer(scope, sql: sql, parameters: parameters, baseStack: baseStack + (isNested ? 21 : 0))
  }

  /// Returns the number of symbols on the parser's stack before the terms of a clause. The clause itself has `symbols`;
  /// WITH and the earlier parts of a compound query add symbols. The results and filters of nested queries need the
  /// exact number, because associations nest queries deeply. Other clauses assume 21 symbols, more than any clause has.
  private func stack(symbols: Int, of query: SelectQuery.Clauses, isPart: Bool) -> Int {
    isNested ? baseStack + symbols + (query.definesQueries ? 3 : 0) + (isPart ? 2 : 0) : baseStack
  }

  private func writeCore(
    _ query: SelectQuery.Clauses, _ renderer: Renderer, results: Results = .selected, named: [String] = [],
    isPart: Bool = false
  ) throws {
    guard !query.sources.isEmpty else {
      if let question = query.question { return try renderer.write(question: question) }
      // Literal rows produce long cache keys that are unlikely to be used again.
      if sql.isKey { return sql.refuseKey() }
      // VALUES can't have an order or limit, and can't be a part of a query with an order or limit.
      let isBare = query.order.isEmpty && query.limit == nil && query.offset == nil && !isPart
      if !isBare { sql.append("SELECT * FROM (") }
      try writeRows(query, renderer)
      if !isBare { sql.append(")") }
      return
    }
    for index in query.sources.indices {
      try query.sources[index].table.checkDeclarations()
    }
    if query.isDistinct { sql.append("SELECT DISTINCT ") } else { sql.append("SELECT ") }
    switch results {
    // The parser's stack holds SELECT, DISTINCT, the earlier columns and a column.
    case .selected: try writeResults(query, renderer, stack: stack(symbols: 4, of: query, isPart: isPart))
    case .one: sql.append("1")
    case .count: sql.append("count(*)")
    }
    let names = sql.isKey ? [] : renderer.scope.named + named
    for index in query.sources.indices {
      if index == 0 { sql.append(" FROM ") } else { sql.append(query.sources[index].join.sql) }
      let isLast = index + 1 == query.sources.count
      let joined =
        sql.isKey || isLast || query.sources[index].condition == nil
        ? renderer : renderer.joining(query.sources[...index])
      // Pass the source without a copy, because the copy would take most of the time.
      try write(query.sources[index], renderer, joined, hidden: names)
    }
    if let filter = query.filter {
      sql.append(" WHERE ")
      // The parser's stack holds SELECT, DISTINCT, columns, tables and WHERE.
      try renderer.write(filter, within: .any, stack: stack(symbols: 5, of: query, isPart: isPart))
    }
    for (index, term) in query.groups.enumerated() {
      if index == 0 { sql.append(" GROUP BY ") } else { sql.append(", ") }
      if let position = try query.position(of: term) ?? position(ofOuter: term, in: query, renderer) {
        sql.append(text: "\(position)")
        continue
      }
      var renderer = renderer
      renderer.isOrdering = true
      try renderer.write(term)
    }
    if let having = query.having {
      sql.append(" HAVING ")
      try renderer.write(having)
    }
  }

  /// Writes a table, its alias and its join condition. `joined` has the scope of the tables up to this one. `hidden`
  /// has the names of named queries: a table with one of these names can't be read.
  private func write(
    _ source: borrowing SelectQuery.Source, _ renderer: Renderer, _ joined: Renderer, hidden: [String]
  ) throws {
    let table = source.table
    switch source.kind {
    case .table:
      guard !hidden.contains(where: table.name.isSameName(as:)) else {
        throw SqlError.invalidStatement("a query named \(table.name) hides the table of this name; rename the query")
          .at(table: table.name)
      }
      sql.append(table)
    case .named:
      // A named query can refer to itself only inside its own definition. Elsewhere the name could refer to any table.
      guard sql.isKey || hidden.contains(where: (source.definedName ?? "").isSameName(as:)) else {
        throw SqlError.invalidStatement(
          "a reference to the recursive query \(source.name) must be inside the query's own definition")
      }
      if sql.isKey { sql.append(address: table) }
    case .defined: if sql.isKey { sql.append(address: table) }
    case .call(let call):
      if sql.isKey { sql.append(address: table) }
      try renderer.write(call)
    }
    if let alias = source.alias {
      switch source.kind {
      case .table, .call: sql.append(" AS ")
      case .defined, .named:
        guard let name = source.queryName else { break }
        if sql.isKey { sql.append(text: name) } else { sql.append(name.quotedBytes()) }
        sql.append(" AS ")
      }
      if sql.isKey { sql.append(text: alias) } else { sql.append(alias.quotedBytes()) }
    }
    if let hint = source.indexHint {
      guard case .table = source.kind else {
        throw SqlError.invalidStatement("an index hint needs a table, but \(source.name) is a named query or function")
      }
      try sql.append(hint: hint)
    }
    if source.isSearched, table.fullText?.isExternal == true {
      guard source.join == .inner || source.join == .cross else {
        throw SqlError.invalidStatement("a full-text search of a joined table needs an inner or cross join").at(
          table: table.name)
      }
      // Join the index after the table, with a single ON for both: `JOIN t JOIN index ON … AND …`. Two ON clauses would
      // need parentheses.
      renderer.writeIndex(of: copy source)
      guard let condition = source.condition else { return }
      sql.append(" AND ")
      return try joined.write(condition, within: .not, stack: joined.baseStack)
    }
    if let condition = source.condition {
      sql.append(" ON ")
      try joined.write(condition)
    }
  }

  private func writeResults(_ query: SelectQuery.Clauses, _ renderer: Renderer, stack: Int) throws {
    guard sql.isKey || query.columnCount > 0 else { throw SqlError.invalidStatement("the query has no columns") }
    var isFirst = true
    func separate() {
      if !isFirst { sql.append(", ") }
      isFirst = false
    }
    for result in query.results {
      switch result {
      case .term(let term):
        separate()
        try renderer.write(term, within: .any, stack: stack)
      case .table(let table, let alias, _):
        throw SqlError.invalidStatement("columns of \(alias ?? table.name) are selected, but the table is not joined")
          .at(
            table: table.name)
      case .model(let index, let replaced):
        if sql.isKey, replaced.isEmpty {
          separate()
          sql.append("*")
          query.sources[index].alias.map { sql.append(text: $0) }
          sql.append(address: query.sources[index].table)
          continue
        }
        let source = query.sources[index]
        var terms = [SqlExpression?](repeating: nil, count: replaced.isEmpty ? 0 : source.table.columns.count)
        for replacement in replaced {
          let position = try renderer.position(of: replacement.column)
          guard terms[position] == nil else {
            throw SqlError.invalidStatement("column \(replacement.column.name) is replaced by two terms; pass one term")
              .at(table: source.table.name, column: replacement.column.name)
          }
          terms[position] = replacement.term
        }
        for (position, column) in source.table.columns.enumerated() {
          separate()
          if !terms.isEmpty, let term = terms[position] {
            try renderer.write(term, within: .any, stack: stack)
          } else {
            if sql.isKey || sql.qualifiesColumns || !renderer.scope.isPlain { renderer.writeName(source.name) }
            sql.append(column.definition)
          }
        }
      }
    }
  }

  private func writeRows(_ query: SelectQuery.Clauses, _ renderer: Renderer) throws {
    guard query.columnCount > 0 else {
      throw SqlError.invalidStatement("the query selects no column, or its literal rows are empty")
    }
    guard query.filter == nil, query.groups.isEmpty, query.having == nil, !query.isDistinct else {
      throw SqlError.invalidStatement(
        "literal rows can't have a filter, groups or DISTINCT; wrap the rows in named(_:)")
    }
    for (index, row) in query.rows.enumerated() {
      if index == 0 { sql.append("VALUES (") } else { sql.append(", (") }
      for (index, term) in row.enumerated() {
        if index > 0 { sql.append(", ") }
        try renderer.write(term)
      }
      sql.append(")")
    }
  }
}
