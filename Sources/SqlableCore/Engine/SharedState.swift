/// The state of a connection that a pool lends to one caller after another, none of whom may leave it changed.
struct SharedState {
  /// True if compiled SQL may have left other settings or files. Compiling is enough: SQLite sets the flag of a pragma
  /// while compiling it.
  private(set) var hasOtherSettings = false
  /// True if compiled SQL may have created or dropped temporary objects.
  fileprivate var mayHaveOtherObjects = false
  /// The temporary objects that the connection had when it was opened.
  fileprivate let objects: [[String]]

  /// Call before compiling SQL. SQLite runs many pragmas while compiling them, also after EXPLAIN and also if the rest
  /// of the text is invalid.
  mutating func note(_ text: UnsafeBufferPointer<UInt8>) {
    // Four words, for EXPLAIN QUERY PLAN PRAGMA. SQLite does not tell a pragma that only reads from one that sets.
    let words = text[...].firstKeywords(4)
    if words.contains(where: ["PRAGMA", "ATTACH", "DETACH"].contains) { hasOtherSettings = true }
    // The schema's name says whether an object is temporary, too: CREATE VIEW temp.bicycle.
    if words.contains(where: ["CREATE", "DROP", "ALTER"].contains) { mayHaveOtherObjects = true }
  }
}

extension Connection {
  /// Notes from here on what callers change of the connection's own state.
  package func beginSharing() throws {
    // A cached statement would not be compiled again, and not be noted.
    cache.removeAll()
    shared = SharedState(objects: try temporaryObjects())
  }

  /// True if a caller may have left a shared connection with other settings, files or temporary objects, which would
  /// hide the tables of the same names.
  package var hasOtherState: Bool {
    guard let shared else { return false }
    if shared.hasOtherSettings { return true }
    guard shared.mayHaveOtherObjects else { return false }
    guard let objects = try? temporaryObjects(), objects == shared.objects else { return true }
    self.shared?.mayHaveOtherObjects = false
    return false
  }

  private func temporaryObjects() throws -> [[String]] {
    try withoutTracing { connection in
      try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_temp_master ORDER BY type, name")
    }
  }
}
