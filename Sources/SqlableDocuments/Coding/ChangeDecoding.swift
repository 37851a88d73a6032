import SqlableCore

extension DocumentDecoder {
  func assignment(_ document: Document, _ table: TableInfo, _ scope: Scope) throws -> (Column, SqlExpression) {
    let fields = try fields(document, [.column, .to], "an assignment")
    guard let column = try part(fields, .column, { try self.column(text($0, "the name of a column"), of: table) }),
      let term = try part(fields, .to, { try self.term($0, scope) })
    else { throw failure("an assignment must have the keys \"column\" and \"to\"") }
    return (column, term)
  }

  private func assignments(_ document: Document, _ table: TableInfo, _ scope: Scope) throws -> [Assignment] {
    try each(list(document, "the assignments")) { document in
      let (column, term) = try assignment(document, table, scope)
      try term.checkIsStored(in: column, of: table)
      return Assignment(column: ColumnReference(column), value: term)
    }
  }

  private func table(_ document: Document?, _ key: DocumentKey) throws -> TableInfo {
    guard let document else { throw failure("missing key \(key.rawValue)") }
    enter(key.rawValue)
    let table = try table(document)
    leave()
    return table
  }

  private func table(_ document: Document) throws -> TableInfo {
    if case .text(let name) = document { return try model(name) }
    let fields = try fields(document, [.table, .model], "a table")
    guard let model = try part(fields, .model, { try text($0, "the name of a model") }),
      let table = try part(fields, .table, { try self.table(text($0, "the name of a table"), model: model) })
    else { throw failure("a table must be a name, or an object with table and model") }
    return table
  }

  private func columns(_ fields: Fields, _ key: DocumentKey, _ table: TableInfo) throws -> [ColumnReference]? {
    try part(fields, key) { document in
      try each(list(document, "the columns")) {
        ColumnReference(try column(text($0, "the name of a column"), of: table))
      }
    }
  }

  private func row(_ document: Document, _ table: TableInfo) throws -> StoredRow {
    guard case .object(let members) = document else { throw failure("a row must be an object") }
    var row = StoredRow()
    for member in members {
      let column = try column(member.key, of: table)
      enter(member.key)
      let value = try value(required: member.value).checked()
      guard column.type.stores(value) else {
        throw column.type.mismatch(value.storageClass).at(table: table.name, column: column.name)
      }
      row[member.key] = value
      leave()
    }
    return row
  }

  private func rows(_ document: Document, _ table: TableInfo) throws -> [StoredRow] {
    let documents = try list(document, "the rows")
    try checkList(documents.count)
    return try each(documents) { try row($0, table) }
  }

  private func conflict(_ fields: Fields) throws -> ConflictPolicy? {
    try part(fields, .onConflict) { document in
      guard let policy = ConflictPolicy(rawValue: try text(document, "a conflict policy")) else {
        throw failure("a conflict policy must be abort, ignore or replace")
      }
      return policy
    }
  }

  private func returned(_ fields: Fields, _ scope: Scope) throws -> Returned? {
    try part(fields, .returning) { document in
      if case .bool(true) = document { return .rows }
      let terms = try terms(document, "the returned terms", scope)
      guard !terms.isEmpty else { throw failure("the list of returned terms can't be empty") }
      return .terms(terms)
    }
  }

  func insert(_ document: Document, isSave: Bool) throws -> (InsertQuery, [StoredRow]) {
    let fields = try fields(
      document, [.into, .row, .rows, .query, .columns, .onConflict, .upsert, .returning], "an insert")
    let table = try table(fields[.into], .into)
    let presentKeys: [DocumentKey] = [.row, .rows, .query].filter { fields[$0] != nil }
    guard presentKeys.count == 1, !isSave || presentKeys == [.row] else {
      throw failure(isSave ? "a save must have a row" : "an insert needs exactly one of the keys row, rows and query")
    }
    var rows: [StoredRow] = []
    var form = InsertQuery.Form.query
    if let row = try part(fields, .row, { try row($0, table) }) {
      rows = [row]
      form = isSave ? .save : .row
    }
    if let list = try part(fields, .rows, { try self.rows($0, table) }) {
      rows = list
      form = .rows
    }
    var query = InsertQuery(form, into: table)
    // Set an optional clause only if the document contains it, because storing such a clause allocates memory.
    if let source = try part(fields, .query, { try self.query($0, outer: nil) }) { query.rest.value.source = source }
    if let columns = try columns(fields, .columns, table) { query.rest.value.columns = columns }
    query.conflict = try conflict(fields)
    guard query.conflict == nil || !isSave else {
      throw failure("a save can't have the key \"onConflict\"; use an insert")
    }
    if let upserts = try part(fields, .upsert, { try upserts($0, table) }) {
      guard !isSave else { throw failure("a save can't have the key \"upsert\"; use an insert") }
      guard query.conflict == nil else {
        throw failure("an insert can't have both of the keys \"onConflict\" and \"upsert\"; remove one key")
      }
      query.rest.value.upserts = upserts
    }
    if let returned = try returned(fields, Scope(table)) { query.rest.value.returned = returned }
    return (query, rows)
  }

