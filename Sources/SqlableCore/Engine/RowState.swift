import CSqlableSQLite
import Synchronization

/// The state of reading a row. A struct in manually managed memory, because exclusivity checks on class properties take
/// longer than reading a column.
///
/// The memory is recycled but never freed. A row that is kept after its statement's run therefore reads valid memory
/// with a different generation, and throws.
///
/// Such a row can check its generation on any thread, while another statement owns the memory. So the generation is
/// atomic, and is checked before any other access.
@usableFromInline
package struct RowState: ~Copyable {
  /// The statement that is positioned on the row.
  @usableFromInline var handle: OpaquePointer?
  /// Incremented for every row, so that reading an earlier row is detected.
  @usableFromInline let generation = Atomic<UInt64>(0)
  /// The position of the column that is expected to be read next.
  @usableFromInline var next = 0
  @usableFromInline var count = 0
  /// The positions of the columns of the model that is being read.
  @usableFromInline package var window = 0..<0
  /// The identities of the columns, by position, terminated by ``noColumn``.
  @usableFromInline package var columns = RowState.noColumns
  /// A copy of ``noColumns``. Reading the copy takes no call, unlike reading the static property.
  private let unknown = RowState.noColumns
  /// The address of SQLite's value at position 0, if the row's values are in one array; otherwise nil.
  @usableFromInline package var firstValue: UnsafeRawPointer?
  /// The address of the first value in an earlier run, if that run's `knownCount` values were in one array.
  private var knownFirst: UnsafeRawPointer?
  private var knownCount = 0
  @usableFromInline package let valueStride = Library.valueStride
  /// True if the statement is traced and a value could not be read.
  @usableFromInline var hasFailed = false
  @usableFromInline package var decoding = Decoding()
  /// The statement, which is used only for errors and for finding columns by name.
  var statement: Unmanaged<PreparedStatement>?
  #if DEBUG
  /// The original window, and the columns that the model has read; nil unless reads are checked. During the check, the
  /// property `window` is empty, so that each read takes the slow path.
  private var tracked: (window: Range<Int>, columns: Set<UnsafeRawPointer>)?
  #endif

  init() {}

  var searched: Range<Int> {
    #if DEBUG
    tracked?.window ?? window
    #else
    window
    #endif
  }

  /// The positions to search for a name: the columns of the model, or all columns of a row without a model.
  var named: Range<Int> { columns == RowState.noColumns ? 0..<count : searched }

  @usableFromInline
  mutating func noteRead(_ position: Int) {
    #if DEBUG
    tracked?.columns.insert(columns[position])
    #endif
  }

  #if DEBUG
  mutating func beginTracking() {
    tracked = (window, [])
    window = window.lowerBound..<window.lowerBound
  }

  mutating func endTracking() -> Set<UnsafeRawPointer> {
    guard let tracked else { return [] }
    window = tracked.window
    self.tracked = nil
    return tracked.columns
  }
  #endif

  @inlinable
  @inline(__always)
  package func value(at position: Int) -> OpaquePointer? {
    guard let firstValue else { return sqlite3_column_value(handle, Int32(truncatingIfNeeded: position)) }
    return OpaquePointer(firstValue + position &* valueStride)
  }

  var columnCount: Int { Int(sqlite3_column_count(handle)) }

  func columnName(at position: Int) -> String? {
    sqlite3_column_name(handle, Int32(position)).map { String(cString: $0) }
  }

  /// The table of a result column; nil for an expression, or if this SQLite can't report the table.
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
  /// The unused states, shared by all connections.
  private static let free = LockedValue<[UnsafeMutablePointer<RowState>]>([])

  static func take() -> UnsafeMutablePointer<RowState> {
    if let state = free.withLock({ $0.popLast() }) { return state }
    let state = UnsafeMutablePointer<RowState>.allocate(capacity: 1)
    state.initialize(to: RowState())
    return state
  }

  static func give(back state: UnsafeMutablePointer<RowState>) {
    state.pointee.end()
    state.pointee.knownFirst = nil
    state.pointee.decoding.abandonContainers()
    free.withLock { $0.append(state) }
  }

  @inlinable
  package var current: UInt64 { generation.load(ordering: .relaxed) }

  @inlinable
  package func isCurrent(_ row: UInt64) -> Bool { generation.load(ordering: .relaxed) == row }

  /// Makes the current row stale. Only the thread that owns the statement calls this function.
  @inlinable
  func nextGeneration() {
    generation.store(generation.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    decoding.current.store(Decoding.none, ordering: .relaxed)
  }

  /// The identities of unknown columns. `nonisolated(unsafe)` is sound: the memory is written only here.
  nonisolated(unsafe) static let noColumns: UnsafePointer<UnsafeRawPointer> = {
    let none = UnsafeMutablePointer<UnsafeRawPointer>.allocate(capacity: 1)
    none.initialize(to: noColumn)
    return UnsafePointer(none)
  }()

  /// The identity that terminates a list of columns, so that a read past the last column is detected without counting.
  static var noColumn: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped }

  mutating func expect(_ columns: UnsafePointer<UnsafeRawPointer>, count: Int) {
    self.columns = columns
    self.count = count
    window = 0..<(columns == unknown ? 0 : count)
    firstValue = nil
  }

  @inlinable
  mutating func begin() throws {
    nextGeneration()
    next = 0
    // While the rows' values remain at the same address, reading a row takes one call of SQLite instead of one per
    // column.
    if firstValue == nil || firstValue != UnsafeRawPointer(sqlite3_column_value(handle, 0)) { try findValues() }
  }

  /// Sets `firstValue` if the row's values form one array. Throws if the result has too few columns.
  @usableFromInline
  mutating func findValues() throws {
    firstValue = nil
    // The values of a later run are at the same address, unless SQLite recompiled the statement.
    if let known = knownFirst, knownCount == count,
      UnsafeRawPointer(sqlite3_column_value(handle, Int32(truncatingIfNeeded: count - 1)))
        == known + (count - 1) &* valueStride
    {
      firstValue = known
      return
    }
    guard valueStride > 0, count > 0, let first = UnsafeRawPointer(sqlite3_column_value(handle, 0)),
      let last = UnsafeRawPointer(sqlite3_column_value(handle, Int32(truncatingIfNeeded: count - 1))),
      last == first + (count - 1) * valueStride
    else { return try checkCount() }
    firstValue = first
    (knownFirst, knownCount) = (first, count)
  }

  /// Throws if the result has fewer columns than will be read. A step can recompile the statement after a schema
  /// change, and `SELECT *` can then return fewer columns. If `findValues` finds the last value at its expected
  /// address, no column is missing and this check is not needed.
  private func checkCount() throws {
    guard columnCount < count, let statement = statement?.takeUnretainedValue(), let layout = statement.layout,
      layout.identities == columns
    else { return }
    try statement.check(layout)
  }

  /// Ends the run. Afterwards, no row is current.
  mutating func end() {
    nextGeneration()
    handle = nil
    expect(unknown, count: 0)
    statement = nil
  }
}
