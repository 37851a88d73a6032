import SqlableCore
import SqlableSchema

/// The rows that reference missing rows. `deleteAdded` deletes the orphaned rows that a merge added, and keeps the
/// older orphaned rows.
struct OrphanedRows {
  private struct Table {
    let name: String
    /// The query for the keys of orphaned rows; nil for a table with rowids, whose orphaned rows `foreign_key_check`
    /// reports.
    let query: String?
    let key: String
    var earlierIds: Set<Int> = []
    /// The temporary table with the keys of orphaned rows before the merge; nil if there were no such rows.
    var earlierKeys: String?
  }

  private var tables: [Table] = []

  /// Records the existing orphaned rows. Call this inside the transaction that adds rows, before rows are added.
  init(in db: SqliteDatabase, _ schema: DatabaseSchema) throws {
    for (number, table) in schema.tables.enumerated() where table.module == nil && !table.foreignKeys.isEmpty {
      let key = table.isWithoutRowid ? try db.running { try $0.keyShape(ofTable: table.name).names } : []
      let query = key.isEmpty ? nil : try OrphanedRows.query(key, of: table.name, db)
      var entry = Table(name: table.name, query: query, key: key.joined(separator: ", "))
      if let query {
        let rows = try db.query(SQL(verbatim: "SELECT EXISTS (\(query))"), as: Bool.self)
        if rows == [true] {
          let name = "temp.sqlable_earlier_\(number)"
          try db.execute(SQL(verbatim: "CREATE TABLE \(name) AS \(query)"))
          entry.earlierKeys = name
        }
      } else {
        entry.earlierIds = try OrphanedRows.ids(in: table.name, db)
      }
      tables.append(entry)
    }
  }

  /// Deletes the added orphaned rows, then the rows that reference the deleted rows.
  func deleteAdded(from db: SqliteDatabase) throws {
    var isDone = false
    while !isDone {
      isDone = true
      for table in tables where try delete(from: table, db) > 0 { isDone = false }
    }
    for case let name? in tables.map(\.earlierKeys) { try db.execute(SQL(verbatim: "DROP TABLE \(name)")) }
  }

  private func delete(from table: Table, _ db: SqliteDatabase) throws -> Int {
    let start = "DELETE FROM main.\(table.name.quotedName) WHERE "
    if let query = table.query {
      let exclusion = table.earlierKeys.map { " AND (\(table.key)) NOT IN (SELECT * FROM \($0))" } ?? ""
      return try db.executeCounting("\(start)(\(table.key)) IN (\(query))\(exclusion)")
    }
    var count = 0
    for id in try OrphanedRows.ids(in: table.name, db).subtracting(table.earlierIds).sorted() {
      count += try db.executeCounting("\(start)rowid = \(id)")
    }
    return count
  }

  private static func ids(in table: String, _ db: SqliteDatabase) throws -> Set<Int> {
    let ids = try db.query(SQL(verbatim: "PRAGMA main.foreign_key_check(\(table.quotedName))")) { row in
      try row.get(at: 1, as: Int?.self)
    }
    return Set(ids.compactMap(\.self))
  }

  private static func query(_ key: [String], of table: String, _ db: SqliteDatabase) throws -> String {
    let columns = try db.query(
      "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(\(table), 'main') ORDER BY id, seq"
    ) { row in
      (
        id: try row.get(at: 0, as: Int.self), parent: try row.get(at: 1, as: String.self),
        from: try row.get(at: 2, as: String.self), to: try row.get(at: 3, as: String?.self)
      )
    }
    var conditions: [String] = []
    for (_, columns) in Dictionary(grouping: columns, by: \.id).sorted(by: { $0.key < $1.key }) {
      let parent = columns[0].parent
      let parentKey = try db.query(
        "SELECT name FROM pragma_table_info(\(parent), 'main') ORDER BY pk = 0, pk", as: String.self)
      var terms = columns.map { "child.\($0.from.quotedName) IS NOT NULL" }
      // If the parent table is missing, no row has a parent.
      if !parentKey.isEmpty {
        let pairs = zip(columns, parentKey).map { column, name in
          // The parent's collation and affinity apply to the comparison.
          "parent.\((column.to ?? name).quotedName) = child.\(column.from.quotedName)"
        }
        terms.append(
          "NOT EXISTS (SELECT 1 FROM main.\(parent.quotedName) AS parent WHERE \(pairs.joined(separator: " AND ")))")
      }
      conditions.append("(\(terms.joined(separator: " AND ")))")
    }
    let names = key.map { "child.\($0)" }.joined(separator: ", ")
    return "SELECT \(names) FROM main.\(table.quotedName) AS child WHERE \(conditions.joined(separator: " OR "))"
  }
}

extension SqliteDatabase {
  /// Runs a statement, and returns the number of changed rows. Rows that triggers or foreign keys changed are not
  /// counted.
  fileprivate func executeCounting(_ sql: String) throws -> Int {
    try execute(SQL(verbatim: sql))
    return try running { $0.changes }
  }
}
