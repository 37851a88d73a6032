/// The receiver of one row's values in `write(to:)`.
///
/// Setting the columns in the order of the table's layout is fastest; any order works. `nil` stores NULL; for a column
/// of the primary key, `nil` leaves the column out. A column that `write(to:)` skips or does not set is left out. If a
/// value does not fit its column, the statement throws after `write(to:)` has returned.
///
/// A writer is valid only during `write(to:)`. If a column is set later, or while `write(to:)` runs another statement
/// of the same handle, the statement throws `.misuse`.
public struct RowWriter {
  /// `unowned(unsafe)` is sound, because a `TableInfo` is never freed.
  package unowned(unsafe) let table: TableInfo
  package var storage: ParameterSlots
  /// One slot for each column of the table; owned by `storage`.
  @usableFromInline var slots: UnsafeMutableBufferPointer<BoundValue>
  // Copies of properties of `table` and the buffer. Without the copies, setting a value would retain both objects.
  @usableFromInline let cells: UnsafePointer<TableInfo.Cell>
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  /// The buffer's scope at the start of the row. When the buffer's scope changes, the writer is stale.
  @usableFromInline var scope: UInt64
  @usableFromInline var next = 0
  /// One bit for each column that is set. Tables with more than 64 columns do not use the bits.
  @usableFromInline var shape: UInt64 = 0
  package var failure: (any Error)?
  /// The columns that the statement uses. For any other column, a value that does not fit causes no error.
  private let written: WrittenColumns

  /// Makes a writer that copies the values' bytes into a buffer. The buffer must outlive the writer.
  package init(table: TableInfo, buffer: ParameterBuffer, written: WrittenColumns = .all) {
    self.init(
      table: table, storage: buffer.takeSlots(count: table.count), bytes: buffer.bytes, written: written)
  }

  /// Makes a writer that stores the values in the first slots of `storage`. The buffer of `bytes` must outlive the
  /// writer.
  init(
    table: TableInfo, storage: ParameterSlots, bytes: UnsafeMutablePointer<ParameterBytes>,
    written: WrittenColumns = .all
  ) {
    self.table = table
    self.written = written
    self.storage = storage
    self.bytes = bytes
    slots = UnsafeMutableBufferPointer(rebasing: storage.memory[..<table.count])
    cells = table.cells
    scope = bytes.pointee.current
  }

  /// Sets a column.
  @inlinable
  @inline(__always)
  public mutating func set<Value: SqlValue>(_ column: Column, _ value: Value?) {
    if let value { assign(column, value) } else { setNull(column) }
  }

