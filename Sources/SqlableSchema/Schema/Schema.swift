import SqlableCore

/// The tables of a program's models, for comparing with a database or changing a database to match.
///
/// ```swift
/// let schema = Schema(Person.self, Bicycle.self)
/// try schema.verify(db)                            // throws what differs
/// let plan = try schema.plan(db)                   // what would mend it
/// try plan.apply(db)
/// ```
///
/// A schema is a value; threads can share it. The schema reads the models' declarations when a method uses them.
public struct Schema: Sendable {
  package private(set) var tables: [TableInfo]
  private(set) var triggers: [Trigger] = []

  public init(_ models: any Sqlable.Type...) { self.init(models) }

  public init(_ models: [any Sqlable.Type]) {
    func info(_ model: (some Sqlable).Type) -> TableInfo { .unchecked(model).declared }
    tables = models.map { info($0) }
  }

  /// Returns the schema with another table that has a model's layout.
  public func adding(_ model: (some Sqlable).Type, named name: String) -> Schema {
    var schema = self
    schema.tables.append(TableInfo.unchecked(model).named(name).declared)
    return schema
  }

  /// Returns the schema with a trigger on one of its tables.
  ///
  /// ```swift
  /// let schema = Schema(Bicycle.self, Remark.self).adding(repainted)
  /// try schema.plan(db).apply(db)     // DROP TRIGGER, if the text differs; CREATE TRIGGER "repainted" …
  /// ```
  ///
  /// `differences` compares the trigger's text with the trigger in the database. `createTables(of:)` creates a missing
  /// trigger. Methods of the schema throw `.misuse` if the trigger can't be created, or if its table is not in the
  /// schema. Two triggers with the same name also throw `.misuse`.
  public func adding(_ trigger: Trigger) -> Schema {
    var schema = self
    schema.triggers.append(trigger)
    return schema
  }

  /// Returns the declared triggers of a table, in the form in which a database stores them.
  func triggers(of table: TableInfo, for connection: Connection) throws -> [DatabaseSchema.Trigger] {
    try triggers.filter { $0.table.name.isSameName(as: table.name) }.map {
      DatabaseSchema.Trigger(name: $0.name, sql: SchemaText(try $0.create(for: connection)))
    }
  }

  /// Throws `.misuse` if a model or trigger contradicts itself or the schema.
  func check() throws {
    for table in tables { try table.checkDeclarations() }
    for trigger in triggers where !tables.contains(where: { $0.name.isSameName(as: trigger.table.name) }) {
      throw SqlError.misuse("trigger \(trigger.name) is on table \(trigger.table.name), which is not in the schema")
    }
    if let name = triggers.map(\.name).firstDoubled {
      throw SqlError.misuse("the schema has two triggers named \(name)")
    }
  }

