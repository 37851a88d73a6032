import Sqlable

/// Work that changes files in several steps, at each of which a process can be killed.
protocol SteppedWork {
  init(_ directory: String)
  /// The number of processes that do the work at once. Each of them is killed.
  var processes: Int { get }
  /// Creates the files.
  func prepare() throws
  /// Changes the files before each kill, without one.
  func begin(turn: Int) throws
  /// The work, in the process that is killed.
  func work() throws
  /// Reports each state that no kill may leave. Afterwards, the files are ready for the next kill.
  func check(_ round: Round, turn: Int) throws
}

extension SteppedWork {
  var processes: Int { 1 }

  func begin(turn: Int) throws {}
}

/// A table whose rows all contain the number of their version.
enum VersionedTable {
  static let rows = 300

  static func open(_ path: String, isReadOnly: Bool = false) throws -> SqliteDatabase {
    try SqliteDatabase(
      filepath: path, configuration: Configuration(isReadOnly: isReadOnly, busyTimeout: 60, walAutocheckpoint: 20))
  }

  static func create(_ db: SqliteDatabase) throws {
    try db.execute("CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, text TEXT)")
    try db.execute("CREATE INDEX IF NOT EXISTS item_version ON item (version)")
  }

  /// Replaces all rows in one transaction.
  static func write(_ version: Int, _ db: SqliteDatabase) throws {
    try db.transaction { db in
      try db.execute("DELETE FROM item WHERE id % 3 = \(version % 3)")
      try db.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT OR REPLACE INTO item SELECT i, \(version), hex(zeroblob(i % 90)) FROM n
        """)
    }
  }

  /// Returns the version of a whole and undamaged table; otherwise reports the state and returns nil.
  static func version(_ path: String, _ name: String, _ round: Round, isReadOnly: Bool = true) -> Int? {
    do {
      let db = try open(path, isReadOnly: isReadOnly)
      defer { try? db.close() }
      let damage = try db.query("PRAGMA integrity_check", as: String.self)
      let versions = try db.query("SELECT DISTINCT version FROM item", as: Int.self)
      let count = try db.query("SELECT count(*) FROM item", as: Int.self)
      if damage == ["ok"], versions.count == 1, count == [rows] { return versions[0] }
      round.report(.wrong, "\(name): versions \(versions), rows \(count), \(damage.prefix(2))")
    } catch { round.report(.wrong, "\(name): \(error)") }
    return nil
  }
}
