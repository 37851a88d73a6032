import SqlableCore

/// The foreign keys, possibly of several columns, that connect associated rows with their parent rows.
package struct AssociationPath: Sendable, Hashable {
  /// A foreign key between the rows of one table and the rows of the next table on the path.
  package enum Step: Sendable, Hashable {
    /// Columns of the next rows reference columns of the earlier rows.
    case referring([ColumnReference], to: [ColumnReference]?)
    /// Columns of the earlier rows reference columns of the next rows.
    case referred([ColumnReference], to: [ColumnReference]?)

    var isReferred: Bool { if case .referred = self { true } else { false } }
  }

  /// A table between the parent rows and the associated rows.
  package struct Link: Sendable, Hashable {
    /// The table, with an alias if the path passes the table again.
    package fileprivate(set) var source: SelectQuery.Source
    package let step: Step

    fileprivate mutating func read(fromDatabase database: String) {
      source.table = source.table.named(source.table.name, in: database)
    }
  }

  /// The tables between the parent rows and the associated rows, the table nearest to the parent rows first.
  package fileprivate(set) var links: [Link] = []
  package let step: Step

  /// The link table and its two foreign keys, if the path leads only through one link table; nil for any other path.
  package var linkTable: (table: TableInfo, from: [ColumnReference], to: [ColumnReference])? {
    guard links.count == 1, links[0].source.alias == nil else { return nil }
    guard case .referring(let from, nil) = links[0].step, case .referred(let to, nil) = step else { return nil }
    return (links[0].source.table, from, to)
  }

  /// True if every step follows a foreign key to the referenced row, so that a parent row has at most one associated
  /// row.
  package var isToOne: Bool { step.isReferred && links.allSatisfy(\.step.isReferred) }

  static func referring(_ foreignKey: [any ColumnConvertible], to key: [any ColumnConvertible]?) -> AssociationPath {
    AssociationPath(step: .referring(foreignKey.references, to: key?.references))
  }

  static func referred(_ foreignKey: [any ColumnConvertible], to key: [any ColumnConvertible]?) -> AssociationPath {
    AssociationPath(step: .referred(foreignKey.references, to: key?.references))
  }

  static func linked(
    _ link: TableInfo, from origin: [any ColumnConvertible], to destination: [any ColumnConvertible]
  ) -> AssociationPath {
    let link = Link(source: SelectQuery.Source(table: link), step: .referring(origin.references, to: nil))
    return AssociationPath(links: [link], step: .referred(destination.references, to: nil))
  }

  mutating func read(fromDatabase database: String) {
    for index in links.indices { links[index].read(fromDatabase: database) }
  }

  mutating func inherit(database: String) {
    for index in links.indices where links[index].source.table.database == nil {
      links[index].read(fromDatabase: database)
    }
  }
}

extension [any ColumnConvertible] {
  fileprivate var references: [ColumnReference] { map { ColumnReference($0.column) } }
}

// MARK: - Composing

extension AssociationLevel {
  /// Returns a level of the rows that `next` associates with the rows of this level. The filters of this level and of
  /// `next` apply. The rows are in the order of this level, then in the order of `next`.
  func followed(by next: AssociationLevel) -> AssociationLevel {
    var (first, level) = (self, next)
    if let database = query.table.database { level.inherit(database: database) }
    first.rename(beside: level)
    var link = SelectQuery.Source(table: first.query.table)
    link.alias = first.query.clauses.sources[0].alias
    level.path.links = first.path.links + [.init(source: link, step: path.step)] + level.path.links
    if let filter = first.query.clauses.filter { level.query.filter(filter) }
    level.query.clauses.order = first.query.clauses.order + level.query.clauses.order
    let limited = [self, next].first { $0.query.isLimited }
    if let limited {
      level.query.clauses.limit = nil
      level.query.clauses.offset = nil
      level.query.clauses.defect =
        .invalidStatement(
          "the associations passed as `through` and `using` can't have a limit; limit the resulting association"
        )
        .at(table: limited.query.table.name)
    }
    if let defect = first.query.clauses.defect ?? next.query.clauses.defect { level.query.clauses.defect = defect }
    return level
  }

