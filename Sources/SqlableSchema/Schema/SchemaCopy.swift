import CSqlableSQLite
import SqlableCore

/// An in-memory copy of a database's schema, without rows, for testing indexes and schema changes.
package struct SchemaCopy {
  package let connection: Connection

  /// - Parameter isFileOnly: If true, copies only the objects of the file, including its triggers. If false, also
  ///   copies temporary objects, but no triggers.
  package init(of original: Connection, functions: FunctionRegistry?, isFileOnly: Bool = false) throws {
    connection = try Connection(
      path: ":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, label: original.label,
      cacheCapacity: 0)
    try functions?.apply(to: connection)
    var (virtual, ordinary): ([String], [String]) = ([], [])
    // Filter the rows in Swift. An SQL filter would need LIKE or a function, and a program can replace both.
    let temporary = isFileOnly ? "" : "UNION ALL SELECT type, sql, rowid FROM temp.sqlite_schema"
    for row in try original.rows(
      """
      SELECT sql, type FROM (SELECT type, sql, rowid AS place FROM main.sqlite_schema \(temporary))
      WHERE sql IS NOT NULL ORDER BY type = 'trigger', type = 'index', place
      """)
    {
      if row[1] == "trigger", !isFileOnly { continue }
      if row[0].virtualTableModule != nil {
        virtual.append(row[0])
      } else if !row[0].foldedName.starts(with: "create table sqlite_".utf8) {
        ordinary.append(row[0])
      }
    }
    // Virtual tables come first, because creating a virtual table also creates its shadow tables.
    let statements = virtual + ordinary
    for statement in statements {
      // Ignore failures: a shadow table might exist already. A virtual table can't be created if its module is missing,
      // and is not in the copy then.
      _ = try? connection.pragma(statement)
    }
    try copyStatistics(from: original)
  }

  private func copyStatistics(from original: Connection) throws {
    let read = "SELECT tbl, idx, stat, tbl IS NULL, idx IS NULL, stat IS NULL FROM main.sqlite_stat1"
    guard let rows = try? original.rows(read), !rows.isEmpty else { return }
    try connection.pragma("ANALYZE main")
    for row in rows {
      let values = (0..<3).map { row[$0 + 3] == "1" ? "NULL" : row[$0].quotedText }
      try connection.pragma("INSERT INTO main.sqlite_stat1 VALUES (\(values.joined(separator: ", ")))")
    }
    try connection.pragma("ANALYZE main.sqlite_schema")
  }
}
