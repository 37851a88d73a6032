import SqlableCore

/// A planner of schema changes. Each step runs on an in-memory copy of the schema before the next step is planned.
struct SchemaPlanner {
  let connection: Connection
  let copy: SchemaCopy
  let answers: Answers
  private var steps: [SchemaPlan.Step] = []
  private var questions: [SchemaPlan.Question] = []
  private let schema: DatabaseSchema
  private(set) var changed: DatabaseSchema
  private let functions: FunctionRegistry?
  /// The old names of renamed columns, keyed by the folded table name and the folded new column name.
  private(set) var formerColumns: [[UInt8]: [[UInt8]: String]] = [:]
  /// The tables with a change log, by their names after the collected steps.
  private var loggedTables: [String] = []

  init(_ connection: Connection, functions: FunctionRegistry?, answers: Answers) throws {
    (self.connection, self.functions, self.answers) = (connection, functions, answers)
    copy = try SchemaCopy(of: connection, functions: functions, isFileOnly: true)
    schema = try connection.schema()
    changed = try copy.connection.schema()
    if let log = ChangeLogHook.updates {
      try log.copyEntries(from: connection, to: copy.connection)
      loggedTables = try log.loggedTables(on: copy.connection)
    }
  }

  mutating func plan(for schema: Schema) throws -> SchemaPlan {
    let tables = schema.tables
    try schema.check()
    try answers.check(for: tables)
    try checkTemporary(tables)
    let fingerprint = try connection.schemaFingerprint()
    try repairChangeLog(of: tables.map(\.name) + answers.renamedTables.keys.sorted())
    try dropOutdated(schema.triggers)
    // A view can read any table, so views come last.
    for table in tables where table.view == nil { try plan(table) }
    for table in tables where table.view != nil { try plan(table) }
    try create(schema.triggers)
    for table in tables { try updateChangeLog(of: table.name) }
    if !steps.isEmpty {
      try copy.checkDependents(
        of: self.schema, in: SchemaCopy(of: connection, functions: functions, isFileOnly: true), changed)
    }
    return SchemaPlan(steps: steps, questions: questions, schema: fingerprint)
  }

  private mutating func plan(_ table: TableInfo) throws {
    try table.checkDeclarations()
    if let view = table.view { return try plan(view, of: table) }
    try renameTable(table)
    let isOwnFullText = table.fullText?.isExternal == false
    if let existing = changed[table: table.name], !isOwnFullText {
      try renameColumns(of: table, existing)
      try change(table)
    } else if changed[table: table.name] == nil {
      guard changed.views.allSatisfy({ !$0.name.isSameName(as: table.name) }) else {
        throw SchemaPlanner.mismatch(
          "table \(table.name) can't be created: the database has a view with the same name; drop or rename the view",
          table.name)
      }
      try create(table)
    }
    try buildFullText(of: table)
  }

  /// Throws `.schema(.mismatch)` if a temporary table or view hides a model's table.
  private func checkTemporary(_ tables: [TableInfo]) throws {
    let names = try connection.rows("SELECT name FROM temp.sqlite_schema WHERE type IN ('table', 'view')").map {
      $0[0]
    }
    for table in tables where names.contains(where: table.name.isSameName) {
      throw SchemaPlanner.mismatch(
        "a temporary table has the same name as table \(table.name); drop the temporary table first", table.name)
    }
  }

  mutating func add(_ step: SchemaPlan.Step) throws {
    // `SchemaPlan.run(_:on:_:)` explains this PRAGMA.
    try copy.connection.pragma("PRAGMA legacy_alter_table = \(step.rebuilds ? "ON" : "OFF")")
    for statement in step.statements {
      // The copy has no rows, so the statements need none of their values.
      try copy.connection.pragma(statement.sql)
    }
    steps.append(step)
    if step.changesOnlyItsTable {
      // Read only the schema of this table. Reading the whole schema after each of many steps would take quadratic
      // time.
      changed.replace(step.table, with: try copy.connection.schema(ofTable: step.table))
    } else {
      changed = try copy.connection.schema()
    }
  }

