import SqlableCore

extension Connection {
  /// Returns the SHA-256 of the type, name, table and SQL of every object in the main schema, and of the change log's
  /// list of tables. A plan's statements contain ids from this list.
  ///
  /// The list is read with SQL, because a program that applies a stored plan might not link the module of the change
  /// log.
  func schemaFingerprint() throws -> String {
    var bytes: [UInt8] = []
    func add(_ rows: [[String]]) { for field in rows.joined() { bytes += Array(field.utf8) + [0] } }
    let objects = try rows("SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name")
    add(objects)
    let entries = "sqlable_change_tables"
    if objects.contains(where: { $0[0] == "table" && $0[1].isExactly(entries) }) {
      add(try rows("SELECT * FROM main.\(entries.quotedName) ORDER BY 1"))
    }
    return SHA256.hex(bytes)
  }
}
