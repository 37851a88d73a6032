import CSqlableSQLite
import SqlableCore

/// The irreversible changes that a plan is allowed to make.
public struct SchemaPermission: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Allows the plan to delete columns with their values, and the values of columns that become generated.
  public static let dataLoss = SchemaPermission(rawValue: 1)
}

/// The progress of a plan that is being applied.
public struct SchemaProgress: Sendable, Hashable {
  /// The index of the running step in the plan, from 0.
  public let step: Int
  /// The number of rows that the running step has copied; 0 for a step that copies no rows.
  public let rows: Int
}

extension Schema {
  /// Returns a plan that would change a database's tables to match the models. The database stays unchanged.
  ///
  /// ```swift
  /// let plan = try Schema(Bicycle.self).plan(db, renamed: ["colour": "color"], dropping: .columns)
  /// ```
  ///
  /// A column is renamed only if `renamed` contains the column. Objects without a model stay, unless `dropping`
  /// includes their kind. If the plan would drop one column and add another column of the same type, the plan asks in
  /// ``SchemaPlan/questions``. A NOT NULL column that has no default and that no model declares would make every insert
  /// fail. If `dropping` contains `.columns`, the plan drops this column. Otherwise, if the plan adds a column of the
  /// same type, the plan asks whether the old column was renamed. If the plan adds no such column, or if `notRenamed`
  /// lists the old column, the method throws `.schema(.mismatch)`. Also throws `.schema(.mismatch)` for a change that
  /// no plan can make, and `.misuse` for an argument that fits no model.
  ///
  /// - `renamed` maps old column names to new names: `["colour": "color"]`, or `["bicycle.colour": "color"]`.
  /// - `renamedTables` maps old table names to new names.
  /// - `notRenamed` lists columns that were not renamed, although a column of the same type is added.
  /// - `filling` contains the values that existing rows get in a column that is new or becomes NOT NULL:
  ///   `["bicycle.price": 0.0]`.
  /// - `dropping` selects the kinds of objects to drop if no model declares them.
  public func plan(
    _ db: some SqlDatabase, renamed: [String: String] = [:], renamedTables: [String: String] = [:],
    notRenamed: Set<String> = [], filling: [String: any SqlValue] = [:], dropping: SchemaDropping = [],
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> SchemaPlan {
    let answers = SchemaPlanner.Answers(
      renamed: renamed, renamedTables: renamedTables, notRenamed: notRenamed, filling: filling, dropping: dropping)
    return try db.withTransaction(.deferred, file: file, line: line) { db in
      try db.running { connection in
        var planner = try SchemaPlanner(connection, functions: db.functions, answers: answers)
        return try planner.plan(for: self)
      }
    }
  }
}

extension SchemaPlan {
  /// Applies the plan in one transaction. Afterwards the database matches the models, or is unchanged after an error.
  ///
  /// ```swift
  /// try plan.apply(db, allowing: .dataLoss) { print($0.step, $0.rows) }
  /// ```
  ///
  /// Before the commit, `apply` checks the integrity of the rebuilt tables. `apply` also checks the foreign keys of
  /// rebuilt tables, and of tables with filled columns, dropped columns or dropped indexes. While the plan runs,
  /// foreign keys are not enforced and triggers do not fire. `apply` accepts a handle or a pool. Inside another
  /// transaction of a handle, the plan runs as a savepoint. A plan is SQL: apply a stored plan only if you trust its
  /// source.
  ///
  /// Throws `.misuse` for a plan that has questions, or that loses data without permission. Throws `.schema(.mismatch)`
  /// if the schema has changed since the plan was made, or if rows do not fit the new schema. The error contains up to
  /// ten ids of these rows. Throws `.constraint`, `.full`, `.busy` and other errors of SQLite. An error leaves the
  /// database unchanged.
  ///
  /// While another connection writes, `apply` waits for up to `limit`. Without a limit, `apply` waits until the other
  /// connection finishes or the task is cancelled. After each busy timeout, `apply` calls `waiting` with the error that
  /// names the writing process. Past the limit, `apply` throws this error. Inside a closure that holds the file's write
  /// lock with another handle, `apply` throws `.misuse` immediately. Blocks the thread. In `async` code, use the
  /// overload for pools with `await`.
  ///
  /// `apply` calls `progress` before each step, and after about every hundred thousand rows of a rebuild.
  public func apply(
    _ db: some SqlDatabase, allowing permission: SchemaPermission = [], waitingAtMost limit: Duration? = nil,
    file: StaticString = #fileID, line: UInt = #line, progress: (SchemaProgress) -> Void = { _ in },
    waiting: (SqlError) -> Void = { _ in }
  ) throws {
    try checkMayApply(permission)
    guard !isEmpty else { return }
    try db.withTransactionAfterOthers(waitingAtMost: limit, file: file, line: line, waiting) { db in
      try applySteps(db, progress)
    }
  }

  package func checkMayApply(_ permission: SchemaPermission) throws {
    if let question = questions.first {
      throw SqlError.misuse("the plan needs renamed: or notRenamed: to answer the question: \(question)")
    }
    if let step = steps.first(where: \.losesData), !permission.contains(.dataLoss) {
      throw SqlError.misuse("the plan would lose data, which needs the permission .dataLoss: \(step)").at(
        table: step.table)
    }
  }

