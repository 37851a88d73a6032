import CSqlableSQLite

/// A page-by-page copy of a database into another database (`sqlite3_backup`).
///
/// The first step takes the target's write lock, and the last step commits. If the object is deallocated earlier, the
/// copy is rolled back.
package final class PageCopy {
  private var handle: OpaquePointer?
  private let source: Connection
  private let target: Connection

  /// - Parameter database: The name of the source database: `main`, or the name of an attached database.
  package init(of database: String, on source: Connection, to target: Connection) throws {
    (self.source, self.target) = (source, target)
    handle = sqlite3_backup_init(target.handle, "main", source.handle, database)
    guard handle == nil else { return }
    let code = sqlite3_errcode(target.handle)
    // SQLITE_ERROR: the target has an open read transaction, or the source has no database with this name.
    guard code == SQLITE_ERROR else { throw target.error(code, sql: nil) }
    throw SqlError.misuse("can't copy database \(database) into the target: \(target.error(code, sql: nil).message)")
      .labelled(target.label)
  }

  deinit { sqlite3_backup_finish(handle) }

  /// The number of pages that are not yet copied; 0 before the first step. `total` is the number of all pages.
  package var remaining: Int { Int(sqlite3_backup_remaining(handle)) }
  package var total: Int { Int(sqlite3_backup_pagecount(handle)) }

  /// Copies up to `pages` pages. Returns true if all pages are copied and the target has committed.
  package func step(_ pages: Int32) throws -> Bool {
    let code = sqlite3_backup_step(handle, pages)
    if code == SQLITE_OK { return false }
    if code == SQLITE_DONE { return true }
    // `sqlite3_backup_finish` sets the error message on the target's connection.
    sqlite3_backup_finish(handle)
    handle = nil
    throw source.meaning(ofEncrypted: target.error(code, sql: nil), isOfCopy: true)
  }
}

extension Connection {
  /// Opens a file that no other connection uses, without a journal and without syncing. The caller deletes the file
  /// after a failure, and syncs the file after success.
  package static func unjournaled(_ path: String, label: String?, _ cipher: Cipher?) throws -> Connection {
    let connection = try Connection(
      path: path, flags: SQLITE_OPEN_READWRITE, label: label, cacheCapacity: 0, cipher: cipher)
    try connection.pragma("PRAGMA journal_mode = OFF")
    try connection.pragma("PRAGMA synchronous = OFF")
    return connection
  }

  /// Applies a file's WAL and journal, and deletes both. Throws `.busy` if another connection has the WAL open.
  package static func closeWAL(ofFileAt path: String, label: String?, _ cipher: Cipher?) throws {
    let connection = try Connection(
      path: path, flags: SQLITE_OPEN_READWRITE, label: label, cacheCapacity: 0, cipher: cipher)
    // Sets PERSIST first, because SQLite deletes the journal on a change from PERSIST to DELETE. If the mode is already
    // DELETE, SQLite keeps an existing journal.
    try connection.pragma("PRAGMA journal_mode = PERSIST")
    guard try connection.pragma("PRAGMA journal_mode = DELETE") == "delete" else {
      throw SqlError(
        .busy, message: "can't close the WAL: another connection has the file open; close the other connection",
        label: label)
    }
    // Read the file, so that SQLite rolls back a journal. The PRAGMAs above do not read the file if it already has the
    // mode that they set.
    try connection.pragma("PRAGMA schema_version")
  }

  /// Returns the path of a database of this connection, as resolved by SQLite; empty for a database in memory.
  package func path(ofDatabase name: String) -> String {
    sqlite3_db_filename(handle, name).map { String(cString: $0) } ?? ""
  }

  package func pageSize(ofDatabase name: String = "main") throws -> Int {
    Int(try pragma("PRAGMA \("page_size".quotedName(inDatabase: name))") ?? "") ?? 0
  }

  package func journalMode(ofDatabase name: String = "main") throws -> String {
    try pragma("PRAGMA \("journal_mode".quotedName(inDatabase: name))") ?? ""
  }

  /// True if the header of a file demands WAL mode. Reads the header through SQLite, because closing another descriptor
  /// of the file would drop the locks of this process.
  ///
  /// Returns true for an encrypted file, because its header can't be read in this way.
  package func requiresWAL(ofDatabase name: String = "main") -> Bool {
    guard cipher == nil else { return true }
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, name, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return false }
    var version: UInt8 = 0
    return read(file, &version, 1, 19) == SQLITE_OK && version == 2
  }
}
