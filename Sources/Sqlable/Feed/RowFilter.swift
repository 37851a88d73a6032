import Synchronization

/// Tells whether a row meets a statement's filter, as SQLite decides it.
final class RowFilter: Sendable {
  /// What makes two filters the same.
  struct Key: Hashable {
    /// Whether there is a row that meets the filter.
    let question: SelectQuery
    let table: String
    let columns: [ComparedColumn]

    /// Nil for a statement without a filter, and for one that a row alone can't decide: with subqueries, functions,
    /// chance.
    init?(_ query: SelectQuery, _ columns: [ComparedColumn]) {
      let table = query.table
      // What ANY means depends on the table's being STRICT. What the order depends on beside the rows themselves may be
      // changed by rows that are not among them. A column that the table does not have is its rowid, which is another
      // one in the copy.
      let names = Set(columns.map(\.name.foldedName))
      guard let filter = query.filter, filter.isOfOneRow, query.clauses.order.allSatisfy(\.expression.isOfOneRow),
        filter.columns.allSatisfy({ names.contains($0.foldedName) }), table.fullText == nil,
        !columns.contains(where: { $0.type.isSameName(as: "ANY") })
      else { return nil }
      var question = SelectQuery(.exists, of: table)
      question.filter(filter)
      self.question = question
      self.table = table.name
      self.columns = columns
    }
  }

  /// No other filter's, ever: an address may come again.
  private let id = RowFilter.count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)
  private let key: Key
  private let tables: FilterTables
  /// The values that the filter demands of columns, most often of the id.
  let demands: [RowDemand]
  /// Whether it demands nothing else.
  private let isDemandsOnly: Bool
  /// The names of the table's columns, in their order.
  let columns: [String]
  /// Whether it has LIKE, of which a connection may have another one than SQLite's usual: `PRAGMA case_sensitive_like`.
  private let usesLike: Bool

  init(_ key: Key, _ tables: FilterTables) {
    self.key = key
    self.tables = tables
    columns = key.columns.map(\.name)
    usesLike = key.question.filter?.usesLike ?? false
    demands = (key.question.filter?.demandedValues ?? []).compactMap { column, value in
      key.columns.firstIndex { $0.name.isSameName(as: column) }.flatMap {
        RowDemand(value, of: key.columns[$0], at: $0)
      }
    }
    isDemandsOnly = key.question.filter?.termCount == demands.count
  }

  /// Whether the row, by the values that are demanded, did not meet the filter before its change and does not now.
  func excludes(_ row: RowImages) -> Bool {
    guard row.columns == columns else { return false }
    return demands.contains { demand in [row.old, row.new].allSatisfy { image in image.map(demand.excludes) ?? true } }
  }

  /// Whether the row, by the values that are demanded, met the filter before its change, or does now.
  func takes(_ row: RowImages) -> Bool {
    guard isDemandsOnly, row.columns == columns else { return false }
    return [row.old, row.new].contains { image in
      image.map { values in demands.allSatisfy { $0.isMet(by: values) } } ?? false
    }
  }

  /// Whether one of the rows met the filter before its change, or meets it now. What is found out is noted with the
  /// row, for other loops over the same statement.
  func concerns(_ rows: [RowImages]) throws -> Bool {
    var open: [RowImages] = []
    for row in rows {
      switch row.verdict(of: id) {
      case true: return true
      case nil: open.append(row)
      case false: break
      }
    }
    guard let last = open.last else { return false }
    // Where values are demanded, it is one that has them, and most often meets the rest too.
    if !demands.isEmpty {
      open.removeLast()
      let concerns = try isMet(byAnyOf: [last])
      last.note(concerns, of: id)
      if concerns { return true }
    }
    guard !open.isEmpty else { return false }
    // All at once: most often it is none of them.
    if try !isMet(byAnyOf: open) {
      for row in open { row.note(false, of: id) }
      return false
    }
    for row in open {
      let concerns = try open.count == 1 || isMet(byAnyOf: [row])
      row.note(concerns, of: id)
      if concerns { break }
    }
    return true
  }

  private func isMet(byAnyOf rows: [RowImages]) throws -> Bool {
    let images = rows.flatMap { [$0.old, $0.new].compactMap { $0 } }
    guard images.allSatisfy({ $0.count == key.columns.count }) else { return true }
    func isMet(_ like: FilterTables.Like) throws -> Bool {
      try tables.holds(images, key.table, key.columns, like) { db in try db.integer(of: key.question) != 0 }
    }
    // Each reader may have either LIKE. Under NOT the one is met by rows that the other is not.
    return try isMet(.usual) || (usesLike && isMet(.caseSensitive))
  }
}

