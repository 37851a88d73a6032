/// The encoded form of a statement: the parts of all kinds of statements side by side.
struct StatementForm {
  enum Kind: String, Codable {
    case read, first, count, exists
    case insert, insertMany, save
    /// An update of a struct's row, by assignments to the selected rows, or by assignments to every row.
    case update, assign, assignAll
    /// A delete of a struct's row, of the selected rows, or of every row.
    case deleteRow, delete, deleteAll
  }

  let kind: Kind
  private var filter: SqlExpression?
  private var order: [OrderTerm] = []
  private var limit: Int?
  private var offset: Int?
  private var conflict: ConflictPolicy?
  private var upsert: Upsert?
  private var columns: [ColumnReference]?
  private var assignments: [Assignment] = []
  let returning: Bool
  /// The statement's table, if it is not the model's own.
  let tableName: String?

  /// Throws if the statement can't be encoded.
  init<Model: Sqlable, Output>(_ tree: StatementTree, of model: Model.Type, _ output: Output.Type) throws {
    if case .terms = tree.returned {
      throw SqlError.invalidStatement("a change that returns terms can't be encoded")
    }
    returning = tree.returnsRows
    let table = tree.tableInfo
    tableName = table === TableInfo.unchecked(model) ? nil : table.name
    switch tree {
    case .select(let query):
      kind =
        switch query.form {
        case .rows: output == Model?.self ? .first : .read
        case .count: .count
        case .exists: .exists
        }
      let clauses = query.clauses
      (filter, order, limit, offset) = (clauses.filter, clauses.order, clauses.limit, clauses.offset)
    case .insert(let query):
      switch query.form {
      case .row: kind = .insert
      case .rows: kind = .insertMany
      case .save: kind = .save
      case .query: throw SqlError.invalidStatement("an insert from a query can't be encoded")
      }
      (conflict, upsert, columns) = (query.conflict, query.rest.value.upsert, query.rest.value.columns)
    case .update(let query):
      kind =
        switch query.extent {
        case .row: .update
        case .selected: .assign
        case .all: .assignAll
        }
      (conflict, columns, assignments) = (query.conflict, query.rest.value.columns, query.rest.value.assignments)
      select(query.selection)
    case .delete(let query):
      kind =
        switch query.extent {
        case .row: .deleteRow
        case .selected: .delete
        case .all: .deleteAll
        }
      select(query.selection)
    }
    // Detects parts that the code above does not encode and that would otherwise be lost silently.
    guard self.tree(of: table) == tree else {
      throw SqlError.invalidStatement("the statement has a part that can't be encoded").at(table: table.name)
    }
  }

  private mutating func select(_ selection: RowSelection) {
    let rest = selection.rest.value
    (filter, order, limit, offset) = (selection.filter, rest.order, rest.limit, rest.offset)
  }

  /// Builds the statement for a table through its modifiers, so that unsupported parts are rejected as in Swift.
  func tree(of table: TableInfo) -> StatementTree {
    var tree: StatementTree =
      switch kind {
      case .read, .first: .select(SelectQuery(of: table))
      case .count: .select(SelectQuery(.count, of: table))
      case .exists: .select(SelectQuery(.exists, of: table))
      case .insert: .insert(InsertQuery(.row, into: table))
      case .insertMany: .insert(InsertQuery(.rows, into: table))
      case .save: .insert(InsertQuery(.save, into: table))
      case .update: .update(UpdateQuery(ofRowIn: table, writing: []))
      case .assign: .update(UpdateQuery(table, assignments))
      case .assignAll: .update(UpdateQuery(table, assignments, .all))
      case .deleteRow: .delete(DeleteQuery(table, .row))
      case .delete: .delete(DeleteQuery(table, .selected))
      case .deleteAll: .delete(DeleteQuery(table, .all))
      }
    if let filter { tree.filter(filter) }
    if !order.isEmpty { tree.order(by: order) }
    if let limit { tree.limit(to: limit) }
    if let offset { tree.skip(offset) }
    if let conflict { tree.onConflict(conflict) }
    if let upsert { tree.onConflict(upsert) }
    if let columns { tree.write(columns) }
    if kind != .assign, kind != .assignAll, !assignments.isEmpty { tree.refuse("assignments") }
    if returning { tree.giveRows() }
    if kind == .first { tree.takeFirst() }
    return tree
  }

  /// Whether the statement's output has this type.
  func gives<Output, Model>(_ output: Output.Type, of model: Model.Type) -> Bool {
    // A closed table of all kinds: no decoded statement has any other output type.
    let isRead = kind == .read || kind == .first || kind == .count || kind == .exists
    if returning { return !isRead && (output == [Model].self || output == Model?.self) }
    return switch kind {
    case .read: output == [Model].self
    case .first: output == Model?.self
    case .exists: output == Bool.self
    case .insertMany: output == [Int].self
    case .count, .insert, .save, .update, .assign, .assignAll, .deleteRow, .delete, .deleteAll: output == Int.self
    }
  }
}

extension StatementForm: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case kind, filter, order, limit, offset, conflict, upsert, columns, assignments, returning
    case tableName = "in"
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(exactly: Key.self)
    kind = try container.decode(Kind.self, forKey: .kind)
    filter = try container.decode(SqlExpression?.self, forKey: .filter)
    order = try container.decode([OrderTerm].self, forKey: .order)
    limit = try container.decode(Int?.self, forKey: .limit)
    offset = try container.decode(Int?.self, forKey: .offset)
    conflict = try container.decode(ConflictPolicy?.self, forKey: .conflict)
    upsert = try container.decode(Upsert?.self, forKey: .upsert)
    columns = try container.decode([ColumnReference]?.self, forKey: .columns)
    assignments = try container.decode([Assignment].self, forKey: .assignments)
    returning = try container.decode(Bool.self, forKey: .returning)
    tableName = try container.decode(String?.self, forKey: .tableName)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(kind, forKey: .kind)
    try container.encode(filter, forKey: .filter)
    try container.encode(order, forKey: .order)
    try container.encode(limit, forKey: .limit)
    try container.encode(offset, forKey: .offset)
    try container.encode(conflict, forKey: .conflict)
    try container.encode(upsert, forKey: .upsert)
    try container.encode(columns, forKey: .columns)
    try container.encode(assignments, forKey: .assignments)
    try container.encode(returning, forKey: .returning)
    try container.encode(tableName, forKey: .tableName)
  }
}
