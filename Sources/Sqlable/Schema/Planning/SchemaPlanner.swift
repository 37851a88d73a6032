/// Makes plans. Each step is tried on a copy of the schema in memory, so that the next one begins with what it leaves.
struct SchemaPlanner {
  let connection: Connection
  let copy: SchemaCopy
  let answers: Answers
  private var steps: [SchemaPlan.Step] = []
  private var questions: [SchemaPlan.Question] = []
  /// The schema as it is, and as the steps leave it.
  private let schema: DatabaseSchema
  private var changed: DatabaseSchema

  /// What the program says about a plan.
  struct Answers {
    /// The new names of columns by their old ones, `color` or `bicycle.color`.
    var renamed: [String: String] = [:]
    /// The new names of tables by their old ones.
    var renamedTables: [String: String] = [:]
    /// Columns that were not renamed, though they look so.
    var notRenamed: Set<String> = []
    /// What columns get where they have no value.
    var filling: [String: DatabaseValue] = [:]
    var dropping: SchemaDropping = []

    /// Whether a column of a table was to become this one.
    func isNewName(_ column: String, in table: String) -> Bool {
      renamed.contains { Answers.canBe(of: table, $0.key) && $0.value.isSameName(as: column) }
    }

    /// Whether a key, `color` or `bicycle.color`, may be a column of a table.
    private static func canBe(of table: String, _ key: String) -> Bool {
      !key.utf8.contains(UInt8(ascii: ".")) || key.foldedName.starts(with: "\(table).".foldedName)
    }

    /// Throws `.misuse` for a new name that no model has.
    func check(for tables: [TableInfo]) throws {
      for (old, new) in renamed {
        let isThere = tables.contains { table in
          Answers.canBe(of: table.name, old) && table.columns.contains { $0.name.isSameName(as: new) }
        }
        guard isThere else {
          throw SqlError.misuse("column \(old) can't be renamed: no model of the schema has a column \(new)")
        }
      }
    }

    /// The entry for a column, which may be given with its table.
    static func entry<Value>(_ entries: [String: Value], _ table: String, _ column: String) -> Value? {
      entries.first { $0.key.isSameName(as: "\(table).\(column)") || $0.key.isSameName(as: column) }?.value
    }
  }

  init(_ connection: Connection, functions: FunctionRegistry?, answers: Answers) throws {
    self.connection = connection
    self.answers = answers
    copy = try SchemaCopy(of: connection, functions: functions, withTriggers: true)
    schema = try connection.schema()
    changed = try copy.connection.schema()
  }

  mutating func plan(for schema: Schema) throws -> SchemaPlan {
    let tables = schema.tables
    try schema.check()
    try answers.check(for: tables)
    let fingerprint = try connection.schemaFingerprint()
    try dropOutdated(schema.triggers)
    // A view may read any table.
    for table in tables where table.view == nil { try plan(table) }
    for table in tables where table.view != nil { try plan(table) }
    try create(schema.triggers)
    return SchemaPlan(steps: steps, questions: questions, schema: fingerprint)
  }

  private mutating func plan(_ table: TableInfo) throws {
    if let defect = table.defect { throw defect }
    if let view = table.view { return try plan(view, of: table) }
    try renameTable(table)
    let isOwnFullText = table.fullText?.isExternal == false
    if let found = changed[table: table.name], !isOwnFullText {
      try renameColumns(of: table, found)
      try change(table)
    } else if changed[table: table.name] == nil {
      guard changed.views.allSatisfy({ !$0.name.isSameName(as: table.name) }) else {
        throw SchemaPlanner.mismatch("table \(table.name) of a model is a view in the database", table.name)
      }
      try create(table)
    }
    try buildFullText(of: table)
  }

  /// Adds a step, and takes it on the copy.
  mutating func add(_ step: SchemaPlan.Step) throws {
    // See SchemaPlan.run(_:on:).
    try copy.connection.pragma("PRAGMA legacy_alter_table = \(step.rebuilds ? "ON" : "OFF")")
    for statement in step.statements {
      // The copy has no rows, so that values make no difference.
      try copy.connection.pragma(statement.sql)
    }
    steps.append(step)
    changed = try copy.connection.schema()
  }

