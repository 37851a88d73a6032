import CSqlableSQLite

/// What a connection knows of the plans of its statements, until something changes them.
package final class KnownPlans {
  /// The tables of which a statement's plan visits every row, by its SQL. They do not depend on values.
  @exclusivity(unchecked) private var visits: [String: [String]] = [:]
  @exclusivity(unchecked) private var schema: SchemaState?
  private static let maximumCount = 1_000

  /// The tables that `find` returned for this text, while the schema and its statistics are the same.
  package func visits(of sql: String, in schema: SchemaState, _ find: () throws -> [String]) rethrows -> [String] {
    if self.schema != schema {
      self.schema = schema
      visits.removeAll()
    } else if let known = visits[sql] {
      return known
    }
    let found = try find()
    if visits.count >= KnownPlans.maximumCount { visits.removeAll() }
    visits[sql] = found
    return found
  }
}

/// Differs from another one of the same connection if a statement may have another plan.
package struct SchemaState: Equatable {
  /// Changes whenever any connection changes the schema.
  let version: Int64
  /// How often SQLite has recompiled a statement of the connection's own, as it does after ANALYZE, ATTACH, or a change
  /// of a temporary table.
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