  package func applySteps(_ db: SqliteDatabase, _ progress: (SchemaProgress) -> Void) throws {
    try db.running { connection in
      try check(connection)
      try connection.withoutForeignKeys {
        try connection.withoutTriggers {
          for (index, step) in steps.enumerated() {
            progress(SchemaProgress(step: index, rows: 0))
            try run(step, on: connection) { progress(SchemaProgress(step: index, rows: $0)) }
          }
        }
        let referring = Set(steps.filter(\.concernsForeignKeys).map(\.table))
        if !referring.isEmpty { try connection.checkForeignKeys(of: referring) }
        for step in steps where step.rebuilds { try connection.checkIntegrity(of: step.table) }
      }
    }
    // The schema has changed, so the handle must update its observers.
    try db.refreshObservation()
  }

  /// Throws `.schema(.mismatch)` if the schema has changed since the plan was made.
  public func check(_ db: SqliteDatabase) throws { try db.running { try check($0) } }

  private func check(_ connection: Connection) throws {
    guard try connection.schemaFingerprint() == schema else {
      let message = "the schema has changed since the plan was made; make a new plan"
      throw SqlError(.schema(.mismatch(message)), message: message)
    }
  }

  private func run(_ step: Step, on connection: Connection, _ progress: (Int) -> Void) throws {
    // RENAME TO of a rebuilt table must not change references (legacy mode), but RENAME COLUMN must change them.
    let before = try connection.pragma("PRAGMA legacy_alter_table")
    try connection.pragma("PRAGMA legacy_alter_table = \(step.rebuilds ? "ON" : "OFF")")
    defer { _ = try? connection.pragma("PRAGMA legacy_alter_table = \(before ?? "OFF")") }
    try diagnose(step, .before, on: connection)
    do {
      for statement in step.statements { try connection.run(statement, progress) }
    } catch let error as SqlError {
      guard case .constraint = error.kind else { throw error.at(table: step.table) }
      for diagnosis in step.diagnoses where diagnosis.time == .failure {
        // Skip a diagnosis whose query fails, because the query uses a column that the failed step adds.
        if let fault = try? connection.fault(diagnosis, in: step.table) { throw fault.with(error) }
      }
      if step.rebuilds { throw connection.rebuildFailure(error, step) }
      throw error.at(table: step.table)
    }
    try diagnose(step, .after, on: connection)
  }

  private func diagnose(_ step: Step, _ time: Diagnosis.Time, on connection: Connection) throws {
    for diagnosis in step.diagnoses where diagnosis.time == time {
      if let fault = try connection.fault(diagnosis, in: step.table) { throw fault }
    }
  }
}

extension SchemaPlan.Step {
  /// True if the step can break foreign keys: it can leave rows whose parent row is missing, or drop the key that a
  /// foreign key references.
  fileprivate var concernsForeignKeys: Bool {
    rebuilds || statements.contains { !$0.values.isEmpty }
      || changes.contains { [.dropColumn, .dropIndex, .changeIndex].contains($0.kind) }
  }
}

extension SqlError {
  /// Returns an error that names the failing rows, with the kind and code of SQLite's error.
  fileprivate func with(_ error: SqlError) -> SqlError {
    var result = error
    (result.message, result.table, result.column, result.rowId) = (message, table, column ?? error.column, rowId)
    return result
  }
}

extension Connection {
  /// Calls `body` without enforcing foreign keys, even in a transaction. Returns true if foreign keys were enforced
  /// before.
  @discardableResult
  func withoutForeignKeys(_ body: () throws -> Void) throws -> Bool {
    let isEnforcing = try pragma("PRAGMA foreign_keys") == "1"
    try setFlag(SQLITE_DBCONFIG_ENABLE_FKEY, false)
    defer { try? setFlag(SQLITE_DBCONFIG_ENABLE_FKEY, isEnforcing) }
    try body()
    return isEnforcing
  }

