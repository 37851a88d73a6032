import SqlableCore
import Synchronization

/// A statement's filter that is evaluated for changed rows, by SQLite's rules.
package final class RowFilter: Sendable {
  package struct Key: Hashable {
    /// A query that returns whether any row matches the filter.
    let question: SelectQuery
    let table: String
    let columns: [ComparedColumn]

    /// Creates the key of a statement's filter. Nil if there is no filter, or if the filter or the order can't be
    /// evaluated on a copy of a single row; see `dependsOnOneRow`.
    init?(_ query: SelectQuery, _ columns: [ComparedColumn]) {
      let table = query.table
      // Each condition below has a reason. If the filter or the order uses several rows, changes of other rows can
      // affect the result. A name that is not a column refers to the rowid, which differs in the copy of the table. The
      // copy is not STRICT, and ANY has another meaning in STRICT tables.
      let names = Set(columns.map(\.name.foldedName))
      guard let filter = query.filter, filter.dependsOnOneRow,
        query.clauses.order.allSatisfy(\.expression.dependsOnOneRow),
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

  /// A number that identifies the filter. An address would not identify the filter, because addresses are reused.
  private let id = RowFilter.count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)
  private let key: Key
  private let tables: FilterTables
  /// The values that columns must have in a matching row, usually a value of the id.
  let demands: [RequiredValue]
  /// True if the filter consists only of the requirements in `demands`.
  private let isDemandsOnly: Bool
  let columns: [String]
  /// True if the filter uses LIKE, whose result depends on the connection's `PRAGMA case_sensitive_like`.
  private let usesLike: Bool

  init(_ key: Key, _ tables: FilterTables) {
    self.key = key
    self.tables = tables
    columns = key.columns.map(\.name)
    usesLike = key.question.filter?.usesLike ?? false
    demands = (key.question.filter?.demandedValues ?? []).compactMap { column, value in
      key.columns.firstIndex { $0.name.isSameName(as: column) }.flatMap {
        RequiredValue(value, of: key.columns[$0], at: $0)
      }
    }
    isDemandsOnly = key.question.filter?.termCount == demands.count
  }

  /// True if the requirements alone show that the row matched the filter neither before nor after its change.
  func excludes(_ row: RowImages) -> Bool {
    guard row.columns == columns else { return false }
    return demands.contains { demand in [row.old, row.new].allSatisfy { image in image.map(demand.excludes) ?? true } }
  }

  /// True if the requirements alone show that the row matched the filter before or after its change.
  func takes(_ row: RowImages) -> Bool {
    guard isDemandsOnly, row.columns == columns else { return false }
    return [row.old, row.new].contains { image in
      image.map { values in demands.allSatisfy { $0.isMet(by: values) } } ?? false
    }
  }

  /// True if one of the rows matched before or after its change. Results are cached in the rows for other loops.
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
    // Rows that meet all `demands` usually match the whole filter. So test one row first.
    if !demands.isEmpty {
      open.removeLast()
      let concerns = try isMet(byAnyOf: [last])
      last.note(concerns, of: id)
      if concerns { return true }
    }
    guard !open.isEmpty else { return false }
    // Test all rows at once, because usually no row matches.
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
    // A reader can use either form of LIKE. Under NOT, the case-sensitive form matches more rows.
    return try isMet(.caseInsensitive) || (usesLike && isMet(.caseSensitive))
  }
}

/// In-memory tables for evaluating filters, with the original columns' comparison rules. All filters share these
/// tables.
final class FilterTables: Sendable {
  private struct State {
    var database: SqliteDatabase?
    /// The columns of each table in `database`, keyed by the table's folded name.
    var columns: [[UInt8]: [ComparedColumn]] = [:]
  }

  /// The way in which LIKE compares the letters A to Z.
  enum Like {
    case caseInsensitive, caseSensitive
  }

  private let root: SqliteDatabase
  private let state = LockedValue(State())
  /// The state for case-sensitive LIKE. This state has its own database, because setting the PRAGMA recompiles all
  /// statements.
  private let caseSensitive = LockedValue(State())

  init(root: SqliteDatabase) { self.root = root }

  /// Runs `question` on a database in which the table contains exactly these rows, and returns the answer.
  func holds(
    _ rows: [[DatabaseValue]], _ table: String, _ columns: [ComparedColumn], _ like: Like,
    _ question: (SqliteDatabase) throws -> Bool
  ) throws -> Bool {
    try (like == .caseInsensitive ? state : caseSensitive).withLock { state in
      let db = try state.database ?? open(like)
      state.database = db
      // Discard a lost database, so that the next call opens a new one.
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
      // `query` caches the compiled INSERT; `execute` does not.
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

  /// True if one row determines the value. False for subqueries, SQL text, parameters, CASE, casts and most functions.
  fileprivate var dependsOnOneRow: Bool {
    switch node {
    case .column, .value: true
    case .all, .any, .not, .negative, .binary, .isNull, .isNotNull, .between, .isIn, .like, .collate:
      node.terms.allSatisfy(\.dependsOnOneRow)
    case .call(let call): call.isElementary && node.terms.allSatisfy(\.dependsOnOneRow)
    case .parameter, .qualified, .special, .query, .invalid: false
    }
  }

  fileprivate var columns: [String] {
    if case .column(let column) = node { return [column.name] }
    return node.terms.flatMap(\.columns)
  }

  /// The number of terms joined by AND.
  fileprivate var termCount: Int {
    if case .all(let terms) = node { return terms.reduce(0) { $0 + $1.termCount } }
    return 1
  }

  /// The columns for which the filter requires a certain value, with these values.
  fileprivate var demandedValues: [(column: String, value: DatabaseValue)] {
    switch node {
    case .all(let terms): return terms.flatMap(\.demandedValues)
    case .binary(let term) where term.operation == .equal || term.operation == .isSame:
      guard case .column(let column) = term.left.node, case .value(let value) = term.right.node else { return [] }
      return [(column.name, value)]
    default: return []
    }
  }
}