  static func mismatch(_ message: String, _ table: String, _ column: String? = nil) -> SqlError {
    SqlError(.schema(.mismatch(message)), message: message, table: table, column: column)
  }

  // MARK: Tables

  private mutating func renameTable(_ table: TableInfo) throws {
    let named = answers.renamedTables.first { $0.value.isSameName(as: table.name) }
    guard let old = named?.key, let existing = changed[table: old], !old.isSameName(as: table.name) else { return }
    guard changed[table: table.name] == nil else {
      throw SqlError.misuse("table \(old) can't be renamed: table \(table.name) already exists").at(table: old)
    }
    let rename = SchemaPlan.Statement("ALTER TABLE \(existing.name.quotedName) RENAME TO \(table.name.quotedName)")
    try add(
      SchemaPlan.Step(
        table.name, [.init(.renameTable, table.name, from: existing.name)],
        fullTextDrops(of: table, existing) + [rename]
          + renamingLogged(existing.name, to: table.name)))
    loggedTables = loggedTables.map { $0.isSameName(as: existing.name) ? table.name : $0 }
  }

  /// Returns the statements that drop the full-text index of the table's old name.
  private func fullTextDrops(of table: TableInfo, _ existing: DatabaseSchema.Table) -> [SchemaPlan.Statement] {
    guard let old = table.named(existing.name).fullText, old.isExternal, old.name != table.fullText?.name,
      changed[table: old.name] != nil
    else { return [] }
    let names = FullTextDefinition(old).triggers().map(\.name)
    let triggers = existing.triggers.map(\.name).filter { trigger in names.contains { $0.isSameName(as: trigger) } }
    // A full-text index has triggers on its table. Without these triggers, the table named `old.name` is not the index.
    guard !triggers.isEmpty else { return [] }
    return (triggers.map { "DROP TRIGGER \($0.quotedName)" } + ["DROP TABLE \(old.quotedName)"]).map { .init($0) }
  }

  private mutating func create(_ table: TableInfo) throws {
    let definition = TableDefinition(table)
    var statements: [SchemaPlan.Statement] = []
    if table.fullText?.isExternal == false {
      statements = [.init(table.fullText.map { FullTextDefinition($0).createTable() } ?? "")]
    } else {
      statements = [.init(try definition.createTable(for: connection))]
      statements += try table.indexes.map { .init(try definition.create($0, for: connection)) }
    }
    try add(SchemaPlan.Step(table.name, [.init(.addTable)], statements))
  }

  private mutating func buildFullText(of table: TableInfo) throws {
    guard let fullText = table.fullText else { return }
    let definition = FullTextDefinition(fullText)
    let create = definition.createTable()
    let existing = changed[table: fullText.name]
    guard fullText.isExternal else {
      guard let existing, try !existing.isVirtualTable(of: create) else { return }
      throw SchemaPlanner.mismatch(
        "full-text table \(table.name) differs from the model, and FTS5 can't change an existing table; "
          + "replace the table in a migration",
        table.name)
    }
    let triggers = definition.triggers()
    let existingTriggers = changed[table: table.name]?.triggers ?? []
    let areTriggersThere = triggers.allSatisfy { trigger in
      existingTriggers.contains { $0.name.isSameName(as: trigger.name) && $0.sql == SchemaText(trigger.sql) }
    }
    let isCurrent = try existing?.isVirtualTable(of: create) ?? false
    if isCurrent, areTriggersThere { return }
    var statements: [SchemaPlan.Statement] = []
    for trigger in triggers where existingTriggers.contains(where: { $0.name.isSameName(as: trigger.name) }) {
      statements.append(.init("DROP TRIGGER \(trigger.name.quotedName)"))
    }
    if !isCurrent {
      if existing != nil { statements.append(.init("DROP TABLE \(fullText.quotedName)")) }
      statements.append(.init(create))
    }
    statements += triggers.map { .init($0.sql) }
    statements.append(.init("INSERT INTO \(fullText.quotedName) (\(fullText.quotedName)) VALUES ('rebuild')"))
    try add(
      SchemaPlan.Step(
        table.name, [.init(.buildFullText, fullText.name)], statements, rows: try rowCount(of: table.name)))
  }

