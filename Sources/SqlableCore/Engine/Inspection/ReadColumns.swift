import CSqlableSQLite

/// The tables and columns that statements read.
package struct ReadColumns: Sendable, Equatable {
  /// The folded names of the columns, keyed by the table's folded name.
  package var tables: [[UInt8]: Set<[UInt8]>] = [:]
  /// True if the statements read tables that can't be observed. These are the schema's virtual tables with their shadow
  /// tables, SQLite's own tables, and the tables of databases other than `main`.
  package var readsUnobserved = false

  package init(tables: [[UInt8]: Set<[UInt8]>] = [:], readsUnobserved: Bool = false) {
    (self.tables, self.readsUnobserved) = (tables, readsUnobserved)
  }

  package mutating func formUnion(_ other: ReadColumns) {
    tables.merge(other.tables) { $0.union($1) }
    readsUnobserved = readsUnobserved || other.readsUnobserved
  }
}

extension Connection {
  /// Returns the tables and columns that a statement and its views read, as SQLite's authorizer reports them.
  package func columnsRead(by sql: String) throws -> ReadColumns {
    final class Notes {
      var read = ReadColumns()
    }
    let notes = Notes()
    // Run these queries first, because running a statement makes SQLite reload a changed schema. Compiling alone would
    // report the old definition of a changed view.
    let observed = Set(try tableNames().map(\.foldedName))
    var unobserved = Set(
      try rows("SELECT name FROM main.sqlite_master WHERE type = 'table'").map { $0[0].foldedName })
    unobserved.subtract(observed)
    let code = sqlite3_set_authorizer(
      handle,
      { context, action, table, column, database, _ in
        guard let context, let table else { return SQLITE_OK }
        let notes = Unmanaged<Notes>.fromOpaque(context).takeUnretainedValue()
        let name = String(cString: table).foldedName
        if action == SQLITE_PRAGMA, !name.isPragmaOfSchema { notes.read.readsUnobserved = true }
        guard action == SQLITE_READ else { return SQLITE_OK }
        // For a view or common table expression, SQLite reports the name without a database, and then reports the
        // tables that are read.
        if let database, String(cString: database) != "main" { notes.read.readsUnobserved = true }
        // An empty column name means that the statement reads only the number of rows.
        let columns = column.map { String(cString: $0).foldedName }
        notes.read.tables[name, default: []].formUnion(columns.map { $0.isEmpty ? [] : [$0] } ?? [])
        return SQLITE_OK
      }, Unmanaged.passUnretained(notes).toOpaque())
    guard code == SQLITE_OK else { throw error(code, sql: nil) }
    defer { sqlite3_set_authorizer(handle, nil, nil) }
    authorizedCaches.noteRemoval()
    var sql = sql
    _ = try sql.withUTF8 { try compileFirst($0) }
    var read = notes.read
    if !unobserved.isDisjoint(with: read.tables.keys) || read.tables.keys.contains(where: \.isTableOfAllData) {
      read.readsUnobserved = true
    }
    return read
  }
}

extension [UInt8] {
  /// True for the folded name of a PRAGMA whose result changes only with the schema.
  fileprivate var isPragmaOfSchema: Bool {
    ["table_", "index_", "foreign_key_list", "database_list", "encoding"].contains { starts(with: $0.utf8) }
  }

  /// True if this is the folded name of a table that SQLite computes from the whole file. Any commit can change such a
  /// table.
  fileprivate var isTableOfAllData: Bool {
    if starts(with: "pragma_".utf8) { return !Array(dropFirst("pragma_".utf8.count)).isPragmaOfSchema }
    return elementsEqual("dbstat".utf8) || elementsEqual("sqlite_dbpage".utf8)
  }
}
