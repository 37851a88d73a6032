// Writes the definitions of named queries before a SELECT, and finds the names that the definitions use.

extension SelectWriter {
  func writeCommonTables(_ query: SelectQuery.Clauses) throws {
    var isFirst = true
    let named = names(of: query)
    let sources = query.definedSources
    for (index, source) in sources.enumerated() {
      guard case .defined(let definition) = source.kind, let name = source.definedName else { continue }
      if let earlier = sources[..<index].first(where: source.isNamedLike) {
        guard earlier.kind == source.kind, earlier.materialization == source.materialization else {
          throw twoQueries(named: name, source.table)
        }
        continue
      }
      // In a cache key, the address identifies the columns of the alias.
      if sql.isKey { sql.append(address: source.table) }
      if visible.contains(where: source.isDefinedLike) {
        // Use no cache key. The two queries of this name must be equal, including their values, but a cache key
        // contains no values.
        if sql.isKey { sql.refuseKey() }
        continue
      }
      let count = definition.clauses.columnCount
      guard count == source.table.count else {
        throw SqlError.invalidStatement(
          "query \(name) has \(count) columns, but its model has \(source.table.count)"
        ).at(table: source.table.name)
      }
      // RECURSIVE permits recursion, and has no effect on queries without recursion.
      sql.append(isFirst ? "WITH RECURSIVE " : ", ")
      sql.append(name.quotedBytes())
      sql.append(" (")
      if !sql.isKey {
        for (index, column) in source.table.columns.enumerated() {
          if index > 0 { sql.append(", ") }
          sql.append(column.definition.quotedName)
        }
      }
      sql.append(source.materialization?.sql ?? ") AS (")
      // `baseStack + 8`: before the query, SQLite's parser has WITH RECURSIVE, a list, a name, the columns and AS ( on
      // its stack.
      let writer = SelectWriter(
        sql: sql, parameters: parameters, outer: outer, defined: defined, baseStack: baseStack + 8, isNested: isNested,
        named: named, isInText: isInText, visible: visible(afterDefining: sources).filter { !$0.isNamedLike(source) })
      try writer.write(definition)
      sql.append(")")
      isFirst = false
    }
    if !isFirst { sql.append(" ") }
  }

  /// Returns the named queries that are visible inside a query whose WITH clause defines `sources`.
  func visible(afterDefining sources: [SelectQuery.Source]) -> [SelectQuery.Source] {
    visible.filter { !sources.contains(where: $0.isNamedLike) } + sources
  }

  /// Returns the names of the queries that this query and the enclosing queries define. Called only while a cache key
  /// is written. If this query defines a name of an enclosing query again, the statement gets no cache key: the two
  /// definitions must be equal, including their values, but a cache key contains no values.
  func definedNames(_ query: SelectQuery.Clauses) -> [String] {
    let names = query.definedSources.compactMap(\.definedName)
    if names.contains(where: { defined.contains(where: $0.isSameName(as:)) }) { sql.refuseKey() }
    return defined + names
  }

  /// Throws if a named query hides an outer query with the same name, because their columns could be confused.
  func checkHidesNone(_ sources: [SelectQuery.Source]) throws {
    for source in sources {
      guard case .defined = source.kind, let name = source.definedName else { continue }
      var scope = outer
      while let current = scope {
        for other in current.sources where other.definedName?.isSameName(as: name) == true {
          guard case .defined = other.kind, other.kind != source.kind else { continue }
          throw twoQueries(named: name, source.table)
        }
        scope = current.outer
      }
    }
  }

  private func twoQueries(named name: String, _ table: TableInfo) -> SqlError {
    // Without a model, the table has no name.
    SqlError.invalidStatement("two different queries are named \(name); rename one of the queries")
      .at(table: table.name.isEmpty ? nil : table.name)
  }

  func names(of query: SelectQuery.Clauses) -> [String] {
    named + (outer?.named ?? []) + query.definedSources.compactMap(\.definedName)
  }
}