  /// Returns the approximate number of rows of a table; 0 for a new table.
  func rowCount(of table: String) throws -> Int {
    let old = answers.renamedTables.first { $0.value.isSameName(as: table) }?.key
    guard let existing = schema[table: table] ?? old.flatMap({ schema[table: $0] }) else { return 0 }
    let table = "main.\(existing.name.quotedName)"
    if !existing.isWithoutRowid, let id = String.rowidName(avoiding: existing.columns.map(\.name)) {
      // Use two queries: SQLite seeks a single min or max, but would read the whole table for both in one query.
      let ends = ["max", "min"].map { "(SELECT \($0)(\(id)) FROM \(table))" }.joined(separator: " - ")
      // If the distance has more than 64 bits, SQLite does not return an integer. Then count the rows instead.
      if let distance = try Int(connection.pragma("SELECT coalesce(\(ends) + 1, 0)") ?? "") { return distance }
    }
    return try Int(connection.pragma("SELECT count(*) FROM \(table)") ?? "") ?? 0
  }

  // MARK: Views

  private mutating func plan(_ view: View, of table: TableInfo) throws {
    guard changed[table: table.name] == nil else {
      throw SchemaPlanner.mismatch(
        "view \(table.name) can't be created: the database has a table with the same name; drop or rename the table",
        table.name)
    }
    let create = try TableDefinition(table).create(view, for: connection)
    let existing = changed.views.first { $0.name.isSameName(as: table.name) }
    guard let existing else {
      return try add(SchemaPlan.Step(table.name, [.init(.addView)], [.init(create)]))
    }
    let model = DatabaseSchema.View(name: table.name, sql: SchemaText(create))
    guard !copy.connection.isSame(existing, as: model) else { return }
    let triggers = existing.triggers.map { SchemaPlan.Statement($0.sql.text) }
    try add(
      SchemaPlan.Step(
        table.name, [.init(.changeView)],
        [.init("DROP VIEW \(table.name.quotedName)"), .init(create)] + triggers))
  }

  // MARK: Triggers

  /// Drops the triggers that differ from the schema's triggers of the same names. Runs before any table changes,
  /// because a trigger can name a dropped column.
  private mutating func dropOutdated(_ triggers: [Trigger]) throws {
    for trigger in triggers {
      for table in changed.tables {
        guard let match = table.triggers.first(where: { $0.name.isSameName(as: trigger.name) }),
          match.sql != SchemaText(try trigger.create(for: connection))
        else { continue }
        try add(
          SchemaPlan.Step(
            table.name, [.init(.dropTrigger, match.name)], [.init("DROP TRIGGER \(match.name.quotedName)")]))
      }
    }
  }

  private mutating func create(_ triggers: [Trigger]) throws {
    for trigger in triggers {
      let existingTriggers = changed[table: trigger.table.name]?.triggers ?? []
      guard !existingTriggers.contains(where: { $0.name.isSameName(as: trigger.name) }) else { continue }
      try add(
        SchemaPlan.Step(
          trigger.table.name, [.init(.addTrigger, trigger.name)], [.init(try trigger.create(for: connection))]))
    }
  }

  // MARK: Change logs

  private func isLogged(_ table: String) -> Bool { loggedTables.contains(where: table.isSameName) }

  private func renamingLogged(_ table: String, to new: String) -> [SchemaPlan.Statement] {
    guard isLogged(table), let log = ChangeLogHook.updates else { return [] }
    return log.renaming(table: table, to: new).map { .init($0) }
  }

