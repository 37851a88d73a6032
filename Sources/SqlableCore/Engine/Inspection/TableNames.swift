extension Connection {
  /// Returns the ordinary tables of `main`, without virtual tables, their shadow tables, and SQLite's tables.
  package func tableNames() throws -> [String] {
    var tables: [(name: String, module: [UInt8]?)] = []
    // The names are filtered in Swift, because an application can override LIKE and every SQL function.
    for row in try rows("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'") {
      if !row[1].isEmpty { tables.append((row[0], row[1].virtualTableModule)) }
    }
    var shadows: Set<[UInt8]> = []
    for table in tables {
      if let module = table.module { shadows.formUnion(ShadowTables.names(of: table.name, module: module)) }
    }
    // Leave out virtual tables, which store no rows themselves, and the `sqlite_` tables, which only SQLite writes.
    return tables.compactMap { table in
      let name = table.name.foldedName
      let isOrdinary = table.module == nil && !name.starts(with: "sqlite_".utf8) && !shadows.contains(name)
      return isOrdinary ? table.name : nil
    }
  }
}
