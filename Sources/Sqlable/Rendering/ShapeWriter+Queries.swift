// The shapes of queries, and of the terms that hold them or are as manifold.

extension ShapeWriter {
  /// Writes the key of a query from the start of the buffer; false when it can be known by its text only, or not at
  /// all.
  func write(_ query: SelectQuery) -> Bool {
    key.truncate()
    key.append(byte: 0)
    key.append(byte: 3)
    return write(part: query)
  }

  /// Writes a query as a part of the key.
  func write(part query: SelectQuery) -> Bool { write(query.clauses) }

  private func write(_ query: SelectQuery.Clauses) -> Bool {
    guard query.defect == nil, query.limit ?? 0 >= 0, query.offset ?? 0 >= 0 else { return false }
    guard let defined = writeCommonTables(query) else { return false }
    guard !defined.isEmpty else { return writeParts(query) }
    // A name that hides one of the queries around is refused unless both stand for the same, values included.
    guard named.isDisjoint(with: defined.keys) else { return false }
    var inner = self
    inner.named.formUnion(defined.keys)
    return inner.writeParts(query)
  }

  private func writeParts(_ query: SelectQuery.Clauses) -> Bool {
    guard writeCore(query) else { return false }
    key.append(count: query.compounds.count)
    for compound in query.compounds {
      key.append(choice: compound.operation)
      let other = compound.query.clauses
      guard other.defect == nil, other.order.isEmpty, other.limit == nil, other.offset == nil, other.compounds.isEmpty,
        writeCore(other)
      else { return false }
    }
    guard write(query.order, position: query.position(of:)) else { return false }
    write(limit: query.limit, offset: query.offset)
    return true
  }

  /// Writes the queries that go by a name, and gives them by their folded names; nil when one of them can be known by
  /// its text only, or not at all.
  private func writeCommonTables(_ query: SelectQuery.Clauses) -> [[UInt8]: SelectQuery]? {
    var names: [[UInt8]: SelectQuery] = [:]
    func write(_ sources: [SelectQuery.Source]) -> Bool {
      for source in sources {
        guard case .defined(let definition) = source.kind, let alias = source.alias else { continue }
        if let earlier = names[alias.foldedName] {
          guard earlier == definition else { return false }
          continue
        }
        names[alias.foldedName] = definition
        key.append(byte: 1)
        self.write(name: alias)
        self.write(source.table)
        guard self.write(part: definition) else { return false }
      }
      return true
    }
    guard write(query.sources) else { return nil }
    for compound in query.compounds where !write(compound.query.clauses.sources) { return nil }
    key.append(byte: 0)
    return names
  }

  private func writeCore(_ query: SelectQuery.Clauses) -> Bool {
    key.append(byte: query.isDistinct ? 1 : 0)
    // A list of rows is as long as its text, and hardly comes again.
    guard query.rows.isEmpty else { return false }
    key.append(count: query.results.count)
    for result in query.results {
      switch result {
      case .term(let term):
        key.append(byte: 0)
        guard write(term, isOrdering: false) else { return false }
      case .model(let index, let replaced):
        key.append(byte: 1)
        key.append(count: index)
        key.append(count: replaced.count)
        for replacement in replaced {
          guard write(replacement.column) else { return false }
        }
        // The terms stand in the order of the columns.
        guard replaced.count <= 1, replaced.allSatisfy({ write($0.term, isOrdering: false) }) else { return false }
      }
    }
    key.append(count: query.sources.count)
    for index in query.sources.indices {
      // It has a term that is known by its text only.
      guard !query.sources[index].isSearched else { return false }
      write(query.sources[index].table)
      key.append(choice: query.sources[index].join)
      switch query.sources[index].kind {
      case .table: key.append(byte: 0)
      case .named: key.append(byte: 1)
      case .defined: key.append(byte: 2)
      case .call(let call):
        key.append(byte: 3)
        guard write(call, isOrdering: false) else { return false }
      }
      key.append(byte: query.sources[index].alias == nil ? 0 : 1)
      if let alias = query.sources[index].alias { write(name: alias) }
      guard write(query.sources[index].condition) else { return false }
    }
    guard write(query.filter) else { return false }
    key.append(count: query.groups.count)
    for group in query.groups where !write(group, orPosition: query.position(of: group)) { return false }
    return write(query.having)
  }

  // MARK: Terms

  func write(_ call: SqlExpression.Call, isOrdering: Bool) -> Bool {
    switch call.function {
    case .countRows: key.append(byte: 255)
    case .builtIn(let function): key.append(choice: function)
    case .named(let name):
      key.append(byte: 254)
      write(name: name)
    }
    key.append(byte: (call.isDistinct ? 1 : 0) | (call.filter == nil ? 0 : 2) | (call.window == nil ? 0 : 4))
    key.append(count: call.arguments.count)
    for (index, argument) in call.arguments.enumerated() {
      let isWritten =
        call.isConstant(index)
        ? write(constant: argument, isOrdering: isOrdering) : write(argument, isOrdering: isOrdering)
      guard isWritten else { return false }
    }
    if let filter = call.filter, !write(filter, isOrdering: isOrdering) { return false }
    guard let window = call.window else { return true }
    guard write(window.partition, isOrdering: isOrdering), write(window.order) else { return false }
    guard let frame = window.frame else {
      key.append(byte: 0)
      return true
    }
    key.append(byte: 1)
    key.append(choice: frame.unit)
    write(frame.start)
    write(frame.end)
    return true
  }

  /// The numbers of a frame are a part of the text.
  private func write(_ bound: WindowFrame.Bound) {
    switch bound {
    case .unboundedPreceding: key.append(byte: 0)
    case .currentRow: key.append(byte: 1)
    case .unboundedFollowing: key.append(byte: 2)
    case .preceding(let count):
      key.append(byte: 3)
      key.append(bits: UInt64(bitPattern: Int64(count)))
    case .following(let count):
      key.append(byte: 4)
      key.append(bits: UInt64(bitPattern: Int64(count)))
    }
  }

  func write(_ special: SqlExpression.Special, isOrdering: Bool) -> Bool {
    // The class of a value decides whether it is a date, and values are in no key.
    if special.form.takesDate, case .value = special.terms.first?.node { return false }
    switch special.form {
    // Columns, and a number of words, that are a part of the text.
    case .fullText: return false
    case .choice: key.append(byte: 0)
    case .cast(let type):
      key.append(byte: 1)
      key.append(choice: type)
    case .inverted: key.append(byte: 2)
    case .datePart(let letter):
      key.append(byte: 3)
      write(name: String(letter))
    case .dateFormat:
      key.append(byte: 4)
      key.append(count: special.terms.count)
      // The text of the format comes before the date.
      for term in special.terms.dropFirst() where !write(constant: term, isOrdering: isOrdering) { return false }
      for term in special.terms.prefix(1) where !write(term, isOrdering: isOrdering) { return false }
      return true
    case .day: key.append(byte: 5)
    case .shifted(let count, let unit):
      key.append(byte: 6)
      key.append(choice: unit)
      guard case .date(let format) = special.terms.first?.columnDefinition?.type.base,
        let value = try? SqlExpression.Special.shift(by: count, unit, in: format),
        write(special.terms, isOrdering: isOrdering)
      else { return false }
      parameters.append(value)
      return true
    }
    return write(special.terms, isOrdering: isOrdering)
  }

  func write(_ term: SqlExpression.QueryTerm, isOrdering: Bool) -> Bool {
    key.append(choice: term.kind)
    if let needle = term.term, !write(needle, isOrdering: isOrdering) { return false }
    return write(part: term.query)
  }
}