  static func mismatch(_ message: String, _ table: String, _ column: String? = nil) -> SqlError {
    SqlError(.schema(.mismatch(message)), message: message, table: table, column: column)
  }

  // MARK: Tables

  private mutating func renameTable(_ table: TableInfo) throws {
    let named = answers.renamedTables.first { $0.value.isSameName(as: table.name) }
    guard let old = named?.key, changed[table: table.name] == nil, let found = changed[table: old] else { return }
    try add(
      SchemaPlan.Step(
        table.name, [.init(.renameTable, table.name, from: found.name)],
        [.init("ALTER TABLE \(found.name.quotedName) RENAME TO \(table.name.quotedName)")]))
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
    let found = changed[table: fullText.name]
    guard fullText.isExternal else {
      guard let found, SchemaText(found.sql) != SchemaText(create) else { return }
      throw SchemaPlanner.mismatch(
        "table \(table.name) exists, but differs from the model's full-text table; FTS5 can't change it", table.name)
    }
    let triggers = definition.triggers()
    let own = changed[table: table.name]?.triggers ?? []
    let areThere = triggers.allSatisfy { trigger in
      own.contains { $0.name.isSameName(as: trigger.name) && $0.sql == SchemaText(trigger.sql) }
    }
    let isCurrent = found.map { SchemaText($0.sql) == SchemaText(create) } ?? false
    if isCurrent, areThere { return }
    var statements: [SchemaPlan.Statement] = []
    for trigger in triggers where own.contains(where: { $0.name.isSameName(as: trigger.name) }) {
      statements.append(.init("DROP TRIGGER \(trigger.name.quotedName)"))
    }
    if !isCurrent {
      if found != nil { statements.append(.init("DROP TABLE \(fullText.quotedName)")) }
      statements.append(.init(create))
    }
    statements += triggers.map { .init($0.sql) }
    statements.append(.init("INSERT INTO \(fullText.quotedName) (\(fullText.quotedName)) VALUES ('rebuild')"))
    try add(
      SchemaPlan.Step(
        table.name, [.init(.buildFullText, fullText.name)], statements, rows: try rowCount(of: table.name)))
  }

  /// About how many rows a table has; 0 for one that is new.
  func rowCount(of table: String) throws -> Int {
    let old = answers.renamedTables.first { $0.value.isSameName(as: table) }?.key
    guard let found = schema[table: table] ?? old.flatMap({ schema[table: $0] }) else { return 0 }
    let table = "main.\(found.name.quotedName)"
    if !found.isWithoutRowid, let id = String.rowidName(beside: found.columns.map(\.name)) {
      // One query for both ends would read the whole table: SQLite seeks a single min or max only.
      let ends = ["max", "min"].map { "(SELECT \($0)(\(id)) FROM \(table))" }.joined(separator: " - ")
      // A distance beyond 64 bits is no integer.
      if let distance = try Int(connection.pragma("SELECT coalesce(\(ends) + 1, 0)") ?? "") { return distance }
    }
    return try Int(connection.pragma("SELECT count(*) FROM \(table)") ?? "") ?? 0
  }

  // MARK: Views

  private mutating func plan(_ view: View, of table: TableInfo) throws {
    guard changed[table: table.name] == nil else {
      throw SchemaPlanner.mismatch("view \(table.name) of a model is a table in the database", table.name)
    }
    let create = try TableDefinition(table).create(view, for: connection)
    let found = changed.views.first { $0.name.isSameName(as: table.name) }
    guard let found else {
      return try add(SchemaPlan.Step(table.name, [.init(.addView)], [.init(create)]))
    }
    let model = DatabaseSchema.View(name: table.name, sql: SchemaText(create))
    guard !copy.connection.isSame(found, as: model) else { return }
    let triggers = found.triggers.map { SchemaPlan.Statement($0.sql.text) }
    try add(
      SchemaPlan.Step(
        table.name, [.init(.changeView)],
        [.init("DROP VIEW \(table.name.quotedName)"), .init(create)] + triggers))
  }

  // MARK: Triggers

