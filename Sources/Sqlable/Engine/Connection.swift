import CSqlableSQLite
import FoundationEssentials
import Glibc

/// One connection of SQLite: opening, compiling, and what went wrong. Not safe to share; its owner holds a lock.
@usableFromInline
final class Connection {
  let handle: OpaquePointer
  let label: String?
  /// Whether it may create files: that of the database, and those that it attaches.
  let canCreateFiles: Bool
  let cache: StatementCache
  /// Where statements are written.
  let sql = SqlBuffer()
  /// Where their values wait to be bound.
  @usableFromInline let parameters = ParameterBuffer()
  /// The calls of the program's own functions.
  let userCode = UserCode()
  /// Up to which of the registrations its functions and collations are.
  @exclusivity(unchecked) var functionsVersion = 0
  /// How many transactions are open: 0 is none, 1 a transaction, more are savepoints inside it.
  var transactionLevel = 0
  /// The error that undid the open transaction as a whole; set until the transaction's owner has heard of it.
  var lostTransaction: SqlError? {
    didSet { hasLostTransaction = lostTransaction != nil }
  }
  /// The same for every statement to ask, without a copy of the error.
  private(set) var hasLostTransaction = false
  /// What every call throws when the connection is lost: its transaction is over for its owner, and SQLite could not
  /// end it.
  var lost: SqlError?
  var isLost: Bool { lost != nil }
  /// Whether it reads for many, one after the other, each of whom is to find it as the others did.
  var isShared = false
  /// Whether SQL has been compiled that may leave a shared connection with other settings or files, as SQLite does with
  /// flags when it compiles them.
  private(set) var hasOtherSettings = false
  private static let maximumCachedParameters = 4096
  private var kept: [KeptStatement] = []
  /// What stops its statements, where something does.
  var interruption: Interruption?
  /// Whether triggers hear of the rows that REPLACE deletes.
  var firesDeleteTriggersOnReplace = false
  /// How many cursors have not come to their end.
  var openCursors = 0
  /// The program's collations, by their folded names.
  var collations: [[UInt8]: UserCollation] = [:]
  private var schemaVersionStatement: PreparedStatement?
  private var dataVersionStatement: PreparedStatement?
  private var control: [PreparedStatement] = []

  /// The statements that every transaction needs, compiled when the connection opens: a ROLLBACK that has to be
  /// compiled first could fail for want of memory. None of them reads the schema, so none meets a lock or a damaged
  /// file.
  enum Control: Int, CaseIterable {
    case beginDeferred, beginImmediate, beginExclusive, commit, rollback, savepoint, release, rollbackTo

    // SQLite resolves a savepoint's name to the innermost one, so all levels can share it.
    var sql: StaticString {
      switch self {
      case .beginDeferred: "BEGIN DEFERRED"
      case .beginImmediate: "BEGIN IMMEDIATE"
      case .beginExclusive: "BEGIN EXCLUSIVE"
      case .commit: "COMMIT"
      case .rollback: "ROLLBACK"
      case .savepoint: "SAVEPOINT sqlable"
      case .release: "RELEASE sqlable"
      case .rollbackTo: "ROLLBACK TO sqlable"
      }
    }
  }