  private func renamingLogged(_ column: String, to new: String, of table: String) throws -> [SchemaPlan.Statement] {
    guard isLogged(table), let log = ChangeLogHook.updates else { return [] }
    return try log.renaming(column: column, to: new, of: table, on: copy.connection).map { .init($0) }
  }

  /// Invalidates a table's earlier positions if the change log might lack changes of the table. Renames logged
  /// tables and columns in the log if another program has renamed them.
  private mutating func repairChangeLog(of tables: [String]) throws {
    guard let log = ChangeLogHook.updates else { return }
    let renamed = try log.renames(on: copy.connection)
    for table in tables + renamed.map(\.table).filter({ name in !tables.contains(where: name.isSameName) }) {
      let losses = try log.losses(of: [table], on: copy.connection)
      if !losses.isEmpty { try add(SchemaPlan.Step(table, [.init(.updateChangeLog)], losses.map { .init($0) })) }
      let renames = isLogged(table) ? try log.columnRenames(of: table, on: copy.connection) : []
      if !renames.isEmpty { try add(SchemaPlan.Step(table, [.init(.updateChangeLog)], renames.map { .init($0) })) }
    }
    for (table, updates) in renamed {
      try add(SchemaPlan.Step(table, [.init(.updateChangeLog)], updates.map { .init($0) }))
    }
    if !renamed.isEmpty { loggedTables = try log.loggedTables(on: copy.connection) }
    for (table, _) in renamed { try updateChangeLog(of: table) }
  }

  /// Drops a table's change-log triggers; ``updateChangeLog(of:)`` creates them again. Returns false if the table has
  /// no such triggers.
  private mutating func pauseChangeLog(of table: String) throws -> Bool {
    guard isLogged(table), let log = ChangeLogHook.updates else { return false }
    let triggers = try log.triggers(of: table, on: copy.connection)
    guard !triggers.isEmpty else { return false }
    try add(
      SchemaPlan.Step(table, [.init(.pauseChangeLog)], triggers.map { .init("DROP TRIGGER \($0.quotedName)") }))
    return true
  }

  private mutating func updateChangeLog(of table: String) throws {
    guard isLogged(table), let log = ChangeLogHook.updates else { return }
    let updates = try log.updates(of: table, on: copy.connection)
    guard !updates.isEmpty else { return }
    try add(SchemaPlan.Step(table, [.init(.updateChangeLog)], updates.map { .init($0) }))
  }

  // MARK: Columns

  private mutating func renameColumns(of table: TableInfo, _ existing: DatabaseSchema.Table) throws {
    var (names, waiting) = (existing.columns.map(\.name), try answers.renames(of: table, existing))
    // A rename must wait while another column has the new name.
    while let index = waiting.firstIndex(where: { !names.contains(where: $0.new.isSameName) }) {
      let (old, new) = waiting.remove(at: index)
      names = names.map { $0.isExactly(old) ? new : $0 }
      formerColumns[table.name.foldedName, default: [:]][new.foldedName] = old
      try add(
        SchemaPlan.Step(
          table.name, [.init(.renameColumn, new, from: old)],
          [.init("ALTER TABLE \(table.name.quotedName) RENAME COLUMN \(old.quotedName) TO \(new.quotedName)")]
            + renamingLogged(old, to: new, of: table.name)))
    }
    guard let (old, new) = waiting.first else { return }
    throw SqlError.misuse("column \(old) can't be renamed: the table already has a column \(new)")
      .at(table: table.name, column: old)
  }

