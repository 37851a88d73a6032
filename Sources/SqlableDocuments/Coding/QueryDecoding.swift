import SqlableCore
import SqlableQueries

extension DocumentDecoder {
  private static let queryKeys: Set<DocumentKey> = [
    .from, .select, .distinct, .where, .groupBy, .having, .compounds, .orderBy, .limit, .offset, .values,
  ]
  private static let sourceKeys: Set<DocumentKey> = [
    .table, .model, .query, .recursive, .name, .hint, .jsonEach, .jsonTree, .path, .columns, .as, .join, .on, .search,
    .indexedBy, .notIndexed,
  ]

  // MARK: Queries

  /// Decodes a query. The query's terms can also use the tables of `outer`.
  func query(_ document: Document, outer: Scope?, form: SelectQuery.Form = .rows) throws -> SelectQuery {
    let fields = try fields(document, DocumentDecoder.queryKeys, "a query")
    try begin(DocumentDecoder.levelsOfQuery)
    defer { end(DocumentDecoder.levelsOfQuery) }
    if let plain = try plain(fields, outer, form) { return plain }
    var query: SelectQuery
    let scope: Scope
    if let rows = fields[.values] {
      guard fields[.from] == nil, fields[.select] == nil else {
        throw failure("a query with the key \"values\" can't have the key \"from\" or \"select\"")
      }
      scope = try Scope([], outer: outer)
      enter("values")
      let rows = try each(list(rows, "literal rows")) { try terms($0, "a row", scope) }
      leave()
      guard let count = rows.first?.count, rows.allSatisfy({ $0.count == count }) else {
        throw failure("literal rows need at least one column, and the same number of columns in each row")
      }
      query = SelectQuery(rows: rows)
    } else {
      let sources = try sources(fields[.from], outer)
      scope = try Scope(sources, outer: outer)
      query = SelectQuery(sources[0], results: [])
      query.clauses.sources = sources
      query.clauses.results = try results(fields[.select], sources, scope)
    }
    query = SelectQuery(form, query)
    query.clauses.isDistinct = try flag(fields[.distinct], .distinct)
    if let filter = try part(fields, .where, { try term($0, scope) }) { query.filter(filter) }
    query.clauses.groups = try part(fields, .groupBy) { try terms($0, "the terms of a group", scope) } ?? []
    query.clauses.having = try part(fields, .having) { try term($0, scope) }
    query.clauses.compounds = AppendedList(try part(fields, .compounds) { try compounds($0, outer) } ?? [])
    let orderScope = try scope.forOrder(of: query.clauses)
    query.clauses.order = try part(fields, .orderBy) { try order($0, orderScope) } ?? []
    query.clauses.limit = try part(fields, .limit) { try rowCount($0, "a limit") }
    query.clauses.offset = try part(fields, .offset) { try rowCount($0, "an offset") }
    let size = query.clauses.size
    guard size.depth <= SqlExpression.maximumDepth else { throw failure("the query is nested too deeply") }
    return query
  }

  /// Decodes a query of one table with at most a filter and a limit. Such a query is stored and run faster. Returns nil
  /// for any other query.
  private func plain(_ fields: Fields, _ outer: Scope?, _ form: SelectQuery.Form) throws -> SelectQuery? {
    guard case .text(let name) = fields[.from],
      fields.members.allSatisfy({ ["from", "where", "limit"].contains($0.key) })
    else { return nil }
    if case .object = fields[.limit] { return nil }
    enter("from")
    let table = try model(name)
    leave()
    var query = SelectQuery(form, of: table)
    let scope = try Scope([SelectQuery.Source(table: table)], outer: outer)
    if let filter = try part(fields, .where, { try term($0, scope) }) { query.filter(filter) }
    if let limit = try part(fields, .limit, { try count($0, "a limit") }) { query.limit = limit }
    return query
  }

  func rowCount(_ document: Document, _ what: String) throws -> SelectQuery.RowCount {
    guard case .object = document else { return .number(try count(document, what)) }
    // If the decoder has replaced a parameter by an integer, `RowCount` contains the number instead of a term.
    let count = SelectQuery.RowCount(try term(document, Scope([], outer: nil)))
    if case .value = count.term?.node {
      throw failure("\(what) must be an integer or an expression, not another value")
    }
    return count
  }

  func part<Part>(
    _ fields: Fields, _ key: DocumentKey, _ read: (Document) throws -> Part
  ) throws -> Part? {
    guard let document = fields[key] else { return nil }
    enter(key.rawValue)
    let part = try read(document)
    leave()
    return part
  }

