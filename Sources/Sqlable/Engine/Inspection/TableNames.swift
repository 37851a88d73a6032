extension Connection {
  /// The names of the ordinary tables of the `main` database: no virtual tables, no shadow tables of FTS5, no tables of
  /// SQLite's own.
  func tableNames() throws -> [String] {
    var tables: [(name: String, module: [UInt8]?)] = []
    // A program may replace LIKE and every function, so the names are filtered in Swift.
    try eachRow("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'") { row in
      if !row[1].isEmpty { tables.append((row[0], row[1].virtualTableModule)) }
    }
    // FTS5 keeps each full-text table in ordinary shadow tables, which only FTS5 writes.
    var shadows: Set<[UInt8]> = []
    for table in tables where table.module == "fts5".foldedName {
      for suffix in ["_data", "_idx", "_content", "_docsize", "_config"] {
        shadows.insert((table.name + suffix).foldedName)
      }
    }
    // A virtual table stores no rows of its own, and only SQLite writes the sqlite_ tables.
    return tables.compactMap { table in
      let name = table.name.foldedName
      let isOrdinary = table.module == nil && !name.starts(with: "sqlite_".utf8) && !shadows.contains(name)
      return isOrdinary ? table.name : nil
    }
  }
}
