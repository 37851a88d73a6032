import CSqlableSQLite

/// Support for FTS5 tables in triggers of an untrusted schema.
///
/// The triggers that keep a full-text index up to date write to a virtual table. In an untrusted schema SQLite allows
/// such a write only if the table is marked innocuous. Newer versions of FTS5 mark their tables, but 3.40 does not.
/// Trusting the whole schema would also allow every other function and virtual table. So this type marks FTS5's tables.
/// SQLite accepts the mark only while it connects the table. At that time FTS5 creates the table's tokenizer. The
/// library therefore replaces the tokenizers with wrappers that set the mark when they are created.
enum FullTextModule {
  /// True if this SQLite has an FTS5 that does not mark its tables innocuous.
  private static let isToBeAllowed = Library.Probe<Bool> {
    Library.ask { handle in
      guard sqlable_db_config_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0) == SQLITE_OK else { return nil }
      for sql in [
        "CREATE TABLE a (b); CREATE VIRTUAL TABLE c USING fts5(b)",
        "CREATE TRIGGER d AFTER INSERT ON a BEGIN INSERT INTO c VALUES (new.b); END",
      ] {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { return code == SQLITE_NOMEM ? nil : false }
      }
      let code = sqlite3_exec(handle, "INSERT INTO a VALUES ('')", nil, nil, nil)
      return code == SQLITE_NOMEM ? nil : code != SQLITE_OK
    }
  }

  static let tokenizers = ["unicode61", "ascii", "porter", "trigram"]

  /// Lets a connection's triggers write to FTS5's tables even after `PRAGMA trusted_schema = OFF`. FTS5 tables that the
  /// connection already uses are included only if no transaction or cursor is open and no user code runs.
  static func allowInTriggers(of connection: Connection) throws {
    guard !connection.allowsFullTextInTriggers else { return }
    try connection.withoutRules { try prepareForDistrust(connection) }
    // Resetting the schema makes SQLite connect all virtual tables again, which marks FTS5's tables innocuous. A reset
    // inside a transaction would lose changes that FTS5 keeps in memory.
    guard connection.isAutocommit, connection.openCursors == 0, !connection.userCode.isRunning else { return }
    try connection.withoutRules {
      try connection.withoutTracing { _ = try $0.pragma("PRAGMA writable_schema = RESET") }
    }
  }

  /// Replaces FTS5's built-in tokenizers with wrappers that mark the table innocuous and then call the original.
  static func prepareForDistrust(_ connection: Connection) throws {
    // Throw if memory ran out while testing whether tables need the mark: triggers that write to unmarked tables would
    // later fail with a misleading error.
    guard let isToBeAllowed = isToBeAllowed.answer else { throw connection.error(SQLITE_NOMEM, sql: nil) }
    guard isToBeAllowed else {
      connection.allowsFullTextInTriggers = true
      return
    }
    guard let api = connection.fullTextAPI, let find = api.pointee.xFindTokenizer,
      let create = api.pointee.xCreateTokenizer
    else { throw connection.error(SQLITE_NOMEM, sql: nil) }
    for name in tokenizers {
      var (data, methods): (UnsafeMutableRawPointer?, _) = (nil, fts5_tokenizer())
      // An older FTS5 lacks the tokenizer `trigram`.
      guard find(api, name, &data, &methods) == SQLITE_OK else { continue }
      let wrapper = Unmanaged.passRetained(BuiltInTokenizer(connection.handle, create: methods.xCreate, data))
      methods.xCreate = { context, arguments, count, tokenizer in
        guard let context else { return SQLITE_MISUSE }
        return Unmanaged<BuiltInTokenizer>.fromOpaque(context).takeUnretainedValue()
          .make(arguments, count, tokenizer)
      }
      let code = create(api, name, wrapper.toOpaque(), &methods) { context in
        if let context { Unmanaged<BuiltInTokenizer>.fromOpaque(context).release() }
      }
      // FTS5 does not destroy the context when it refuses the tokenizer.
      guard code == SQLITE_OK else {
        wrapper.release()
        throw connection.error(code, sql: nil)
      }
    }
    connection.allowsFullTextInTriggers = true
  }

  /// Marks the table that SQLite is connecting as innocuous. Call while FTS5 creates the table's tokenizer.
  static func allowInTriggers(_ handle: OpaquePointer) {
    if isToBeAllowed.answer == true { _ = sqlable_vtab_innocuous(handle) }
  }
}

private final class BuiltInTokenizer {
  typealias Create =
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, Int32,
      UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32

  private let handle: OpaquePointer
  private let create: Create?
  private let data: UnsafeMutableRawPointer?

  init(_ handle: OpaquePointer, create: Create?, _ data: UnsafeMutableRawPointer?) {
    self.handle = handle
    self.create = create
    self.data = data
  }

  func make(
    _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ count: Int32,
    _ tokenizer: UnsafeMutablePointer<OpaquePointer?>?
  ) -> Int32 {
    FullTextModule.allowInTriggers(handle)
    return create?(data, arguments, count, tokenizer) ?? SQLITE_MISUSE
  }
}

extension Connection {
  /// FTS5's extension API; nil if this SQLite was built without FTS5.
  package var fullTextAPI: UnsafeMutablePointer<fts5_api>? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, "SELECT fts5(?1)", -1, &statement, nil) == SQLITE_OK else { return nil }
    var api: UnsafeMutablePointer<fts5_api>?
    let type: StaticString = "fts5_api_ptr"
    withUnsafeMutablePointer(to: &api) { api in
      // SQLite keeps the address of the name; a String's address would be valid only during the call.
      type.utf8Start.withMemoryRebound(to: CChar.self, capacity: type.utf8CodeUnitCount + 1) { type in
        _ = sqlite3_bind_pointer(statement, 1, api, type, nil)
      }
      // FTS5 writes through the pointer during the step.
      sqlite3_step(statement)
    }
    return api
  }
}