  private func compounds(_ document: Document, _ outer: Scope?) throws -> [SelectQuery.Compound] {
    try each(list(document, "the combined queries")) { document in
      guard case .object(let members) = document, members.count == 1,
        let operation = SelectQuery.Compound.Operator(rawValue: members[0].key)
      else { throw failure("a combined query must be an object with the key union, unionAll, intersect or except") }
      enter(members[0].key)
      let query = try query(members[0].value, outer: outer)
      leave()
      return SelectQuery.Compound(operation: operation, query: query)
    }
  }

  // MARK: Tables

  private func sources(_ document: Document?, _ outer: Scope?) throws -> [SelectQuery.Source] {
    guard let document else { throw failure("a query must have the key \"from\" or \"values\"") }
    enter("from")
    let sources = try sources(list: document, outer)
    leave()
    return sources
  }

  func sources(list document: Document, _ outer: Scope?) throws -> [SelectQuery.Source] {
    if case .text(let name) = document { return [SelectQuery.Source(table: try model(name))] }
    return try sources(document, after: nil, outer)
  }

  private func sources(
    _ document: Document, after first: SelectQuery.Source?, _ outer: Scope?
  ) throws -> [SelectQuery.Source] {
    let documents = try list(document, "the tables of a query")
    guard !documents.isEmpty else { throw failure("a query must have a table") }
    // The check of the names compares each name with every other name, so the number of tables is limited first.
    guard documents.count <= SelectQuery.maximumSources else {
      throw failure("a query can't have more than \(SelectQuery.maximumSources) tables")
    }
    var sources = first.map { [$0] } ?? []
    // Decode all tables first, because conditions and arguments can use later tables.
    for (index, document) in documents.enumerated() {
      enter(index)
      sources.append(try source(document, isFirst: sources.isEmpty, outer))
      leave()
    }
    let scope = try Scope(sources, outer: outer)
    for (index, document) in documents.enumerated() {
      enter(index)
      try complete(&sources[index + (first == nil ? 0 : 1)], document, scope)
      leave()
    }
    return sources
  }

  /// Decodes the tables that an update reads in addition to the updated table. Each of these tables has a condition.
  func sources(ofUpdate document: Document, _ table: TableInfo) throws -> [SelectQuery.Source] {
    let sources = try sources(document, after: SelectQuery.Source(table: table), nil).dropFirst()
    guard sources.allSatisfy({ $0.join == .inner && $0.condition != nil }) else {
      throw failure("each table in \"from\" of an update must have the join \"inner\" and a condition in \"on\"")
    }
    return Array(sources)
  }

  /// Decodes a table without its join condition and function arguments, which can use all tables of the query.
  private func source(_ document: Document, isFirst: Bool, _ outer: Scope?) throws -> SelectQuery.Source {
    if isFirst, case .text(let name) = document { return SelectQuery.Source(table: try model(name)) }
    let fields = try fields(document, DocumentDecoder.sourceKeys, "a table")
    let kinds: [DocumentKey] = [.table, .query, .recursive, .jsonEach, .jsonTree]
    let presentKinds = kinds.filter { fields[$0] != nil }
    guard presentKinds.count == 1, let kind = presentKinds.first else {
      throw failure("a table must have exactly one of the keys table, query, recursive, jsonEach and jsonTree")
    }
    let alias = try part(fields, .as) { try name($0, "an alias") }
    var source: SelectQuery.Source
    switch kind {
    case .table:
      try allow([.table, .model, .as, .join, .on, .search, .indexedBy, .notIndexed], fields, of: kind)
      let model = try part(fields, .model) { try text($0, "the name of a model") }
      source = SelectQuery.Source(
        table: try part(fields, .table) { try table(text($0, "the name of a table"), model: model) } ?? .none)
      source.indexHint = try indexHint(fields)
      source.isSearched = try flag(fields[.search], .search)
      if source.isSearched, source.table.fullText == nil {
        throw failure("the model of table \(source.table.name) has no full-text search")
      }
    case .query, .recursive:
      // Check before `layout` creates a layout, because layouts are never freed.
      if let access, !access.allowsNamedQueries { throw DocumentAccess.refusal }
      try allow([.query, .recursive, .name, .hint, .model, .columns, .as, .join, .on], fields, of: kind)
      let name = try part(fields, .name) { try self.name($0, "the name of a query") }
      source = SelectQuery.Source(table: try layout(fields))
      if kind == .query {
        defining.append(name ?? alias ?? "")
        guard let query = try part(fields, .query, { try query($0, outer: outer) }) else { break }
        defining.removeLast()
        source.define(query)
        source.materialization = try part(fields, .hint) { document in
          guard let hint = SelectQuery.Source.Materialization(rawValue: try text(document, "a hint")) else {
            throw failure("a hint must be materialized or notMaterialized")
          }
          return hint
        }
        guard source.size.depth <= SqlExpression.maximumDepth else { throw failure("queries are nested too deeply") }
      } else {
        _ = try flag(fields[.recursive], .recursive)
        guard fields[.hint] == nil else {
          throw failure(
            "a reference to a recursive query can't have the key \"hint\"; write \"hint\" in the query's definition")
        }
        guard defining.contains(where: (name ?? alias ?? "").isExactly) else {
          throw failure("a reference to a recursive query must be inside the query's own definition")
        }
        source.kind = .named
      }
      if !name.isExactly(alias) { source.queryName = name }
    default:
      try allow([.jsonEach, .jsonTree, .path, .as, .join, .on], fields, of: kind)
      source = JSONEach.emptySource
    }
    guard kind == .table || alias != nil else { throw failure("a subquery or function needs a name; use \"as\"") }
    source.alias = alias
    if isFirst {
      guard fields[.join] == nil, fields[.on] == nil else {
        throw failure("the first table of a query can't have a join")
      }
    } else {
      guard let join = try part(fields, .join, { try self.join($0) }) else { throw failure("missing key join") }
      source.join = join
    }
    return source
  }

