import SqlableQueries
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// Parts of a statement's tree, all of which the SQL must contain: SQLite would never see a part that the renderer
/// forgets. The tests read the parts from the types by reflection, so a new part without a change here fails.
@Suite struct EveryPartIsWrittenTests {
  private typealias Clauses = SelectQuery.Clauses
  private typealias Source = SelectQuery.Source

  private var table: TableInfo { TableInfo.unchecked(Worker.self) }
  private var id: SqlExpression { Worker.id.expression }
  private var isFirst: SqlExpression { Worker.id == 1 }
  private var byName: OrderTerm { OrderTerm(expression: Worker.name.expression, order: .asc) }

  private func labels(_ value: Any) -> Set<String> {
    Set(
      Mirror(reflecting: value).children.compactMap { $0.label.map { $0.first == "_" ? String($0.dropFirst()) : $0 } })
  }

  private func sql(_ clauses: Clauses) throws -> String {
    var query = SelectQuery(rows: [])
    query.clauses = clauses
    return try query.withValues().sql
  }

  /// Expects that every change yields other SQL or another error, and that every part of the type has a change.
  private func expectAllWritten<Value>(
    _ value: Value, but unwritten: Set<String> = [], _ changes: [String: (inout Value) -> Void],
    sql: (Value) throws -> String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(labels(value).subtracting(unwritten) == Set(changes.keys), sourceLocation: sourceLocation)
    let plain = try sql(value)
    for (label, change) in changes {
      var changed = value
      change(&changed)
      let text = try? sql(changed)
      #expect(text != plain, "\(label) is not written: \(plain)", sourceLocation: sourceLocation)
    }
  }

  @Test func everyPartOfAQueryIsWritten() throws {
    let (table, id, isFirst, byName) = (table, id, isFirst, byName)
    // HAVING needs a group.
    var clauses = Clauses(sources: [Source(table: table)], results: [.term(id)])
    clauses.groups = [id]
    try expectAllWritten(
      // The required results belong to the type of the row.
      clauses, but: ["requiredResults"],
      [
        "sources": { $0.sources.append(Source(table: TableInfo.unchecked(Person.self))) },
        "results": { $0.results.append(.term(id)) },
        "rows": { $0 = Clauses(sources: [], results: [], rows: [[id]]) },
        "isDistinct": { $0.isDistinct = true },
        "filter": { $0.filter = isFirst },
        "groups": { $0.groups.append(Worker.name.expression) },
        "having": { $0.having = isFirst },
        "compounds": {
          $0.compounds = [.init(operation: .union, query: SelectQuery(Source(table: table), results: [.term(id)]))]
        },
        "order": { $0.order = [byName] },
        "limit": { $0.limit = 1 },
        "offset": { $0.offset = 1 },
        "defect": { $0.defect = .invalidStatement("no") },
      ], sql: sql)
  }

  @Test func everyPartOfATableIsWritten() throws {
    let isFirst = isFirst
    let definition = SelectQuery(Source(table: table), results: [.model(0)])
    func sql(_ source: Source) throws -> String {
      try self.sql(Clauses(sources: [Source(table: TableInfo.unchecked(Person.self)), source], results: [.model(0)]))
    }
    try expectAllWritten(
      // `isSearched` needs a full-text index, which this table lacks.
      Source(table: table), but: ["definitionSize", "isSearched"],
      [
        "table": { $0.table = $0.table.named("archive") },
        "alias": { $0.alias = "other" },
        "kind": {
          $0.alias = "other"
          $0.define(definition)
        },
        "queryName": {
          $0.define(definition)
          $0 = $0.alias("other").alias("another")
        },
        "materialization": {
          $0.alias = "other"
          $0.define(definition)
          $0.materialization = .materialized
        },
        "join": { $0.join = .left },
        "indexHint": { $0.indexHint = IndexHint(name: "a") },
        "condition": { $0.condition = isFirst },
      ], sql: sql)
  }

