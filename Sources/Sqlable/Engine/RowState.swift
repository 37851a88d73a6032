import CSqlableSQLite
import Synchronization

/// Where the reading of a row stands: plain memory, since exclusivity checks on the properties of a class cost more than
/// the column reads themselves.
///
/// The memory is recycled but never freed. A row that a caller keeps for longer than its statement is at rest therefore
/// meets another generation in valid memory, and reading it throws.
///
/// Whoever keeps a row may ask for its generation on any thread, while another statement has the memory: it is atomic, and
/// looked at before anything else.
@usableFromInline
struct RowState: ~Copyable {
  /// The statement that stands on the row.
  @usableFromInline var handle: OpaquePointer?
  /// Raised for every row, so that a row kept from before is recognised.
  @usableFromInline let generation = Atomic<UInt64>(0)
  /// The column that is expected to be read next.
  @usableFromInline var next = 0
  /// How many columns the row has.
  @usableFromInline var count = 0
  /// The columns of the model that is being read, among those of the row.
  @usableFromInline var window = 0..<0
  /// The identities of the columns, by position; ``noColumn`` ends them.
  @usableFromInline var columns = RowState.noColumns
  /// SQLite's value at position 0, when the others are known to follow it in one array.
  @usableFromInline var firstValue: UnsafeRawPointer?
  @usableFromInline let valueStride = Library.valueStride
  /// The statement, for what only an error and a search need.
  var statement: Unmanaged<PreparedStatement>?

  init() {}

  /// SQLite's value at a position of the row.
  @inlinable
  @inline(__always)
  func value(at position: Int) -> OpaquePointer? {
    guard let firstValue else { return sqlite3_column_value(handle, Int32(truncatingIfNeeded: position)) }
    return OpaquePointer(firstValue + position &* valueStride)
  }

  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  func columnName(at position: Int) -> String? {
    sqlite3_column_name(handle, Int32(position)).map { String(cString: $0) }
  }

  /// The table that a column of the result comes from, where it comes from one and this SQLite can tell.
  func tableName(at position: Int) -> String? {
    guard let handle else { return nil }
    return Library.columnTableName?(handle, Int32(position)).map { String(cString: $0) }
  }

  func integer(at position: Int) -> Int? {
    guard sqlite3_column_type(handle, Int32(position)) == SQLITE_INTEGER else { return nil }
    return Int(sqlite3_column_int64(handle, Int32(position)))
  }
}

extension RowState {
  /// The states that no statement has at present, for all connections.
  private static let free = Guarded<[UnsafeMutablePointer<RowState>]>([])

  static func take() -> UnsafeMutablePointer<RowState> {
    if let state = free.withLock({ $0.popLast() }) { return state }
    let state = UnsafeMutablePointer<RowState>.allocate(capacity: 1)
    state.initialize(to: RowState())
    return state
  }

  static func give(back state: UnsafeMutablePointer<RowState>) {
    state.pointee.end()
    free.withLock { $0.append(state) }
  }

  /// The generation of the current row.
  @inlinable
  var current: UInt64 { generation.load(ordering: .relaxed) }

  /// Whether a row of that generation is the current one.
  @inlinable
  func isCurrent(_ row: UInt64) -> Bool { generation.load(ordering: .relaxed) == row }

  /// Makes the row before one that was. Only the thread that has the statement calls it.
  @inlinable
  func nextGeneration() {
    generation.store(generation.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Stands for the columns of a row of which none is known. Sound: written once, here.
  nonisolated(unsafe) static let noColumns: UnsafePointer<UnsafeRawPointer> = {
    let none = UnsafeMutablePointer<UnsafeRawPointer>.allocate(capacity: 1)
    none.initialize(to: noColumn)
    return UnsafePointer(none)
  }()

  /// What no column is known by: the end of the columns, where reading one more is found out without counting.
  static var noColumn: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped }

  mutating func expect(_ columns: UnsafePointer<UnsafeRawPointer>, count: Int) {
    self.columns = columns
    self.count = count
    window = 0..<(columns == RowState.noColumns ? 0 : count)
    firstValue = nil
  }

  /// Another row is the current one.
  @inlinable
  mutating func begin() throws {
    nextGeneration()
    next = 0
    // One call a row instead of one a column, as long as the row lies where the last one was found to lie.
    if firstValue == nil || firstValue != UnsafeRawPointer(sqlite3_column_value(handle, 0)) { try findValues() }
  }

  /// Finds out whether the row's values lie in one array. Throws when there are fewer of them than are to be read.
  @usableFromInline
  mutating func findValues() throws {
    firstValue = nil
    guard valueStride > 0, count > 0, let first = UnsafeRawPointer(sqlite3_column_value(handle, 0)),
      let last = UnsafeRawPointer(sqlite3_column_value(handle, Int32(truncatingIfNeeded: count - 1))),
      last == first + (count - 1) * valueStride
    else { return try checkCount() }
    firstValue = first
  }

  /// Throws when a result has fewer columns than are to be read: compiled anew by a step, a `SELECT *` may have. A value that
  /// is not there lies nowhere near the others, so nobody else has to ask.
  private func checkCount() throws {
    guard columnCount < count, let statement = statement?.takeUnretainedValue(), let layout = statement.layout,
      layout.identities == columns
    else { return }
    try statement.check(layout)
  }

  /// No row is current any more.
  mutating func end() {
    nextGeneration()
    handle = nil
    expect(RowState.noColumns, count: 0)
    statement = nil
  }
}