  func indexHint(_ fields: Fields) throws -> IndexHint? {
    let name = try part(fields, .indexedBy) { try self.name($0, "the name of an index") }
    guard try flag(fields[.notIndexed], .notIndexed) else { return name.map { IndexHint(name: $0) } }
    guard name == nil else { throw failure("a table can't have both indexedBy and notIndexed") }
    return IndexHint.none
  }

  private func allow(_ keys: Set<DocumentKey>, _ fields: Fields, of kind: DocumentKey) throws {
    for member in fields.members where !keys.contains(where: { $0.rawValue == member.key }) {
      throw failure("a table with the key \"\(kind.rawValue)\" can't have the key \"\(member.key)\"")
    }
  }

  private func join(_ document: Document) throws -> SelectQuery.Source.Join {
    guard let join = SelectQuery.Source.Join(rawValue: try text(document, "the kind of a join")) else {
      throw failure("a join must be inner, left, right, full or cross")
    }
    return join
  }

  private func layout(_ fields: Fields) throws -> TableInfo {
    if let model = try part(fields, .model, { try self.model(text($0, "the name of a model")) }) {
      guard fields[.columns] == nil else { throw failure("a named query can't have both a model and columns") }
      return model
    }
    let types = try part(fields, .columns) { document in
      try each(list(document, "the columns of a named query")) { document in
        guard let type = ColumnType(documentName: try text(document, "the type of a column")) else {
          throw failure("unknown type of a column")
        }
        return type
      }
    }
    guard let types, !types.isEmpty else { throw failure("a named query must have a model or columns") }
    return try TableInfo.decodedColumns(of: types)
  }

  /// Decodes a table's join condition and function arguments. Both can use the columns of all tables of the query.
  private func complete(_ source: inout SelectQuery.Source, _ document: Document, _ scope: Scope) throws {
    guard case .object(let members) = document else { return }
    let fields = Fields(members: members)
    for (key, function) in [(DocumentKey.jsonEach, SqlExpression.Call.BuiltIn.jsonEach), (.jsonTree, .jsonTree)] {
      guard let term = try part(fields, key, { try term($0, scope) }) else { continue }
      let steps = try part(fields, .path) { try path($0) }
      source.kind = .call(SqlExpression.call(function, [term] + [steps].compactMap(\.self)))
    }
    source.condition = try part(fields, .on) { try term($0, scope) }
  }

  // MARK: Results

  private func results(
    _ document: Document?, _ sources: [SelectQuery.Source], _ scope: Scope
  ) throws -> [SelectQuery.Result] {
    guard let document else {
      guard sources.count == 1 else { throw failure("a query of several tables needs the key \"select\"") }
      return [.model(0)]
    }
    enter("select")
    let results = try each(list(document, "the results of a query")) { document -> SelectQuery.Result in
      guard case .object(let members) = document, members.contains(where: { $0.key == "model" }),
        !members.contains(where: { $0.key == "column" })
      else { return .term(try term(document, scope)) }
      let fields = try fields(document, [.model, .replacing], "a selected model")
      let name = try part(fields, .model) { try text($0, "the name of a table") }
      guard let index = sources.firstIndex(where: { $0.name.isExactly(name ?? "") }) else {
        throw failure("the selected model is not a table of the query; write the name or alias of a table in \"from\"")
      }
      let replaced = try part(fields, .replacing) { document in
        try each(list(document, "the replaced columns")) { document in
          let (column, term) = try assignment(document, sources[index].table, scope)
          return SelectQuery.Replacement(column: ColumnReference(column), term: term)
        }
      }
      return .model(index, replaced: replaced ?? [])
    }
    leave()
    return results
  }
}
