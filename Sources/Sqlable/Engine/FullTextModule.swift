import CSqlableSQLite

/// What FTS5 needs to be used by triggers of a schema that is not trusted.
///
/// The triggers that keep a full-text index in step write to a virtual table, and without trust in the schema SQLite
/// lets a trigger do that only where the table says that it is innocuous. FTS5 says so in newer versions and not in
/// 3.40. To trust the whole schema instead would open all that it keeps shut. So it is said for FTS5 where that does
/// not: while a table is connected it has its tokenizer made, and there SQLite takes the word for the table that it
/// connects.
enum FullTextModule {
  /// Whether FTS5 is there and does not say itself that it is innocuous; nil until there was memory enough to find out.
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

  /// FTS5's own.
  static let tokenizers = ["unicode61", "ascii", "porter", "trigram"]

  /// Puts tokenizers that say it in the place of FTS5's own, which they make use of.
  static func allowInTriggers(on connection: Connection) throws {
    // A connection without them would refuse the triggers later, and not say why.
    guard let isToBeAllowed = isToBeAllowed.answer else { throw connection.error(SQLITE_NOMEM, sql: nil) }
    guard isToBeAllowed else { return }
    guard let api = connection.fullTextAPI, let find = api.pointee.xFindTokenizer,
      let create = api.pointee.xCreateTokenizer
    else { throw connection.error(SQLITE_NOMEM, sql: nil) }
    for name in tokenizers {
      var (data, methods): (UnsafeMutableRawPointer?, _) = (nil, fts5_tokenizer())
      // An older FTS5 has no trigram.
      guard find(api, name, &data, &methods) == SQLITE_OK else { continue }
      let own = Unmanaged.passRetained(BuiltInTokenizer(connection.handle, create: methods.xCreate, data))
      methods.xCreate = { context, arguments, count, tokenizer in
        guard let context else { return SQLITE_MISUSE }
        return Unmanaged<BuiltInTokenizer>.fromOpaque(context).takeUnretainedValue()
          .make(arguments, count, tokenizer)
      }
      let code = create(api, name, own.toOpaque(), &methods) { context in
        if let context { Unmanaged<BuiltInTokenizer>.fromOpaque(context).release() }
      }
      // FTS5 does not let go of what it did not take.
      guard code == SQLITE_OK else {
        own.release()
        throw connection.error(code, sql: nil)
      }
    }
  }

  /// Says that the table that is being connected may be used by triggers. To be called while its tokenizer is made.
  static func allowInTriggers(_ handle: OpaquePointer) {
    if isToBeAllowed.answer == true { _ = sqlable_vtab_innocuous(handle) }
  }
}

/// One of FTS5's own tokenizers, on one connection.
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
  /// What FTS5 is extended by; nil when this SQLite was built without FTS5.
  var fullTextAPI: UnsafeMutablePointer<fts5_api>? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, "SELECT fts5(?1)", -1, &statement, nil) == SQLITE_OK else { return nil }
    var api: UnsafeMutablePointer<fts5_api>?
    let type: StaticString = "fts5_api_ptr"
    withUnsafeMutablePointer(to: &api) { api in
      // SQLite keeps the address of the name, which a String would have for the call only.
      type.utf8Start.withMemoryRebound(to: CChar.self, capacity: type.utf8CodeUnitCount + 1) { type in
        _ = sqlite3_bind_pointer(statement, 1, api, type, nil)
      }
      // FTS5 writes to where the pointer shows while the statement is stepped.
      sqlite3_step(statement)
    }
    return api
  }
}
