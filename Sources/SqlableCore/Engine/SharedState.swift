/// The initial state of a connection that a pool lends to several callers. No caller may change the state.
struct SharedState {
  let isReader: Bool
  /// True if compiled SQL might have changed a setting, or attached or detached a file. SQLite runs some pragmas while
  /// compiling.
  private(set) var hasOtherSettings = false
  /// True if compiled SQL might have created or dropped temporary objects.
  fileprivate var mayHaveOtherObjects = false
  fileprivate let objects: [[String]]

  /// Records the effects that a text can have. Call before compiling, because SQLite runs many pragmas while compiling,
  /// even after EXPLAIN and even if the rest of the text is invalid.
  mutating func note(_ text: UnsafeBufferPointer<UInt8>) {
    // Read four words, because a statement can begin with EXPLAIN QUERY PLAN PRAGMA. Every pragma counts as a changed
    // setting, because SQLite does not report whether a pragma reads or sets.
    let words = text[...].firstKeywords(4)
    if words.contains(where: ["PRAGMA", "ATTACH", "DETACH"].contains) { hasOtherSettings = true }
    // Does not check for TEMP, because a schema name can also make an object temporary: CREATE VIEW temp.bicycle.
    if words.contains(where: ["CREATE", "DROP", "ALTER"].contains) { mayHaveOtherObjects = true }
  }
}

extension Connection {
  /// Starts recording changes that callers make to the connection's state.
  package func beginSharing(isReader: Bool) throws {
    // Empty the cache, so that every statement is compiled again: compiling records the statement's effects.
    cache.removeAll()
    shared = SharedState(isReader: isReader, objects: try temporaryObjects())
  }

  /// True if a caller might have changed a setting, attached or detached a file, or created or dropped a temporary
  /// object. Temporary objects can hide tables.
  package var hasOtherState: Bool {
    if shared?.hasOtherSettings == true { return true }
    guard shared?.mayHaveOtherObjects == true else { return false }
    guard let objects = try? temporaryObjects(), objects == shared?.objects else { return true }
    self.shared?.mayHaveOtherObjects = false
    return false
  }

  /// True if the next caller can't use the connection: the connection is lost, has an open cursor, or has changed
  /// settings or temporary objects.
  package var isUnusableForOthers: Bool {
    // An open cursor keeps its snapshot, so the next caller would read old data.
    isLost || openCursors > 0 || hasOtherState
  }

  private func temporaryObjects() throws -> [[String]] {
    try withoutTracing { connection in
      // Reading the schema of the temporary database would open this database, which takes 87 KB.
      guard try connection.rows("PRAGMA database_list").contains(where: { $0.count > 1 && $0[1] == "temp" }) else {
        return []
      }
      return try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_temp_master ORDER BY type, name")
    }
  }
}
