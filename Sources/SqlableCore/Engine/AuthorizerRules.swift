import CSqlableSQLite

/// The tables, columns and functions that a statement may use. SQLite's authorizer checks the rules at compilation.
package struct AuthorizerRules: Sendable, Hashable {
  /// SQLite's error code for an action that the rules do not allow.
  package static let errorCode = Int(SQLITE_AUTH)

  let rights: AccessRights
  /// The names of common table expressions. SQLite reports these names as tables.
  package var queries: Set<[UInt8]> = []
  package var functions: Set<[UInt8]> = []
  /// True if a statement is allowed to change rows. Then all tables can be read and changed, because triggers and
  /// foreign keys read and change tables that the statement does not name.
  package var allowsChanges = false

  package init(
    rights: AccessRights, queries: Set<[UInt8]> = [], functions: Set<[UInt8]> = [], allowsChanges: Bool = false
  ) {
    (self.rights, self.queries, self.functions, self.allowsChanges) = (rights, queries, functions, allowsChanges)
  }

  /// True if the rules allow an action, such as SQLITE_READ. The meaning of `first` and `second` depends on the action.
  fileprivate func allows(_ action: Int32, _ first: String?, _ second: String?, within outer: String?) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_RECURSIVE, SQLITE_TRANSACTION, SQLITE_SAVEPOINT: return true
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: return allowsChanges
    case SQLITE_READ:
      if allowsChanges { return true }
      // `outer` is the name of a view or of a common table expression. A read inside a view is allowed if the rules
      // allow reading the view.
      if let outer, !isQuery(outer.foldedName) {
        let name = outer.foldedName
        return rights.names.columns[name] != nil || rights.names.tables.contains(name)
      }
      return allowsReading((first ?? "").foldedName, (second ?? "").foldedName)
    case SQLITE_FUNCTION:
      let name = (second ?? "").foldedName
      return rights.names.functions.contains(name) || functions.contains(name)
    // Allowed because FTS5 reads `data_version` to detect commits of other connections.
    case SQLITE_PRAGMA: return first?.isSameName(as: "data_version") == true && second == nil
    default: return false
    }
  }

  private func isQuery(_ name: [UInt8]) -> Bool { queries.contains(name) || rights.names.queries.contains(name) }

  /// True if a column can be read. An empty column name means that the statement reads only the number of rows.
  private func allowsReading(_ table: [UInt8], _ column: [UInt8]) -> Bool {
    if let columns = rights.names.columns[table] { return column.isEmpty || columns.contains(column) }
    return rights.names.tables.contains(table) || (column.isEmpty && isQuery(table))
  }
}

