// Runs of statements from untrusted documents: how long they may take, what they may make, and a second check of what
// they touch.

/// A statement that runs within the limits of a policy; ``Runnable/limited(by:)-(StatementPolicy)`` makes it.
public struct Limited<Work: Runnable>: Runnable {
  let work: Work
  let limits: StatementPolicy.Limits
  /// What SQLite may touch for it; nil for anything.
  let wall: AccessWall?

  public var sql: String { work.sql }
  public var isReadOnly: Bool { work.isReadOnly }

  public func requests() throws -> [SqlRequest] { try work.requests() }

  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Work.Output {
    try db.locked {
      let allowance = RunAllowance(steps: limits.steps, time: limits.time)
      let connection = try db.openConnection()
      let (result, excess) = connection.limited(to: allowance, busyTimeout: db.configuration.busyTimeout) {
        // Within the allowance: it reads the schema and tables, and may wait for locks.
        try connection.outsideWalls { try checkPlan(db) }
        return try connection.within(wall) {
          try connection.withValues(upTo: limits.valueBytes, patternsUpTo: limits.patternBytes) { try work.run(db) }
        }
      }
      do { return try result.get() } catch let error as SqlError { throw Limited.told(error, excess) }
    }
  }

  /// Throws if its plan visits all rows of a table that has too many. Runs nothing.
  package func checkPlan(_ db: SqliteDatabase) throws {
    if let rows = limits.scannedRows { try db.locked { try PlanCheck(work: work, rows: rows).check(db) } }
  }

  /// The error as the author of the document may see it.
  private static func told(_ error: SqlError, _ excess: RunAllowance.Excess?) -> SqlError {
    var told = error
    // A run whose time is over while it waits for a lock ends as busy.
    if let excess, error.kind == .interrupted || error.kind == .busy {
      told.kind = .timeout
      told.message =
        switch excess {
        case .time: "the statement ran longer than the policy allows"
        case .steps: "the statement took more steps than the policy allows"
        }
    } else if error.code == AccessWall.errorCode {
      told = DocumentAccess.refusal
      (told.transaction, told.label) = (error.transaction, error.label)
    }
    return told
  }

  public func run(over transport: some SqlTransport) async throws -> Work.Output {
    throw SqlError.misuse("the limits of a policy hold for handles and pools; a remote database does not know them")
  }
}

extension Runnable {
  /// The same statement, run within the limits of a policy: its time and steps, the size of its values, the rows that
  /// it may scan, and the tables, columns and functions that SQLite may use for it.
  ///
  /// ```swift
  /// let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
  /// let bikes = try search.limited(by: policy).run(pool)     // [Bicycle]
  /// ```
  ///
  /// Running it throws `.timeout` when it takes longer or more steps than the policy allows, `.tooBig` for a value that
  /// is too large, and `.invalidStatement` when its plan scans a table with too many rows, or uses what the policy does
  /// not allow. A write that is stopped changes nothing. It runs on handles and pools; on a remote database it throws
  /// `.misuse`.
  public func limited(by policy: StatementPolicy) -> Limited<Self> {
    Limited(work: self, limits: policy.limits, wall: policy.wall(for: self))
  }

  /// The same statement, run within limits: its time and steps, the size of its values, and the rows that it may scan.
  ///
  /// ```swift
  /// let answer = try manifest.statement(json: body).limited(by: StatementPolicy.Limits()).run(pool)
  /// ```
  ///
  /// Throws what a statement that is limited by a policy throws. The limits of documents mean nothing to it.
  public func limited(by limits: StatementPolicy.Limits) -> Limited<Self> {
    Limited(work: self, limits: limits, wall: nil)
  }
}

/// Checks before a run that its plan does not visit all rows of a large table.
private struct PlanCheck<Work: Runnable> {
  let work: Work
  /// The most rows that such a table may have.
  let rows: Int

  func check(_ db: SqliteDatabase) throws {
    let plan = try Explanation(work: work).run(db)
    let scans = plan.visits
    guard !scans.isEmpty, let tree = (work as? any TreeStatement)?.tree else { return }
    if case .select(let query) = tree, query.stopsEarly, !plan.sorts { return }
    // Queries beside each other may use one name for several tables.
    for (name, table) in tree.tables where scans.contains(where: name.isSameName) {
      guard try !db.has(moreRowsThan: rows, table) else {
        throw SqlError.invalidStatement("the policy does not allow a scan of so many rows")
      }
    }
  }
}

extension StatementTree {
  /// Every table that it uses, with its name there; those of subqueries included.
  fileprivate var tables: [(name: String, table: TableInfo)] {
    var tables: [(name: String, table: TableInfo)] = []
    func add(_ name: String, _ table: TableInfo) {
      guard !tables.contains(where: { $0.table === table && $0.name.isSameName(as: name) }) else { return }
      tables.append((name, table))
    }
    func add(_ source: SelectQuery.Source) { if source.kind == .table { add(source.name, source.table) } }
    func add(_ term: SqlExpression) { term.visit({ _ in }, add) }
    func add(_ selection: RowSelection) {
      selection.filter.map(add)
      for term in selection.rest.value.order { add(term.expression) }
    }
    switch self {
    case .select(let query): query.visit({ _ in }, add)
    case .insert(let query):
      query.rest.value.source?.visit({ _ in }, add)
      for assignment in query.rest.value.upsert?.assignments ?? [] { add(assignment.value) }
      query.rest.value.upsert?.condition.map(add)
    case .update(let query):
      add(query.table.name, query.table)
      add(query.selection)
      for assignment in query.rest.value.assignments { add(assignment.value) }
    case .delete(let query):
      add(query.table.name, query.table)
      add(query.selection)
    }
    if case .terms(let terms) = returned { terms.forEach(add) }
    return tables
  }
}

