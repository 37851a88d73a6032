#if Cluster
import Sqlable

extension SqliteCluster {
  /// Creates the tables and indexes of models, and adds missing columns, indexes and triggers to existing tables.
  ///
  /// ```swift
  /// try await cluster.createTables(Person.self, Bicycle.self)
  /// ```
  ///
  /// Works as `createTables(_:)` does on a handle, in one transaction, with the same errors. Several programs can call
  /// this at the same time.
  @discardableResult
  public func createTables(_ models: any Sqlable.Type...) async throws -> [SchemaChange] {
    try await createTables(of: Schema(models))
  }

  /// Creates the tables and indexes of models; see ``createTables(_:)``.
  @discardableResult
  public func createTables(_ models: [any Sqlable.Type]) async throws -> [SchemaChange] {
    try await createTables(of: Schema(models))
  }

  /// Creates the tables and triggers of a schema; see ``createTables(_:)``.
  @discardableResult
  public func createTables(of schema: Schema) async throws -> [SchemaChange] {
    // Read first, without the write lock, because usually nothing is missing.
    let copy = try await read { tx in try await ClusterSchemaCopy(of: tx) }
    let changes = try copy.db.createTables(of: schema)
    guard try !copy.statements(for: changes, of: schema).isEmpty else { return changes }
    return try await transaction { tx in
      try await tx.updatingChangeLog {
        let copy = try await ClusterSchemaCopy(of: tx)
        let changes = try copy.db.createTables(of: schema)
        for sql in try copy.statements(for: changes, of: schema) { try await tx.execute(SQL(verbatim: sql)) }
        return changes
      }
    }
  }
}

extension Schema {
  /// Creates the tables and triggers of the schema on a cluster, or adds what is missing; see
  /// ``SqliteCluster/createTables(of:)``.
  @discardableResult
  public func create(_ cluster: SqliteCluster) async throws -> [SchemaChange] {
    try await cluster.createTables(of: self)
  }
}

/// An in-memory copy of a cluster's schema, without rows. The library changes the copy, and derives the statements for
/// the cluster from the difference.
struct ClusterSchemaCopy: Sendable {
  let db: SqliteDatabase
  private let objects: [Object]

  private struct Object: Sendable, Hashable {
    let type: String
    let name: String
    let sql: String
  }

  init(of cluster: some AsyncSqlExecutor) async throws {
    db = try await .inMemory(schemaOf: cluster)
    objects = try ClusterSchemaCopy.objects(of: db)
  }

  private static func objects(of db: SqliteDatabase) throws -> [Object] {
    let shadows = Set(
      try db.query("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'", as: String.self))
    return try db.query("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid") { row in
      Object(
        type: try row.get(at: 0, as: String.self), name: try row.get(at: 1, as: String.self),
        sql: try row.get(at: 2, as: String.self))
    }.filter { !shadows.contains($0.name) && !$0.name.hasPrefix("sqlite_") }
  }

  func statements(for changes: [SchemaChange], of schema: Schema) throws -> [String] {
    func key(_ object: Object) -> String { "\(object.type) \(object.name)" }
    let before = Dictionary(uniqueKeysWithValues: objects.map { (key($0), $0) })
    let objects = try ClusterSchemaCopy.objects(of: db)
    var (tables, otherObjects): ([String], [String]) = ([], [])
    // The only objects that are dropped, and created again, are full-text indexes and their triggers.
    var dropped = Set(before.keys).subtracting(objects.map(key))
    for object in objects {
      let known = before[key(object)]
      if let known, known.sql == object.sql { continue }
      if let known, object.type == "table", object.sql.virtualTableModule == nil {
        guard let table = schema.tables.first(where: { $0.name.isSameName(as: object.name) }) else { continue }
        tables += try addedColumns(of: table, known.sql)
        continue
      }
      if known != nil { dropped.insert(key(object)) }
      if object.type == "table" { tables.append(object.sql) } else { otherObjects.append(object.sql) }
    }
    let drops = self.objects.filter { dropped.contains(key($0)) }.sorted { $0.type > $1.type }.map {
      "DROP \($0.type.uppercased()) \($0.name.quotedName)"
    }
    let built = Set(changes.filter(\.builtFullText).map(\.table))
    let indexes = schema.tables.filter { built.contains($0.name) }.compactMap { $0.fullText?.name.quotedName }
    return drops + tables + otherObjects + indexes.map { "INSERT INTO \($0) (\($0)) VALUES ('rebuild')" }
  }

  private func addedColumns(of table: TableInfo, _ before: String) throws -> [String] {
    let old = try SqliteDatabase.inMemory(configuration: Configuration(foreignKeys: false))
    try old.execute(SQL(verbatim: before))
    let known = Set(
      try old.query("SELECT name FROM pragma_table_xinfo(\(table.name))", as: String.self).map(\.foldedName))
    return try db.running { connection in
      try table.columns.filter { !known.contains($0.name.foldedName) }.map {
        try TableDefinition(table).addColumn($0, for: connection)
      }
    }
  }
}
#endif
