/// What a statement says: a read or one of the three changes. What one of them does not take it refuses, and the
/// statement throws that when it is run.
@usableFromInline
enum StatementTree: Sendable, Hashable {
  case select(SelectQuery)
  case insert(InsertQuery)
  case update(UpdateQuery)
  case delete(DeleteQuery)
}

extension StatementTree {
  /// The table that it is about. Throws when its model contradicts itself.
  @usableFromInline
  var table: TableInfo {
    get throws {
      let table = tableInfo
      if let defect = table.defect { throw defect }
      return table
    }
  }

  /// The table that it is about, whatever is wrong with it.
  var tableInfo: TableInfo {
    switch self {
    case .select(let query): query.table
    case .insert(let query): query.table
    case .update(let query): query.table
    case .delete(let query): query.table
    }
  }

  @usableFromInline
  var changesRows: Bool { if case .select = self { false } else { true } }

  /// Whether the statement is about given structs.
  @usableFromInline
  var takesRows: Bool {
    switch self {
    case .select: false
    case .insert(let query): query.form != .query
    case .update(let query): query.isOfRow
    case .delete(let query): query.isOfRow
    }
  }

  /// Whether an insert of structs updates the rows that it conflicts with.
  var isUpsert: Bool { if case .insert(let query) = self { query.isUpsert } else { false } }

  var isSave: Bool { if case .insert(let query) = self { query.form == .save } else { false } }

  /// What a change gives of the rows that it changed; nil for none.
  var returned: Returned? {
    switch self {
    case .select: nil
    case .insert(let query): query.rest.value.returned
    case .update(let query): query.rest.value.returned
    case .delete(let query): query.rest.value.returned
    }
  }

  @usableFromInline var returnsRows: Bool { returned != nil }

  /// Why it can't be run.
  var defect: SqlError? {
    switch self {
    case .select(let query): query.defect
    case .insert(let query): query.rest.value.defect
    case .update(let query): query.rest.value.defect
    case .delete(let query): query.rest.value.defect
    }
  }

  /// What it is called in errors.
  private var name: String {
    switch self {
    case .select(let query):
      switch query.form {
      case .rows: "a read"
      case .count: "a count"
      case .exists: "an exists"
      }
    case .insert(let query): query.form == .save ? "a save" : "an insert"
    case .update(let query): query.isOfRow ? "an update of a struct" : "an update"
    case .delete(let query): query.isOfRow ? "a delete of a struct" : "a delete"
    }
  }
}

// MARK: - What modifiers do

extension StatementTree {
  /// Notes what makes no sense of this statement.
  mutating func refuse(_ modifier: String) {
    guard defect == nil else { return }
    let error = SqlError.invalidStatement("\(name) takes no \(modifier)").at(table: tableInfo.name)
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

  /// What an insert refuses that a query which it inserts could take.
  private func refusal(_ modifier: String) -> String {
    if case .insert(let query) = self, query.form == .query { "\(modifier); its query does" } else { modifier }
  }

  @usableFromInline
  mutating func filter(_ condition: SqlExpression) {
    switch consume self {
    case .select(var query):
      query.filter(condition)
      self = .select(query)
    case .update(var query):
      query.selection.filter.and(condition)
      self = .update(query)
    case .delete(var query):
      query.selection.filter.and(condition)
      self = .delete(query)
    case .insert(let query):
      self = .insert(query)
      refuse(refusal("filter"))
    }
  }

  /// Changes the order or the number of rows of a read, or those of an update or delete that is not of one struct.
  private mutating func select(
    _ modifier: String, _ read: (inout SelectQuery) -> Void, _ change: (inout RowSelection.Rest) -> Void
  ) {
    switch consume self {
    case .select(var query):
      read(&query)
      self = .select(query)
    case .update(var query) where !query.isOfRow:
      change(&query.selection.rest.value)
      self = .update(query)
    case .delete(var query) where !query.isOfRow:
      change(&query.selection.rest.value)
      self = .delete(query)
    case let other:
      self = other
      refuse(refusal(modifier))
    }
  }

  @usableFromInline
  mutating func order(by terms: [OrderTerm]) {
    select("order") {
      $0.clauses.order += terms
    } _: {
      $0.order += terms
    }
  }

  @usableFromInline
  mutating func limit(to limit: Int) {
    select("limit") {
      $0.limit = limit
    } _: {
      $0.limit = limit
    }
  }

  @usableFromInline
  mutating func skip(_ offset: Int) {
    select("offset") {
      $0.clauses.offset = offset
    } _: {
      $0.offset = offset
    }
  }

  /// Takes the first row of a read only; of a change it is the first that it returns.
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
      if query.form == .save { refuse("answer to a conflict: it is one") }
      if query.rest.value.upsert != nil { refuse("two answers to a conflict") }
    case .update(var query):
      query.conflict = policy
      self = .update(query)
    case let other:
      self = other
      refuse("answer to a conflict")
    }
  }

  mutating func onConflict(_ upsert: Upsert) {
    switch consume self {
    case .insert(var query):
      query.rest.value.upsert = upsert
      self = .insert(query)
      if query.form == .save { refuse("answer to a conflict: it is one") }
      if query.conflict != nil { refuse("two answers to a conflict") }
    case .update(let query):
      self = .update(query)
      refuse("columns to update on conflict")
    case let other:
      self = other
      refuse("answer to a conflict")
    }
  }

  /// Writes these columns of the structs only.
  mutating func write(_ columns: [ColumnReference]) {
    switch consume self {
    case .insert(var query) where query.form != .query:
      query.rest.value.columns = columns
      self = .insert(query)
    case .update(var query) where query.isOfRow:
      query.rest.value.columns = columns
      self = .update(query)
    case let other:
      self = other
      refuse("columns")
    }
  }

  @usableFromInline
  mutating func giveRows() { give(.rows) }

  mutating func give(_ returned: Returned) {
    switch consume self {
    case .select(let query):
      self = .select(query)
      refuse("returning: it gives rows, or a number")
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

  /// Is about another table of the same layout.
  @usableFromInline
  mutating func name(_ table: String) {
    let table = tableInfo.named(table)
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
