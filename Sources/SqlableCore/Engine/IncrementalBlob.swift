import CSqlableSQLite

/// An open value of one row, which is read and written in parts (`sqlite3_blob_open`).
///
/// The value expires when a statement changes or deletes the row, and when a savepoint is rolled back.
package final class IncrementalBlob {
  private var handle: OpaquePointer?
  private let connection: Connection
  package let database: String
  package let table: String
  package let column: String
  /// The row's rowid.
  package let id: Int64
  package let isWritable: Bool
  /// The size in bytes, which does not change.
  package let count: Int

  package init(
    database: String, table: String, column: String, id: Int64, isWritable: Bool, on connection: Connection
  ) throws {
    (self.database, self.table, self.column, self.id) = (database, table, column, id)
    self.isWritable = isWritable
    self.connection = connection
    // Refuses a table with generated columns: SQLite 3.40 would open the wrong column. Later versions refuse such a
    // table, too.
    let columns = try connection.rows("PRAGMA \("table_xinfo".quotedName(inDatabase: database))(\(table.quotedName))")
    guard !columns.contains(where: { $0[6] == "2" || $0[6] == "3" }) else {
      throw SqlError.misuse("SQLite can't open a blob of table \(table), which has generated columns").at(
        table: table, column: column)
    }
    var handle: OpaquePointer?
    let code = sqlite3_blob_open(connection.handle, database, table, column, id, isWritable ? 1 : 0, &handle)
    guard code == SQLITE_OK, let handle else {
      let error = connection.error(code, sql: nil)
      throw code == SQLITE_ERROR ? IncrementalBlob.meaning(of: error, table, column) : error
    }
    self.handle = handle
    connection.recorder?.note(reading: column, ofTable: table, inDatabase: database)
    count = Int(sqlite3_blob_bytes(handle))
    if isWritable { connection.writableBlobs += 1 }
  }

  deinit { close() }

  package func close() {
    guard let handle else { return }
    self.handle = nil
    if isWritable { connection.writableBlobs -= 1 }
    // All changes are already part of the transaction, so closing has no further error to report.
    sqlite3_blob_close(handle)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let (start, size) = try range(offset, buffer.count)
    try check(sqlite3_blob_read(try open, buffer.baseAddress, size, start))
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    let (start, size) = try range(offset, bytes.count)
    guard isWritable else { throw SqlError.misuse("the blob is open for reading only; use writeBlob") }
    try check(sqlite3_blob_write(try open, bytes.baseAddress, size, start))
  }

  private var open: OpaquePointer {
    get throws {
      guard let handle else {
        throw SqlError.misuse("the blob is closed; use it only inside the closure that received it")
      }
      return handle
    }
  }

  private func range(_ offset: Int, _ size: Int) throws -> (Int32, Int32) {
    _ = try open
    try connection.checkInterruption()
    guard offset >= 0, offset <= count, size <= count - offset, let start = Int32(exactly: offset),
      let size = Int32(exactly: size)
    else { throw IncrementalBlob.outside.at(self) }
    return (start, size)
  }

  package static var outside: SqlError {
    .misuse("the bytes are outside the blob, and the size of an open blob can't change")
  }

  private func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    var error = connection.error(code, sql: nil)
    if error.code == Int(SQLITE_ABORT) {
      error.kind = .notFound
      error.message = "the row was changed or deleted while its blob was open; open the blob again"
    }
    throw error.at(self)
  }

  /// Returns the error to throw if SQLite can't open a value for incremental reads and writes.
  private static func meaning(of error: SqlError, _ table: String, _ column: String) -> SqlError {
    var error = error
    if error.message.begins(with: "no such rowid") {
      (error.kind, error.message) = (.notFound, "the row of the blob does not exist")
    } else if error.message.begins(with: "cannot open ") {
      error.message += " as a blob; read or write the whole value with a statement"
      error.kind = .misuse(error.message)
    }
    (error.table, error.column) = (table, column)
    return error
  }
}

extension SqlError {
  fileprivate func at(_ blob: IncrementalBlob) -> SqlError { at(table: blob.table, column: blob.column) }
}

extension Connection {
  /// Throws `.misuse` while a blob is open for writing, because SQLite can't begin a savepoint then.
  func checkMayBeginSavepoint() throws {
    guard writableBlobs == 0 else {
      throw SqlError.misuse("can't begin a transaction inside writeBlob; begin it around writeBlob")
    }
  }
}
