/// The tables whose columns a term may name: those of its own query, and of the queries around it.
final class Scope {
  let sources: [SelectQuery.Source]
  let outer: Scope?
  /// Whether it is one table under its own name, whose columns need no table before them.
  let isPlain: Bool

  /// The table of a statement about one.
  init(_ table: TableInfo) {
    sources = [SelectQuery.Source(table: table)]
    outer = nil
    isPlain = true
  }

  /// The tables of a query. Throws when two go by one name.
  init(_ sources: [SelectQuery.Source], outer: Scope?) throws {
    self.sources = sources
    self.outer = outer
    isPlain = sources.count == 1 && sources[0].alias == nil && outer == nil
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.name.isSameName(as: source.name) }) {
      throw SqlError.invalidStatement(
        "two tables of a query go by the name \(source.name); one of them needs an alias"
      ).at(table: source.table.name)
    }
  }

  /// The first table, to which what is no column belongs.
  var table: TableInfo { sources[0].table }

  /// Where a column was found.
  struct Found {
    let source: SelectQuery.Source
    /// Whether it has to be written with the name of its table.
    let isQualified: Bool
  }

  /// The table of a column and its position there: in the innermost query that has it under its own name, else in the
  /// innermost that has it under an alias.
  func find(_ reference: ColumnReference) throws -> (Found, position: Int) {
    guard let found = try find(reference, isAliased: false) ?? find(reference, isAliased: true) else {
      throw missing(reference)
    }
    return found
  }

  private func find(_ reference: ColumnReference, isAliased: Bool) throws -> (Found, position: Int)? {
    var scope: Scope? = self
    while let current = scope {
      let found = current.sources.filter { ($0.alias != nil) == isAliased }
        .compactMap { source in source.table.position(of: reference).map { (source, $0) } }
      if found.count > 1 {
        throw SqlError.invalidStatement(
          "column \(reference.name) is one of several tables of the query; an alias says of which"
        ).at(table: found[0].0.table.name, column: reference.name)
      }
      if let (source, position) = found.first {
        if current !== self { try checkNotHidden(source, in: current) }
        return (Found(source: source, isQualified: !current.isPlain || current !== self), position)
      }
      scope = current.outer
    }
    return nil
  }

  /// The table that goes by an alias, and the position of its column.
  func find(_ reference: ColumnReference, ofAlias alias: String) throws -> (SelectQuery.Source, position: Int) {
    var scope: Scope? = self
    while let current = scope {
      if let source = current.sources.first(where: { $0.alias == alias }) {
        guard let position = source.table.position(of: reference) else { throw missing(reference) }
        if current !== self { try checkNotHidden(source, in: current) }
        return (source, position)
      }
      scope = current.outer
    }
    throw SqlError.invalidStatement("no table of the query goes by the alias \(alias)").at(
      table: nil, column: reference.name)
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

  func missing(_ reference: ColumnReference) -> SqlError {
    let names = sources.map(\.table.name).joined(separator: ", ")
    return SqlError(
      .schema(.missingColumn(reference.name)),
      message: "column \(reference.name) is not in the layout of table \(names); columns are static lets of the model",
      table: sources.count == 1 ? table.name : nil, column: reference.name)
  }
}

extension TableInfo {
  func position(of reference: ColumnReference) -> Int? {
    reference.definition.map(position(of:)) ?? position(named: reference.name)
  }
}