  /// Sets a typed column.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value>, _ value: Value) {
    assign(column.column, value)
  }

  /// Sets a nullable typed column.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Value?) {
    set(column.column, value)
  }

  /// Sets an integer key from a property that is nil until the row is stored. `nil` leaves the key out.
  ///
  /// ```swift
  /// static let id = column("id", Int.self, PrimaryKey(autoincrement: true))    // var id: Int?
  /// row.set(Product.id, id)
  /// ```
  ///
  /// If the column is not in the primary key and the value is `nil`, the statement throws `.encoding` after
  /// `write(to:)` has returned.
  @inlinable
  @inline(__always)
  @_disfavoredOverload
  public mutating func set<Model, Value: SqlValue & FixedWidthInteger>(
    _ column: TypedColumn<Model, Value>, _ value: Value?
  ) {
    if let value { assign(column.column, value) } else { leaveOutKey(column.column) }
  }

  /// Leaves a column out: an insert stores the column's default, an update keeps the stored value.
  ///
  /// The call also declares that `write(to:)` deliberately leaves the column out; see ``Sqlable/write(to:)``.
  public mutating func skip(_ column: Column) {
    guard let position = predicted(column) else { return fail(unknown: column) }
    leaveOut(at: position)
  }

  /// Leaves a typed column out.
  public mutating func skip<Model, Value>(_ column: TypedColumn<Model, Value>) { skip(column.column) }

  /// Stores NULL in a typed column.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Null) {
    assign(column.column, value)
  }

  /// Stores NULL, but leaves out a column of the primary key.
  @inlinable
  @inline(__always)
  package mutating func setNull(_ column: Column) {
    let position = next
    guard cells[position].identity == column.identity, !cells[position].isKey else { return setNullSearching(column) }
    next = position &+ 1
    guard bytes.pointee.isCurrent(scope) else { return failStale() }
    put(.null, at: position)
  }

  @usableFromInline
  mutating func setNullSearching(_ column: Column) {
    guard let position = predicted(column) else { return fail(unknown: column) }
    setNull(at: position)
  }

  package mutating func setNull(at position: Int) {
    if cells[position].isKey { return leaveOut(at: position) }
    if !isGenerated(position) { set(Null(), at: position) }
  }

  @inlinable
  @inline(__always)
  mutating func assign<Value: SqlValue>(_ column: Column, _ value: Value) {
    let position = next
    // Try the next column of the layout first, because `write(to:)` usually sets the columns in the layout's order.
    guard cells[position].identity == column.identity else { return assignSearching(column, value) }
    next = position &+ 1
    set(value, at: position)
  }

  @inlinable
  @inline(__always)
  package mutating func set<Value: SqlValue>(_ value: Value, at position: Int) {
    guard bytes.pointee.isCurrent(scope) else { return failStale() }
    var cell = WriteCell(bytes: bytes, scope: scope, type: cells[position].type)
    do {
      try value.write(to: &cell)
      guard !cell.isStale else { return failStale() }
      let parameter = cell.parameter
      guard
        parameter.classBit & cells[position].accepted != 0 || Value.self == Bool.self && cells[position].takesBool
          || stores(cell, at: position)
      else { return }
      put(parameter, at: position)
    } catch {
      fail(error, at: position)
    }
  }

  @inlinable
  @inline(__always)
  package mutating func put(_ parameter: BoundValue, at position: Int) {
    slots[position] = parameter
    shape |= 1 &<< UInt64(truncatingIfNeeded: position)
  }

  @inlinable
  @inline(never)
  mutating func assignSearching<Value: SqlValue>(_ column: Column, _ value: Value) {
    guard let position = search(for: column) else { return fail(unknown: column) }
    // Ignore a generated column. SQLite computes the value, but a struct can contain the value from an earlier read.
    if !isGenerated(position) { set(value, at: position) }
  }

  @usableFromInline
  mutating func search(for column: Column) -> Int? {
    guard let position = table.position(of: column.definition) else { return nil }
    next = position + 1
    return position
  }

  @inlinable
  package func isGenerated(_ position: Int) -> Bool { cells[position].isGenerated }

  @usableFromInline
  mutating func leaveOutKey(_ column: Column) {
    guard let position = predicted(column) else { return fail(unknown: column) }
    guard cells[position].isKey else {
      return fail(SqlError.encoding(expected: cells[position].type.name, found: "nil"), at: position)
    }
    leaveOut(at: position)
  }

  private mutating func predicted(_ column: Column) -> Int? {
    guard cells[next].identity == column.identity else { return search(for: column) }
    next += 1
    return next - 1
  }

  private mutating func leaveOut(at position: Int) {
    guard bytes.pointee.isCurrent(scope) else { return failStale() }
    slots[position] = .unset
    shape &= ~(1 &<< UInt64(truncatingIfNeeded: position))
    noteSkipped(position)
  }

  func position(named name: String) throws -> Int {
    guard let position = table.position(named: name) else {
      throw SqlError(
        .schema(.missingColumn(name)), message: "table \(table.name) has no column \(name)", table: table.name,
        column: name)
    }
    return position
  }

  // MARK: Errors

  /// True if the column stores this value. Records an error if not. Called for values that need more than a check of
  /// the storage class.
  @usableFromInline
  mutating func stores(_ cell: WriteCell, at position: Int) -> Bool {
    if cell.isStored { return true }
    fail(cell.type.mismatch(cell.parameter.storageClass), at: position)
    return false
  }

  @usableFromInline
  package mutating func fail(_ error: any Error, at position: Int) {
    if !isWritten(position) { return leaveOut(at: position) }
    guard failure == nil else { return }
    guard var located = (error as? SqlError)?.at(table: table.name, column: table.columns[position].name) else {
      failure = error
      return
    }
    if case .encoding(let mismatch) = located.kind {
      located.message =
        "\(table.name).\(table.columns[position].name) takes \(mismatch.expected), but was given \(mismatch.found)"
    }
    failure = located
  }

  private func isWritten(_ position: Int) -> Bool {
    switch written {
    case .all: true
    case .key: cells[position].isKey
    case .positions(let positions): positions.contains(position)
    }
  }

  @usableFromInline
  mutating func fail(unknown column: Column) {
    failure =
      failure
      ?? SqlError.misuse("column \(column.name) is not in the layout of table \(table.name)")
      .at(table: table.name, column: column.name)
  }

  var staleError: SqlError {
    SqlError.misuse("a RowWriter was used after write(to:) returned, or while another statement ran inside write(to:)")
      .at(table: table.name)
  }

  /// Records the use of a stale writer in the storage that all copies share, so that the statement throws `staleError`.
  @usableFromInline
  func failStale() { storage.isStale = true }

  // MARK: Rows in sequence

  /// The values that were set since `clear()`.
  @inline(__always)
  package var values: RowValues { RowValues(slots: slots, shape: shape) }

  /// True if no copy of the writer exists.
  @inline(__always)
  var isUnique: Bool { mutating get { isKnownUniquelyReferenced(&storage) } }

  /// Gives the memory back to the buffer for the next writer, unless a copy of this writer still exists.
  mutating func finish(_ buffer: ParameterBuffer) {
    if isKnownUniquelyReferenced(&storage) { buffer.giveBack(storage) }
  }

  @usableFromInline
  package mutating func clear() {
    if RowValues.isWide(slots.count) { slots.update(repeating: .unset) }
    next = 0
    shape = 0
    if failure != nil { failure = nil }
    storage.isStale = false
    #if DEBUG
    storage.skipped = []
    #endif
    scope = bytes.pointee.current
  }

  @inlinable
  package mutating func take(_ model: borrowing some Sqlable) throws {
    clear()
    try model.write(to: &self)
    try checkRow()
  }

  @usableFromInline
  func checkRow() throws {
    if let failure { throw failure }
    guard !storage.isStale else { throw staleError }
    #if DEBUG
    try checkColumns()
    #endif
  }
}

extension Borrowed where Value: Sqlable {
  @inlinable
  borrowing func write(to writer: inout RowWriter) throws { try writer.take(value) }
}

package enum WrittenColumns {
  case all
  case key
  case positions([Int])
}