  package var sources: [SelectQuery.Source] { query.clauses.sources + path.links.map(\.source) }

  /// Gives an alias to each table of this level that `next` uses again. A column without an alias then belongs to the
  /// table of `next`.
  private mutating func rename(beside next: AssociationLevel) {
    var takenNames = Set((sources + next.sources).map(\.name.foldedName))
    for level in [self, next] { level.query.visit({ _ in }, { takenNames.insert($0.name.foldedName) }) }
    let nextNames = next.sources.map(\.name)
    func alias(_ source: SelectQuery.Source) -> String? {
      guard nextNames.contains(where: { $0.isSameName(as: source.name) }) else { return nil }
      var number = 2
      while !takenNames.insert("\(source.table.name)_\(number)".foldedName).inserted { number += 1 }
      return "\(source.table.name)_\(number)"
    }
    for index in path.links.indices {
      guard let name = alias(path.links[index].source) else { continue }
      query.clauses.rename(path.links[index].source, name)
      path.links[index].source.alias = name
    }
    if let name = alias(query.clauses.sources[0]) {
      query.clauses.rename(query.clauses.sources[0], name)
      query.clauses.sources[0].alias = name
    }
  }
}

extension SelectQuery.Clauses {
  fileprivate mutating func rename(_ source: SelectQuery.Source, _ name: String) {
    func renamed(_ term: SqlExpression) -> SqlExpression {
      guard let alias = source.alias else {
        return term.replacing(source.table) {
          SqlExpression(.qualified(alias: name, ColumnReference(source.table.columns[$0])))
        }
      }
      return term.replacing(alias: alias, with: name)
    }
    if filter?.hasText == true || order.contains(where: \.expression.hasText) {
      defect = .invalidStatement("an association that joins a table twice can't contain SQL text").at(
        table: source.table.name)
    }
    filter = filter.map(renamed)
    order = order.map { OrderTerm(expression: renamed($0.expression), direction: $0.direction) }
  }
}

extension SqlExpression {
  /// Returns the term with an alias replaced, also in nested queries that do not define the alias themselves.
  fileprivate func replacing(alias: String, with name: String) -> SqlExpression {
    if case .qualified(let other, let column) = node, other.isExactly(alias) {
      return SqlExpression(.qualified(alias: name, column))
    }
    return mapped({ $0.replacing(alias: alias, with: name) }, { $0.replacing(alias: alias, with: name) })
  }
}

extension SelectQuery {
  fileprivate func replacing(alias: String, with name: String) -> SelectQuery {
    guard !clauses.sources.contains(where: { $0.name.isSameName(as: alias) }) else { return self }
    var query = self
    query.clauses.mapTerms(
      { $0.replacing(alias: alias, with: name) }, { $0.replacing(alias: alias, with: name) })
    return query
  }
}

// MARK: - Resolving

package struct ResolvedStep {
  package let earlier: SelectQuery.Source
  package let next: SelectQuery.Source
  /// The pairs of columns that the association compares, as positions in the two tables.
  fileprivate let pairs: [(earlier: Int, next: Int)]

  package var earlierColumns: [Column] { pairs.map { earlier.table.columns[$0.earlier] } }
  package var nextColumns: [Column] { pairs.map { next.table.columns[$0.next] } }

  fileprivate var condition: SqlExpression { .equal(next.terms(nextColumns), earlier.terms(earlierColumns)) }
}

