/// The structure of a statement. An unsupported modifier is recorded as a defect, which a run throws.
@usableFromInline
package enum StatementTree: Sendable, Hashable {
  case select(SelectQuery)
  case insert(InsertQuery)
  case update(UpdateQuery)
  case delete(DeleteQuery)
}

extension StatementTree {
  @usableFromInline
  package var table: TableInfo {
    get throws {
      let table = tableInfo
      try table.checkDeclarations()
      return table
    }
  }

  package var tableInfo: TableInfo {
    switch self {
    case .select(let query): query.table
    case .insert(let query): query.table
    case .update(let query): query.table
    case .delete(let query): query.table
    }
  }

  @usableFromInline
  package var changesRows: Bool { if case .select = self { false } else { true } }

  @usableFromInline
  package var takesRows: Bool {
    switch self {
    case .select: false
    case .insert(let query): query.form != .query
    case .update(let query): query.isRowLevel
    case .delete(let query): query.isRowLevel
    }
  }

  var isUpsert: Bool { if case .insert(let query) = self { query.isUpsert } else { false } }

  var isSave: Bool { if case .insert(let query) = self { query.form == .save } else { false } }

  package var returned: Returned? {
    switch self {
    case .select: nil
    case .insert(let query): query.rest.value.returned
    case .update(let query): query.rest.value.returned
    case .delete(let query): query.rest.value.returned
    }
  }

  @usableFromInline package var returnsRows: Bool { returned != nil }

  /// The first error recorded while the statement was built; nil if there is none. A run throws the error.
  package var defect: SqlError? {
    switch self {
    case .select(let query): query.defect
    case .insert(let query): query.rest.value.defect
    case .update(let query): query.rest.value.defect
    case .delete(let query): query.rest.value.defect
    }
  }

  private var name: String {
    switch self {
    case .select(let query):
      switch query.form {
      case .rows: "a read"
      case .count: "a count"
      case .exists: "an exists"
      }
    case .insert(let query): query.form == .save ? "a save" : "an insert"
    case .update(let query): query.isRowLevel ? "an update of a struct" : "an update"
    case .delete(let query): query.isRowLevel ? "a delete of a struct" : "a delete"
    }
  }
}

// MARK: - Modifiers

extension StatementTree {
  /// Records an error for a modifier that the statement does not support.
  package mutating func refuse(_ modifier: String) {
    guard defect == nil else { return }
    let error = SqlError.invalidStatement("\(name) can't have \(modifier)").at(table: tableInfo.name)
    switch consume self {
    case .select(var query):
      query.clauses.defect = error
      self = .select(query)
    case .insert(var query):
      query.rest.value.defect = error
      self = .insert(query)
    case .update(var query):
      query.rest.value.defect = error
      self = .update(query)
    case .delete(var query):
      query.rest.value.defect = error
      self = .delete(query)
    }
  }

  /// Returns the modifier for an error message. For an insert of a query, the message adds that the query itself can
  /// have the modifier.
  private func refusal(_ modifier: String) -> String {
    if case .insert(let query) = self, query.form == .query { "\(modifier); its query can" } else { modifier }
  }

  @usableFromInline
  mutating func filter(_ condition: SqlExpression) {
    switch consume self {
    case .select(var query):
      query.filter(condition)
      self = .select(query)
    case .update(var query):
      query.selection.filter.filter(by: condition)
      self = .update(query)
    case .delete(var query):
      query.selection.filter.filter(by: condition)
      self = .delete(query)
    case .insert(let query):
      self = .insert(query)
      refuse(refusal("a filter"))
    }
  }

  /// Changes the order, limit or offset of a read, update or delete. Refuses every other statement, and an update or
  /// delete of a single struct.
  private mutating func select(
    _ modifier: String, _ read: (inout SelectQuery) -> Void, _ change: (inout RowSelection.Clauses) -> Void
  ) {
    switch consume self {
    case .select(var query):
      read(&query)
      self = .select(query)
    case .update(var query) where !query.isRowLevel:
      change(&query.selection.rest.value)
      self = .update(query)
    case .delete(var query) where !query.isRowLevel:
      change(&query.selection.rest.value)
      self = .delete(query)
    case let other:
      self = other
      refuse(refusal(modifier))
    }
  }

  @usableFromInline
  mutating func order(by terms: [OrderTerm]) {
    select("an order") {
      $0.clauses.order += terms
    } _: {
      $0.order += terms
    }
  }