  /// Creates the tables and triggers of the schema, or adds missing columns, indexes and triggers, in one transaction.
  ///
  /// ```swift
  /// try Schema(Person.self, Bicycle.self).create(db)     // CREATE TABLE "person" …; CREATE TABLE "bicycle" …
  /// ```
  ///
  /// `create` accepts a handle or a pool, and throws the errors of ``SqliteDatabase/createTables(of:)``. Blocks the
  /// thread. In `async` code, use the overload for pools with `await`.
  @discardableResult
  public func create(
    _ db: some SqlDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [SchemaChange] {
    try db.withTransaction(.immediate, file: file, line: line) { try $0.createTables(of: self) }
  }

  /// Returns the differences between the tables of a database and the models.
  ///
  /// ```swift
  /// let differences = try schema.differences(db)
  /// // [bicycle.color: the type is TEXT, and should be INTEGER]
  /// ```
  ///
  /// The result includes objects of these tables that no model declares. ``SchemaDifference/isHarmless`` is true for
  /// objects that do not affect the models. Tables without a model are ignored. The comparison runs in one read. For a
  /// remote database, the library downloads the schema and compares locally. Throws `.misuse` for a model that
  /// contradicts itself.
  public func differences(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [SchemaDifference] {
    try db.run(SchemaComparison(schema: self), file: file, line: line)
  }

  /// Returns the differences between the tables of a database and the models.
  public func differences(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [SchemaDifference] {
    try await db.run(SchemaComparison(schema: self), file: file, line: line)
  }

  /// Throws `.schema(.mismatch)` if the models and their tables differ. The error lists all differences except harmless
  /// ones.
  ///
  /// ```swift
  /// try Schema(Person.self, Bicycle.self).verify(db)
  /// // SqlError.schema: the database differs from the models: bicycle.color: the type is TEXT, and should be INTEGER
  /// ```
  ///
  /// Call `verify` when a service starts. The database stays unchanged. ``differences(_:file:line:)-(SqlExecutor,_,_)``
  /// returns the same differences, and harmless differences too.
  public func verify(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws {
    try Schema.check(differences(db, file: file, line: line))
  }

  /// Throws `.schema(.mismatch)` if the models and their tables differ. The error lists all differences except harmless
  /// ones.
  public func verify(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try await Schema.check(differences(db, file: file, line: line))
  }

  private static func check(_ differences: [SchemaDifference]) throws {
    let differences = differences.filter { !$0.isHarmless }
    guard let first = differences.first else { return }
    let message = "the database differs from the models: " + differences.map(\.description).joined(separator: "; ")
    throw SqlError(.schema(.mismatch(message)), message: message, table: first.table, column: first.column)
  }
}

struct SchemaComparison: Runnable {
  let schema: Schema

  var sql: String { SchemaReading().sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] { try SchemaReading().requests() }

  func run(_ db: SqliteDatabase) throws -> [SchemaDifference] {
    try db.running { connection in
      try schema.check()
      let existing = try connection.schema()
      return try schema.tables.flatMap { table in
        let triggers = try schema.triggers(of: table, for: connection)
        return try SchemaComparison.differences(of: existing, from: table, with: triggers, connection)
      }
    }
  }

  func run(over transport: some SqlTransport) async throws -> [SchemaDifference] {
    try run(await .inMemory(schemaOf: transport))
  }

  /// Returns the differences between a database and a model, including the triggers of the model's table.
  static func differences(
    of existing: DatabaseSchema, from info: TableInfo, with triggers: [DatabaseSchema.Trigger] = [],
    _ connection: Connection
  ) throws -> [SchemaDifference] {
    let model = try DatabaseSchema(of: info, with: triggers, for: connection)
    var differences = model.views.compactMap { existing.difference(from: $0, connection) }
    for expected in model.tables {
      guard let table = existing[table: expected.name] else {
        let view = existing.views.first { $0.name.isSameName(as: expected.name) }
        differences.append(
          SchemaDifference(
            expected.name, expected.module == nil ? .table : .fullText, expected: expected.sql, found: view?.sql.text))
        continue
      }
      differences += SchemaComparison.differences(of: table, from: expected, declaredBy: info, in: existing)
    }
    return differences
  }

  static func differences(
    of existing: DatabaseSchema.Table, from model: DatabaseSchema.Table, declaredBy info: TableInfo,
    in schema: DatabaseSchema
  ) -> [SchemaDifference] {
    existing.differences(from: model, in: schema).filter { difference in
      switch difference.kind {
      // A unique index satisfies a model that declares a UNIQUE constraint.
      case .unique:
        !difference.isMissing
          || !model.uniques.contains { $0.sql == difference.expected && existing.hasUniqueIndex($0) }
      // A plan keeps a computed default that the model does not declare, so this default does not count as a
      // difference.
      case .defaultValue: existing.foreignDefault(of: difference.column ?? "", besides: model, info) == nil
      default: true
      }
    }.map { $0.marked(in: existing, of: model) }
  }
}

extension DatabaseSchema.Table {
  /// Returns the default of a column in the database if this default is computed, so that no model can declare it; see
  /// `hasComputedDefault(for:)`. Nil for another default, and for a column without a default.
  func foreignDefault(of column: String, besides model: DatabaseSchema.Table, _ info: TableInfo) -> SchemaText? {
    guard let existing = self[column: column], let value = existing.defaultValue, existing.generated == nil,
      let declared = model[column: column], declared.defaultValue == nil, declared.generated == nil,
      let type = info.columns.first(where: { $0.name.isSameName(as: column) })?.type
    else { return nil }
    return existing.hasComputedDefault(for: type) ? value : nil
  }

  fileprivate func hasUniqueIndex(_ constraint: DatabaseSchema.Unique) -> Bool {
    constraint.onConflict == nil
      && indexes.contains { $0.isUnique && $0.condition == nil && $0.terms == constraint.columns }
  }
}

extension DatabaseSchema {
  /// Creates the schema that a model declares: a table and its full-text index, or a view.
  init(of table: TableInfo, with triggers: [Trigger] = [], for connection: Connection) throws {
    try table.checkDeclarations()
    let definition = TableDefinition(table)
    if let view = table.view {
      views.append(View(name: table.name, sql: SchemaText(try definition.create(view, for: connection))))
      return
    }
    if table.fullText?.isExternal != false {
      var reader = SchemaReader(try definition.createTable(for: connection))
      var declared = try reader.table()
      declared.indexes = try table.indexes.map { index in
        var reader = SchemaReader(try definition.create(index, for: connection))
        return try reader.index().index
      }
      for trigger in table.fullText.map({ FullTextDefinition($0).triggers() }) ?? [] {
        declared.triggers.append(Trigger(name: trigger.name, sql: SchemaText(trigger.sql)))
      }
      declared.triggers += triggers
      tables.append(declared)
    }
    if let fullText = table.fullText {
      var reader = SchemaReader(FullTextDefinition(fullText).createTable())
      tables.append(try reader.table())
    }
  }
}

extension DatabaseSchema {
  /// Returns the difference between a model's view and the database's view of the same name; nil if the views are
  /// equal.
  fileprivate func difference(from model: View, _ connection: Connection) -> SchemaDifference? {
    let view = views.first { $0.name.isSameName(as: model.name) }
    if let view, connection.isSame(view, as: model) { return nil }
    return SchemaDifference(
      model.name, .view, name: model.name, expected: model.sql.text,
      found: view?.sql.text ?? self[table: model.name]?.sql)
  }
}

extension Connection {
  /// True if a database's view equals a model's. If the database's view has no column list, its query must return the
  /// column names of the model.
  func isSame(_ view: DatabaseSchema.View, as model: DatabaseSchema.View) -> Bool {
    if view.sql == model.sql { return true }
    guard let viewParts = view.parts, let modelParts = model.parts, viewParts.columns == nil,
      viewParts.query == modelParts.query
    else {
      return false
    }
    // The PRAGMA fails for a view that reads a missing table. Such a view differs from the model's view.
    let columns = (try? rows("PRAGMA main.table_xinfo(\(view.name.quotedName))")) ?? []
    return columns.map { SchemaText(name: $0[1]) } == modelParts.columns
  }
}

extension Schema {
  /// Returns the tables, parents before children and views last. Of the tables in a cycle of foreign keys, the first
  /// one in `tables` comes last in the result.
  static func ordered(_ tables: [TableInfo]) -> [TableInfo] {
    var (ordered, visited): ([TableInfo], Set<[UInt8]>) = ([], [])
    func add(_ table: TableInfo) {
      guard visited.insert(table.name.foldedName).inserted else { return }
      for parent in table.parents {
        if let table = tables.first(where: { $0.name.isSameName(as: parent) }) { add(table) }
      }
      ordered.append(table)
    }
    // Add views after tables, in their order: a view can read any table and any earlier view.
    tables.filter { $0.view == nil }.forEach(add)
    tables.filter { $0.view != nil }.forEach(add)
    return ordered
  }
}

extension TableInfo {
  fileprivate var parents: [String] {
    columns.flatMap { $0.definition.options.foreignKeys.map { $0.table() } }
      + constraints.foreignKeys.map { $0.reference.table() }
  }
}