  private func upserts(_ document: Document, _ table: TableInfo) throws -> [Upsert] {
    guard case .list(let documents) = document else { return [try upsert(document, table)] }
    guard documents.count > 1 else {
      throw failure("a list of upserts needs at least two; write a single upsert without the list")
    }
    try checkList(documents.count)
    return try each(documents) { try upsert($0, table) }
  }

  private func upsert(_ document: Document, _ table: TableInfo) throws -> Upsert {
    let fields = try fields(document, [.target, .index, .columns, .set, .where], "an upsert")
    let scope = try Scope(upsertingInto: table)
    return Upsert(
      target: try columns(fields, .target, table), index: try part(fields, .index) { try term($0, Scope(table)) },
      columns: try columns(fields, .columns, table),
      assignments: try part(fields, .set) { try assignments($0, table, scope) } ?? [],
      condition: try part(fields, .where) { try term($0, scope) })
  }

  func update(_ document: Document) throws -> (UpdateQuery, [StoredRow]) {
    let fields = try fields(
      document,
      [
        .table, .from, .row, .set, .columns, .onConflict, .where, .orderBy, .limit, .offset, .all, .returning,
        .indexedBy, .notIndexed,
      ],
      "an update")
    let table = try table(fields[.table], .table)
    let sources = try part(fields, .from) { try self.sources(ofUpdate: $0, table) } ?? []
    let tableScope = Scope(table)
    let scope = sources.isEmpty ? tableScope : try Scope([SelectQuery.Source(table: table)] + sources, outer: nil)
    guard (fields[.row] == nil) != (fields[.set] == nil) else {
      throw failure("an update must have the key \"row\" or \"set\", but not both")
    }
    var query: UpdateQuery
    var rows: [StoredRow] = []
    if let row = try part(fields, .row, { try row($0, table) }) {
      guard try !flag(fields[.all], .all) else { throw failure("an update of a row can't have the key \"all\"") }
      guard sources.isEmpty else { throw failure("an update of a row can't have other tables") }
      guard try indexHint(fields) == nil else { throw failure("an update of a row can't have an index") }
      rows = [row]
      query = UpdateQuery(ofRowIn: table, writing: [])
      if let columns = try columns(fields, .columns, table) { query.rest.value.columns = columns }
    } else {
      guard fields[.columns] == nil else {
        throw failure("an update with the key \"set\" can't have the key \"columns\"")
      }
      let changes = try part(fields, .set) { try assignments($0, table, scope) } ?? []
      query = UpdateQuery(table, changes, try flag(fields[.all], .all) ? .all : .selected)
      if !sources.isEmpty { query.rest.value.sources = sources }
      if let hint = try indexHint(fields) { query.rest.value.indexHint = hint }
    }
    query.conflict = try conflict(fields)
    query.selection = try selection(fields, scope)
    if let returned = try returned(fields, tableScope) { query.rest.value.returned = returned }
    return (query, rows)
  }

  func delete(_ document: Document) throws -> (DeleteQuery, [StoredRow]) {
    let fields = try fields(
      document, [.from, .row, .where, .orderBy, .limit, .offset, .all, .returning, .indexedBy, .notIndexed],
      "a delete")
    let table = try table(fields[.from], .from)
    let scope = Scope(table)
    let values = try part(fields, .row) { try row($0, table) }
    let isAll = try flag(fields[.all], .all)
    guard values == nil || !isAll else { throw failure("a delete of a row can't have the key \"all\"") }
    let hint = try indexHint(fields)
    guard values == nil || hint == nil else { throw failure("a delete of a row can't have an index") }
    var query = DeleteQuery(table, values != nil ? .row : isAll ? .all : .selected)
    query.selection = try selection(fields, scope)
    if let hint { query.rest.value.indexHint = hint }
    if let returned = try returned(fields, scope) { query.rest.value.returned = returned }
    return (query, values.map { [$0] } ?? [])
  }

  private func selection(_ fields: Fields, _ scope: Scope) throws -> RowSelection {
    var selection = RowSelection()
    selection.filter = try part(fields, .where) { try term($0, scope) }
    guard fields[.row] == nil || [.orderBy, .limit, .offset].allSatisfy({ fields[$0] == nil }) else {
      throw failure("a change of one row can't have an order, limit or offset")
    }
    guard fields[.orderBy] != nil || fields[.limit] != nil || fields[.offset] != nil else { return selection }
    selection.rest.value.order = try part(fields, .orderBy) { try order($0, scope) } ?? []
    selection.rest.value.limit = try part(fields, .limit) { try rowCount($0, "a limit") }
    selection.rest.value.offset = try part(fields, .offset) { try rowCount($0, "an offset") }
    return selection
  }
}
