import CSqlableSQLite
import FoundationEssentials
import Glibc

/// One SQLite connection, which compiles statements and converts errors. Not thread-safe: the owner must hold a lock.
@usableFromInline
package final class Connection {
  let handle: OpaquePointer
  package let label: String?
  /// True if SQLite is allowed to create the database file and attached files.
  let canCreateFiles: Bool
  /// True if the handle asked for a read-only connection. SQLite also opens a write-protected file read-only.
  let isReadOnlyByRequest: Bool
  /// The compiled statements. While authorizer rules apply, this is the separate cache for the rules, from
  /// `authorizedCaches`.
  @exclusivity(unchecked) package var cache: StatementCache
  let authorizedCaches = AuthorizedCaches()
  package let plans = PlanCache()
  /// The buffer in which the SQL of the next statement is built.
  package let sql = SqlBuffer()
  /// The values to be bound to the statement in `sql`.
  @usableFromInline let parameters: ParameterBuffer
  /// A pointer to the bytes of the texts and blobs in `parameters`. The pointer needs no reference counting.
  let parameterBytes: UnsafeMutablePointer<ParameterBytes>
  package let userCode = UserCode()
  /// The version of the function registry that this connection has applied.
  @exclusivity(unchecked) var functionsVersion = 0
  /// True while another handle blocks the database, and until the next call after the block. Meanwhile
  /// `functionsVersion` is -1. No registry has this version, so every call finds unequal versions, and then checks for
  /// a block.
  @exclusivity(unchecked) var isSuspended = false {
    didSet {
      guard isSuspended != oldValue else { return }
      (functionsVersion, suspendedVersion) = isSuspended ? (-1, functionsVersion) : (suspendedVersion, 0)
    }
  }
  private var suspendedVersion = 0
  /// True while ATTACH runs. SQLite closes a file that it can't attach, so the last error of this file is unknown.
  @exclusivity(unchecked) var isAttaching = false
  /// The number of open transaction levels: 0 without a transaction, 1 in a transaction, and one more for each
  /// savepoint.
  package var transactionLevel = 0
  /// The error that rolled back the whole open transaction; set until the owner ends the transaction.
  var lostTransaction: SqlError? {
    didSet { hasLostTransaction = lostTransaction != nil }
  }
  /// True if `lostTransaction` is set. Every statement checks this flag, because copying the error is slower.
  private(set) var hasLostTransaction = false
  /// The error that every call throws after the connection is lost; nil before. A connection is lost if SQLite can't
  /// roll back its transaction.
  @exclusivity(unchecked) var lost: SqlError?
  package var isLost: Bool { lost != nil }
  /// The initial state of a connection that a pool lends to several callers in turn; nil for any other connection.
  @exclusivity(unchecked) var shared: SharedState?
  private static let maximumCachedParameters = 4096
  private var kept: [StatementSlot] = []
  package internal(set) var interruption: Interruption? {
    didSet { unretainedInterruption = interruption.map(Unmanaged.passUnretained) }
  }
  /// An unretained reference to `interruption`: every statement checks the interruption, without reference counting.
  private(set) var unretainedInterruption: Unmanaged<Interruption>?
  let busyWait = BusyWait()
  /// A closure that receives each error that can be caused by damage in the main file.
  var didFindDamage: ((SqlError) -> Void)?
  @exclusivity(unchecked) package internal(set) var tracer: (any RunTracer)?
  /// The object that records the statements that run; nil if statements are not recorded.
  @exclusivity(unchecked) var recorder: StatementRecorder?
  var firesDeleteTriggersOnReplace = false
  /// The key and settings of an encrypted file; nil if the file is not encrypted.
  var cipher: Cipher?
  /// `isKeyProven` is true if the file was read with the key. `isProbing` is true while the connection tests whether an
  /// error means a wrong key.
  var (isKeyProven, isProbing) = (false, false)
  @exclusivity(unchecked) package var openCursors = 0
  var writableBlobs = 0
  /// True if triggers of an untrusted schema can write to FTS5's tables.
  var allowsFullTextInTriggers = false
  /// The user-defined collations, keyed by folded name.
  var collations: [[UInt8]: UserCollation] = [:]
  private(set) var schemaVersionStatement: PreparedStatement?
  private(set) var dataVersionStatement: PreparedStatement?
  /// The statements that stay compiled, by their text; see `keptStatement`.
  private var keptStatements: [String: PreparedStatement] = [:]
  /// The compiled statements that begin and end transactions, one for each ``Control``; nil for a statement not yet
  /// compiled.
  @exclusivity(unchecked) var control: [PreparedStatement?] = []

  /// Opens a file with the VFS `fileSystem`, or with the default VFS. A path that begins with `file:` is a URI only
  /// with `SQLITE_OPEN_URI`.
  package init(
    path: String, flags: Int32, fileSystem: String? = nil, label: String?, cacheCapacity: Int, cipher: Cipher? = nil,
    isCompact: Bool = false
  ) throws {
    self.label = label
    try Library.check()
    canCreateFiles = flags & SQLITE_OPEN_CREATE != 0
    isReadOnlyByRequest = flags & SQLITE_OPEN_READONLY != 0
    var handle: OpaquePointer?
    let name = path.begins(with: "file:") && flags & SQLITE_OPEN_URI == 0 ? "./" + path : path
    MemoryStatistics.settle()
    let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, fileSystem)
    guard code == SQLITE_OK, let handle else {
      let failure = Connection.failure(code, handle: handle)
      let error = Connection.error(code, extendedCode: failure.extendedCode, message: failure.message, label: label)
      sqlite3_close_v2(handle)
      throw error
    }
    self.handle = handle
    parameters = ParameterBuffer(bytes: isCompact ? 4 << 10 : 16 << 10)
    parameterBytes = parameters.bytes
    cache = StatementCache(capacity: cacheCapacity)
    sqlite3_extended_result_codes(handle, 1)
    // SQLite changes the size of the lookaside memory only before the first use of this memory. If the call fails, the
    // default size stays.
    if isCompact { _ = sqlable_db_config_lookaside(handle, 600, 16) }
    if let cipher { try use(cipher) }
    let registered = ValueListModule.register(on: handle)
    guard registered == SQLITE_OK else { throw error(registered, sql: nil) }
  }

  deinit {
    finalizeStatements()
    // `sqlite3_close_v2` delays the close until the last statement is finalized.
    sqlite3_close_v2(handle)
  }

  package func finalizeStatements() {
    dropStatements()
    schemaVersionStatement = nil
    dataVersionStatement = nil
    keptStatements = [:]
    control = []
  }

  // MARK: Statements

  /// Discards the statements in the caches and slots. A statement in use is finalized when its run ends.
  func dropStatements() {
    cache.removeAll()
    authorizedCaches.removeAll()
    for statement in kept { statement.statement = nil }
  }

  /// Adds a slot, whose statement remains compiled until `dropStatements()` or until the owner abandons the slot.
  func keep(_ statement: StatementSlot) {
    // Finalizes the statement here, because the owner of an abandoned slot can release the slot on another thread.
    for statement in kept where statement.isAbandoned { statement.statement = nil }
    kept.removeAll { $0.statement == nil && $0.isAbandoned }
    kept.append(statement)
  }

  /// Discards the statements in the caches and slots. Returns the slots, for the connection that replaces this
  /// connection.
  func takeKept() -> [StatementSlot] {
    dropStatements()
    defer { kept = [] }
    return kept.filter { !$0.isAbandoned }
  }

  /// Takes over the slots of the connection that this connection replaces.
  func keep(_ statements: [StatementSlot]) { kept += statements }

  /// Returns the compiled statement for the key in `sql`, from the cache if the cache has an unused one.
  ///
  /// Without `write`, the key is the SQL text. With a shorter key, the text is needed only if the statement must be
  /// compiled: then `write` replaces the key in `sql` with the text.
  package func prepareBuffered(orElse write: () throws -> Void = {}) throws -> PreparedStatement {
    try checkInterruption()
    let hash = sql.hash
    if let statement = cache.take(sql, hash: hash) { return statement }
    let key = [UInt8](sql.buffer)
    try write()
    let statement = try compile(sql.buffer)
    // A statement with a hundred thousand parameters takes megabytes, and rarely recurs with the same number of them.
    if statement.parameterCount <= Connection.maximumCachedParameters { cache.insert(statement, key: key, hash: hash) }
    return statement
  }

  /// Compiles a text that contains exactly one statement.
  func compile(_ text: UnsafeBufferPointer<UInt8>, isInternal: Bool = false) throws -> PreparedStatement {
    let (statement, rest) = try compileFirst(text, isInternal: isInternal)
    guard let statement else {
      throw SqlError.invalidStatement("the SQL text contains no statement").labelled(label)
    }
    // Search the text for a second statement without compiling it: the compilation would already run some pragmas.
    guard !rest.holdsStatement else {
      throw SqlError.invalidStatement("the SQL text contains more than one statement; use execute(_:)")
        .labelled(label)
    }
    return statement
  }

  /// Compiles the first statement of a text. Returns no statement if the text contains only whitespace and comments.
  ///
  /// - Parameters:
  ///   - isInternal: True if the library wrote the text. Such a text changes no settings.
  ///   - isTerminated: True if a NUL byte follows the text, and the text contains no other NUL byte. Without the NUL
  ///     byte, SQLite copies the whole text for each statement, which takes quadratic time.
  func compileFirst(
    _ text: UnsafeBufferPointer<UInt8>, isInternal: Bool = false, isTerminated: Bool = false
  ) throws -> (statement: PreparedStatement?, rest: UnsafeBufferPointer<UInt8>) {
    guard let start = text.baseAddress, !text.isEmpty else { return (nil, text) }
    if !isTerminated { try checkHasNoNul(text) }
    guard let count = Int32(exactly: text.count + (isTerminated ? 1 : 0)) else {
      throw error(SQLITE_TOOBIG, sql: nil)
    }
    if !isInternal {
      try checkKeys(text)
      shared?.note(text)
    }
    let begin = tracer == nil ? nil : ContinuousClock.now
    var handle: OpaquePointer?
    var used = text.count
    let code = prepare(start, count, &handle, &used)
    guard code == SQLITE_OK else {
      let error = compileError(code, text)
      let thrown = thrown(insteadOf: error)
      guard let begin, let tracer else { throw thrown }
      tracer.didFailToCompile(String(decoding: text, as: UTF8.self), since: begin, error)
      throw thrown.traced
    }
    if let begin, let handle { tracer?.didCompile(TracedStatement(handle), since: begin) }
    let rest = UnsafeBufferPointer(rebasing: text[used...])
    guard let handle else { return (nil, UnsafeBufferPointer(rebasing: text[text.count...])) }
    return (PreparedStatement(handle: handle, connection: self), rest)
  }

  /// Returns the statement that `compile` returns, bound to the values that were added to `parameters` since `mark`.
  /// The values remain in `parameters` until the statement is finished.
  ///
  /// `check` receives the statement before anything is bound.
  @inline(__always)
  func prepared(
    since mark: ParameterBuffer.Mark, _ compile: () throws -> PreparedStatement,
    check: (PreparedStatement) throws -> Void = { _ in }
  ) throws -> PreparedStatement {
    do {
      let statement = try compile()
      do {
        try check(statement)
        try bind(statement, since: mark)
      } catch {
        finish(statement)
        throw error
      }
      statement.mark = mark
      return statement
    } catch {
      parameters.release(to: mark)
      throw error
    }
  }

  @inline(__always)
  func bind(_ statement: PreparedStatement, since mark: ParameterBuffer.Mark) throws {
    try bind(statement, parameters, since: mark)
  }

  @inline(__always)
  func bind(_ statement: PreparedStatement, _ parameters: ParameterBuffer, since mark: ParameterBuffer.Mark) throws {
    if let (_, placeholder) = parameters.placeholders(since: mark)?.first {
      throw SqlError.unprepared(placeholder.name)
    }
    let code = parameters.bind(from: mark.count, to: statement.handle)
    guard code == SQLITE_OK else { throw error(code, sql: statement.sql) }
  }

  /// Ends a run: resets the statement, releases its values, and makes the statement available to the next run.
  @usableFromInline
  package func finish(_ statement: PreparedStatement) {
    statement.reset()
    if let mark = statement.mark {
      if parameters.hasLists(since: mark) { statement.clearBindings() }
      parameters.release(to: mark)
      statement.mark = nil
    }
    statement.isInUse = false
  }

  /// Returns a number that changes whenever a connection changes the schema.
  package func schemaVersion() throws -> Int64 {
    let statement = try schemaVersionStatement ?? compile("PRAGMA main.schema_version")
    schemaVersionStatement = statement
    return try number(statement)
  }

  /// A number that changes when another connection commits.
  package func dataVersion() throws -> Int64 {
    let statement = try dataVersionStatement ?? compile("PRAGMA main.data_version")
    dataVersionStatement = statement
    return try number(statement)
  }

  /// Returns a statement of the library that stays compiled while the connection is open. Reset the statement after
  /// each run.
  package func keptStatement(_ text: String) throws -> PreparedStatement {
    if let statement = keptStatements[text] { return statement }
    let statement = try prepareText(text)
    keptStatements[text] = statement
    return statement
  }

  func userVersion() throws -> Int64 { try number(compile("PRAGMA main.user_version")) }

  private func number(_ statement: PreparedStatement) throws -> Int64 {
    defer { statement.reset() }
    return try statement.step() ? sqlite3_column_int64(statement.handle, 0) : 0
  }

  func compile(_ text: StaticString) throws -> PreparedStatement {
    try compile(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), isInternal: true)
  }

  /// Runs an internal statement. Returns the first row's first column as text, empty for NULL; nil without a row.
  @discardableResult
  package func pragma(_ text: String) throws -> String? {
    try rows(text).first?.first
  }

  /// Runs an internal statement and returns its rows as texts, with an empty text for NULL.
  ///
  /// Returns an array instead of calling a closure, because the compiler would copy the loop into each of fifty
  /// callers.
  package func rows(_ sql: String, binding parameters: ParameterBuffer? = nil) throws -> [[String]] {
    var rows: [[String]] = []
    try eachRow(sql, binding: parameters) { rows.append($0) }
    return rows
  }

  /// Calls `body` with the texts of each row of an internal statement. NULL becomes an empty text. A placeholder
  /// without a value is NULL.
  package func eachRow(_ sql: String, binding parameters: ParameterBuffer? = nil, _ body: ([String]) -> Void) throws {
    var sql = sql
    try sql.withUTF8 { text in
      guard let statement = try compileFirst(text, isInternal: true).statement else { return }
      defer { statement.reset() }
      let code = parameters?.bind(from: 0, to: statement.handle) ?? SQLITE_OK
      guard code == SQLITE_OK else { throw error(code, sql: statement.sql) }
      while try statement.step() {
        body(
          (0..<sqlite3_column_count(statement.handle)).map { index in
            sqlite3_column_text(statement.handle, index).map { String(cString: $0) } ?? ""
          })
      }
    }
  }

  // MARK: State

  package var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

  /// True if the open transaction might have written.
  var isWriting: Bool { transactionState("main") == SQLITE_TXN_WRITE }

  /// True if the open transaction has neither read nor written yet, in any attached database.
  var isIdle: Bool { !isAutocommit && transactionState(nil) == SQLITE_TXN_NONE }

  private func transactionState(_ database: String?) -> Int32 {
    Library.transactionState?(handle, database) ?? SQLITE_TXN_WRITE
  }

  /// True if SQLite opened the file read-only, either as requested or because the file is write-protected.
  package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  var lastInsertedId: Int64 {
    get { sqlite3_last_insert_rowid(handle) }
    set { sqlite3_set_last_insert_rowid(handle, newValue) }
  }

  /// The number of rows that the latest INSERT, UPDATE or DELETE changed directly, without triggers and cascades.
  package var changes: Int { Int(Library.changes(handle)) }

  /// The number of rows changed since the connection was opened, including the rows that triggers and cascades changed.
  package var totalChanges: Int { Int(Library.totalChanges(handle)) }

  /// Returns the number of rows changed since an earlier `totalChanges`.
  package func rowsChanged(since before: Int) -> Int {
    let count = totalChanges - before
    // Before SQLite 3.37, the total restarts at 0 after 2^32 rows.
    return count < 0 ? count + (1 << 32) : count
  }

  package var absolutePath: String { sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? "" }

  package var fileHasMoved: Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
  }

  package func setFlag(_ option: Int32, _ on: Bool) throws {
    let code = sqlable_db_config_flag(handle, option, on ? 1 : 0)
    guard code == SQLITE_OK else { throw error(code, sql: nil) }
  }

  /// Frees memory that SQLite can rebuild: cached pages and compiled statements.
  package func releaseMemory() {
    dropStatements()
    sqlite3_db_release_memory(handle)
  }
}
