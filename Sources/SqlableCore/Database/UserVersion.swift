extension SqliteDatabase {
  /// A number that SQLite stores in the file for the application: `PRAGMA user_version`. 0 in a new database.
  ///
  /// ```swift
  /// if try db.userVersion() < 2 {
  ///   try db.transaction { db in
  ///     try db.execute("ALTER TABLE bicycle ADD COLUMN note TEXT")
  ///     try db.setUserVersion(2)
  ///   }
  /// }
  /// ```
  public func userVersion() throws -> Int {
    // Runs an internal statement: if `query` ran the PRAGMA, a pool would reopen the reader afterwards. A SELECT from
    // `pragma_user_version` would read a table with this name if the database has one.
    try running { Int(try $0.userVersion()) }
  }

  /// Sets the number: `PRAGMA user_version = 2`. A rollback of the enclosing transaction undoes the change.
  ///
  /// Throws `.misuse` for a number outside -2^31 to 2^31 - 1, which SQLite would truncate, and `.readOnly` on a
  /// read-only handle.
  public func setUserVersion(_ version: Int) throws {
    guard let version = Int32(exactly: version) else {
      throw misuse("the user version must be from -2^31 to 2^31 - 1")
    }
    // A PRAGMA can't have bound values.
    try execute("PRAGMA user_version = \(version)" as String)
  }
}
