import SqlableCore

/// The members of a JSON object, in the order of their addition.
struct Members {
  private var members: [Document.Member] = []

  @inline(never)
  mutating func add(_ key: DocumentKey, _ value: Document?) { add(key.rawValue, value) }

  @inline(never)
  mutating func add(_ key: String, _ value: Document?) {
    if let value { members.append(Document.Member(key: key, value: value)) }
  }

  var document: Document { .object(members) }
}

enum DocumentKey: String {
  // The key of the outermost object.
  case sqlable
  // Queries.
  case from, select, distinct, `where`, groupBy, having, compounds, orderBy, limit, offset, values
  // The keys of tables, and of models as results.
  case table, model, query, recursive, name, hint, jsonEach, jsonTree, path, columns, `as`, join, on, search, replacing
  case indexedBy, notIndexed
  // Changes.
  case into, row, rows, onConflict, upsert, returning, set, all, target, index
  // Parts of assignments.
  case column, to
  // Associations.
  case including, referringBy, referredBy, key, through, count, aggregate
}

extension DocumentEncoder {
  // MARK: Queries

  /// Encodes a query. A read of one model can include associated rows.
  func query(_ query: SelectQuery, outer: Scope?, including associations: Document? = nil) throws -> Document {
    let clauses = query.clauses
    if let defect = clauses.defect { throw defect }
    var members = Members()
    let scope = try Scope(clauses.sources, outer: outer)
    if clauses.sources.isEmpty {
      members.add(.values, .list(try clauses.rows.map { try list($0, scope) }))
    } else {
      members.add(.from, try sources(clauses.sources, scope))
      if clauses.results != [.model(0)] || clauses.sources.count > 1 {
        members.add(.select, .list(try clauses.results.map { try result($0, clauses.sources, scope) }))
      }
    }
    if clauses.isDistinct { members.add(.distinct, .bool(true)) }
    members.add(.where, try clauses.filter.map { try term($0, scope) })
    if !clauses.groups.isEmpty { members.add(.groupBy, try list(clauses.groups, scope)) }
    members.add(.having, try clauses.having.map { try term($0, scope) })
    if !clauses.compounds.isEmpty {
      members.add(
        .compounds,
        .list(try clauses.compounds.map { [$0.operation.rawValue: try self.query($0.query, outer: outer)] }))
    }
    if !clauses.order.isEmpty { members.add(.orderBy, try order(clauses.order, scope.forOrder(of: clauses))) }
    members.add(.limit, try clauses.limit.map(count))
    members.add(.offset, try clauses.offset.map(count))
    members.add(.including, associations)
    return members.document
  }

  func count(_ count: SelectQuery.RowCount) throws -> Document {
    switch count {
    case .number(let number): .integer(Int64(number))
    case .term(let term): try self.term(term, Scope([], outer: nil))
    }
  }

  func sources(_ sources: [SelectQuery.Source], _ scope: Scope) throws -> Document {
    if sources.count == 1, let name = sources[0].plainName { return .text(name) }
    return .list(try sources.enumerated().map { try source($1, isFirst: $0 == 0, scope) })
  }

  private func source(_ source: SelectQuery.Source, isFirst: Bool, _ scope: Scope) throws -> Document {
    if isFirst, let name = source.plainName { return .text(name) }
    var members = Members()
    switch source.kind {
    case .table:
      try checkDatabase(of: source.table)
      members.add(.table, .text(source.table.name))
      if !source.table.isNamedByModel { members.add(.model, .text(source.table.modelName)) }
      add(source.indexHint, to: &members)
    case .defined(let query):
      members.add(.query, try self.query(query, outer: scope.outer))
      members.add(.hint, source.materialization.map { .text($0.rawValue) })
      addLayout(of: source, to: &members)
    case .named:
      members.add(.recursive, .bool(true))
      addLayout(of: source, to: &members)
    case .call(let call):
      guard case .call(let call) = call.node, let operand = call.arguments.first else {
        throw DocumentEncoder.withoutForm
      }
      members.add(call.function == .builtIn(.jsonTree) ? .jsonTree : .jsonEach, try term(operand, scope))
      members.add(.path, try call.arguments.dropFirst().first.map { try path($0) })
    }
    members.add(.name, source.queryName.map { .text($0) })
    members.add(.as, source.alias.map { .text($0) })
    if source.isSearched { members.add(.search, .bool(true)) }
    if !isFirst { members.add(.join, .text(source.join.rawValue)) }
    members.add(.on, try source.condition.map { try term($0, scope) })
    return members.document
  }