  package func withoutTriggers(_ body: () throws -> Void) throws {
    try setFlag(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
    defer { try? setFlag(SQLITE_DBCONFIG_ENABLE_TRIGGER, true) }
    try body()
  }

  /// Throws `.constraint(.foreignKey)` if rows of the named tables reference missing rows, or if other rows reference
  /// rows that are missing in these tables. For nil, checks all tables.
  func checkForeignKeys(of names: Set<String>? = nil) throws {
    let referring = try schema().tables.filter { table in
      guard let names, !table.foreignKeys.isEmpty else { return !table.foreignKeys.isEmpty }
      return names.contains { name in
        table.name.isSameName(as: name) || table.foreignKeys.contains { $0.table.isName(name) }
      }
    }
    for child in referring {
      var rows: [(id: Int?, parent: String)] = []
      try eachRow("PRAGMA main.foreign_key_check(\(child.name.quotedName))") { row in
        if rows.count < 10 { rows.append((Int(row[1]), row[2])) }
      }
      guard let first = rows.first else { continue }
      throw SqlError.orphans(of: child.name, ids: rows.compactMap(\.id), without: first.parent)
    }
  }

  /// Throws `.corrupt` if a table or its indexes are damaged, or if rows violate the table's constraints.
  fileprivate func checkIntegrity(of table: String) throws {
    let problems = try rows("PRAGMA main.integrity_check(\(table.quotedName))").map { $0[0] }
    guard problems != ["ok"] else { return }
    let message =
      "table \(table) fails the integrity check after the rebuild: \(problems.prefix(10).joined(separator: "; "))"
    throw SqlError(.corrupt, message: message, table: table, label: label)
  }

  /// Returns the error of a rebuild with the table's own name in place of its temporary name. Adds the ids of
  /// conflicting rows.
  fileprivate func rebuildFailure(_ error: SqlError, _ step: SchemaPlan.Step) -> SqlError {
    let temporary = TableRebuild.temporaryName(of: step.table)
    let rows = (try? conflicts(in: step, temporary)) ?? []
    var result = error
    let examples = rows.isEmpty ? "" : ", in rows such as \(rows.map(String.init).joined(separator: ", "))"
    result.message = error.message.replacing(temporary, with: step.table) + examples
    (result.table, result.rowId) = (step.table, rows.first ?? error.rowId)
    return result
  }

  /// Returns the ids of at most ten rows that the new table refuses. To find these rows, this method inserts all rows
  /// that the new table accepts. The caller's error then rolls back the transaction.
  private func conflicts(in step: SchemaPlan.Step, _ temporary: String) throws -> [Int] {
    guard let statement = step.statements.first(where: { $0.copy != nil }), let copy = statement.copy,
      let new = try schema(of: [temporary.foldedName])[table: temporary],
      let old = try schema(of: [step.table.foldedName])[table: step.table], old.keyIsRowid || !new.keyIsRowid,
      let id = String.rowidName(avoiding: new.columns.map(\.name)),
      let conflictClause = statement.sql.firstRange(of: "OR ABORT")
    else { return [] }
    var insert = statement.sql
    insert.replaceSubrange(conflictClause, with: "OR IGNORE")
    try run(insert, statement.values)
    return try rows(
      "SELECT \(copy.rowid) FROM \(copy.table) WHERE \(copy.rowid) NOT IN (SELECT \(id) FROM \(temporary.quotedName)) "
        + "LIMIT 10"
    ).compactMap { Int($0[0]) }
  }

  /// Returns an error for the rows that a diagnosis finds; nil if the query finds none.
  fileprivate func fault(_ diagnosis: SchemaPlan.Diagnosis, in table: String) throws -> SqlError? {
    var (count, ids): (Int, [Int]) = (0, [])
    try eachRow(diagnosis.sql) { row in
      count += 1
      if let id = row.first.flatMap({ Int($0) }) { ids.append(id) }
    }
    guard count > 0 else { return nil }
    let examples = ids.isEmpty ? "" : "; affected row ids include \(ids.map(String.init).joined(separator: ", "))"
    let location = diagnosis.column.map { " in column \($0)" } ?? ""
    let message = "rows of \(table) \(diagnosis.fault)\(location)\(examples)"
    return SqlError(
      .schema(.mismatch(message)), message: message, table: table, column: diagnosis.column, rowId: ids.first)
  }

  fileprivate func run(_ statement: SchemaPlan.Statement, _ progress: (Int) -> Void) throws {
    guard let copy = statement.copy else { return try run(statement.sql, statement.values) }
    // Copying in batches allows progress reports. The batches are in rowid order, because SQLite stores the rows in
    // this order and need not sort them.
    var (last, copied): (Int64?, Int) = (nil, 0)
    while true {
      let after = last.map { " WHERE \(copy.rowid) > \($0)" } ?? ""
      let part = "SELECT \(copy.rowid) AS id FROM \(copy.table)\(after) ORDER BY \(copy.rowid) LIMIT \(Copy.part)"
      let row = try rows("SELECT max(id), count(*) FROM (\(part))").first
      guard let row, let end = Int64(row[0]), let count = Int(row[1]), count > 0 else { return }
      let range = (last.map { "\(copy.rowid) > \($0) AND " } ?? "") + "\(copy.rowid) <= \(end)"
      try run("\(statement.sql) WHERE \(range)", statement.values)
      last = end
      copied += count
      progress(copied)
      if count < Copy.part { return }
    }
  }

  private typealias Copy = SchemaPlan.Statement.Copy

  private func run(_ sql: String, _ values: [DatabaseValue]) throws {
    let parameters = ParameterBuffer()
    for value in values { parameters.append(value) }
    try withExtendedLifetime(parameters) { try eachRow(sql, binding: parameters) { _ in } }
  }
}

extension SqlError {
  package static func orphans(of child: String, ids: [Int], without parent: String) -> SqlError {
    let examples = ids.isEmpty ? "" : "; affected row ids include \(ids.map(String.init).joined(separator: ", "))"
    let message = "rows of \(child) reference missing rows of \(parent)\(examples)"
    return SqlError(.constraint(.foreignKey), message: message, table: child, rowId: ids.first)
  }
}
