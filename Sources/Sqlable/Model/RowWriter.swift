/// Takes the values of one row, column by column, in `write(to:)`.
///
/// Setting the columns in the order of the table's layout is fastest, any other order works. A column that is not set,
/// or set to `nil`, is left out; ``Null`` stores NULL. What does not fit its column is thrown when `write(to:)` has
/// returned.
///
/// It is valid during that call only, and not while another statement of the handle runs inside the call: what is set
/// then is thrown as `.misuse`.
public struct RowWriter {
  /// Kept for ever by those who made it.
  unowned(unsafe) let table: TableInfo
  private var storage: ParameterSlots
  /// One for each column of the table; owned by `storage`.
  @usableFromInline let slots: UnsafeMutableBufferPointer<BoundValue>
  // Copied out of their objects, which would be retained for every value.
  @usableFromInline let cells: UnsafePointer<TableInfo.Cell>
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  /// The scope of the row.
  @usableFromInline var scope: UInt64
  @usableFromInline var next = 0
  /// A bit for every column that is set; of use where there are no more columns than bits.
  @usableFromInline var shape: UInt64 = 0
  var failure: (any Error)?

  /// A writer that puts the values' bytes into a buffer, which outlives it.
  init(table: TableInfo, buffer: ParameterBuffer) {
    self.table = table
    storage = buffer.takeSlots(count: table.count)
    slots = UnsafeMutableBufferPointer(rebasing: storage.memory[..<table.count])
    cells = table.cells
    bytes = buffer.bytes
    scope = bytes.pointee.current
  }

  /// Sets a column.
  @inlinable
  @inline(__always)
  public mutating func set<Value: SqlValue>(_ column: Column, _ value: Value?) {
    guard let value else { return skip(column) }
    assign(column, value)
  }

  /// Sets a typed column.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value>, _ value: Value) {
    assign(column.column, value)
  }

  /// Sets a typed column that may be NULL; `nil` leaves it out.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Value?) {
    set(column.column, value)
  }

  /// Sets a column, `nil` as NULL instead of leaving it out.
  ///
  /// An update then clears the column, and all rows of a batch share one compiled statement, whatever they leave empty.
  @inlinable
  @inline(__always)
  public mutating func setOrNull<Value: SqlValue>(_ column: Column, _ value: Value?) {
    if let value { assign(column, value) } else { assign(column, Null()) }
  }

  /// Sets a typed column, `nil` as NULL instead of leaving it out.
  @inlinable
  @inline(__always)
  public mutating func setOrNull<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Value?) {
    setOrNull(column.column, value)
  }

  /// Stores NULL in a typed column.
  @inlinable
  @inline(__always)
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Null) {
    assign(column.column, value)
  }

  @inlinable
  @inline(__always)
  mutating func assign<Value: SqlValue>(_ column: Column, _ value: Value) {
    let position = next
    // The next one, if columns are set in their order.
    guard cells[position].identity == column.identity else { return assignSearching(column, value) }
    next = position &+ 1
    set(value, at: position)
  }

  @inlinable
  @inline(__always)
  mutating func set<Value: SqlValue>(_ value: Value, at position: Int) {
    guard bytes.pointee.isCurrent(scope) else { return failStale() }
    var cell = WriteCell(bytes: bytes, scope: scope, type: cells[position].type)
    do {
      try value.write(to: &cell)
      guard !cell.isStale else { return failStale() }
      let parameter = cell.parameter
      guard parameter.classBit & cells[position].accepted != 0 || stores(parameter, at: position) else { return }
      put(parameter, at: position)
    } catch {
      fail(error, at: position)
    }
  }

  @inlinable
  @inline(__always)
  mutating func put(_ parameter: BoundValue, at position: Int) {
    slots[position] = parameter
    shape |= 1 &<< UInt64(truncatingIfNeeded: position)
  }

  @inlinable
  @inline(never)
  mutating func assignSearching<Value: SqlValue>(_ column: Column, _ value: Value) {
    guard let position = search(for: column) else { return fail(unknown: column) }
    // SQLite computes a generated one; a struct may well hold what it read before.
    if !isGenerated(position) { set(value, at: position) }
  }

  @usableFromInline
  mutating func search(for column: Column) -> Int? {
    guard let position = table.position(of: column.definition) else { return nil }
    next = position + 1
    return position
  }

  @usableFromInline
  func isGenerated(_ position: Int) -> Bool { cells[position].isGenerated }

  /// A column set to nil: the prediction moves past it.
  @usableFromInline
  mutating func skip(_ column: Column) {
    guard bytes.pointee.isCurrent(scope) else { return failStale() }
    guard let position = cells[next].identity == column.identity ? next : search(for: column) else {
      return fail(unknown: column)
    }
    next = position + 1
    slots[position] = .unset
    shape &= ~(1 &<< UInt64(truncatingIfNeeded: position))
  }

  // MARK: What does not fit

  /// Whether the column stores the value, which it does not whatever it is.
  @usableFromInline
  mutating func stores(_ parameter: BoundValue, at position: Int) -> Bool {
    let type = cells[position].type
    if type.stores(parameter) { return true }
    fail(type.mismatch(parameter.storageClass), at: position)
    return false
  }

  @usableFromInline
  mutating func fail(_ error: any Error, at position: Int) {
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

  @usableFromInline
  mutating func fail(unknown column: Column) {
    failure =
      failure
      ?? SqlError.misuse("column \(column.name) is not in the layout of table \(table.name)")
      .at(table: table.name, column: column.name)
  }

  /// Notes it for the row that is being written, whose columns a copy must not set.
  @usableFromInline
  func failStale() { storage.isStale = true }

  // MARK: One row after the other

  /// What was set since `clear()`.
  var values: RowValues { RowValues(slots: slots, shape: shape) }

  /// Gives the memory back for the next writer, unless somebody keeps a copy of this one.
  mutating func finish(_ buffer: ParameterBuffer) {
    if isKnownUniquelyReferenced(&storage) { buffer.giveBack(storage) }
  }

  /// Makes ready for the next row.
  @usableFromInline
  mutating func clear() {
    if RowValues.isWide(slots.count) { slots.update(repeating: .unset) }
    next = 0
    shape = 0
    failure = nil
    storage.isStale = false
    scope = bytes.pointee.current
  }

  /// Takes the values of a model. Throws what did not fit.
  @inlinable
  mutating func take(_ model: borrowing some Sqlable) throws {
    clear()
    try model.write(to: &self)
    try checkRow()
  }

  @usableFromInline
  func checkRow() throws {
    if let failure { throw failure }
    guard !storage.isStale else {
      throw SqlError.misuse(
        "a row was written to after its write(to:) had returned, or while another statement ran inside it"
      ).at(table: table.name)
    }
  }
}