  /// Drops the triggers that differ before their tables change: they may name columns that go.
  private mutating func dropOutdated(_ triggers: [Trigger]) throws {
    for trigger in triggers {
      for table in changed.tables {
        guard let own = table.triggers.first(where: { $0.name.isSameName(as: trigger.name) }),
          own.sql != SchemaText(try trigger.create(for: connection))
        else { continue }
        try add(
          SchemaPlan.Step(
            table.name, [.init(.dropTrigger, own.name)], [.init("DROP TRIGGER \(own.name.quotedName)")]))
      }
    }
  }

  /// Creates the triggers that are not there.
  private mutating func create(_ triggers: [Trigger]) throws {
    for trigger in triggers {
      let own = changed[table: trigger.table.name]?.triggers ?? []
      guard !own.contains(where: { $0.name.isSameName(as: trigger.name) }) else { continue }
      try add(
        SchemaPlan.Step(
          trigger.table.name, [.init(.addTrigger, trigger.name)], [.init(try trigger.create(for: connection))]))
    }
  }

  // MARK: Columns

  private mutating func renameColumns(of table: TableInfo, _ found: DatabaseSchema.Table) throws {
    for column in found.columns where table.columns.allSatisfy({ !$0.name.isSameName(as: column.name) }) {
      guard let new = Answers.entry(answers.renamed, table.name, column.name) else { continue }
      guard let target = table.columns.first(where: { $0.name.isSameName(as: new) }) else {
        throw SqlError.misuse("column \(column.name) can't be renamed: the model has no column \(new)")
          .at(table: table.name, column: column.name)
      }
      guard found[column: target.name] == nil else {
        throw SqlError.misuse("column \(column.name) can't be renamed: the table has a column \(target.name) already")
          .at(table: table.name, column: column.name)
      }
      let (from, to) = (column.name.quotedName, target.name.quotedName)
      try add(
        SchemaPlan.Step(
          table.name, [.init(.renameColumn, target.name, from: column.name)],
          [.init("ALTER TABLE \(table.name.quotedName) RENAME COLUMN \(from) TO \(to)")]))
    }
  }

  /// Changes a table that is there, in a rebuild if SQLite can't alter it so.
  private mutating func change(_ table: TableInfo) throws {
    guard let found = changed[table: table.name] else { return }
    guard found.module == nil else {
      throw SchemaPlanner.mismatch("table \(table.name) of a model is a virtual table in the database", table.name)
    }
    guard
      let model = try DatabaseSchema(of: table, for: connection).tables.first(where: {
        $0.name.isSameName(as: table.name)
      })
    else { return }
    let differences = SchemaComparison.differences(of: found, from: model)
    ask(differences, found, model)
    let change = try TableChange(table: table, found: found, model: model, differences: differences, planner: self)
    for step in try change.steps() { try add(step) }
  }

  /// Asks where a column that no model has may be one that would be added: if it would be dropped, or if the added one
  /// was to be the new name of a column that is not there.
  private mutating func ask(
    _ differences: [SchemaDifference], _ found: DatabaseSchema.Table, _ model: DatabaseSchema.Table
  ) {
    let added = differences.filter { $0.kind == .column && $0.isMissing }.compactMap(\.column).filter {
      answers.dropping.contains(.columns) || answers.isNewName($0, in: found.name)
    }
    for extra in differences where extra.kind == .column && extra.isExtra {
      guard let old = extra.column,
        !answers.notRenamed.contains(where: {
          $0.isSameName(as: old) || $0.isSameName(as: "\(found.name).\(old)")
        })
      else { continue }
      let alike = added.filter { model[column: $0]?.type == found[column: old]?.type }
      if !alike.isEmpty { questions.append(.init(table: found.name, dropped: old, added: alike)) }
    }
  }
}

extension Connection {
  /// A SHA-256 of everything in the schema table.
  func schemaFingerprint() throws -> String {
    var bytes: [UInt8] = []
    try eachRow("SELECT type, name, tbl_name, coalesce(sql, '') FROM main.sqlite_schema ORDER BY type, name") { row in
      for field in row { bytes += Array(field.utf8) + [0] }
    }
    return SHA256.hex(bytes)
  }
}
