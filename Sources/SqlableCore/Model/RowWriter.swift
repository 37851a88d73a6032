/// Receives the values of one row, column by column, in `write(to:)`.
///
/// Setting the columns in the order of the table's layout is fastest; any order works. `nil` stores NULL, except in a
/// column of the primary key, which is left out. A column that is skipped or not set is left out. An error, such as for
/// a value that does not fit its column, is thrown after `write(to:)` has returned.
///
/// It is valid only during that call, and not while another statement of the same handle runs inside the call: setting
/// a column then throws `.misuse`.
public struct RowWriter {
  /// Never freed.
  unowned(unsafe) let table: TableInfo
  var storage: ParameterSlots
  /// One slot for each column of the table; owned by `storage`.
  @usableFromInline let slots: UnsafeMutableBufferPointer<BoundValue>
  // Copied from their objects, which would otherwise be retained for each value.
  @usableFromInline let cells: UnsafePointer<TableInfo.Cell>
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  /// The scope of the row.
  @usableFromInline var scope: UInt64
  @usableFromInline var next = 0
  /// A bit for each column that is set; used only for tables with no more columns than bits.
  @usableFromInline var shape: UInt64 = 0
  var failure: (any Error)?
  /// The columns that the statement uses. What others can't store is no error.
  private let written: WrittenColumns

  /// Makes a writer that copies the values' bytes into a buffer, which outlives it.
  ///
  /// - Parameter written: The columns that the statement uses.
  package init(table: TableInfo, buffer: ParameterBuffer, written: WrittenColumns = .all) {
    self.table = table
    self.written = written
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

  /// Sets an integer key whose property is nil until the row is stored; `nil` leaves it out.
  ///
  /// ```swift
  /// static let id = column("id", Int.self, PrimaryKey(autoincrement: true))    // var id: Int?
  /// row.set(Product.id, id)
  /// ```
  ///
  /// For a column that is not in the primary key, `nil` throws `.encoding` after `write(to:)` has returned.
  @inlinable
  @inline(__always)
  @_disfavoredOverload
  public mutating func set<Model, Value: SqlValue & FixedWidthInteger>(
    _ column: TypedColumn<Model, Value>, _ value: Value?
  ) {
    if let value { assign(column.column, value) } else { leaveOutKey(column.column) }
  }

  /// Leaves a column out: an insert stores its default, an update keeps its value.
  ///
  /// It also states that `write(to:)` does so on purpose; see ``Sqlable/write(to:)``.
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

  /// Stores NULL, except in a column of the primary key, which is left out.
  @inlinable
  @inline(__always)
  mutating func setNull(_ column: Column) {
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

  mutating func setNull(at position: Int) {
    if cells[position].isKey { return leaveOut(at: position) }
    if !isGenerated(position) { set(Null(), at: position) }
  }

  @inlinable
  @inline(__always)
  mutating func assign<Value: SqlValue>(_ column: Column, _ value: Value) {
    let position = next
    // Predicted to be the next one.
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
      guard parameter.classBit & cells[position].accepted != 0 || stores(cell, at: position) else { return }
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
    // SQLite computes generated columns, but a struct may hold the value that it read.
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

  @usableFromInline
  mutating func leaveOutKey(_ column: Column) {
    guard let position = predicted(column) else { return fail(unknown: column) }
    guard cells[position].isKey else {
      return fail(SqlError.encoding(expected: cells[position].type.name, found: "nil"), at: position)
    }
    leaveOut(at: position)
  }

  /// The column's position, predicted to be the next one.
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

  /// The position of a column, whose name was not checked before.
  func position(named name: String) throws -> Int {
    guard let position = table.position(named: name) else {
      throw SqlError(
        .schema(.missingColumn(name)), message: "table \(table.name) has no column \(name)", table: table.name,
        column: name)
    }
    return position
  }

  // MARK: Errors

  /// True if the column stores this value, if its storage class alone does not tell; records an error if not.
  @usableFromInline
  mutating func stores(_ cell: WriteCell, at position: Int) -> Bool {
    if cell.isStored { return true }
    fail(cell.type.mismatch(cell.parameter.storageClass), at: position)
    return false
  }

  @usableFromInline
  mutating func fail(_ error: any Error, at position: Int) {
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

  /// Records in the shared storage that a stale copy was used, so that the row being written throws.
  @usableFromInline
  func failStale() { storage.isStale = true }

  // MARK: Rows in sequence

  /// The values set since `clear()`.
  package var values: RowValues { RowValues(slots: slots, shape: shape) }

  /// Returns the memory for the next writer, unless a copy of this one still exists.
  mutating func finish(_ buffer: ParameterBuffer) {
    if isKnownUniquelyReferenced(&storage) { buffer.giveBack(storage) }
  }

  /// Prepares for the next row.
  @usableFromInline
  package mutating func clear() {
    if RowValues.isWide(slots.count) { slots.update(repeating: .unset) }
    next = 0
    shape = 0
    failure = nil
    storage.isStale = false
    #if DEBUG
    storage.skipped = []
    #endif
    scope = bytes.pointee.current
  }

  /// Writes the values of a model. Throws if a value does not fit its column.
  @inlinable
  package mutating func take(_ model: borrowing some Sqlable) throws {
    clear()
    try model.write(to: &self)
    try checkRow()
  }

  @usableFromInline
  func checkRow() throws {
    if let failure { throw failure }
    guard !storage.isStale else {
      throw SqlError.misuse(
        "a RowWriter was used after write(to:) returned, or while another statement ran inside write(to:)"
      ).at(table: table.name)
    }
    #if DEBUG
    try checkColumns()
    #endif
  }
}

/// The columns of a struct that a statement uses.
package enum WrittenColumns {
  case all
  case key
  case positions([Int])
}
