/// Writes what tells a statement from others, all but its values, in a few bytes, and collects the values.
///
/// The bytes find the compiled statement in the cache, so a statement that ran before, with whatever values, is not
/// written again, and its columns are not held against the table again. The values come in the order in which
/// ``Renderer``, ``StatementWriter`` and ``SelectWriter`` bind them; each method here has its counterpart there.
struct ShapeWriter {
  let key: SqlBuffer
  let parameters: ParameterBuffer
  /// The folded names of the queries that are defined around the one that is written.
  var named: Set<[UInt8]> = []

  /// Writes the key from the start of the buffer; false when the statement can be known by its text only, or not at
  /// all.
  func write(_ query: Query, of table: TableInfo) -> Bool {
    guard query.upsert == nil, !query.returns, query.limit ?? 0 >= 0, query.offset ?? 0 >= 0 else { return false }
    key.truncate()
    // No text begins with a NUL byte, so no text is a key. A table's information stays at its address for ever.
    key.append(byte: 0)
    key.append(byte: 1)
    key.append(choice: query.kind)
    write(table)
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
        guard write(assignment.column), write(assignment.value) else { return false }
      }
      return write(query.filter) && writeOrderAndLimit(query, dropsOrder: !query.isLimited)
    case .insertQuery:
      key.append(choice: query.conflict)
      key.append(count: query.columns?.count ?? 0)
      for column in query.columns ?? [] where !write(column) { return false }
      guard query.filter == nil, query.order.isEmpty, !query.isLimited, let source = query.source else { return false }
      return write(part: source)
    case .insert, .insertMany, .save, .update, .deleteRow: return false
    }
  }

  /// What is optional in a statement.
  func write(_ term: SqlExpression?) -> Bool {
    guard let term else {
      key.append(byte: 0)
      return true
    }
    return write(term, isOrdering: false)
  }

  private func writeOrderAndLimit(_ query: Query, dropsOrder: Bool = false) -> Bool {
    let mark = dropsOrder && !query.order.isEmpty ? parameters.mark : nil
    guard write(query.order) else { return false }
    mark.map(parameters.release(to:))
    write(limit: query.limit, offset: query.offset)
    return true
  }

  func write(_ order: [OrderTerm], position: (SqlExpression) -> Int? = { _ in nil }) -> Bool {
    key.append(count: order.count)
    for term in order {
      key.append(choice: term.direction)
      guard write(term.expression, orPosition: position(term.expression)) else { return false }
    }
    return true
  }

  /// A term that orders or groups, or the number by which it goes.
  func write(_ term: SqlExpression, orPosition position: Int?) -> Bool {
    guard let position else { return write(term, isOrdering: true) }
    key.append(byte: 254)
    key.append(count: position)
    return true
  }

  func write(limit: Int?, offset: Int?) {
    let isLimited = limit != nil || offset != nil
    key.append(byte: (isLimited ? 1 : 0) | (offset == nil ? 0 : 2))
    if isLimited { parameters.append(.integer(Int64(limit ?? -1)) as BoundValue) }
    if let offset { parameters.append(.integer(Int64(offset)) as BoundValue) }
  }

  func write(_ expression: SqlExpression, isOrdering: Bool) -> Bool {
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
      guard write(left, isOrdering: isOrdering) else { return false }
      return operation.takesConstant
        ? write(constant: right, isOrdering: isOrdering) : write(right, isOrdering: isOrdering)
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
      write(name: escape)
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
      case .named(let name):
        key.append(byte: 3)
        write(name: name)
      }
      return write(term, isOrdering: isOrdering)
    case .qualified(let alias, let reference):
      key.append(byte: 16)
      write(name: alias)
      return write(reference)
    case .call(let call):
      key.append(byte: 17)
      return write(call, isOrdering: isOrdering)
    case .special(let special):
      key.append(byte: 18)
      return write(special, isOrdering: isOrdering)
    case .query(let term):
      key.append(byte: 19)
      return write(term, isOrdering: isOrdering)
    case .parameter, .invalid: return false
    }
  }

  func write(_ terms: [SqlExpression], isOrdering: Bool) -> Bool {
    key.append(count: terms.count)
    for term in terms {
      guard write(term, isOrdering: isOrdering) else { return false }
    }
    return true
  }

  /// A table by its information, which stays at its address for ever.
  func write(_ table: TableInfo) { key.append(bits: UInt64(UInt(bitPattern: ObjectIdentifier(table)))) }

  /// A column by the address of its declaration. One that is known by its name only, or is declared anew for every use,
  /// and may leave its address to another one, has no shape.
  func write(_ column: ColumnReference) -> Bool {
    guard case .declared(let definition) = column, definition.isKept else { return false }
    key.append(bits: UInt64(UInt(bitPattern: ObjectIdentifier(definition))))
    return true
  }

  func write(name: String) {
    var text = name
    text.withUTF8 { text in
      key.append(count: text.count)
      key.append(text)
    }
  }
}
