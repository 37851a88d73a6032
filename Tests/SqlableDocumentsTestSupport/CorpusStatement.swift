import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// A statement of the tests' models, decoded as the type that its document requires.
struct CorpusStatement {
  /// The document, encoded again.
  let json: Data
  let sql: String
  let bindings: [DatabaseValue]

  private init<Model, Output>(_ statement: Statement<Model, Output>, _ json: Data) {
    (self.json, sql, bindings) = (json, statement.sql, statement.bindings)
  }

  init(json data: Data) throws {
    let rules = StatementCorpus.rules
    let document = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    let operation = document.keys.first { $0 != "sqlable" } ?? ""
    let body = document[operation] as? [String: Any] ?? [:]
    if body["including"] != nil {
      (json, sql) = try CorpusStatement.including(data, rules, from: body["from"] as? String)
      bindings = []
      return
    }
    guard operation != "read" else {
      let query = try Select<DynamicRow>(json: data, rules: rules)
      (json, sql, bindings) = (try query.json(), query.sql, query.bindings)
      return
    }
    // The table is a name or an object that names the model. A query has a list of tables. An update's own table
    // precedes the other tables that the update reads.
    let table = body["table"] ?? (body["from"] as? [Any])?.first ?? body["from"] ?? body["into"]
    let name = table as? String ?? (table as? [String: Any])?["model"] as? String
    let model = try #require(StatementCorpus.models.first { $0.tableName == name })
    self = try CorpusStatement.read(data, rules, operation, body, as: model)
  }

  /// Decodes one of the known reads with associated rows: of persons, bicycles, orders, repairs or workers.
  private static func including(
    _ data: Data, _ rules: StatementRules, from table: String?
  ) throws -> (json: Data, sql: String) {
    func read<Root, each Part>(_ known: AssociatedQuery<Root, repeat each Part>) throws -> (json: Data, sql: String) {
      let read = try AssociatedQuery(json: data, like: known, rules: rules)
      return (try read.json(), read.sql)
    }
    return switch table {
    case "person":
      try read(Person.read().including(Person.bikes.including(Bicycle.repairs), Person.courses.count()))
    case "bicycle":
      try read(Bicycle.read().including(Bicycle.repairs.aggregate(Repair.cost.max()), Bicycle.repairs.count()))
    case "shop_order":
      try read(
        ShopOrder.read().including(
          ShopOrder.toMany(
            OrderLine.self, by: [OrderLine.shop, OrderLine.order], of: [ShopOrder.shop, ShopOrder.number]),
          ShopOrder.tags))
    case "repair":
      try read(
        Repair.read().including(
          Repair.owner, Repair.toMany(Bicycle.self, through: Repair.owner, using: Person.bikes)))
    default: try read(Worker.read().including(Worker.team, Worker.boss))
    }
  }

  private static func read<Model: Sqlable>(
    _ data: Data, _ rules: StatementRules, _ operation: String, _ body: [String: Any], as model: Model.Type
  ) throws -> CorpusStatement {
    func plain<Output>(_ type: Output.Type) throws -> CorpusStatement {
      let statement = try Statement<Model, Output>(json: data, rules: rules)
      return CorpusStatement(statement, try statement.json())
    }
    switch operation {
    case "first": return try plain(Model?.self)
    case "count": return try plain(Int.self)
    case "exists": return try plain(Bool.self)
    default: break
    }
    switch body["returning"] {
    case nil: return try body["rows"] == nil ? plain(Int.self) : plain([Int].self)
    case is [Any]:
      let change = try Returning<Model, DynamicRow>(json: data, rules: rules)
      return CorpusStatement(json: try change.json(), sql: change.sql, bindings: [])
    default:
      let change = try ReturningStatement<Model, [Model]>(json: data, rules: rules)
      return CorpusStatement(change.statement, try change.json())
    }
  }

  private init(json: Data, sql: String, bindings: [DatabaseValue]) {
    (self.json, self.sql, self.bindings) = (json, sql, bindings)
  }
}

/// The models that the documents of these tests name.
let documentModels: [any Sqlable.Type] = [Person.self, Bicycle.self, Car.self, Seat.self, Worker.self]
