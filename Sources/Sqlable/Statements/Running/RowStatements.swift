// Finding the compiled statement of a query. What a service runs again and again is found without writing its text:
// statements about one struct by the columns that the struct gives, all others by their shape.

extension Connection {
  /// The compiled statement of a query without rows, with its values bound.
  func prepared(_ query: Query, table: TableInfo) throws -> PreparedStatement {
    let mark = parameters.mark
    let hasShape = ShapeWriter(table: table, key: sql, parameters: parameters).write(query)
    if !hasShape { parameters.drop(since: mark) }
    let writer = StatementWriter(table: table, sql: sql, parameters: parameters)
    return try prepared(since: mark) {
      guard hasShape else {
        try writer.write(query)
        return try prepareBuffered()
      }
      return try prepareBuffered {
        parameters.drop(since: mark)
        try writer.write(query)
      }
    }
  }

  /// The compiled statement for a struct with these values, with the values bound. They must stay until its run is over.
  func prepared(
    _ query: Query, table: TableInfo, slots: UnsafeMutableBufferPointer<Parameter>
  ) throws -> PreparedStatement {
    let writer = StatementWriter(table: table, sql: sql, parameters: parameters)
    let mark = parameters.mark
    guard query.isPlain, let shape = slots.shape, query.kind.isInsert || slots.holdKey(of: table) else {
      return try prepared(since: mark) {
        try writer.write(query, slots: UnsafeBufferPointer(slots))
        return try prepareBuffered()
      }
    }
    // No text begins with a NUL byte, so no text is a key. A table's information stays at its address for ever.
    sql.truncate()
    sql.append(byte: 0)
    sql.append(byte: 2)
    sql.append(choice: query.kind)
    sql.append(choice: query.conflict)
    sql.append(bits: UInt64(UInt(bitPattern: ObjectIdentifier(table))))
    sql.append(bits: shape)
    let statement: PreparedStatement
    do {
      statement = try prepareBuffered {
        try writer.write(query, slots: UnsafeBufferPointer(slots))
        parameters.drop(since: mark)
      }
    } catch {
      parameters.release(to: mark)
      throw error
    }
    do {
      try statement.bind(slots, as: query.kind, key: table.key)
    } catch {
      finish(statement)
      throw error
    }
    return statement
  }
}

extension PreparedStatement {
  /// Binds a struct's values in the order in which the statement of that kind names them.
  fileprivate func bind(_ slots: UnsafeMutableBufferPointer<Parameter>, as kind: Query.Kind, key: [Int]) throws {
    var index: Int32 = 0
    func bind(_ position: Int) throws {
      index += 1
      try self.bind(slots[position], at: index)
    }
    switch kind {
    case .update:
      for position in slots.indices where slots[position].isSet && !key.contains(position) { try bind(position) }
      for position in key { try bind(position) }
    case .deleteRow:
      for position in key { try bind(position) }
    default:
      for position in slots.indices where slots[position].isSet { try bind(position) }
    }
  }

  /// Binds a struct's values to an INSERT of the same columns.
  func bindInsert(_ slots: UnsafeMutableBufferPointer<Parameter>) throws { try bind(slots, as: .insert, key: []) }
}

extension UnsafeMutableBufferPointer<Parameter> {
  /// Whether the struct has a row to be found by. Where it has none the writer says so.
  fileprivate func holdKey(of table: TableInfo) -> Bool {
    !table.key.isEmpty
      && table.key.allSatisfy { position in
        switch self[position] {
        case .unset, .null: false
        default: true
        }
      }
  }

  /// A bit for every column that the struct gives; nil for a table too wide for it.
  var shape: UInt64? {
    guard count <= UInt64.bitWidth else { return nil }
    var shape: UInt64 = 0
    for position in indices where self[position].isSet { shape |= 1 << UInt64(position) }
    return shape
  }
}
