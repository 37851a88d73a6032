import CSqlableSQLite
import FoundationEssentials
import Glibc

/// A compiled statement and its current row.
@usableFromInline
package final class PreparedStatement {
  @usableFromInline let handle: OpaquePointer
  @usableFromInline let row: UnsafeMutablePointer<RowState>
  unowned let connection: Connection
  let isReadOnly: Bool
  /// The layout of the result's rows; nil if each row is one model.
  private(set) var layout: ResultLayout?

  /// True while a run uses the statement. Then no other run may reset the statement, and the cache does not evict the
  /// statement.
  @exclusivity(unchecked) var isInUse = true

  @exclusivity(unchecked) var isCached = false
  /// The value of the cache's counter of uses when this statement was last used.
  @exclusivity(unchecked) var latestUse = 0
  /// The statement's slot among the cache's recent statements; nil if the statement has no slot.
  @exclusivity(unchecked) var recentSlot: Int?

  /// True if the statement is a read by primary key, and its limit of 1 is bound.
  @exclusivity(unchecked) var holdsLimitOfOne = false

  /// The mark of the statement's bound values in the parameter buffer.
  @exclusivity(unchecked) var mark: ParameterBuffer.Mark?

  init(handle: OpaquePointer, connection: Connection) {
    self.handle = handle
    self.connection = connection
    row = RowState.take()
    isReadOnly = sqlite3_stmt_readonly(handle) != 0
  }

  deinit {
    RowState.give(back: row)
    sqlite3_finalize(handle)
  }

  /// The memory of the compiled statement, in bytes.
  var memoryUsed: Int { Int(sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_MEMUSED, 0)) }

  var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  /// The statement's first word, upper-cased. Cached, because a run of raw SQL checks the word several times.
  private(set) lazy var firstKeyword = firstKeywords(1).first

  /// Returns the statement's first words in upper case, without comments.
  func firstKeywords(_ count: Int) -> [String] { withBytes { $0[...].firstKeywords(count) } }

  /// The names of the columns, and the number of recompilations at the time when the names were read.
  private var names: (list: [String], recompiled: Int32)?

  /// True if the statement's text contains the word FAIL, which might be part of OR FAIL.
  private(set) lazy var mayKeepFailedRows = withBytes { $0.containsFail }

  /// Calls `body` with the statement's text in SQLite's memory.
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    guard let text = sqlite3_sql(handle) else { return body(UnsafeBufferPointer(start: nil, count: 0)) }
    let count = strlen(text)
    return text.withMemoryRebound(to: UInt8.self, capacity: count) {
      body(UnsafeBufferPointer(start: $0, count: count))
    }
  }

  /// Sets the identities of the result's columns, in order. The list ends with ``RowState/noColumn``. The list's memory
  /// must outlive the run.
  @usableFromInline
  func expectColumns(_ columns: UnsafePointer<UnsafeRawPointer>, count: Int) {
    row.pointee.expect(columns, count: count)
    row.pointee.handle = handle
    row.pointee.statement = Unmanaged.passUnretained(self)
  }

  /// Sets the number of columns, without their identities.
  func expectAnyColumns() { expectColumns(RowState.noColumns, count: columnCount) }

  func expect(_ layout: ResultLayout) {
    if self.layout !== layout { self.layout = layout }
    expectColumns(layout.identities, count: layout.count)
  }

  /// Returns the names of the result's columns. Valid only after the first step, which can recompile the statement.
  func readColumnNames() -> [String] {
    (0..<sqlite3_column_count(handle)).map { index in
      sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
    }
  }

  /// The cached names of the result's columns. Valid only after the first step, like `readColumnNames()`.
  var columnNames: [String] {
    let recompiled = sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
    if let names, names.recompiled == recompiled { return names.list }
    let list = readColumnNames()
    names = (list, recompiled)
    return list
  }

  @inlinable
  package func step() throws -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW {
      try row.pointee.begin()
      return true
    }
    // Make the last row stale now: the row is no longer valid, although the statement has not been reset.
    row.pointee.nextGeneration()
    if code == SQLITE_DONE { return false }
    throw failure(code)
  }

  @usableFromInline
  func failure(_ code: Int32) -> any Error {
    let error = connection.error(code, sql: sql, running: self)
    let thrown = connection.thrown(insteadOf: error)
    guard let tracer = connection.tracer else { return thrown }
    tracer.didFail(error)
    return thrown.traced
  }

  // MARK: Without a model

  var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
  /// True if a parameter has a name or a number, instead of being a plain `?`.
  var namesParameters: Bool {
    (0..<sqlite3_bind_parameter_count(handle)).contains { sqlite3_bind_parameter_name(handle, $0 + 1) != nil }
  }
  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The value at a position of the row, converted to an integer by SQLite.
  package func integer(at position: Int32) -> Int64 { sqlite3_column_int64(handle, position) }

  /// Binds a value at a position counted from 1. Texts and blobs are not copied, and must outlive the run.
  package func bind(_ parameter: BoundValue, at index: Int32) throws {
    let code = parameter.give(to: ParameterTarget(statement: handle, index: index))
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Binds a value at a position counted from 1. SQLite copies the value.
  ///
  /// - Parameter isText: True to bind a blob as a text with the same bytes, which need not be UTF-8.
  package func bindCopy(_ value: DatabaseValue, asText isText: Bool = false, at index: Int32) throws {
    let target = ParameterTarget(statement: handle, index: index)
    let code =
      if isText, case .blob(let bytes) = value {
        bytes.withUnsafeBytes { bytes in
          bytes.bindMemory(to: UInt8.self).baseAddress.map {
            BoundValue.text($0, bytes.count).give(to: target, copied: true)
          } ?? target.null()
        }
      } else {
        value.give(to: target)
      }
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Binds a text at a position counted from 1. `encoding` is 1 for UTF-8, 2 for UTF-16LE and 3 for UTF-16BE, as in a
  /// database header. The bytes must outlive the run.
  package func bind(text bytes: UnsafePointer<UInt8>, count: Int, encoding: UInt8, at index: Int32) throws {
    let code = bytes.withMemoryRebound(to: CChar.self, capacity: count) {
      sqlite3_bind_text64(handle, index, $0, UInt64(count), nil, encoding)
    }
    guard code == SQLITE_OK else { throw failure(code) }
  }

  package func rewind() { sqlite3_reset(handle) }

  /// Ends the run and releases its locks, even after an error. The values stay bound, but SQLite does not read them
  /// before the next run.
  package func reset() {
    sqlite3_reset(handle)
    row.pointee.end()
  }

  /// Clears the bound values, including SQLite's references to lists.
  func clearBindings() {
    sqlite3_clear_bindings(handle)
    holdsLimitOfOne = false
  }
}

extension Connection {
  package func prepareText(_ text: String) throws -> PreparedStatement {
    var text = text
    return try text.withUTF8 { try compile($0, isInternal: true) }
  }
}

extension PreparedStatement {
  /// Returns a copy of a value of the current row. Throws for text that is not UTF-8, and if memory runs out.
  package func value(at column: Int) throws -> DatabaseValue {
    try SqliteValue(sqlite3_column_value(handle, Int32(column))).storage()
  }
}
