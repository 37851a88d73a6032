import CSqlableSQLite

/// SQLite's copy of a database into another one, page by page (`sqlite3_backup`).
///
/// The first step takes the target's write lock, the last one commits. A copy that is released earlier is rolled back.
package final class PageCopy {
  private var handle: OpaquePointer?
  private let target: Connection

  /// - Parameter database: The name of the source: `main`, or that of an attached database.
  package init(of database: String, on source: Connection, to target: Connection) throws {
    self.target = target
    handle = sqlite3_backup_init(target.handle, "main", source.handle, database)
    guard handle == nil else { return }
    let code = sqlite3_errcode(target.handle)
    // SQLite's word for a target with an open read transaction, or with a source that has another name.
    guard code == SQLITE_ERROR else { throw target.error(code, sql: nil) }
    throw SqlError.misuse("can't replace the database: \(target.error(code, sql: nil).message)").labelled(target.label)
  }

  deinit { sqlite3_backup_finish(handle) }

  /// The number of pages that are left, and of all; both are 0 before the first step.
  package var remaining: Int { Int(sqlite3_backup_remaining(handle)) }
  package var total: Int { Int(sqlite3_backup_pagecount(handle)) }

  /// Copies a number of pages; returns whether none is left, and the target has committed.
  package func step(_ pages: Int32) throws -> Bool {
    let code = sqlite3_backup_step(handle, pages)
    if code == SQLITE_OK { return false }
    if code == SQLITE_DONE { return true }
    // Only this passes the message on to the target's connection.
    sqlite3_backup_finish(handle)
    handle = nil
    throw target.error(code, sql: nil)
  }
}

extension Connection {
  /// Opens a file that no other connection uses, without a journal and without syncing: it is deleted if anything
  /// fails, and synced by its owner.
  package static func unjournaled(_ path: String, label: String?, _ cipher: Cipher?) throws -> Connection {
    let connection = try Connection(
      path: path, flags: SQLITE_OPEN_READWRITE, label: label, cacheCapacity: 0, cipher: cipher)
    try connection.pragma("PRAGMA journal_mode = OFF")
    try connection.pragma("PRAGMA synchronous = OFF")
    return connection
  }

  /// Moves what the log and the journal beside a file contain into the file, and deletes them. Throws `.busy` if
  /// another connection has the file open.
  package static func closeWAL(ofFileAt path: String, label: String?, _ cipher: Cipher?) throws {
    let connection = try Connection(
      path: path, flags: SQLITE_OPEN_READWRITE, label: label, cacheCapacity: 0, cipher: cipher)
    // The first, because SQLite deletes the journal of that mode when it leaves it, and keeps one that it finds.
    try connection.pragma("PRAGMA journal_mode = PERSIST")
    guard try connection.pragma("PRAGMA journal_mode = DELETE") == "delete" else {
      throw SqlError(.busy, message: "another connection has the file open", label: label)
    }
    // Rolls a journal back: setting the mode that the file already has reads nothing.
    try connection.pragma("PRAGMA schema_version")
  }

  /// The path of one of its databases, as SQLite resolved it; empty for a database in memory.
  package func path(ofDatabase name: String) -> String {
    sqlite3_db_filename(handle, name).map { String(cString: $0) } ?? ""
  }

  package func pageSize(ofDatabase name: String = "main") throws -> Int {
    Int(try pragma("PRAGMA \("page_size".quotedName(inDatabase: name))") ?? "") ?? 0
  }

  package func journalMode(ofDatabase name: String = "main") throws -> String {
    try pragma("PRAGMA \("journal_mode".quotedName(inDatabase: name))") ?? ""
  }

  /// True if the header of a file demands WAL mode. SQLite reads it: closing a descriptor of the file would drop the
  /// locks that other connections of this process have on it.
  ///
  /// That of an encrypted file can't be read so: it counts as one that does.
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
