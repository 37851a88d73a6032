import CSqlableSQLite

/// A cache of facts about the plans of a connection's statements, valid until the schema or its statistics change.
package final class PlanCache {
  /// The tables that a plan scans completely, keyed by the SQL. The plan was made without bound values.
  @exclusivity(unchecked) private var visits: [String: [String]] = [:]
  @exclusivity(unchecked) private var schema: SchemaState?
  private static let maximumCount = 1_000

  /// Returns the tables that the plan of `sql` scans completely. Calls `find` if the cache does not contain `sql` or
  /// the schema has changed.
  package func visits(of sql: String, in schema: SchemaState, _ find: () throws -> [String]) rethrows -> [String] {
    if self.schema != schema {
      self.schema = schema
      visits.removeAll()
    } else if let known = visits[sql] {
      return known
    }
    let tables = try find()
    if visits.count >= PlanCache.maximumCount { visits.removeAll() }
    visits[sql] = tables
    return tables
  }
}

/// The state of a schema. While the state is unchanged, the plans of the connection's statements are unchanged.
package struct SchemaState: Equatable {
  /// A number that changes whenever any connection changes the schema.
  let version: Int64
  /// The number of times that SQLite has recompiled the statement that reads `version`. SQLite does so after ANALYZE,
  /// after ATTACH and after changes of temporary tables.
  let recompilations: Int32
}

extension Connection {
  package func schemaState() throws -> SchemaState {
    let version = try schemaVersion()
    let handle = schemaVersionStatement?.handle
    return SchemaState(
      version: version, recompilations: sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0))
  }
}