/// An association path with resolved and checked columns. `parentPositions`, `columns`, `terms`, `positions` and
/// `collations` have the same order.
package struct ResolvedPath {
  /// The positions, in a parent row, of the values that connect the row with its associated rows.
  package let parentPositions: [Int]
  /// The columns with the connecting values. They are columns of the associated table, or of the first table of the
  /// path.
  package let columns: [Column]
  let terms: [SqlExpression]
  /// The positions of `columns` in the associated rows; nil if `columns` belong to another table of the path.
  let positions: [Int]?
  let collations: [Collate]
  /// The tables between the associated rows and the parent rows, beginning at the associated rows, with the conditions
  /// that join these tables.
  let joins: [(source: SelectQuery.Source, condition: SqlExpression)]

  var term: SqlExpression { .row(terms) }

  fileprivate init(_ steps: [ResolvedStep]) throws {
    let first = steps[0]
    // If the operand of IN is a row value, SQLite 3.40 checks every index column against the type and collation of the
    // row value's first column. If the first column contains numbers, SQLite therefore can't use an index that also
    // contains texts; the same applies to different collations. So columns with the collation BINARY come first, and
    // texts come before numbers.
    func rank(_ pair: (earlier: Int, next: Int)) -> Int {
      let column = first.next.table.columns[pair.next]
      let isText = column.type.storageClass == .text || column.type.storageClass == .blob
      return (isText ? 0 : 1) + (column.definition.options.collation ?? .binary == .binary ? 0 : 2)
    }
    let ordered = (0..<4).flatMap { value in first.pairs.filter { rank($0) == value } }
    parentPositions = ordered.map(\.earlier)
    let positions = ordered.map(\.next)
    columns = positions.map { first.next.table.columns[$0] }
    terms = first.next.terms(columns)
    collations = try columns.map { try $0.groupingCollation(in: first.next.table) }
    self.positions = steps.count == 1 ? positions : nil
    joins = steps.dropFirst().reversed().map { ($0.earlier, $0.condition) }
  }
}

extension SelectQuery.Source {
  fileprivate func terms(_ columns: [Column]) -> [SqlExpression] {
    columns.map { column in
      let reference = ColumnReference(column)
      return SqlExpression(alias.map { .qualified(alias: $0, reference) } ?? .column(reference))
    }
  }
}

extension [Column] {
  var terms: [SqlExpression] { map { SqlExpression(.column(ColumnReference($0))) } }
}

extension SqlExpression {
  static func equal(_ terms: [SqlExpression], _ others: [SqlExpression]) -> SqlExpression {
    .all(zip(terms, others).map { SqlExpression(.binary(.equal, $0, $1)) })
  }
}

extension AssociationLevel {
  /// Resolves the columns that connect the level's rows with the rows of a parent table. Throws if the declarations
  /// contradict the path.
  func resolvedPath(under parentTable: TableInfo) throws -> ResolvedPath {
    try ResolvedPath(try resolvedSteps(under: parentTable))
  }

  package func resolvedSteps(under parentTable: TableInfo) throws -> [ResolvedStep] {
    let canPassKey = path.linkTable == nil
    var earlier = SelectQuery.Source(table: parentTable)
    let nexts = path.links.map { ($0.source, $0.step) } + [(SelectQuery.Source(table: query.table), path.step)]
    return try nexts.map { next, step in
      try next.table.checkDeclarations()
      defer { earlier = next }
      switch step {
      case .referring(let foreignKey, let key):
        let pairs = try next.table.pairs(
          referring: foreignKey, to: earlier.table, expecting: key, canPassKey: canPassKey)
        return ResolvedStep(earlier: earlier, next: next, pairs: pairs.map { ($0.key, $0.foreignKey) })
      case .referred(let foreignKey, let key):
        let pairs = try earlier.table.pairs(
          referring: foreignKey, to: next.table, expecting: key, canPassKey: canPassKey)
        return ResolvedStep(earlier: earlier, next: next, pairs: pairs.map { ($0.foreignKey, $0.key) })
      }
    }
  }
}

extension TableInfo {
  /// Returns the positions of a foreign key's columns, each with the position of its referenced column in `other`.
  fileprivate func pairs(
    referring foreignKey: [ColumnReference], to other: TableInfo, expecting key: [ColumnReference]?, canPassKey: Bool
  ) throws -> [(foreignKey: Int, key: Int)] {
    let keys = try positions(referredToBy: foreignKey, in: other, expecting: key, canPassKey: canPassKey)
    return try zip(try foreignKey.map(requiredPosition(of:)), keys).map { foreignKey, key in
      try columns[foreignKey].checkRefers(to: other.columns[key], from: self)
      return (foreignKey, key)
    }
  }
}