  private func add(_ hint: IndexHint?, to members: inout Members) {
    guard let hint else { return }
    if let name = hint.name { members.add(.indexedBy, .text(name)) } else { members.add(.notIndexed, .bool(true)) }
  }

  private func addLayout(of source: SelectQuery.Source, to members: inout Members) {
    if source.table.name.isEmpty {
      members.add(.columns, .list(source.table.columns.map { .text($0.type.documentName) }))
    } else {
      members.add(.model, .text(source.table.modelName))
    }
  }

  private func result(
    _ result: SelectQuery.Result, _ sources: [SelectQuery.Source], _ scope: Scope
  ) throws -> Document {
    switch result {
    case .term(let term): return try self.term(term, scope)
    case .model(let index, let replaced):
      var members = Members()
      members.add(.model, .text(sources[index].name))
      if !replaced.isEmpty {
        members.add(
          .replacing,
          .list(try replaced.map { try assignment($0.column, $0.term, scope) }))
      }
      return members.document
    case .table(let table, let alias, _):
      throw SqlError.invalidStatement("columns of \(alias ?? table.name) are selected, but the table is not joined").at(
        table: table.name)
    }
  }

  private func assignment(_ column: ColumnReference, _ value: SqlExpression, _ scope: Scope) throws -> Document {
    var members = Members()
    members.add(.column, .text(column.name))
    members.add(.to, try term(value, scope))
    return members.document
  }

  // MARK: Statements

  /// Encodes a statement. `rows` are the values of the statement's structs.
  func statement(_ tree: StatementTree, _ operation: DocumentOperation, rows: [StoredRow]) throws -> Document {
    let body: Document =
      switch tree {
      case .select(let query): try self.query(query, outer: nil)
      case .insert(let query): try insert(query, rows)
      case .update(let query): try update(query, rows)
      case .delete(let query): try delete(query, rows)
      }
    return [DocumentKey.sqlable.rawValue: .integer(Document.version), operation.rawValue: body]
  }

  func checkDatabase(of table: TableInfo) throws {
    guard let database = table.database else { return }
    throw SqlError.invalidStatement(
      "a statement on a table of the attached database \(database) can't be encoded"
    ).at(table: table.name)
  }

  private func table(_ table: TableInfo) throws -> Document {
    try checkDatabase(of: table)
    guard !table.isNamedByModel else { return .text(table.name) }
    var members = Members()
    members.add(.table, .text(table.name))
    members.add(.model, .text(table.modelName))
    return members.document
  }

  private func row(_ row: StoredRow) throws -> Document {
    .object(try row.byName().map { Document.Member(key: $0.key, value: value($0.value)) })
  }

  private func insert(_ query: InsertQuery, _ rows: [StoredRow]) throws -> Document {
    let rest = query.rest.value
    let scope = Scope(query.table)
    var members = Members()
    members.add(.into, try table(query.table))
    switch query.form {
    case .row, .save: members.add(.row, try rows.first.map(row))
    case .rows: members.add(.rows, .list(try rows.map(row)))
    case .query: members.add(.query, try rest.source.map { try self.query($0, outer: nil) })
    }
    members.add(.columns, rest.columns.map(names))
    members.add(.onConflict, query.conflict.map { .text($0.rawValue) })
    members.add(.upsert, try upserts(rest.upserts, into: query.table))
    members.add(.returning, try returned(rest.returned, scope))
    return members.document
  }

