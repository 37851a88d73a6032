/// The current row of a statement, passed to `init(row:)`.
///
/// A row is valid only while `init(row:)` runs. A read after the statement has advanced throws `.misuse`. Reading the
/// columns in the order of the table's layout is fastest; any order works.
public struct ReadRow {
  @usableFromInline package let state: UnsafeMutablePointer<RowState>
  @usableFromInline package let generation: UInt64

  @inlinable
  package init(_ statement: PreparedStatement) {
    state = statement.row
    generation = state.pointee.current
  }

  /// Returns the value of a column. A value that does not fit `Value` throws `.decoding`. NULL fits only an optional
  /// type.
  @inlinable
  @inline(__always)
  public func get<Value: SqlValue>(_ column: Column) throws -> Value {
    let position = try position(of: column)
    do {
      return try Value.read(
        from: ReadCell(
          value: state.pointee.value(at: position), state: state, generation: generation,
          type: column.definition.type))
    } catch {
      throw located(error, column: column.definition, position: position)
    }
  }

  /// Returns the value of a typed column.
  @inlinable
  @inline(__always)
  public func get<Model, Value>(_ column: TypedColumn<Model, Value>) throws -> Value {
    try get(column.column)
  }

  /// Returns the value at a position of the result, counted from 0.
  @inlinable
  public func get<Value: SqlValue>(at position: Int, as type: Value.Type = Value.self) throws -> Value {
    guard state.pointee.isCurrent(generation), position >= 0, position < state.pointee.count else {
      throw missing(position)
    }
    #if DEBUG
    state.pointee.noteRead(position)
    #endif
    return try value(at: position, type: Value.columnType)
  }

  @usableFromInline
  func missing(_ position: Int) -> any Error {
    do { try checkCurrent() } catch { return error }
    return labelled(.misuse("the result has no column at position \(position)"))
  }

