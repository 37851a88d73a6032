/// Writes what tells a statement from others of its table, all but its values, in a few bytes, and collects the values.
///
/// The bytes find the compiled statement in the cache, so a statement that ran before, with whatever values, is not written
/// again, and its columns are not held against the table again. The values come in the order in which ``Renderer`` and
/// ``StatementWriter`` bind them; each method here has its counterpart there.
struct ShapeWriter {
  let table: TableInfo
  let key: SqlBuffer
  let parameters: ParameterBuffer

  /// Writes the key from the start of the buffer; false when the statement can be known by its text only, or not at all.
  func write(_ query: Query) -> Bool {
    guard query.upsert == nil, query.columns == nil, !query.returns, query.limit ?? 0 >= 0, query.offset ?? 0 >= 0
    else { return false }
    key.truncate()
    // No text begins with a NUL byte, so no text is a key. A table's information stays at its address for ever.
    key.append(byte: 0)
    key.append(byte: 1)
    key.append(choice: query.kind)
    key.append(bits: UInt64(UInt(bitPattern: ObjectIdentifier(table))))
    switch query.kind {
    case .read, .first, .exists:
      guard query.conflict == nil else { return false }
      return write(query.filter) && writeOrderAndLimit(query)
    case .count, .delete:
      guard query.conflict == nil else { return false }
      return write(query.filter) && writeOrderAndLimit(query, dropsOrder: !query.isLimited)
    case .assign:
      key.append(choice: query.conflict)
      key.append(count: query.assignments.count)
      for assignment in query.assignments {
        guard write(assignment.column), write(assignment.value, isOrdering: false) else { return false }
      }
      return write(query.filter) && writeOrderAndLimit(query, dropsOrder: !query.isLimited)
    case .insert, .insertMany, .save, .update, .deleteRow: return false
    }
  }

  private func write(_ filter: SqlExpression?) -> Bool {
    guard let filter else {
      key.append(byte: 0)
      return true
    }
    return write(filter, isOrdering: false)
  }

  private func writeOrderAndLimit(_ query: Query, dropsOrder: Bool = false) -> Bool {
    key.append(count: query.order.count)
    if !query.order.isEmpty {
      let mark = parameters.mark
      for term in query.order {
        key.append(choice: term.order)
        guard write(term.expression, isOrdering: true) else { return false }
      }
      if dropsOrder { parameters.release(to: mark) }
    }
    key.append(byte: (query.isLimited ? 1 : 0) | (query.offset == nil ? 0 : 2))
    if query.isLimited { parameters.append(.integer(Int64(query.limit ?? -1)) as BoundValue) }
    if let offset = query.offset { parameters.append(.integer(Int64(offset)) as BoundValue) }
    return true
  }

  private func write(_ expression: SqlExpression, isOrdering: Bool) -> Bool {
    switch expression.node {
    case .column(let reference):
      key.append(byte: 1)
      return write(reference)
    case .value(let value):
      key.append(byte: 2)
      parameters.append(value)
      return true
    case .all(let terms):
      key.append(byte: 3)
      return write(terms, isOrdering: isOrdering)
    case .any(let terms):
      key.append(byte: 4)
      return write(terms, isOrdering: isOrdering)
    case .not(let term):
      key.append(byte: 5)
      return write(term, isOrdering: isOrdering)
    case .negative(let term):
      key.append(byte: 6)
      return write(term, isOrdering: isOrdering)
    case .binary(let operation, let left, let right):
      key.append(byte: 7)
      key.append(choice: operation)
      return write(left, isOrdering: isOrdering) && write(right, isOrdering: isOrdering)
    case .isNull(let term):
      key.append(byte: 8)
      return write(term, isOrdering: isOrdering)
    case .isNotNull(let term):
      key.append(byte: 9)
      return write(term, isOrdering: isOrdering)
    case .between(let term, let low, let high):
      key.append(byte: 10)
      return write(term, isOrdering: isOrdering) && write(low, isOrdering: isOrdering)
        && write(high, isOrdering: isOrdering)
    case .isIn(let term, let values):
      key.append(byte: 11)
      guard write(term, isOrdering: isOrdering) else { return false }
      switch ListForm(values, isOrdering: isOrdering) {
      case .whole:
        key.append(byte: 255)
        parameters.append(ValueList(values))
      case .padded(let size):
        key.append(byte: UInt8(truncatingIfNeeded: size))
        for index in 0..<size { parameters.append(values[min(index, values.count - 1)]) }
      }
      return true
    case .like(let term, let pattern, let escape):
      key.append(byte: escape.isEmpty ? 12 : 13)
      guard write(term, isOrdering: isOrdering), write(pattern, isOrdering: isOrdering) else { return false }
      guard !escape.isEmpty else { return true }
      guard escape.unicodeScalars.count == 1, escape != "\0" else { return false }
      parameters.append(.text(escape) as SqlStorage)
      return true
    case .function(let function, let arguments):
      key.append(byte: 14)
      key.append(choice: function)
      return write(arguments, isOrdering: isOrdering)
    case .collate(let term, let collation):
      key.append(byte: 15)
      switch collation {
      case .binary: key.append(byte: 0)
      case .nocase: key.append(byte: 1)
      case .rtrim: key.append(byte: 2)
      case .named: return false
      }
      return write(term, isOrdering: isOrdering)
    case .parameter, .qualified, .call, .special, .query, .invalid: return false
    }
  }

  private func write(_ terms: [SqlExpression], isOrdering: Bool) -> Bool {
    key.append(count: terms.count)
    for term in terms {
      guard write(term, isOrdering: isOrdering) else { return false }
    }
    return true
  }

  /// A column by its place in the table. One that is known by its name only, or is declared anew for every use, is not.
  private func write(_ column: ColumnReference) -> Bool {
    guard case .declared(let definition) = column else { return false }
    let identity = UnsafeRawPointer(Unmanaged.passUnretained(definition).toOpaque())
    for position in 0..<table.count where table.identities[position] == identity {
      key.append(count: position)
      return true
    }
    return false
  }
}