extension QueryPlan {
  /// The tables of which every row is visited, with or without an index, by their names in the statement.
  fileprivate var visits: [String] {
    scans
      + steps.compactMap { step in
        guard step.detail.begins(with: "SCAN ") else { return nil }
        return step.detail.suffix(after: "SCAN ")?.prefix(before: " USING ")
      }
  }

  fileprivate var sorts: Bool { steps.contains { $0.detail.begins(with: "USE TEMP B-TREE") } }
}

extension SelectQuery {
  /// Whether it ends after the rows of its limit, if nothing sorts them.
  fileprivate var stopsEarly: Bool {
    guard form == .rows, limit != nil else { return false }
    let clauses = clauses
    return clauses.sources.count == 1 && clauses.sources[0].kind == .table && clauses.filter == nil
      && clauses.having == nil && clauses.groups.isEmpty && !clauses.isDistinct && clauses.compounds.isEmpty
      && clauses.results.allSatisfy(\.isOfColumns)
  }
}

extension SelectQuery.Result {
  /// Whether it consists of columns: an aggregate or a window would need all rows.
  fileprivate var isOfColumns: Bool {
    switch self {
    case .term(let term):
      switch term.node {
      case .column, .qualified: true
      default: false
      }
    case .model(_, let replaced): replaced.isEmpty
    case .table: false
    }
  }
}

extension SqliteDatabase {
  /// Whether a table has more than `count` rows.
  fileprivate func has(moreRowsThan count: Int, _ table: TableInfo) throws -> Bool {
    let name = String(decoding: table.quotedName, as: UTF8.self)
    let connection = try openConnection()
    if table.keyIsRowid {
      // The first and the last key are found at once, and most tables have few gaps.
      let key = String(decoding: table.columns[table.key[0]].name.quotedBytes(), as: UTF8.self)
      let span = "(SELECT max(\(key)) FROM \(name)) - (SELECT min(\(key)) FROM \(name))"
      guard try connection.pragma("SELECT coalesce(\(span) >= \(count), 0)") == "1" else { return false }
    }
    let some = "SELECT 1 FROM \(name) LIMIT \(count) + 1"
    return try connection.pragma("SELECT count(*) > \(count) FROM (\(some))") == "1"
  }
}

/// A statement of which the tree is known.
private protocol TreeStatement {
  var tree: StatementTree { get }
}

extension Statement: TreeStatement {}
extension Limited: TreeStatement where Work: TreeStatement { fileprivate var tree: StatementTree { work.tree } }
extension Select: TreeStatement { fileprivate var tree: StatementTree { .select(query) } }
extension Returning: TreeStatement { fileprivate var tree: StatementTree { change.tree } }
extension AnyStatement: TreeStatement { fileprivate var tree: StatementTree { decoded.tree } }

// MARK: - The second wall

extension StatementPolicy {
  /// What SQLite may touch for a statement that the policy has checked.
  fileprivate func wall(for work: some Runnable) -> AccessWall {
    var wall = AccessWall()
    wall.allowsChanges = !work.isReadOnly && !kinds.isSubset(of: StatementKind.reads)
    wall.functions = Set((StatementPolicy.syntaxFunctions + Array(functions) + Array(registered)).map(\.foldedName))
    for function in SqlExpression.Call.BuiltIn.allCases where access.allows(function: function.rawValue) {
      wall.functions.insert(function.name.foldedName)
    }
    wall.tables = [ValueListModule.name.foldedName]
    if features.contains(.json) { wall.tables.formUnion(["json_each", "json_tree"].map(\.foldedName)) }
    for rules in tables { wall.add(rules, features) }
    if features.contains(.namedQueries), let tree = (work as? any TreeStatement)?.tree, case .select(let query) = tree {
      query.visit(
        { _ in },
        { source in if source.kind != .table { wall.queries.insert(source.name.foldedName) } })
    }
    return wall
  }

  /// The functions behind SQL's own syntax and the forms of dates, JSON and full-text search.
  private static let syntaxFunctions = [
    "like", "glob", "match", "count", "->", "->>", "json", "strftime", "date", "bm25", "snippet", "highlight",
  ]
}

extension AccessWall {
  /// Allows the columns of a table that a document may name, its key, and what the condition on its rows reads.
  fileprivate mutating func add(_ rules: TableRules, _ features: Set<StatementPolicy.Feature>) {
    let table = rules.table
    let name = table.name.foldedName
    let known = table.columns.indices.filter { rules.knows($0) || table.key.contains($0) }
    columns[name, default: []].formUnion(known.map { table.columns[$0].name.foldedName })
    if features.contains(.fullText), let index = table.fullText {
      // The index is the model's table or one beside it, and has tables of its own.
      if index.name.isSameName(as: table.name) {
        columns[name, default: []].formUnion([index.name, "rank", "rowid"].map(\.foldedName))
      } else {
        tables.insert(index.name.foldedName)
      }
      tables.formUnion(["data", "idx", "content", "docsize", "config"].map { "\(index.name)_\($0)".foldedName })
    }
    rules.condition?.visit(
      { term in
        switch term.node {
        case .column(let reference), .qualified(_, let reference):
          columns[name, default: []].insert(reference.name.foldedName)
        case .call(let call):
          switch call.function {
          case .builtIn(let function): functions.insert(function.name.foldedName)
          case .named(let name): functions.insert(name.foldedName)
          case .countRows: break
          }
        default: break
        }
      },
      { source in
        if source.kind == .table {
          tables.insert(source.table.name.foldedName)
        } else {
          queries.insert(source.name.foldedName)
        }
      })
  }
}