/// The allowed columns and functions. Many statements share one object, so the object stores its hash.
package final class AccessRights: Sendable, Hashable {
  package struct Names: Sendable, Hashable {
    /// The folded names of the columns that can be read, keyed by the table's folded name.
    package var columns: [[UInt8]: Set<[UInt8]>] = [:]
    /// The tables whose columns can all be read.
    package var tables: Set<[UInt8]> = []
    /// The SQLite functions and user-defined functions that can be called, with folded names.
    package var functions: Set<[UInt8]> = []
    /// The folded names of the named queries in the policy's conditions. SQLite reports these names as tables.
    package var queries: Set<[UInt8]> = []

    package init(
      columns: [[UInt8]: Set<[UInt8]>] = [:], tables: Set<[UInt8]> = [], functions: Set<[UInt8]> = [],
      queries: Set<[UInt8]> = []
    ) {
      (self.columns, self.tables, self.functions, self.queries) = (columns, tables, functions, queries)
    }
  }

  let names: Names
  private let hash: Int

  package init(_ names: Names) {
    self.names = names
    hash = names.hashValue
  }

  package static func == (left: AccessRights, right: AccessRights) -> Bool {
    left === right || (left.hash == right.hash && left.names == right.names)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The active authorizer rules of a connection, and a statement cache for each list of rules. The authorizer remains
/// installed, because installing an authorizer makes SQLite recompile all statements.
package final class AuthorizedCaches {
  /// The rules of nested calls of `within`. An action is allowed only if all of these rules allow the action.
  @exclusivity(unchecked) fileprivate var current: [AuthorizerRules] = []
  fileprivate var isInstalled = false
  /// True if SQLite has connected the virtual table of long lists.
  fileprivate var knowsLists = false
  /// A statement cache for each list of rules. SQLite checks a statement only at compilation, so each list of rules
  /// needs its own compiled statements.
  private var caches: [[AuthorizerRules]: StatementCache] = [:]
  private static let maximumCaches = 8
  /// The cache of statements compiled without rules; nil while no rules apply.
  fileprivate var unrestricted: StatementCache?

  fileprivate func cache(for rules: [AuthorizerRules], capacity: Int) -> StatementCache {
    if let cache = caches[rules] { return cache }
    if caches.count >= AuthorizedCaches.maximumCaches { caches.removeAll() }
    let cache = StatementCache(capacity: capacity / AuthorizedCaches.maximumCaches)
    caches[rules] = cache
    return cache
  }

  func removeAll() {
    caches.removeAll()
    unrestricted?.removeAll()
  }

  /// Records that another authorizer has replaced this authorizer.
  func noteRemoval() { isInstalled = false }
}

extension Connection {
  /// Limits every text, blob and row that the statements of `body` create, bind or read to `bytes` bytes. Limits
  /// patterns of LIKE and GLOB to `patternBytes` bytes. Nil leaves a limit unchanged.
  package func withValues<Value>(
    upTo bytes: Int?, patternsUpTo patternBytes: Int?, _ body: () throws -> Value
  ) rethrows -> Value {
    let outer = lower(SQLITE_LIMIT_LENGTH, to: bytes)
    let outerPattern = lower(SQLITE_LIMIT_LIKE_PATTERN_LENGTH, to: patternBytes)
    defer {
      sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, outer)
      sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, outerPattern)
    }
    return try body()
  }

  /// Lowers one of SQLite's limits to `value`, but never below 1. Returns the previous limit.
  private func lower(_ limit: Int32, to value: Int?) -> Int32 {
    let outer = sqlite3_limit(handle, limit, -1)
    if let value { sqlite3_limit(handle, limit, min(outer, Int32(clamping: max(value, 1)))) }
    return outer
  }

  /// Calls `body`, and compiles its statements under the rules. A forbidden action throws SQLite's error 23.
  package func within<Value>(_ rules: AuthorizerRules?, _ body: () throws -> Value) throws -> Value {
    guard let rules else { return try body() }
    // At the first use of the virtual table of long lists, SQLite connects the table and reports an UPDATE to the
    // authorizer. So connect the table before the rules apply.
    if !authorizedCaches.knowsLists { try connectLists() }
    try installAuthorizer()
    let (outerRules, outerCache) = (authorizedCaches.current, cache)
    authorizedCaches.current.append(rules)
    let unrestricted = authorizedCaches.unrestricted ?? outerCache
    authorizedCaches.unrestricted = unrestricted
    cache = authorizedCaches.cache(for: authorizedCaches.current, capacity: unrestricted.capacity)
    defer {
      (authorizedCaches.current, cache) = (outerRules, outerCache)
      if outerRules.isEmpty { authorizedCaches.unrestricted = nil }
    }
    return try body()
  }

  private func connectLists() throws {
    try withoutRules { try eachRow("SELECT 1 FROM \(ValueListModule.name)(NULL) LIMIT 0") { _ in } }
    authorizedCaches.knowsLists = true
  }

  package func withoutRules<Value>(_ body: () throws -> Value) rethrows -> Value {
    guard let unrestricted = authorizedCaches.unrestricted else { return try body() }
    let (outerRules, outerCache) = (authorizedCaches.current, cache)
    (authorizedCaches.current, authorizedCaches.unrestricted, cache) = ([], nil, unrestricted)
    defer { (authorizedCaches.current, authorizedCaches.unrestricted, cache) = (outerRules, unrestricted, outerCache) }
    return try body()
  }

  private func installAuthorizer() throws {
    guard !authorizedCaches.isInstalled else { return }
    let code = sqlite3_set_authorizer(
      handle,
      { context, action, first, second, _, outer in
        guard let context else { return SQLITE_DENY }
        let authorizedCaches = Unmanaged<AuthorizedCaches>.fromOpaque(context).takeUnretainedValue()
        if authorizedCaches.current.isEmpty { return SQLITE_OK }
        let (first, second) = (first.map { String(cString: $0) }, second.map { String(cString: $0) })
        let outer = outer.map { String(cString: $0) }
        let isAllowed = authorizedCaches.current.allSatisfy { $0.allows(action, first, second, within: outer) }
        return isAllowed ? SQLITE_OK : SQLITE_DENY
      }, Unmanaged.passUnretained(authorizedCaches).toOpaque())
    guard code == SQLITE_OK else { throw error(code, sql: nil) }
    authorizedCaches.isInstalled = true
  }
}