  @Test func everyPartOfACallIsWritten() throws {
    let (id, isFirst, byName) = (id, isFirst, byName)
    let table = table
    func sql(_ call: SqlExpression.Call) throws -> String {
      try self.sql(Clauses(sources: [Source(table: table)], results: [.term(SqlExpression(.call(call)))]))
    }
    try expectAllWritten(
      // The format of a function's dates is not written.
      SqlExpression.Call(function: .builtIn(.groupConcat), arguments: [id]), but: ["result"],
      [
        "function": { $0.function = .builtIn(.sum) },
        "order": { $0.order = [byName] },
        "arguments": { $0.arguments.append(id) },
        "isDistinct": { $0.isDistinct = true },
        "filter": { $0.filter = isFirst },
        "window": { $0.window = .init() },
      ], sql: sql)
  }

  @Test func everyPartOfAnUpdateAndADeleteIsWritten() throws {
    let (table, isFirst, byName) = (table, isFirst, byName)
    func sql(_ tree: StatementTree) throws -> String {
      try Statement<Worker, Int>(tree).withValues(row: 0).sql
    }
    let assignment = Worker.name.set(to: "x")
    try expectAllWritten(
      UpdateQuery(table, [assignment], .all),
      [
        "table": { $0.table = $0.table.named("archive") },
        "extent": { $0 = UpdateQuery(ofRowIn: table, writing: [Worker.name]) },
        "conflict": { $0.conflict = .ignore },
        "rest": { $0.rest.value.assignments.append(Worker.salary.set(to: 2)) },
      ]
    ) { try sql(.update($0)) }
    try expectAllWritten(
      UpdateQuery(table, [assignment]).rest.value, but: ["columns"],
      [
        "assignments": { $0.assignments.append(Worker.salary.set(to: 2)) },
        "sources": {
          var other = Source(table: table)
          other.alias = "other"
          other.condition = isFirst
          $0.sources = [other]
        },
        "selection": {
          var query = UpdateQuery(table, [assignment])
          query.selection.filter = isFirst
          $0 = query.rest.value
        },
        "indexHint": { $0.indexHint = IndexHint.none },
        "returned": { $0.returned = .terms([Worker.id.expression]) },
        "defect": { $0.defect = .invalidStatement("no") },
      ]
    ) { rest in
      func query(_ extent: ChangeExtent) -> UpdateQuery {
        var query = UpdateQuery(table, [], extent)
        query.rest.value = rest
        return query
      }
      return try sql(.update(query(query(.all).selection.isAll ? .all : .selected)))
    }
    try expectAllWritten(
      DeleteQuery.Clauses(),
      [
        "selection": {
          var query = DeleteQuery(table, .selected)
          query.selection.filter = isFirst
          $0 = query.rest.value
        },
        "indexHint": { $0.indexHint = IndexHint.none },
        "returned": { $0.returned = .terms([Worker.id.expression]) },
        "defect": { $0.defect = .invalidStatement("no") },
      ]
    ) { rest in
      func query(_ extent: ChangeExtent) -> DeleteQuery {
        var query = DeleteQuery(table, extent)
        if rest != .init() { query.rest.value = rest }
        return query
      }
      return try sql(.delete(query(query(.all).selection.isAll ? .all : .selected)))
    }
    try expectAllWritten(
      DeleteQuery(table, .all),
      [
        "table": { $0.table = $0.table.named("archive") },
        "extent": { $0 = DeleteQuery(table, .row) },
        "rest": { $0.rest.value.returned = .terms([Worker.id.expression]) },
      ]
    ) { try sql(.delete($0)) }
    try expectAllWritten(
      RowSelection(),
      [
        "filter": { $0.filter = isFirst },
        "rest": { $0.rest.value.limit = 1 },
      ]
    ) { selection in
      var query = DeleteQuery(table, selection.isAll ? .all : .selected)
      query.selection = selection
      return try sql(.delete(query))
    }
    try expectAllWritten(
      RowSelection.Clauses(),
      [
        "order": {
          $0.order = [byName]
          $0.limit = 1
        },
        "limit": { $0.limit = 1 },
        "offset": { $0.offset = 1 },
      ]
    ) { rest in
      var query = DeleteQuery(table, rest == .init() ? .all : .selected)
      if rest != .init() { query.selection.rest.value = rest }
      return try sql(.delete(query))
    }
  }
}