  @usableFromInline
  mutating func limit(to limit: Int) {
    select("a limit") {
      $0.limit = limit
    } _: {
      $0.limit = .number(limit)
    }
  }

  @usableFromInline
  mutating func skip(_ offset: Int) {
    select("an offset") {
      $0.clauses.offset = .number(offset)
    } _: {
      $0.offset = .number(offset)
    }
  }

  /// Sets the limit and the offset. A nil term leaves the limit or offset unchanged.
  mutating func limit(to limit: SqlExpression?, skipping offset: SqlExpression?) {
    let (limit, offset) = (limit.map(SelectQuery.RowCount.init), offset.map(SelectQuery.RowCount.init))
    select(limit == nil ? "an offset" : "a limit") {
      if let limit { $0.clauses.limit = limit }
      if let offset { $0.clauses.offset = offset }
    } _: {
      if let limit { $0.limit = limit }
      if let offset { $0.offset = offset }
    }
  }

  /// Limits a read to its first row. A change gets no limit: the caller uses the first row that the change returns.
  @usableFromInline
  mutating func takeFirst() {
    switch consume self {
    case .select(var query):
      query.takeFirst()
      self = .select(query)
    case let other: self = other
    }
  }

  @usableFromInline
  mutating func onConflict(_ policy: ConflictPolicy) {
    switch consume self {
    case .insert(var query):
      query.conflict = policy
      self = .insert(query)
      if query.form == .save { refuse("a second conflict policy") }
      if !query.rest.value.upserts.isEmpty { refuse("two conflict policies") }
    case .update(var query):
      query.conflict = policy
      self = .update(query)
    case let other:
      self = other
      refuse("a conflict policy")
    }
  }

  package mutating func onConflict(_ upsert: Upsert) {
    switch consume self {
    case .insert(var query):
      query.rest.value.upserts.append(upsert)
      self = .insert(query)
      if query.form == .save { refuse("a second conflict policy") }
      if query.conflict != nil { refuse("two conflict policies") }
    case .update(let query):
      self = .update(query)
      refuse("columns to update on conflict")
    case let other:
      self = other
      refuse("a conflict policy")
    }
  }

  package mutating func join(_ source: SelectQuery.Source, on condition: SqlExpression) {
    switch consume self {
    case .update(var query) where !query.isRowLevel:
      var source = source
      source.condition = condition
      query.rest.value.sources.append(source)
      self = .update(query)
    case let other:
      self = other
      refuse(refusal("other tables"))
    }
  }

  /// Sets the index that SQLite must use, or forbids all indexes.
  package mutating func hint(_ hint: IndexHint) {
    switch consume self {
    case .select(var query):
      query.clauses.hint(hint)
      self = .select(query)
    case .update(var query) where !query.isRowLevel:
      query.rest.value.indexHint = hint
      self = .update(query)
    case .delete(var query) where !query.isRowLevel:
      query.rest.value.indexHint = hint
      self = .delete(query)
    case let other:
      self = other
      refuse(refusal("an index to use"))
    }
  }

  mutating func write(_ columns: [ColumnReference]) {
    switch consume self {
    case .insert(var query) where query.form != .query:
      query.rest.value.columns = columns
      self = .insert(query)
    case .update(var query) where query.isRowLevel:
      query.rest.value.columns = columns
      self = .update(query)
    case let other:
      self = other
      refuse("columns")
    }
  }

  @usableFromInline
  mutating func giveRows() { give(.rows) }

  package mutating func give(_ returned: Returned) {
    switch consume self {
    case .select(let query):
      self = .select(query)
      refuse("RETURNING, because the statement already returns rows or a number")
    case .insert(var query):
      query.rest.value.returned = returned
      self = .insert(query)
    case .update(var query):
      query.rest.value.returned = returned
      self = .update(query)
    case .delete(var query):
      query.rest.value.returned = returned
      self = .delete(query)
    }
  }

  @usableFromInline
  mutating func name(_ table: String) { use(tableInfo.named(table)) }

  @usableFromInline
  mutating func name(inDatabase database: String) { use(tableInfo.named(tableInfo.name, in: database)) }

  private mutating func use(_ table: TableInfo) {
    switch consume self {
    case .select(var query):
      query.table = table
      self = .select(query)
    case .insert(var query):
      query.table = table
      self = .insert(query)
    case .update(var query):
      query.table = table
      self = .update(query)
    case .delete(var query):
      query.table = table
      self = .delete(query)
    }
  }
}