  /// Changes an existing table, by a rebuild if ALTER TABLE can't make the change.
  private mutating func change(_ table: TableInfo) throws {
    guard let existing = changed[table: table.name] else { return }
    guard existing.module == nil else {
      throw SchemaPlanner.mismatch(
        "table \(table.name) can't be changed: the database has a virtual table with the same name; drop or rename the "
          + "virtual table", table.name)
    }
    guard
      let model = try DatabaseSchema(of: table, for: connection).tables.first(where: {
        $0.name.isSameName(as: table.name)
      })
    else { return }
    let differences = SchemaComparison.differences(of: existing, from: model, declaredBy: table, in: changed)
    ask(differences, existing, model)
    try checkKeptColumns(differences, of: table)
    var change = try TableChange(
      table: table, existing: existing, model: model, differences: differences, planner: self)
    // SQLite can't drop a column that one of the log's triggers uses.
    if try change.mightDropColumns, try pauseChangeLog(of: table.name), let paused = changed[table: table.name] {
      change = try TableChange(table: table, existing: paused, model: model, differences: differences, planner: self)
    }
    for step in try change.steps() { try add(step) }
  }

  /// Adds questions about columns that might have been renamed.
  ///
  /// An extra column and an added column of the same type might be one renamed column. The plan asks in these cases:
  /// - the plan drops extra columns;
  /// - inserts fail without a value for the extra column;
  /// - `renamed` contains the added column's name as a new name.
  ///
  /// The plan also asks if `renamed` renames a column that the model still has. A key of `renamed` without a table's
  /// name might be meant for a column of another table.
  private mutating func ask(
    _ differences: [SchemaDifference], _ existing: DatabaseSchema.Table, _ model: DatabaseSchema.Table
  ) {
    let missing = differences.filter { $0.kind == .column && $0.isMissing }.compactMap(\.column)
    let added = missing.filter {
      answers.dropping.contains(.columns) || answers.isNewName($0, in: existing.name)
    }
    for extra in differences where extra.kind == .column && extra.isExtra {
      guard let old = extra.column, !isAnswered(old, of: existing.name) else { continue }
      let alike = existing.newNames(of: old, among: extra.isHarmless ? added : missing, of: model)
      if !alike.isEmpty { questions.append(.init(table: existing.name, dropped: old, added: alike)) }
    }
    for column in existing.columns
    where model[column: column.name] != nil && !isAnswered(column.name, of: existing.name) {
      let new = Answers.entry(answers.renamed, existing.name, column.name)
      let named = added.filter { new?.isSameName(as: $0) ?? false }
      if !named.isEmpty { questions.append(.init(table: existing.name, dropped: column.name, added: named)) }
    }
  }
}

extension SchemaPlanner {
  /// Throws `.schema(.mismatch)` if the table keeps an undeclared column that makes every insert fail.
  private func checkKeptColumns(_ differences: [SchemaDifference], of table: TableInfo) throws {
    guard !answers.dropping.contains(.columns) else { return }
    for extra in differences where extra.kind == .column && extra.isExtra && !extra.isHarmless {
      guard let column = extra.column,
        !questions.contains(where: { $0.table.isSameName(as: extra.table) && $0.dropped.isSameName(as: column) })
      else { continue }
      throw SchemaPlanner.mismatch(
        "column \(table.name).\(column) is NOT NULL without a default, and no model declares it, so each insert fails; "
          + "declare the column, rename it with `renamed:`, or drop it with `dropping: .columns`",
        table.name, column)
    }
  }

  private func isAnswered(_ column: String, of table: String) -> Bool {
    answers.notRenamed.contains { $0.isSameName(as: column) || $0.isSameName(as: "\(table).\(column)") }
  }
}

extension SchemaPlanner {
  func formerNames(of table: TableInfo) -> [String] {
    answers.renamedTables.filter { $0.value.isSameName(as: table.name) }.map(\.key).sorted()
  }
}

extension DatabaseSchema.Table {
  fileprivate func isVirtualTable(of create: String) throws -> Bool {
    var reader = SchemaReader(create)
    guard let module, let other = try reader.table().module else { return false }
    return module.isSameModule(as: other)
  }
}
