// Tables and columns, written as SQL or as a cache key.

extension SqlBuffer {
  package func append(_ table: TableInfo) { append(table.quotedName, of: table) }

  /// `SELECT "id", "name" FROM "bicycle"`
  func append(selectAllOf table: TableInfo) {
    if isKey {
      append("SELECT")
      append(address: table)
    } else {
      append(table.selectAll)
    }
  }

  func append(_ column: ColumnDefinition) {
    if isKey { append(key: column) } else { append(column.quotedName) }
  }

  /// Writes a column into the cache key. The key also contains the statement's tables, which determine the column's
  /// table.
  func append(key column: ColumnReference) {
    guard case .declared(let definition) = column else { return refuseKey() }
    append(key: definition)
  }

  private func append(key column: ColumnDefinition) {
    // If a definition is not retained forever, its address could be reused for another column.
    guard column.isKept else { return refuseKey() }
    append(address: column)
  }
}

// MARK: - Short keys

extension SqlBuffer {
  /// Writes the cache key of a query of one table that compares columns with values, as most queries do. Returns false,
  /// and leaves the buffers as they were, for any other query.
  ///
  /// The first eight bytes of this key contain the bit ``shortKey``, so that no other kind of key equals this key.
  func append(keyOfPlain query: SelectQuery, _ parameters: ParameterBuffer) -> Bool {
    guard query.isPlain else { return false }
    let (limit, start, values) = (query.limit, count, parameters.count)
    // A query with a negative limit has no cache key. The error of such a query is thrown when its SQL is written.
    if let limit, limit < 0 { return false }
    let form: UInt64 =
      switch query.form {
      case .rows: 0
      case .count: 1
      case .exists: 2
      }
    let key = query.plainKey
    append(word: SqlBuffer.shortKey | form << 2 | (key == nil ? 0 : 2) | (limit == nil ? 0 : 1))
    append(address: query.table)
    if let key {
      parameters.append(key)
    } else if let filter = query.filter, !append(keyOfCondition: filter, parameters) {
      truncate(to: start)
      parameters.truncate(to: values)
      return false
    }
    if let limit { parameters.append(.integer(Int64(limit)) as BoundValue) }
    return true
  }

  private func append(keyOfCondition term: SqlExpression, _ parameters: ParameterBuffer) -> Bool {
    guard case .all(let terms) = term.node else { return append(keyOfComparison: term, parameters) }
    // A longer chain is written with parentheses, so it needs another kind of key.
    return terms.count <= SqlExpression.maximumChain
      && terms.everyTerm { term in
        guard case .binary(let binary) = term.value.node else { return false }
        return append(keyOfComparison: binary, parameters)
      }
  }

  /// Writes the cache key of a comparison of a column with a value. Returns false, and writes nothing, for any other
  /// term.
  @inline(__always)
  func append(keyOfComparison term: SqlExpression, _ parameters: ParameterBuffer) -> Bool {
    guard case .binary(let binary) = term.node else { return false }
    return append(keyOfComparison: binary, parameters)
  }

  @inline(__always)
  private func append(keyOfComparison term: SqlExpression.BinaryTerm, _ parameters: ParameterBuffer) -> Bool {
    guard let column = term.comparedColumn, column._withUnsafeGuaranteedRef({ $0.isKept }),
      case .value(let value) = term.right.node
    else { return false }
    append(word: SqlBuffer.shortKey | UInt64(UInt(bitPattern: term.operation.sql.utf8Start)))
    append(word: UInt64(UInt(bitPattern: column.toOpaque())))
    parameters.append(value)
    return true
  }

  /// The bit that distinguishes the 64-bit numbers in these keys from addresses and from the lengths of texts.
  private static let shortKey: UInt64 = 1 << 63
}
