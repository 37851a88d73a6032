/// The tables whose columns a term can use: the tables of the term's query and of the enclosing queries.
package final class Scope: Sendable {
  package let sources: [SelectQuery.Source]
  package let outer: Scope?
  /// True if the scope is one table without an alias, whose columns need no qualifier.
  let isPlain: Bool
  /// True if the scope represents SQL text. The text's tables are unknown, so any column is allowed.
  package let isFree: Bool
  /// True if the scope is inside SQL text, whose tables are unknown.
  let isInText: Bool
  let named: [String]

  /// Creates the scope of a statement with one table. `outer` contains the rows of a trigger.
  package init(_ table: TableInfo, isInText: Bool = false, outer: Scope? = nil) {
    self.isInText = isInText
    sources = [SelectQuery.Source(table: table)]
    self.outer = outer
    isPlain = true
    isFree = false
    named = []
  }

  /// The scope for writing a cache key, which looks up no columns.
  static let none = Scope(TableInfo.none)

  package init() {
    sources = []
    outer = nil
    isPlain = false
    isFree = true
    isInText = true
    named = []
  }

  /// Creates the scope of a query. Throws if two tables have the same name.
  package init(_ sources: [SelectQuery.Source], outer: Scope?, named: [String] = [], isInText: Bool = false) throws {
    self.sources = sources
    self.isInText = isInText || outer?.isInText == true
    self.outer = outer
    self.named = named
    // A query that searches a full-text index is not plain, because the index has columns with the same names as its
    // table.
    isPlain =
      sources.count == 1 && sources[0].alias == nil && outer == nil
      && !(sources[0].isSearched && sources[0].table.fullText?.isExternal == true)
    isFree = false
    guard sources.count > 1 else { return }
    var names: Set<[UInt8]> = []
    for source in sources where !names.insert(source.name.foldedName).inserted {
      throw SqlError.invalidStatement(
        "two tables of the query are named \(source.name); use an alias"
      ).at(table: source.table.name)
    }
  }

  /// Creates the scope of a join condition: the first tables of a query. The scope `whole` has already checked that the
  /// tables' names differ.
  init(first sources: ArraySlice<SelectQuery.Source>, of whole: Scope) {
    self.sources = Array(sources)
    (outer, named, isInText) = (whole.outer, whole.named, whole.isInText)
    (isPlain, isFree) = (false, false)
  }

  package convenience init(upsertingInto table: TableInfo) throws {
    var newRow = SelectQuery.Source(table: table)
    newRow.alias = Upsert.newRow
    try self.init([SelectQuery.Source(table: table), newRow], outer: nil)
  }

  package convenience init(triggeredBy table: TableInfo, _ rows: [TriggerRow]) throws {
    let sources = rows.map { row in
      var source = SelectQuery.Source(table: table)
      source.alias = row.rawValue
      return source
    }
    try self.init(sources, outer: nil)
  }

  /// Returns the scope for ORDER BY. If a combined query begins with literal rows, this is the scope of the first part
  /// that has tables.
  package func forOrder(of clauses: SelectQuery.Clauses) throws -> Scope {
    guard clauses.sources.isEmpty, let first = clauses.compounds.first(where: { !$0.query.clauses.sources.isEmpty })
    else { return self }
    return try Scope(first.query.clauses.sources, outer: outer)
  }

  package var table: TableInfo { sources.first?.table ?? .none }

  package struct ResolvedColumn {
    /// The name of the column's table, if the SQL must contain the name.
    package let qualifier: String?
    package let column: ColumnDefinition
    /// The column's table, if the table has an alias and the reference has no alias.
    package var aliasedTable: TableInfo? = nil
  }

  /// Finds the table of a column reference that names no alias. First searches the tables without an alias of this
  /// query and all outer queries, from the inner query outward. Then searches the tables with an alias in the same
  /// order.
  package func find(_ reference: ColumnReference) throws -> ResolvedColumn {
    if let resolved = try find(
      reference, at: { source, definition in source.table.columns.firstIndex { $0.definition === definition } })
    {
      return resolved
    }
    // Find the column by name: a decoded reference has no declaration, and a computed `static var` creates a new
    // declaration at each use.
    if let resolved = try find(reference, at: { source, _ in source.table.position(of: reference) }) { return resolved }
    guard let free = try freeColumn(reference) else { throw missing(reference) }
    return ResolvedColumn(qualifier: nil, column: free)
  }

  /// Returns a column whose table is known only to the enclosing SQL text.
  private func freeColumn(_ reference: ColumnReference) throws -> ColumnDefinition? {
    var scope = self
    while !scope.isFree {
      guard let outer = scope.outer else { return nil }
      guard !scope.sources.contains(where: { $0.table.columns.contains { $0.name.isSameName(as: reference.name) } })
      else {
        throw SqlError.invalidStatement("a table of the subquery hides column \(reference.name) of the enclosing SQL")
          .at(
            table: scope.table.name, column: reference.name)
      }
      scope = outer
    }
    return reference.definition
  }

  private func find(
    _ reference: ColumnReference, at position: (SelectQuery.Source, ColumnDefinition?) -> Int?
  ) throws -> ResolvedColumn? {
    if let resolved = try find(reference, isAliased: false, at: position) { return resolved }
    guard let resolved = try find(reference, isAliased: true, at: position) else { return nil }
    // The enclosing SQL text might also read the table without an alias, and the column might belong to that table.
    // Without this error, the column would silently refer to the aliased table.
    guard !isInText else {
      throw SqlError.invalidStatement(
        "column \(reference.name) is ambiguous: the column might belong to alias \(resolved.qualifier ?? "") or to "
          + "the enclosing SQL; write alias[column]"
      ).at(table: nil, column: reference.name)
    }
    return resolved
  }

  private func find(
    _ reference: ColumnReference, isAliased: Bool, at position: (SelectQuery.Source, ColumnDefinition?) -> Int?
  ) throws -> ResolvedColumn? {
    let definition = reference.definition
    var scope: Scope? = self
    while let current = scope {
      let matches = current.sources.filter { ($0.alias != nil) == isAliased }
        .compactMap { source in position(source, definition).map { (source, $0) } }
      if matches.count > 1 {
        throw SqlError.invalidStatement(
          "column \(reference.name) is ambiguous: several tables of the query have it; use an alias"
        ).at(table: matches[0].0.table.name, column: reference.name)
      }
      if let (source, position) = matches.first {
        if current !== self { try checkNotHidden(source, in: current) }
        return ResolvedColumn(
          qualifier: !current.isPlain || current !== self ? source.name : nil,
          column: source.table.columns[position].definition,
          aliasedTable: isAliased ? source.table : nil)
      }
      scope = current.outer
    }
    return nil
  }

  func find(_ reference: ColumnReference, ofAlias alias: String) throws -> ResolvedColumn {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.alias?.isExactly(alias) == true }) {
        guard let position = source.table.position(of: reference) else {
          try checkHidesNone(of: reference, alias, in: current)
          throw missing(reference)
        }
        if current !== self { try checkNotHidden(source, in: current) }
        return ResolvedColumn(qualifier: source.name, column: source.table.columns[position].definition)
      }
      if current.isFree, let column = reference.definition { return ResolvedColumn(qualifier: alias, column: column) }
      scope = current.outer
    }
    throw SqlError.invalidStatement("the query has no table with the alias \(alias)").at(
      table: nil, column: reference.name)
  }

  /// Finds a model's table by its alias. If `alias` is nil, prefers a table without an alias; otherwise takes the
  /// model's only table. Returns nil for tables known only to SQL text.
  func source(of table: TableInfo, alias: String?) throws -> SelectQuery.Source? {
    if isFree { return nil }
    var scope: Scope? = self
    while let current = scope {
      let sources = current.sources.filter {
        $0.table.hasSameModel(as: table) && (alias == nil || $0.alias.isExactly(alias))
      }
      if let source = sources.first(where: { $0.alias.isExactly(alias) }) ?? (sources.count == 1 ? sources[0] : nil) {
        if current !== self { try checkNotHidden(source, in: current) }
        return source
      }
      scope = current.outer
    }
    throw SqlError.invalidStatement(
      "a full-text condition searches table \(alias ?? table.name), but the query does not read this table"
    ).at(table: table.name)
  }

  func searched(_ table: TableInfo) throws -> SelectQuery.Source? {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.isSearched && $0.table.hasSameModel(as: table) }) {
        if current !== self { try checkNotHidden(source, in: current) }
        return source
      }
      scope = current.outer
    }
    return nil
  }

  /// Returns a column in the term that belongs to an enclosing query; nil if there is no such column. Does not search
  /// the term's subqueries.
  func outerColumn(of term: SqlExpression) -> ColumnReference? {
    func isOutside(_ isSource: (SelectQuery.Source) -> Bool) -> Bool? {
      if sources.contains(where: isSource) { return false }
      var scope = outer
      while let current = scope {
        if current.sources.contains(where: isSource) { return true }
        scope = current.outer
      }
      return nil
    }
    switch term.node {
    case .column(let reference):
      // A table without an alias takes precedence, even if only the outer query has it.
      let isOuter =
        isOutside { $0.alias == nil && $0.table.position(of: reference) != nil }
        ?? isOutside { $0.table.position(of: reference) != nil }
      return isOuter == true ? reference : nil
    case .qualified(let alias, let reference):
      // In a trigger, SQLite resolves `old` and `new` in subqueries of any depth.
      if TriggerRow(rawValue: alias) != nil { return nil }
      return isOutside({ $0.alias.isExactly(alias) }) == true ? reference : nil
    default:
      for part in term.node.terms { if let column = outerColumn(of: part) { return column } }
      return nil
    }
  }

  /// Throws if a table of an enclosing query also has this alias and this column, because the nearer table hides the
  /// outer table.
  private func checkHidesNone(of reference: ColumnReference, _ alias: String, in inner: Scope) throws {
    var scope = inner.outer
    while let current = scope {
      for source in current.sources where source.alias?.isExactly(alias) == true {
        if source.table.position(of: reference) != nil { try checkNotHidden(source, in: current) }
      }
      scope = current.outer
    }
  }

  /// Throws if this query, or a query between this query and `outer`, has a table with the name of `source`.
  private func checkNotHidden(_ source: SelectQuery.Source, in outer: Scope) throws {
    var scope: Scope? = self
    while let current = scope, current !== outer {
      guard !current.sources.contains(where: { $0.name.isSameName(as: source.name) }) else {
        throw SqlError.invalidStatement(
          "a subquery hides table \(source.name) of the enclosing query; use an alias"
        ).at(table: source.table.name)
      }
      scope = current.outer
    }
  }

  /// Returns the name of the table that has a column. Searches the tables of this query and of the enclosing queries;
  /// nil if no table has the column.
  package func tableName(of reference: ColumnReference) -> String? {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.table.position(of: reference) != nil }) {
        return source.table.name.isEmpty ? source.name : source.table.name
      }
      scope = current.outer
    }
    return nil
  }

  package func missing(_ reference: ColumnReference) -> SqlError {
    if sources.isEmpty, let outer { return outer.missing(reference) }
    let names = sources.map { $0.table.name.isEmpty ? $0.name : $0.table.name }
    return .missing(reference, in: sources.map(\.table), named: names)
  }
}