/// Tables in memory whose columns compare as those of the real ones do, for filters to be tried on: one handle for all
/// filters of a pool.
final class FilterTables: Sendable {
  private struct State {
    var database: SqliteDatabase?
    /// By the tables' folded names.
    var columns: [[UInt8]: [ComparedColumn]] = [:]
  }

  /// What LIKE makes of the letters A to Z.
  enum Like {
    case usual, caseSensitive
  }

  private let root: SqliteDatabase
  private let state = Guarded(State())
  /// The same with the other LIKE, in a database of its own: to change it would have every statement compiled anew.
  private let caseSensitive = Guarded(State())

  init(root: SqliteDatabase) { self.root = root }

  /// What `question` says of a table that has these rows and no others.
  func holds(
    _ rows: [[DatabaseValue]], _ table: String, _ columns: [ComparedColumn], _ like: Like,
    _ question: (SqliteDatabase) throws -> Bool
  ) throws -> Bool {
    try (like == .usual ? state : caseSensitive).withLock { state in
      let db = try state.database ?? open(like)
      state.database = db
      // The next question gets another.
      defer { if db.connection?.isLost == true { state = State() } }
      let name = table.foldedName
      if state.columns[name] != columns {
        state.columns[name] = nil
        try db.execute("DROP TABLE IF EXISTS \(table: table)")
        let definitions = columns.map { column in
          let type = column.type.isEmpty ? "" : column.type.quotedName
          return "\(column.name.quotedName) \(type) COLLATE \(column.collation.quotedName)"
        }
        try db.execute(SQL(verbatim: "CREATE TABLE \(table.quotedName) (\(definitions.joined(separator: ", ")))"))
        state.columns[name] = columns
      }
      var holds = false
      // By `query`, which keeps what it has compiled.
      try db.transaction { db -> TransactionResult in
        for row in rows { try db.query("INSERT INTO \(table: table) VALUES (\(row))") { _ in } }
        holds = try question(db)
        return .rollback
      }
      return holds
    }
  }
}

extension FilterTables {
  private func open(_ like: Like) throws -> SqliteDatabase {
    let db = try root.scratch()
    if like == .caseSensitive { try db.execute("PRAGMA case_sensitive_like = ON") }
    return db
  }
}

extension SqlExpression {
  fileprivate var usesLike: Bool {
    if case .like = node { return true }
    return node.terms.contains(where: \.usesLike)
  }

  /// Whether it depends on the values of one row and nothing else.
  fileprivate var isOfOneRow: Bool {
    switch node {
    case .column, .value: true
    case .all, .any, .not, .negative, .binary, .isNull, .isNotNull, .between, .isIn, .like, .collate:
      node.terms.allSatisfy(\.isOfOneRow)
    case .call(let call): call.elementary != nil && node.terms.allSatisfy(\.isOfOneRow)
    case .parameter, .qualified, .special, .query, .invalid: false
    }
  }

  /// The names of its columns, when it is of one row.
  fileprivate var columns: [String] {
    if case .column(let column) = node { return [column.name] }
    return node.terms.flatMap(\.columns)
  }

  /// How many terms all have to be met.
  fileprivate var termCount: Int {
    if case .all(let terms) = node { return terms.reduce(0) { $0 + $1.termCount } }
    return 1
  }

  /// The columns that have to be equal to a value, and the value.
  fileprivate var demandedValues: [(column: String, value: DatabaseValue)] {
    switch node {
    case .all(let terms): return terms.flatMap(\.demandedValues)
    case .binary(.equal, let left, let right), .binary(.isSame, let left, let right):
      guard case .column(let column) = left.node, case .value(let value) = right.node else { return [] }
      return [(column.name, value)]
    default: return []
    }
  }
}
