// Incremental writes of blobs, for observers.

extension HandleObservation {
  /// Calls `write`, an incremental write of a blob, and records the write as an update of the row.
  ///
  /// SQLite's pre-update hook reports such a write as the deletion of the row, and the update hook reports nothing.
  func recording(_ blob: IncrementalBlob, _ write: () throws -> Void) throws {
    hook.isPaused = true
    defer { hook.isPaused = false }
    try write()
    guard blob.database.isSameName(as: "main"),
      let table = buffer.tables.first(where: { $0.nameInDatabase.isSameName(as: blob.table) })
    else { return }
    let needsKey = table.keepsRows && !table.key.columns.isEmpty
    let key = !needsKey ? [] : try connection.key(table.key.names, ofRow: blob.id, in: blob.table)
    buffer.didWrite(blob.column, of: table, id: blob.id, key: key)
  }
}

extension Connection {
  fileprivate func key(_ names: [String], ofRow id: Int64, in table: String) throws -> [DatabaseValue] {
    let rowid = String.rowidName(avoiding: try rows("PRAGMA main.table_xinfo(\(table.quotedName))").map { $0[1] })
    guard let rowid else { return [] }
    let columns = names.joined(separator: ", ")
    var text = "SELECT \(columns) FROM \(table.quotedName(inDatabase: "main")) WHERE \(rowid) = \(id)"
    return try text.withUTF8 { text in
      let statement = try compile(text, isInternal: true)
      defer { statement.reset() }
      return try statement.step() ? names.indices.map { try statement.value(at: $0) } : []
    }
  }
}
