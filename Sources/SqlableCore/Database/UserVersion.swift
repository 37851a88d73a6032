extension SqliteDatabase {
  /// A number that SQLite keeps in the file for the program: `PRAGMA user_version`. 0 in a new database.
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
    // The library's own statement: a pool reopens a reader whose SQL had a PRAGMA. Not pragma_user_version, which a
    // table of that name hides.
    try running { Int(try $0.userVersion()) }
  }

  /// Sets the number: `PRAGMA user_version = 2`. Inside a transaction it is part of it.
  ///
  /// Throws `.misuse` outside of -2^31 to 2^31 - 1, which SQLite would cut off, and `.readOnly` on a read-only handle.
  public func setUserVersion(_ version: Int) throws {
    guard let version = Int32(exactly: version) else {
      throw misuse("the user version must be from -2^31 to 2^31 - 1")
    }
    // A PRAGMA takes no bound values.
    try execute("PRAGMA user_version = \(version)" as String)
  }
}
