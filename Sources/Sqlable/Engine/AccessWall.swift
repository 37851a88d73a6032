import CSqlableSQLite

/// What statements may touch: SQLite's authorizer asks it while it compiles them.
struct AccessWall: Sendable, Hashable {
  /// SQLite's code of the error for what a wall does not allow.
  static let errorCode = Int(SQLITE_AUTH)

  let rights: AccessRights
  /// Names of queries, which SQLite reports as if they were tables.
  var queries: Set<[UInt8]> = []
  /// Whether rows may be changed. Then any table may be read and changed: triggers and foreign keys do.
  var allowsChanges = false

  /// Whether SQLite may compile an action. The meaning of the names depends on the action.
  fileprivate func allows(_ action: Int32, _ first: String?, _ second: String?, within outer: String?) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_RECURSIVE, SQLITE_TRANSACTION, SQLITE_SAVEPOINT: return true
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: return allowsChanges
    case SQLITE_READ:
      if allowsChanges { return true }
      // What a view reads belongs to the view. A query with a name is reported as one.
      if let outer, !isQuery(outer.foldedName) {
        let name = outer.foldedName
        return rights.names.columns[name] != nil || rights.names.tables.contains(name)
      }
      return allowsReading((first ?? "").foldedName, (second ?? "").foldedName)
    case SQLITE_FUNCTION: return rights.names.functions.contains((second ?? "").foldedName)
    // FTS5 checks for commits of other connections.
    case SQLITE_PRAGMA: return first?.isSameName(as: "data_version") == true && second == nil
    default: return false
    }
  }

  private func isQuery(_ name: [UInt8]) -> Bool { queries.contains(name) || rights.names.queries.contains(name) }

  /// An empty column name means that only the number of rows matters.
  private func allowsReading(_ table: [UInt8], _ column: [UInt8]) -> Bool {
    if let columns = rights.names.columns[table] { return column.isEmpty || columns.contains(column) }
    return rights.names.tables.contains(table) || (column.isEmpty && isQuery(table))
  }
}

/// What may be read, and the functions that may be called. Made once for many statements, so it knows its hash.
final class AccessRights: Sendable, Hashable {
  struct Names: Sendable, Hashable {
    /// The columns that may be read, by table, with folded names.
    var columns: [[UInt8]: Set<[UInt8]>] = [:]
    /// The tables of which all columns may be read.
    var tables: Set<[UInt8]> = []
    /// SQLite's functions and those of the program that may be called, with folded names.
    var functions: Set<[UInt8]> = []
    /// Names of queries of the policy's own.
    var queries: Set<[UInt8]> = []
  }

  let names: Names
  private let hash: Int

  init(_ names: Names) {
    self.names = names
    hash = names.hashValue
  }

  static func == (left: AccessRights, right: AccessRights) -> Bool {
    left === right || (left.hash == right.hash && left.names == right.names)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The walls of a connection. Its authorizer stays installed: installing one makes SQLite compile all statements again.
final class AccessWalls {
  @exclusivity(unchecked) fileprivate var current: AccessWall?
  fileprivate var isInstalled = false
  /// The statements that were compiled within each wall: those that were compiled without it, it has not seen.
  private var caches: [AccessWall: StatementCache] = [:]
  private static let maximumCaches = 8

  fileprivate func cache(for wall: AccessWall, capacity: Int) -> StatementCache {
    if let cache = caches[wall] { return cache }
    if caches.count >= AccessWalls.maximumCaches { caches.removeAll() }
    let cache = StatementCache(capacity: capacity / AccessWalls.maximumCaches)
    caches[wall] = cache
    return cache
  }

  /// Removes every statement.
  func removeAll() { caches.removeAll() }

  /// Call when another authorizer has replaced the walls'.
  func noteRemoval() { isInstalled = false }
}

extension Connection {
  /// Calls `body`, whose statements can't make, bind or read a text, blob or row of more bytes.
  func withValues<Value>(upTo bytes: Int?, _ body: () throws -> Value) rethrows -> Value {
    guard let bytes else { return try body() }
    let outer = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1)
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, min(outer, Int32(clamping: max(bytes, 1))))
    defer { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, outer) }
    return try body()
  }

  /// Calls `body`, whose statements are compiled within a wall, if there is one: they throw SQLite's error 23 for what
  /// it does not allow.
  func within<Value>(_ wall: AccessWall?, _ body: () throws -> Value) throws -> Value {
    guard let wall else { return try body() }
    try installWalls()
    let (outerWall, outerCache) = (walls.current, cache)
    walls.current = wall
    cache = walls.cache(for: wall, capacity: cache.capacity)
    defer { (walls.current, cache) = (outerWall, outerCache) }
    return try body()
  }

  private func installWalls() throws {
    guard !walls.isInstalled else { return }
    let code = sqlite3_set_authorizer(
      handle,
      { context, action, first, second, _, outer in
        guard let context else { return SQLITE_DENY }
        let walls = Unmanaged<AccessWalls>.fromOpaque(context).takeUnretainedValue()
        guard let wall = walls.current else { return SQLITE_OK }
        let isAllowed = wall.allows(
          action, first.map { String(cString: $0) }, second.map { String(cString: $0) },
          within: outer.map { String(cString: $0) })
        return isAllowed ? SQLITE_OK : SQLITE_DENY
      }, Unmanaged.passUnretained(walls).toOpaque())
    guard code == SQLITE_OK else { throw error(code, sql: nil) }
    walls.isInstalled = true
  }
}