  /// Opens the file as it is named, with the default file system unless another is named: `file:` at its start is no
  /// URI.
  init(path: String, flags: Int32, fileSystem: String? = nil, label: String?, cacheCapacity: Int) throws {
    self.label = label
    try Library.check()
    canCreateFiles = flags & SQLITE_OPEN_CREATE != 0
    var handle: OpaquePointer?
    let name = path.begins(with: "file:") ? "./" + path : path
    MemoryStatistics.settle()
    let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, fileSystem)
    guard code == SQLITE_OK, let handle else {
      let failure = Connection.failure(code, handle: handle)
      let error = Connection.error(
        code, extendedCode: failure.extendedCode, message: failure.message, label: label)
      sqlite3_close_v2(handle)
      throw error
    }
    self.handle = handle
    cache = StatementCache(capacity: cacheCapacity)
    sqlite3_extended_result_codes(handle, 1)
    let registered = ValueListModule.register(on: handle)
    guard registered == SQLITE_OK else { throw error(registered, sql: nil) }
    control = try Control.allCases.map { try compile($0.sql) }
    try FullTextModule.allowInTriggers(on: self)
  }

  deinit {
    finalizeStatements()
    // _v2: should a statement still be alive somewhere, the connection goes with it instead of leaking.
    sqlite3_close_v2(handle)
  }

  func finalizeStatements() {
    dropStatements()
    schemaVersionStatement = nil
    dataVersionStatement = nil
    control = []
  }

  // MARK: Statements

  /// Drops all compiled statements that somebody may run again; what is in use goes when its run is over.
  func dropStatements() {
    cache.removeAll()
    for statement in kept { statement.statement = nil }
  }

  /// Takes note of a statement that is compiled for good, until whoever made it lets go of it.
  func keep(_ statement: KeptStatement) {
    // Finalized here: whoever abandons one, on another thread, may let go of it after this.
    for statement in kept where statement.isAbandoned { statement.statement = nil }
    kept.removeAll { $0.statement == nil && $0.isAbandoned }
    kept.append(statement)
  }

  /// The compiled form of the statement that `sql` holds the key of, from the cache if it ran before.
  ///
  /// Without `write` the key is the text. A shorter key spares the writing of the text, which `write` puts into `sql`
  /// when the statement has to be compiled.
  func prepareBuffered(orElse write: () throws -> Void = {}) throws -> PreparedStatement {
    let hash = sql.hash
    if let statement = cache.take(sql, hash: hash) { return statement }
    let key = [UInt8](sql.buffer)
    try checkBrake()
    try write()
    let statement = try compile(sql.buffer)
    // A list of a hundred thousand values compiles to megabytes, and its length hardly comes again.
    if statement.parameterCount <= Connection.maximumCachedParameters { cache.insert(statement, key: key, hash: hash) }
    return statement
  }

  /// Compiles a text that holds exactly one statement.
  func compile(_ text: UnsafeBufferPointer<UInt8>, isOwn: Bool = false) throws -> PreparedStatement {
    let (statement, rest) = try compileFirst(text, isOwn: isOwn)
    guard let statement else {
      throw SqlError.invalidStatement("the SQL text holds no statement").labelled(label)
    }
    // By its text: SQLite carries out some pragmas as soon as it compiles them.
    guard !rest.holdsStatement else {
      throw SqlError.invalidStatement("the SQL text holds more than one statement; execute(_:) runs many")
        .labelled(label)
    }
    return statement
  }

  /// Compiles the first statement of a text; none when it holds only blanks and comments.
  ///
  /// - Parameter isOwn: Whether the text is the library's: it changes no settings.
  func compileFirst(
    _ text: UnsafeBufferPointer<UInt8>, isOwn: Bool = false
  ) throws -> (statement: PreparedStatement?, rest: UnsafeBufferPointer<UInt8>) {
    guard let start = text.baseAddress, !text.isEmpty else { return (nil, text) }
    // SQLite would stop there, and what follows would be dropped without a word.
    guard memchr(start, 0, text.count) == nil else {
      throw SqlError.invalidStatement("the SQL text holds a NUL byte").labelled(label)
    }
    guard let count = Int32(exactly: text.count) else { throw error(SQLITE_TOOBIG, sql: nil) }
    if isShared, !isOwn { noteSettings(text) }
    var handle: OpaquePointer?
    var used = text.count
    let code = start.withMemoryRebound(to: CChar.self, capacity: text.count) { start in
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(self.handle, start, count, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, &tail)
      if let tail { used = tail - start }
      return code
    }
    guard code == SQLITE_OK else { throw thrown(insteadOf: compileError(code, text)) }
    let rest = UnsafeBufferPointer(rebasing: text[used...])
    guard let handle else { return (nil, UnsafeBufferPointer(rebasing: text[text.count...])) }
    return (PreparedStatement(handle: handle, connection: self), rest)
  }

  /// To be called before SQL is compiled on a shared connection. SQLite carries out many pragmas then: behind EXPLAIN
  /// too, and those whose text goes on with what it refuses.
  private func noteSettings(_ text: UnsafeBufferPointer<UInt8>) {
    // Four words: EXPLAIN QUERY PLAN PRAGMA. SQLite does not tell a pragma that only asks from others.
    if text[...].firstKeywords(4).contains(where: ["PRAGMA", "ATTACH", "DETACH"].contains) { hasOtherSettings = true }
  }

  /// The statement that `compile` gives, with the values bound that are in `parameters` since `mark`. It holds on to
  /// them until it is finished.
  ///
  /// `check` sees it before anything is bound.
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

  /// Binds the values since the mark.
  @inline(__always)
  func bind(_ statement: PreparedStatement, since mark: ParameterBuffer.Mark) throws {
    try bind(statement, parameters, since: mark)
  }

  @inline(__always)
  func bind(_ statement: PreparedStatement, _ parameters: ParameterBuffer, since mark: ParameterBuffer.Mark) throws {
    if let (_, placeholder) = parameters.placeholders(since: mark)?.first {
      throw SqlError.misuse(
        "the statement has a parameter, \(placeholder.name), and so has to be prepared to be run")
    }
    let code = parameters.bind(from: mark.count, to: statement.handle)
    guard code == SQLITE_OK else { throw error(code, sql: statement.sql) }
  }

  /// Ends a run: the statement rests, its values are gone, the next one may have it.
  @usableFromInline
  func finish(_ statement: PreparedStatement) {
    statement.reset()
    if let mark = statement.mark {
      if parameters.hasLists(since: mark) { statement.clearBindings() }
      parameters.release(to: mark)
    }
    statement.mark = nil
    statement.isInUse = false
  }

  func run(_ kind: Control) throws {
    let statement = control[kind.rawValue]
    // SQLite asks whether to stop even when a statement is over: what has begun or ended a transaction would be told as
    // failed.
    interruption?.isOff = true
    defer {
      interruption?.isOff = false
      statement.reset()
    }
    _ = try statement.step()
  }

  /// Changes whenever any connection changes the schema.
  func schemaVersion() throws -> Int64 {
    let statement = try schemaVersionStatement ?? compile("PRAGMA main.schema_version")
    schemaVersionStatement = statement
    return try number(statement)
  }

  /// Another number than before when another connection has committed since.
  func dataVersion() throws -> Int64 {
    let statement = try dataVersionStatement ?? compile("PRAGMA main.data_version")
    dataVersionStatement = statement
    return try number(statement)
  }

  private func number(_ statement: PreparedStatement) throws -> Int64 {
    defer { statement.reset() }
    return try statement.step() ? sqlite3_column_int64(statement.handle, 0) : 0
  }

  /// Compiles a statement of the library's own.
  func compile(_ text: StaticString) throws -> PreparedStatement {
    try compile(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), isOwn: true)
  }

  /// Runs a statement of the library's own that binds nothing, such as a pragma, and gives the first column of its
  /// first row as text.
  @discardableResult
  func pragma(_ text: String) throws -> String? {
    var result: String?
    try eachRow(text) { row in result = result ?? row.first }
    return result
  }

  /// Runs a statement of the library's own and gives each row as texts, NULL as an empty one. It binds what is in
  /// `parameters`; what is given later is NULL.
  func eachRow(_ sql: String, binding parameters: ParameterBuffer? = nil, _ body: ([String]) -> Void) throws {
    var sql = sql
    try sql.withUTF8 { text in
      guard let statement = try compileFirst(text, isOwn: true).statement else { return }
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

  /// Whether SQLite itself is outside every transaction.
  var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

  /// Whether the open transaction may have written something.
  var isWriting: Bool { transactionState("main") == SQLITE_TXN_WRITE }

  /// Whether the open transaction has neither read nor written yet, in any of the attached databases.
  var isIdle: Bool { !isAutocommit && transactionState(nil) == SQLITE_TXN_NONE }

  private func transactionState(_ database: String?) -> Int32 {
    Library.transactionState?(handle, database) ?? SQLITE_TXN_WRITE
  }

  /// Whether SQLite opened the file for reading only, asked for or not.
  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  var lastInsertedId: Int64 {
    get { sqlite3_last_insert_rowid(handle) }
    set { sqlite3_set_last_insert_rowid(handle, newValue) }
  }

  /// Rows that the latest INSERT, UPDATE or DELETE changed itself, without triggers and cascades.
  var changes: Int { Int(Library.changes(handle)) }

  /// Rows changed since the connection was opened, with those of triggers and cascades; it may overflow.
  var totalChanges: Int32 { sqlite3_total_changes(handle) }

  /// The path of the file, as SQLite resolved it when it was opened.
  var absolutePath: String { sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? "" }

  /// Whether the file that this connection writes to is no longer the one at its path.
  var fileHasMoved: Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
  }

  func setFlag(_ option: Int32, _ on: Bool) throws {
    let code = sqlable_db_config_flag(handle, option, on ? 1 : 0)
    guard code == SQLITE_OK else { throw error(code, sql: nil) }
  }

  func setBusyTimeout(milliseconds: Int32) {
    sqlite3_busy_timeout(handle, milliseconds)
  }

  /// Frees what SQLite can rebuild: cached pages and, in the statement cache, compiled statements.
  func releaseMemory() {
    dropStatements()
    sqlite3_db_release_memory(handle)
  }
}
