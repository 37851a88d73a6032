/// Takes the values of one row, column by column, in `write(to:)`.
///
/// Setting the columns in the order of the table's layout is fastest, any other order works. A column that is not set, or
/// set to `nil`, is left out; ``Null`` stores NULL. What does not fit its column is thrown when `write(to:)` has returned.
///
/// It is valid during that call only, and not while another statement of the handle runs inside the call: what is set then is
/// thrown as `.misuse`.
public struct RowWriter {
  let table: TableInfo
  @usableFromInline let buffer: ParameterBuffer
  private var storage: ParameterSlots
  /// One for each column of the table; owned by `storage`.
  @usableFromInline let slots: UnsafeMutableBufferPointer<Parameter>
  // Copied out of the table: what belongs to an object would be retained for every value.
  @usableFromInline let identities: UnsafePointer<UnsafeRawPointer>
  @usableFromInline let cells: UnsafePointer<TableInfo.Cell>
  @usableFromInline let currentScope: UnsafeMutablePointer<UInt64>
  /// The scope of the row.
  @usableFromInline var scope: UInt64
  @usableFromInline var next = 0
  var failure: (any Error)?

  init(table: TableInfo, buffer: ParameterBuffer) {
    self.table = table
    self.buffer = buffer
    storage = buffer.takeSlots(count: table.count)
    slots = UnsafeMutableBufferPointer(rebasing: storage.memory[..<table.count])
    identities = table.identities
    cells = table.cells
    currentScope = buffer.scope
    scope = buffer.scope.pointee
  }

  /// Sets a column.
  @inlinable
  public mutating func set<Value: SqlValue>(_ column: Column, _ value: Value?) {
    guard let value else { return skip(column) }
    guard let position = position(of: column) else { return fail(unknown: column) }
    set(value, at: position)
  }

  /// Sets a typed column.
  @inlinable
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value>, _ value: Value) {
    set(column.column, .some(value))
  }

  /// Sets a typed column that may be NULL; `nil` leaves it out.
  @inlinable
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Value?) {
    set(column.column, value)
  }

  /// Sets a column, `nil` as NULL instead of leaving it out.
  ///
  /// An update then clears the column, and all rows of a batch share one compiled statement, whatever they leave empty.
  @inlinable
  public mutating func setOrNull<Value: SqlValue>(_ column: Column, _ value: Value?) {
    if let value { set(column, value) } else { set(column, Null()) }
  }

  /// Sets a typed column, `nil` as NULL instead of leaving it out.
  @inlinable
  public mutating func setOrNull<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Value?) {
    setOrNull(column.column, value)
  }

  /// Stores NULL in a typed column.
  @inlinable
  public mutating func set<Model, Value>(_ column: TypedColumn<Model, Value?>, _ value: Null) {
    set(column.column, value)
  }

  @inlinable
  mutating func set<Value: SqlValue>(_ value: Value, at position: Int) {
    // SQLite computes it; a struct may well hold what it read before.
    guard !cells[position].isGenerated else { return }
    guard currentScope.pointee == scope else { return failStale() }
    var cell = WriteCell(buffer: buffer, scope: scope, type: cells[position].type)
    do {
      try value.write(to: &cell)
      guard !cell.isStale else { return failStale() }
      guard cell.type.stores(cell.parameter) else { return fail(cell, at: position) }
      slots[position] = cell.parameter
    } catch {
      fail(error, at: position)
    }
  }

  /// The column's position: the next one, if columns are set in their order.
  @inlinable
  mutating func position(of column: Column) -> Int? {
    let position = next
    if identities[position] == column.identity {
      next = position &+ 1
      return position
    }
    return search(for: column)
  }

  @usableFromInline
  mutating func search(for column: Column) -> Int? {
    guard let position = table.position(of: column.definition) else { return nil }
    next = position + 1
    return position
  }

  /// A column set to nil: the prediction moves past it.
  @inlinable
  mutating func skip(_ column: Column) {
    guard currentScope.pointee == scope else { return failStale() }
    if let position = position(of: column) {
      slots[position] = .unset
    } else {
      fail(unknown: column)
    }
  }

  // MARK: What does not fit

  @usableFromInline
  mutating func fail(_ cell: WriteCell, at position: Int) {
    fail(table.columns[position].type.mismatch(cell.parameter.storageClass), at: position)
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
  func failStale() { storage.isStale.value = true }

  // MARK: One row after the other

  /// Gives the memory back for the next writer, unless somebody keeps a copy of this one.
  mutating func finish() {
    if isKnownUniquelyReferenced(&storage) { buffer.giveBack(storage) }
  }

  /// Makes ready for the next row.
  @usableFromInline
  mutating func clear() {
    slots.update(repeating: .unset)
    next = 0
    failure = nil
    storage.isStale.value = false
    scope = currentScope.pointee
  }

  /// Takes the values of a model. Throws what did not fit.
  @inlinable
  mutating func take(_ model: some Sqlable) throws {
    clear()
    try model.write(to: &self)
    try checkRow()
  }

  @usableFromInline
  func checkRow() throws {
    if let failure { throw failure }
    guard !storage.isStale.value else {
      throw SqlError.misuse(
        "a row was written to after its write(to:) had returned, or while another statement ran inside it"
      ).at(table: table.name)
    }
  }
}
