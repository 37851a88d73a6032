import CSqlableSQLite
import FoundationEssentials
import Glibc

/// A statement that SQLite has compiled, and the row that it stands on.
@usableFromInline
final class PreparedStatement {
  @usableFromInline let handle: OpaquePointer
  @usableFromInline let row: UnsafeMutablePointer<RowState>
  unowned let connection: Connection
  /// Whether it can't change the database.
  let isReadOnly: Bool
  /// What its rows are like, where that is no model's table alone.
  private(set) var layout: ResultLayout?

  /// Whether a run has it: its rows are being read, so no other run may reset it, and it does not leave the cache.
  @exclusivity(unchecked) var isInUse = true

  /// The mark of the parameters that it has bound.
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

  /// How many bytes it takes.
  var memoryUsed: Int { Int(sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_MEMUSED, 0)) }

  var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  /// The statement's first word in capitals. Kept: a raw statement is asked several times.
  private(set) lazy var firstKeyword = firstKeywords(1).first

  /// The statement's first words in capitals, comments passed over.
  func firstKeywords(_ count: Int) -> [String] { withBytes { $0[...].firstKeywords(count) } }

  /// Whether its own text may say OR FAIL.
  private(set) lazy var mayKeepWhatFailed = withBytes { $0.holdsFail }

  /// Calls `body` with the statement's text where SQLite keeps it.
  private func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    guard let text = sqlite3_sql(handle) else { return body(UnsafeBufferPointer(start: nil, count: 0)) }
    let count = strlen(text)
    return text.withMemoryRebound(to: UInt8.self, capacity: count) {
      body(UnsafeBufferPointer(start: $0, count: count))
    }
  }

  /// Says which columns the rows will have, by position, ``RowState/noColumn`` after the last; the memory must outlive
  /// the statement's run.
  @usableFromInline
  func expectColumns(_ columns: UnsafePointer<UnsafeRawPointer>, count: Int) {
    row.pointee.expect(columns, count: count)
    row.pointee.handle = handle
    row.pointee.statement = Unmanaged.passUnretained(self)
  }

  /// Says that nothing is known of the columns but their number.
  func expectAnyColumns() { expectColumns(RowState.noColumns, count: columnCount) }

  /// Says what the rows are like, which the statement keeps.
  func expect(_ layout: ResultLayout) {
    if self.layout !== layout { self.layout = layout }
    expectColumns(layout.identities, count: layout.count)
  }

  /// The names of the result's columns; right only after the first step, which may compile the statement anew.
  func readColumnNames() -> [String] {
    (0..<sqlite3_column_count(handle)).map { index in
      sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
    }
  }

  /// Goes to the next row; false when there is none.
  @inlinable
  func step() throws -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW {
      try row.pointee.begin()
      return true
    }
    // Nothing is left of the last row, though the statement is not at rest yet.
    row.pointee.nextGeneration()
    if code == SQLITE_DONE { return false }
    throw failure(code)
  }

  @usableFromInline
  func failure(_ code: Int32) -> any Error {
    connection.thrown(insteadOf: connection.error(code, sql: sql, running: self))
  }

  // MARK: Without a model

  var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
  /// Whether a parameter is more than a mere `?`.
  var namesParameters: Bool {
    (0..<sqlite3_bind_parameter_count(handle)).contains { sqlite3_bind_parameter_name(handle, $0 + 1) != nil }
  }
  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The integer at a position of the row; 0 for anything else.
  func integer(at position: Int32) -> Int64 { sqlite3_column_int64(handle, position) }

  /// Binds one value, counted from 1. Texts and blobs are not copied and must outlive the run.
  func bind(_ parameter: BoundValue, at index: Int32) throws {
    let code = parameter.give(to: ParameterTarget(statement: handle, index: index))
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Binds one value, counted from 1, that SQLite copies and keeps.
  func bindCopy(_ value: DatabaseValue, at index: Int32) throws {
    let code = value.give(to: ParameterTarget(statement: handle, index: index))
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Makes ready for other values and another run.
  func rewind() { sqlite3_reset(handle) }

  /// Ends the run: no lock is held, whatever happened before. Values stay bound until others are, and nobody reads
  /// them.
  func reset() {
    sqlite3_reset(handle)
    row.pointee.end()
  }

  /// Lets go of the values that SQLite owns a part of.
  func clearBindings() { sqlite3_clear_bindings(handle) }
}
