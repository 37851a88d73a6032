/// One level of associated rows: which rows there are, and how they belong to those of the level above.
struct AssociationLevel: Sendable, Hashable {
  enum Form: Sendable, Hashable { case rows, count }

  /// The rows, with their filter, their order, and the limit for each row above.
  var query: SelectQuery
  private(set) var path: AssociationPath
  var form = Form.rows
  var below: [AssociationLevel] = []

  init(_ query: SelectQuery, _ path: AssociationPath) { (self.query, self.path) = (query, path) }

  /// Reads from the tables of an attached database.
  mutating func read(fromDatabase database: String) {
    query.clauses.read(fromDatabase: database)
    guard case .linked(let link, let from, let to) = path else { return }
    path = .linked(link.named(link.name, in: database), from: from, to: to)
  }
}

/// How rows belong to those of the level above.
enum AssociationPath: Sendable, Hashable {
  /// A column of the rows refers to a column of the rows above.
  case referring(ColumnReference, to: ColumnReference?)
  /// A column of the rows above refers to a column of the rows.
  case referred(ColumnReference, to: ColumnReference?)
  /// The rows of a third table refer to both.
  case linked(TableInfo, from: ColumnReference, to: ColumnReference)

  static func referring(_ foreignKey: any ColumnConvertible, to key: (any ColumnConvertible)?) -> AssociationPath {
    .referring(ColumnReference(foreignKey.column), to: key.map { ColumnReference($0.column) })
  }

  static func referred(_ foreignKey: any ColumnConvertible, to key: (any ColumnConvertible)?) -> AssociationPath {
    .referred(ColumnReference(foreignKey.column), to: key.map { ColumnReference($0.column) })
  }
}

/// A path whose columns were found in the tables, and checked.
private struct FoundPath {
  /// The position, in a row above, of the value by which it has its rows.
  let position: Int
  /// The column that has this value, and its position in the rows; nil if it is in a table between them.
  let column: Column
  let group: Int?
  /// The table between them, and the condition that joins it.
  var link: (table: TableInfo, isJoined: SqlExpression)?

  var term: SqlExpression { SqlExpression(.column(ColumnReference(column))) }
}

/// A query for the rows of a level, and how its rows are read.
struct LevelQuery {
  let query: SelectQuery
  /// The columns as those of models, also where `query` gives them other names.
  let columns: [ResultColumn]
}

/// Where the rows of a level have the value by which they belong to a row above, and how SQLite compares it.
struct LevelGroups {
  /// The position in a row above.
  let above: Int
  /// The position in the rows.
  let position: Int
  let collation: Collate
}

extension AssociationLevel {
  /// Where the rows have what connects them with the rows of a table. Throws if the declarations contradict the path.
  func groups(under table: TableInfo) throws -> LevelGroups {
    let path = try found(under: table)
    let own = try query.checkedTable
    return LevelGroups(
      above: path.position, position: form == .count ? 0 : path.group ?? own.count,
      collation: try path.column.groupingCollation(in: path.link?.table ?? own))
  }

  /// The read of the rows that belong to rows with these values; nil if none can.
  func rows(of values: [DatabaseValue], under table: TableInfo) throws -> LevelQuery? {
    let wanted = Set(values.filter { $0 != .null })
    guard !wanted.isEmpty else { return nil }
    let path = try found(under: table)
    var rows = query
    if let link = path.link { rows.join(SelectQuery.Source(table: link.table), .inner, on: link.isJoined) }
    rows.filter(SqlExpression(.isIn(path.term, Array(wanted))))
    switch form {
    case .count:
      if rows.isLimited { rows.clauses.defect = .invalidStatement("a count of associated rows can't have a limit") }
      rows.clauses.results = [
        .term(path.term), .term(SqlExpression(.call(.init(function: .countRows, arguments: [])))),
      ]
      rows.clauses.groups = [path.term]
      rows.clauses.order = []
    case .rows:
      if path.group == nil { rows.clauses.results.append(.term(path.term)) }
      if rows.isLimited { return rows.ranked(by: path.term, beside: path.link?.table) }
    }
    return LevelQuery(query: rows, columns: rows.clauses.columns)
  }

  /// Whether rows belong to a row of a model.
  func existence(under model: (some Sqlable).Type) -> SqlExpression {
    do { return try existence(under: TableInfo.of(model)) } catch { return SqlExpression(invalid: error) }
  }