  private func upserts(_ upserts: [Upsert], into table: TableInfo) throws -> Document? {
    let documents = try upserts.map { try upsert($0, into: table) }
    return documents.count > 1 ? .list(documents) : documents.first
  }

  private func upsert(_ upsert: Upsert, into table: TableInfo) throws -> Document {
    let scope = try Scope(upsertingInto: table)
    var members = Members()
    members.add(.target, upsert.target.map(names))
    members.add(.index, try upsert.index.map { try term($0, Scope(table)) })
    members.add(.columns, upsert.columns.map(names))
    if !upsert.assignments.isEmpty { members.add(.set, try assignments(upsert.assignments, scope)) }
    members.add(.where, try upsert.condition.map { try term($0, scope) })
    return members.document
  }

  private func names(_ columns: [ColumnReference]) -> Document { .list(columns.map { .text($0.name) }) }

  private func assignments(_ assignments: [Assignment], _ scope: Scope) throws -> Document {
    .list(try assignments.map { try assignment($0.column, $0.value, scope) })
  }

  private func returned(_ returned: Returned?, _ scope: Scope) throws -> Document? {
    switch returned {
    case nil: nil
    case .rows: .bool(true)
    case .terms(let terms): try list(terms, scope)
    }
  }

  private func update(_ query: UpdateQuery, _ rows: [StoredRow]) throws -> Document {
    let rest = query.rest.value
    let tableScope = Scope(query.table)
    let scope = rest.sources.isEmpty ? tableScope : try Scope(query.tables, outer: nil)
    var members = Members()
    members.add(.table, try table(query.table))
    add(rest.indexHint, to: &members)
    if !rest.sources.isEmpty {
      members.add(.from, .list(try rest.sources.map { try source($0, isFirst: false, scope) }))
    }
    if query.isRowLevel {
      members.add(.row, try rows.first.map(row))
    } else {
      members.add(.set, try assignments(rest.assignments, scope))
    }
    members.add(.columns, rest.columns.map(names))
    members.add(.onConflict, query.conflict.map { .text($0.rawValue) })
    try add(query.selection, query.extent, scope, to: &members)
    members.add(.returning, try returned(rest.returned, tableScope))
    return members.document
  }

  private func delete(_ query: DeleteQuery, _ rows: [StoredRow]) throws -> Document {
    let scope = Scope(query.table)
    var members = Members()
    members.add(.from, try table(query.table))
    add(query.rest.value.indexHint, to: &members)
    if query.isRowLevel { members.add(.row, try rows.first.map(row)) }
    try add(query.selection, query.extent, scope, to: &members)
    members.add(.returning, try returned(query.rest.value.returned, scope))
    return members.document
  }

  private func add(
    _ selection: RowSelection, _ extent: ChangeExtent, _ scope: Scope, to members: inout Members
  ) throws {
    let rest = selection.rest.value
    if extent == .all { members.add(.all, .bool(true)) }
    members.add(.where, try selection.filter.map { try term($0, scope) })
    if !rest.order.isEmpty { members.add(.orderBy, try order(rest.order, scope)) }
    members.add(.limit, try rest.limit.map(count))
    members.add(.offset, try rest.offset.map(count))
  }
}

/// The operation of a document. The raw value is the key of the statement's body.
package enum DocumentOperation: String, CaseIterable {
  case read, first, count, exists, insert, save, update, delete

  init(_ kind: StatementKind) {
    self =
      switch kind {
      case .read: .read
      case .first: .first
      case .count: .count
      case .exists: .exists
      case .insert: .insert
      case .save: .save
      case .update, .updateAll: .update
      case .delete, .deleteAll: .delete
      }
  }
}

extension Document {
  package static let version: Int64 = 1
}

extension SelectQuery.Source {
  /// The name of a model's own table; nil for a source with an alias, a condition or another option.
  fileprivate var plainName: String? {
    guard case .table = kind, alias == nil, !isSearched, condition == nil, indexHint == nil, table.isNamedByModel else {
      return nil
    }
    return table.name
  }
}