  /// Returns the value of the result column with this name. If a row contains several models, as in a join, each model
  /// can read only its own columns. Throws `.schema` if no column has the name, and `.misuse` if several columns have
  /// the name.
  public func get<Value: SqlValue>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    try checkCurrent()
    let columns = state.pointee.named
    func isNamed(_ position: Int) -> Bool { state.pointee.columnName(at: position).map(name.isExactly) ?? false }
    guard let position = columns.first(where: isNamed) else {
      throw labelled(SqlError(.schema(.missingColumn(name)), message: "the result has no column \(name)", column: name))
    }
    guard !((position + 1)..<columns.upperBound).contains(where: isNamed) else {
      throw labelled(.severalColumns(named: name))
    }
    return try get(at: position)
  }

  /// The names of all columns of the result, including the columns of other models.
  public var columnNames: [String] {
    get throws {
      try checkCurrent()
      return state.pointee.statement?.takeUnretainedValue().readColumnNames() ?? []
    }
  }

  // MARK: Several models and values in one result

  @inlinable
  package init(state: UnsafeMutablePointer<RowState>, generation: UInt64) {
    (self.state, self.generation) = (state, generation)
  }

  var count: Int { state.pointee.count }

  @inlinable
  package func value<Value: SqlValue>(at position: Int, type: ColumnType) throws -> Value {
    do {
      return try Value.read(
        from: ReadCell(
          value: state.pointee.value(at: position), state: state, generation: generation, type: type))
    } catch {
      throw located(error, column: nil, position: position)
    }
  }

  package func databaseValue(at position: Int) throws -> DatabaseValue {
    do {
      return try ReadCell(
        value: state.pointee.value(at: position), state: state, generation: generation, type: .blob
      ).databaseValue()
    } catch {
      throw located(error, column: nil, position: position)
    }
  }

  @inlinable
  package func isNull(at position: Int) -> Bool {
    ReadCell(value: state.pointee.value(at: position), state: state, generation: generation, type: .blob).isNull
  }

  @usableFromInline
  package func beginModel(at position: Int, count: Int) {
    state.pointee.next = position
    state.pointee.window = position..<min(position + count, state.pointee.count)
  }

  @inlinable
  @inline(__always)
  package func model<Model: Sqlable>(_ type: Model.Type = Model.self) throws -> Model {
    #if DEBUG
    let model = try checkedModel(type)
    #else
    let model = try Model(row: self)
    #endif
    if state.pointee.hasFailed { noteRead() }
    return model
  }

  // MARK: Finding the column

  /// Returns the column's position. Tries the position after the last read value first.
  @inlinable
  @inline(__always)
  func position(of column: Column) throws -> Int {
    if state.pointee.isCurrent(generation) {
      let next = state.pointee.next
      // Stop at the window's end: the next struct's columns follow there, and can belong to the same model.
      if next < state.pointee.window.upperBound, state.pointee.columns[next] == column.identity {
        state.pointee.next = next &+ 1
        return next
      }
    }
    return try search(for: column)
  }

  @usableFromInline
  package func search(for column: Column) throws -> Int {
    try checkCurrent()
    let columns = state.pointee.columns
    guard columns != RowState.noColumns else {
      throw labelled(.misuse("the row has no model; read its columns by name or position"))
    }
    let range = state.pointee.searched
    let position =
      range.first { columns[$0] == column.identity }
      ?? range.first {
        Unmanaged<ColumnDefinition>.fromOpaque(columns[$0]).takeUnretainedValue().isSame(as: column.definition)
      }
    guard let position else {
      throw labelled(
        SqlError(
          .schema(.missingColumn(column.name)),
          message: "column \(column.name) is not declared by the model of the row",
          sql: state.pointee.statement?.takeUnretainedValue().sql, column: column.name))
    }
    state.pointee.next = position + 1
    state.pointee.noteRead(position)
    return position
  }

  package func labelled(_ error: SqlError) -> SqlError {
    guard let connection = state.pointee.statement?.takeUnretainedValue().connection else { return error }
    return error.labelled(connection.label).inTransaction(connection.transactionLevel > 0)
  }

  @usableFromInline
  package func checkCurrent() throws {
    guard state.pointee.isCurrent(generation), state.pointee.handle != nil else {
      throw SqlError.misuse("a row was read after its statement advanced or was reset")
    }
  }

  /// Returns the error with the table, column, row and SQL of the value that could not be read.
  @usableFromInline
  package func located(_ error: any Error, column: ColumnDefinition?, position: Int) -> any Error {
    guard var error = error as? SqlError, error.column == nil, state.pointee.handle != nil else { return error }
    error = labelled(error)
    error.column = column?.name ?? state.pointee.columnName(at: position)
    error.table = state.pointee.tableName(at: position)
    error.rowId = rowId
    error.sql = state.pointee.statement?.takeUnretainedValue().sql
    if case .decoding(let mismatch) = error.kind {
      let columnPath = [error.table, error.column].compactMap { $0 }.joined(separator: ".")
      error.message = "\(columnPath) should hold \(mismatch.expected), but holds \(mismatch.found)"
      if mismatch.found == "\(StorageClass.null)", error.sql?.contains("LEFT JOIN") == true {
        error.message += "; if a left join found no row, read the column as an optional with typed(as:)"
      }
    }
    guard let handle = state.pointee.handle, let tracer, tracer.didFailToRead(TracedStatement(handle), error)
    else { return error }
    state.pointee.hasFailed = true
    return error.traced
  }

  private var tracer: (any RunTracer)? { state.pointee.statement?.takeUnretainedValue().connection.tracer }

  /// Records that a row was read, although reading a column failed: `init(row:)` has caught the error and returned a
  /// model.
  @usableFromInline
  func noteRead() {
    state.pointee.hasFailed = false
    if let handle = state.pointee.handle { tracer?.didRead(TracedStatement(handle)) }
  }

  /// The row's id, if the statement selects the table's integer primary key.
  private var rowId: Int? {
    for position in state.pointee.searched {
      let definition = Unmanaged<ColumnDefinition>.fromOpaque(state.pointee.columns[position]).takeUnretainedValue()
      guard definition.options.primaryKey != nil, definition.type.storageClass == .integer else { continue }
      return state.pointee.integer(at: position)
    }
    return nil
  }
}
