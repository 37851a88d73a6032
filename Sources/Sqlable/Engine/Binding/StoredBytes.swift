import CSqlableSQLite

extension PreparedStatement {
  /// Binds a text in one of SQLite's encodings, by its number in the header of a database, at a position counted from
  /// 1. The bytes are not copied, and must outlive the run.
  func bind(text bytes: UnsafePointer<UInt8>, count: Int, encoding: UInt8, at index: Int32) throws {
    let code = bytes.withMemoryRebound(to: CChar.self, capacity: count) {
      sqlite3_bind_text64(handle, index, $0, UInt64(count), nil, encoding)
    }
    guard code == SQLITE_OK else { throw failure(code) }
  }
}
