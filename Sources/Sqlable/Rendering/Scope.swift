/// The tables whose columns a term may name: those of its own query, and of the queries around it.
final class Scope: Sendable {
  let sources: [SelectQuery.Source]
  let outer: Scope?
  /// Whether it is one table under its own name, whose columns need no table before them.
  let isPlain: Bool
  /// Whether it is SQL written by hand, whose tables are not known: any column may be named.
  let isFree: Bool
  /// Whether it stands in SQL written by hand, whose tables are not known.
  let isInText: Bool
  /// The names that stand for queries, here and in the queries around.
  let named: [String]

  /// The table of a statement about one.
  init(_ table: TableInfo, isInText: Bool = false) {
    self.isInText = isInText
    sources = [SelectQuery.Source(table: table)]
    outer = nil
    isPlain = true
    isFree = false
    named = []
  }

  /// No table: the scope of a key, for which no column is looked up.
  static let none = Scope(TableInfo.none)

  /// SQL written by hand.
  init() {
    sources = []
    outer = nil
    isPlain = false
    isFree = true
    isInText = true
    named = []
  }

  /// The tables of a query. Throws when two go by one name.
  init(_ sources: [SelectQuery.Source], outer: Scope?, named: [String] = [], isInText: Bool = false) throws {
    self.sources = sources
    self.isInText = isInText || outer?.isInText == true
    self.outer = outer
    self.named = named
    // A full-text index beside its table has columns of the same names.
    isPlain =
      sources.count == 1 && sources[0].alias == nil && outer == nil
      && !(sources[0].isSearched && sources[0].table.fullText?.isExternal == true)
    isFree = false
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.name.isSameName(as: source.name) }) {
      throw SqlError.invalidStatement(
        "two tables of a query go by the name \(source.name); one of them needs an alias"
      ).at(table: source.table.name)
    }
  }

  /// The first table, to which what is no column belongs.
  var table: TableInfo { sources.first?.table ?? .none }

  /// Where a column was found.
  struct Found {
    /// The name of its table, where that has to be written.
    let qualifier: String?
    let column: ColumnDefinition
  }

  /// A column: of the innermost query that has it under its own name, else of the innermost that has it under an alias.
  func find(_ reference: ColumnReference) throws -> Found {
    if let found = try find(reference, at: { source, own in source.table.columns.firstIndex { $0.definition === own } })
    {
      return found
    }
    // Declared anew for every use, or known by its name only.
    if let found = try find(reference, at: { source, _ in source.table.position(of: reference) }) { return found }
    guard let free = try freeColumn(reference) else { throw missing(reference) }
    return Found(qualifier: nil, column: free)
  }

  /// A column of a table that is known to the SQL around all this only.
  private func freeColumn(_ reference: ColumnReference) throws -> ColumnDefinition? {
    var scope = self
    while !scope.isFree {
      guard let outer = scope.outer else { return nil }
      guard !scope.sources.contains(where: { $0.table.columns.contains { $0.name.isSameName(as: reference.name) } })
      else {
        throw SqlError.invalidStatement("a subquery hides column \(reference.name) of the SQL around it").at(
          table: scope.table.name, column: reference.name)
      }
      scope = outer
    }
    return reference.definition
  }

  private func find(
    _ reference: ColumnReference, at position: (SelectQuery.Source, ColumnDefinition?) -> Int?
  ) throws -> Found? {
    if let found = try find(reference, isAliased: false, at: position) { return found }
    guard let found = try find(reference, isAliased: true, at: position) else { return nil }
    // The text may read the table under its own name: the column would be the alias's without a word.
    guard !isInText else {
      throw SqlError.invalidStatement(
        "column \(reference.name) stands without the alias \(found.qualifier ?? ""), and may be meant to be one of the "
          + "SQL around the query: the subscript of the alias says which"
      ).at(table: nil, column: reference.name)
    }
    return found
  }

  private func find(
    _ reference: ColumnReference, isAliased: Bool, at position: (SelectQuery.Source, ColumnDefinition?) -> Int?
  ) throws -> Found? {
    let definition = reference.definition
    var scope: Scope? = self
    while let current = scope {
      let found = current.sources.filter { ($0.alias != nil) == isAliased }
        .compactMap { source in position(source, definition).map { (source, $0) } }
      if found.count > 1 {
        throw SqlError.invalidStatement(
          "column \(reference.name) is one of several tables of the query; an alias says of which"
        ).at(table: found[0].0.table.name, column: reference.name)
      }
      if let (source, position) = found.first {
        if current !== self { try checkNotHidden(source, in: current) }
        return Found(
          qualifier: !current.isPlain || current !== self ? source.name : nil,
          column: source.table.columns[position].definition)
      }
      scope = current.outer
    }
    return nil
  }

  /// A column of the table that goes by an alias.
  func find(_ reference: ColumnReference, ofAlias alias: String) throws -> Found {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.alias?.isExactly(alias) == true }) {
        guard let position = source.table.position(of: reference) else {
          try checkHidesNone(of: reference, alias, in: current)
          throw missing(reference)
        }
        if current !== self { try checkNotHidden(source, in: current) }
        return Found(qualifier: source.name, column: source.table.columns[position].definition)
      }
      if current.isFree, let column = reference.definition { return Found(qualifier: alias, column: column) }
      scope = current.outer
    }
    throw SqlError.invalidStatement("no table of the query goes by the alias \(alias)").at(
      table: nil, column: reference.name)
  }

  /// The table of a model under an alias, or under its own name or else any; nil where only SQL written by hand knows
  /// it.
  func source(of table: TableInfo, alias: String?) throws -> SelectQuery.Source? {
    if isFree { return nil }
    var scope: Scope? = self
    while let current = scope {
      let sources = current.sources.filter {
        $0.table.isOfSameModel(as: table) && (alias == nil || $0.alias.isExactly(alias))
      }
      if let source = sources.first(where: { $0.alias.isExactly(alias) }) ?? (sources.count == 1 ? sources[0] : nil) {
        if current !== self { try checkNotHidden(source, in: current) }
        return source
      }
      scope = current.outer
    }
    throw SqlError.invalidStatement("table \(alias ?? table.name) is searched, and is not in the query").at(
      table: table.name)
  }

  /// The table that is searched, here or around here; nil when there is none.
  func searched(_ table: TableInfo) throws -> SelectQuery.Source? {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.isSearched && $0.table.isOfSameModel(as: table) }) {
        if current !== self { try checkNotHidden(source, in: current) }
        return source
      }
      scope = current.outer
    }
    return nil
  }

  /// An alias of a query around that one is meant by a column that the nearer table of the alias has not.
  private func checkHidesNone(of reference: ColumnReference, _ alias: String, in inner: Scope) throws {
    var scope = inner.outer
    while let current = scope {
      for source in current.sources where source.alias?.isExactly(alias) == true {
        if source.table.position(of: reference) != nil { try checkNotHidden(source, in: current) }
      }
      scope = current.outer
    }
  }

  /// A name between here and the query of a table would be taken for it.
  private func checkNotHidden(_ source: SelectQuery.Source, in outer: Scope) throws {
    var scope: Scope? = self
    while let current = scope, current !== outer {
      guard !current.sources.contains(where: { $0.name.isSameName(as: source.name) }) else {
        throw SqlError.invalidStatement(
          "a subquery hides table \(source.name) of the query around it; one of them needs an alias"
        ).at(table: source.table.name)
      }
      scope = current.outer
    }
  }

  /// The table that a column is of, here or around here; nil where none has it.
  func tableName(of reference: ColumnReference) -> String? {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.table.position(of: reference) != nil }) {
        return source.table.name.isEmpty ? source.name : source.table.name
      }
      scope = current.outer
    }
    return nil
  }

  func missing(_ reference: ColumnReference) -> SqlError {
    let names = sources.map(\.table.name).reduce(into: [String]()) { names, name in
      if !names.contains(where: name.isExactly) { names.append(name) }
    }
    return SqlError(
      .schema(.missingColumn(reference.name)),
      message: "column \(reference.name) is not in the layout of table \(names.joined(separator: ", ")); "
        + "columns are static lets of the model",
      table: names.count == 1 ? table.name : nil, column: reference.name)
  }
}
