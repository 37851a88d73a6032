import CSqlableSQLite

/// SQLite's counters for a connection, and the connection's memory sizes in bytes.
struct ConnectionStatus {
  let changes: Int
  let pageHits, pageMisses, pageWrites: Int
  let pageBytes, schemaBytes, statementBytes: Int

  init(_ connection: Connection) {
    func status(_ kind: Int32) -> Int {
      var (current, highest): (Int32, Int32) = (0, 0)
      sqlite3_db_status(connection.handle, kind, &current, &highest, 0)
      return Int(current)
    }
    changes = connection.totalChanges
    (pageHits, pageMisses) = (status(SQLITE_DBSTATUS_CACHE_HIT), status(SQLITE_DBSTATUS_CACHE_MISS))
    pageWrites = status(SQLITE_DBSTATUS_CACHE_WRITE)
    (pageBytes, schemaBytes) = (status(SQLITE_DBSTATUS_CACHE_USED), status(SQLITE_DBSTATUS_SCHEMA_USED))
    statementBytes = status(SQLITE_DBSTATUS_STMT_USED)
  }
}