  private func existence(under table: TableInfo) throws -> SqlExpression {
    guard !query.isLimited else {
      throw SqlError.invalidStatement("rows that must exist can't have a limit").at(table: query.table.name)
    }
    let path = try found(under: table)
    var rows = query
    rows.clauses.order = []
    if let link = path.link {
      // Two lists, so that no table needs a name of its own.
      guard case .linked(_, _, let destination) = self.path else { return SqlExpression(.value(.null)) }
      let own = try query.checkedTable
      let key = try own.columns[link.table.position(referredToBy: destination, in: own, wanted: nil)]
      rows.clauses.results = [.term(SqlExpression(.column(ColumnReference(key))))]
      var links = SelectQuery(of: link.table)
      links.filter(SqlExpression(.column(destination)).isIn(rows))
      rows = links
    }
    if path.column.type.isNullable { rows.filter(path.term.isNotNull) }
    rows.clauses.results = [.term(path.term)]
    let value = SqlExpression(.column(ColumnReference(table.columns[path.position])))
    let isAmong = value.isIn(rows)
    return table.columns[path.position].type.isNullable ? value.isNotNull && isAmong : isAmong
  }

  private func found(under table: TableInfo) throws -> FoundPath {
    let own = try query.checkedTable
    switch path {
    case .referring(let foreignKey, let key):
      let position = try own.position(referredToBy: foreignKey, in: table, wanted: key)
      let group = try own.foundPosition(of: foreignKey)
      try own.columns[group].checkRefers(to: table.columns[position], from: own)
      return FoundPath(position: position, column: own.columns[group], group: group)
    case .referred(let foreignKey, let key):
      let group = try table.position(referredToBy: foreignKey, in: own, wanted: key)
      let position = try table.foundPosition(of: foreignKey)
      try table.columns[position].checkRefers(to: own.columns[group], from: table)
      return FoundPath(position: position, column: own.columns[group], group: group)
    case .linked(let link, let from, let to):
      if let defect = link.defect { throw defect }
      let position = try link.position(referredToBy: from, in: table, wanted: nil)
      let key = try link.position(referredToBy: to, in: own, wanted: nil)
      let (origin, destination) = (try link.foundPosition(of: from), try link.foundPosition(of: to))
      try link.columns[origin].checkRefers(to: table.columns[position], from: link)
      try link.columns[destination].checkRefers(to: own.columns[key], from: link)
      let (target, other) = (own.columns[key], link.columns[destination])
      let isJoined = SqlExpression(
        .binary(.equal, SqlExpression(.column(ColumnReference(target))), SqlExpression(.column(ColumnReference(other))))
      )
      return FoundPath(position: position, column: link.columns[origin], group: nil, link: (link, isJoined))
    }
  }
}

extension SelectQuery {
  /// The table. Throws if its model's declarations are inconsistent.
  fileprivate var checkedTable: TableInfo {
    get throws {
      if let defect = table.defect { throw defect }
      return table
    }
  }

  /// The rows whose number, among those with the same value of a term, is within the limit and offset.
  fileprivate func ranked(by group: SqlExpression, beside link: TableInfo?) -> LevelQuery {
    var numbered = self
    let columns = clauses.columns
    let number = SqlExpression(
      .call(
        .init(function: .builtIn(.rowNumber), arguments: [], window: .init(partition: [group], order: clauses.order))))
    (numbered.clauses.order, numbered.clauses.limit, numbered.clauses.offset) = ([], nil, nil)
    numbered.clauses.results.append(.term(number))
    var source = Source(table: TableInfo.columns(of: columns.map { $0.type ?? .blob } + [.integer]))
    let isTaken = [table, link].contains { $0?.name.isSameName(as: "ranked") == true }
    let name = isTaken ? "ranked_rows" : "ranked"
    source.alias = name
    source.define(numbered)
    let terms = source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
    var query = SelectQuery(source, results: terms.dropLast().map { .term($0) })
    let place = terms[terms.count - 1]
    do throws(SqlError) {
      let skipped = try clauses.offset.map { value throws(SqlError) in try count(value, "an offset") } ?? 0
      if let limit = clauses.limit {
        let (last, isBeyond) = try count(limit, "a limit").addingReportingOverflow(skipped)
        query.filter(SqlExpression(.binary(.lessOrEqual, place, SqlExpression(isBeyond ? Int.max : last))))
      }
      if skipped > 0 { query.filter(SqlExpression(.binary(.greater, place, SqlExpression(skipped)))) }
    } catch {
      query.clauses.defect = error
    }
    query.clauses.order = [OrderTerm(expression: place, order: .asc)]
    return LevelQuery(query: query, columns: columns)
  }

  private func count(_ count: SelectQuery.RowCount, _ name: String) throws(SqlError) -> Int {
    guard let number = count.number else {
      throw .invalidStatement("\(name) of associated rows must be a number").at(table: table.name)
    }
    guard number >= 0 else { throw .invalidStatement("\(name) can't be negative").at(table: table.name) }
    return number
  }
}
