import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements and queries of every form, as documents. A golden file has the name of its document.
struct StatementCorpus {
  private(set) var documents: [NamedDocument] = []

  struct NamedDocument {
    let name: String
    let json: Data
    let sql: String
    /// The values of the SQL; empty for a change that returns terms.
    let bindings: [DatabaseValue]
    let erased: AnyStatement
  }

  static let models: [any Sqlable.Type] = documentModels + [Story.self, Memo.self]
  static let rules = StatementRules(models: models, tables: ["archive"])

  static func all() throws -> [NamedDocument] {
    var corpus = StatementCorpus()
    try corpus.addReads()
    try corpus.addChanges()
    try corpus.addQueries()
    try corpus.addTables()
    try corpus.addConditions()
    try corpus.addFunctions()
    try corpus.addFullText()
    return corpus.documents
  }

  mutating func add<Model, Output>(_ name: String, _ statement: Statement<Model, Output>) throws {
    documents.append(
      .init(
        name: name, json: try statement.json(), sql: statement.sql, bindings: statement.bindings,
        erased: try AnyStatement(statement)))
  }

  mutating func add<Model, Output>(_ name: String, _ change: ReturningStatement<Model, Output>) throws {
    let statement = change.statement
    documents.append(
      .init(
        name: name, json: try change.json(), sql: statement.sql, bindings: statement.bindings,
        erased: try AnyStatement(statement)))
  }

  mutating func add<Model, Row>(_ name: String, _ change: Returning<Model, Row>) throws {
    documents.append(
      .init(name: name, json: try change.json(), sql: change.sql, bindings: [], erased: try AnyStatement(change)))
  }

  mutating func add<Row>(_ name: String, _ query: Select<Row>) throws {
    documents.append(
      .init(
        name: name, json: try query.json(), sql: query.sql, bindings: query.bindings, erased: try AnyStatement(query)))
  }

  mutating func add<Value>(_ name: String, _ query: ScalarQuery<Value>) throws {
    documents.append(
      .init(
        name: name, json: try query.json(), sql: query.sql, bindings: query.bindings, erased: try AnyStatement(query)))
  }

  /// Adds a term as the condition of a read.
  mutating func add(_ name: String, _ condition: SqlExpression) throws {
    try add(name, Bicycle.read().filter(condition))
  }

  // MARK: Statements of a model

  private mutating func addReads() throws {
    try add("read", Bicycle.read())
    try add("read-where", Bicycle.read().filter(Bicycle.color == "red"))
    try add("read-limit", Bicycle.read().filter(Bicycle.color == "red").limit(3))
    try add("read-offset", Bicycle.read().orderBy(Bicycle.id).limit(3, offset: 2))
    try add("read-limit-term", Bicycle.read().orderBy(Bicycle.id).limit(Parameter("count"), offset: Parameter("from")))
    try add("select-offset", Bicycle.select(Bicycle.id).offset(TypedExpression(2) + 1))
    try add("read-order", Bicycle.read().orderBy(Bicycle.color).orderBy(Bicycle.id, .desc))
    try add("read-order-nulls", Bicycle.read().orderBy(Bicycle.ownerId.asc.nullsLast, Bicycle.id.desc.nullsFirst))
    try add("read-other-table", Bicycle.read().in("archive").filter(Bicycle.id > 3))
    try add("first", Bicycle.read().orderBy(Bicycle.id, .desc).first())
    try add("first-by-id", Bicycle.byId(7))
    try add("first-by-key-of-two", Seat.byId(7, "A"))
    try add("count", Bicycle.count().filter(Bicycle.ownerId.isNull))
    try add("exists", Bicycle.exists().filter(Bicycle.color == "red"))
  }

  private mutating func addChanges() throws {
    let bike = Bicycle(id: 3, name: "Norco", color: "red", ownerId: nil)
    try add("insert-row", bike.insert())
    try add("insert-row-columns", bike.insert(Bicycle.name, Bicycle.color))
    try add("insert-row-default", Bicycle(name: "Norco", color: "red").insert())
    try add("insert-ignore", bike.insert().ignoreOnConflict())
    try add("insert-replace", bike.insert().replaceOnConflict())
    try add("insert-other-table", bike.insert().in("archive"))
    try add("insert-rows", Bicycle.insert([bike, Bicycle(name: "Trek", color: "blue", ownerId: 4)]))
    try add("insert-no-rows", Bicycle.insert())
    try add("insert-defaults", Bicycle.insertDefaults())
    try add("insert-query", Bicycle.insert(Bicycle.name, Bicycle.color, from: Person.select(Person.name, Person.name)))
    try add("upsert-columns", bike.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId))
    try add("upsert-all-columns", bike.insert().onConflict(Bicycle.name, Bicycle.color))
    try add(
      "upsert-set",
      bike.insert().onConflict(
        Bicycle.id, set: Bicycle.name.set(to: Bicycle.name.excluded), Bicycle.ownerId.set(to: Bicycle.ownerId + 1),
        where: Bicycle.ownerId < Bicycle.ownerId.excluded))
    try add("upsert-index", bike.insert().onConflict(Bicycle.name, where: Bicycle.id > 3, update: Bicycle.color))
    try add(
      "upserts",
      bike.insert().onConflict(Bicycle.id, update: Bicycle.color)
        .onConflict(Bicycle.name, Bicycle.color, set: Bicycle.ownerId.set(to: Bicycle.ownerId.excluded)).onConflict())
    try add("save", bike.save())
    try add("update-row", bike.update())
    try add("update-row-columns", bike.update(Bicycle.color, Bicycle.ownerId))
    try add("update-set", Bicycle.update(Bicycle.color.set(to: "blue")).filter(Bicycle.color == "red"))
    try add("update-all", Bicycle.updateAll(Bicycle.ownerId.set(to: nil), Bicycle.id.set(to: Bicycle.id * 2)))
    try add(
      "update-limit",
      Bicycle.update(Bicycle.color.set(to: "blue")).onConflict(.abort).orderBy(Bicycle.id).limit(2, offset: 1))
    try add("delete-row", bike.delete())
    try add("delete-where", Bicycle.delete(Bicycle.color == "red"))
    try add("delete-limit", Bicycle.delete(Bicycle.color == "red").orderBy(Bicycle.id).limit(2))
    try add("delete-limit-term", Bicycle.delete().orderBy(Bicycle.id).limit(Parameter("count")))
    try add(
      "update-limit-term",
      Bicycle.update(Bicycle.color.set(to: "blue")).orderBy(Bicycle.id)
        .limit(TypedExpression(2) + 1, offset: Parameter("from")))
    try add("delete-all", Bicycle.deleteAll())
    try add("delete-not-indexed", Bicycle.deleteAll().notIndexed())
    try add(
      "update-indexed",
      Bicycle.update(Bicycle.name.set(to: "x")).indexed(by: Index(Bicycle.color)).filter(Bicycle.color == "red"))
    try add("insert-returning-rows", ReturningStatement(bike.insert().returning()))
    try add("delete-returning-rows", ReturningStatement(Bicycle.delete(Bicycle.color == "red").returning()))
    try add("update-returning-terms", bike.update().returning(Bicycle.id, Bicycle.name.uppercase()))
    try add("insert-returning-terms", bike.insert().returning(Bicycle.id, Bicycle.color))
    try add("delete-returning-terms", Bicycle.deleteAll().returning(Bicycle.id, Bicycle.color))
  }

  // MARK: Queries

  private mutating func addQueries() throws {
    try add("select", Car.select(Car.name, Car.price).filter(Car.price < 20_000).orderBy(Car.price.desc))
    try add("select-distinct", Car.select(Car.name).distinct())
    try add(
      "group",
      Bicycle.select(Bicycle.color.typed(as: String.self), countAll()).groupBy(Bicycle.color).having(countAll() > 1))
    try add("having-without-groups", Bicycle.select(Bicycle.id.max()).having(countAll() > 1))
    try add("join", Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id))
    try add("left-join", Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id))
    try add("right-join", Bicycle.rightJoin(Person.self, on: Bicycle.ownerId == Person.id))
    try add("full-join", Bicycle.fullJoin(Person.self, on: Bicycle.ownerId == Person.id))
    try add("cross-join", Bicycle.crossJoin(Person.self))
    let (cars, bikes) = (Car.select(Car.name), Bicycle.select(Bicycle.name.typed(as: String.self)))
    try add(
      "compounds-nested",
      cars.union(values([Parameter<String>("name")])).except(bikes.intersect(cars).orderBy(Bicycle.name).limit(3)))
    try add("series", series(1...9, by: 2, as: "n").read())
    let numbers = series(from: Parameter("from"), through: Parameter("to"), as: "n")
    try add("named-beside", numbers.read().crossJoining(numbers.alias("m")))
    try add("read-indexed", Bicycle.read().indexed(by: Index(Bicycle.color)).filter(Bicycle.color == "red"))
    try add(
      "join-indexed",
      Person.join(Alias(Bicycle.self, "b").indexed(by: "bicycle_color"), on: Person.id > 1).notIndexed())
    try add(
      "joining",
      Bicycle.read().joining(Person.self, on: Bicycle.ownerId == Person.id).filter(Person.name == "Anna"))
    let boss = Alias(Worker.self, "boss")
    try add("alias", Worker.select(Worker.name, boss[Worker.name]).joining(boss, on: Worker.bossId == boss[Worker.id]))
    try add("alias-other-table", Alias(Bicycle.self, "old", in: "archive").read())
    try add("column-of-model", Alias(Worker.self, "w").read().filter(Worker.salary > 3))
    try add("replacing", Car.read(replacing: Car.price, with: Car.price.max()).groupBy(Car.name))
    try add("values", values([("EUR", 1.0), ("USD", 1.08)]))
    let cheap = Car.select(Car.name).filter(Car.price < 10_000)
    let electric = Car.select(Car.name).filter(Car.isElectric == true)
    try add("union", cheap.union(electric).orderBy(Car.name).limit(10))
    try add("union-all", cheap.unionAll(electric))
    try add("intersect", cheap.intersect(electric))
    try add("except", cheap.except(electric))
    try add("union-values", values(["x", "y"]).union(cheap).orderBy(Car.name))
    try add("in-query", Bicycle.ownerId.in(Person.select(Person.id).filter(Person.name == "Anna")))
    try add("exists-query", exists(Person.read().filter(Person.id == Bicycle.ownerId)))
    let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
    try add("count-of-query", owned.filter(Person.name == "Anna").count())
    try add("count-of-distinct", Bicycle.read().select(Bicycle.color).distinct().limit(3).count())
    try add("existence-of-query", owned.exists())
    try add(
      "count-in-query", Person.select(scalar(Bicycle.read().filter(Bicycle.ownerId == Person.id).count())))
    try add("scalar-query", Car.read().filter(Car.price > scalar(Car.select(Car.price.average()))))
  }

  private mutating func addTables() throws {
    let team = Alias(Worker.self, "team") { team in
      Worker.read().filter(Worker.id == 2)
        .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
    }
    try add("recursive", team.read().orderBy(team[Worker.id]))
    let perName = Car.select(Car.name, Car.price.average(), Car.soldAt.max()).groupBy(Car.name).named("per_name")
    let (name, average, _) = perName.columns
    try add("named", Car.select(Car.name, Car.price, average).joining(perName, on: Car.name == name))
    let once = Worker.select(Worker.id).named("once", materialized: true)
    let each = Alias(Worker.self, "each", materialized: false) { _ in Worker.read() }
    try add("named-hints", once.read().joining(each, on: each[Worker.id] == once.column))
    let next = perName.alias("next")
    try add("named-alias", perName.read().joining(next, on: next.columns.1 > average))
    try add("named-cross", Car.select(Car.name, average).crossJoining(perName))
    let types = StatementCorpus.columns(
      of: "integer", "real", "text", "blob", "boolean", "date.unixSecondsWithFraction", "date.unixSeconds",
      "date.unixMilliseconds", "date.iso8601")
    try add("named-types", Select<DynamicRow>(json: types))
    let dates = StatementCorpus.columns(of: "date.iso8601AssumingUTC")
    try add("named-utc-dates", Select<DynamicRow>(json: dates))
    try add("named-sqlite-dates", Select<DynamicRow>(json: StatementCorpus.columns(of: "date.sqliteText")))
    let levels = Worker.select(Worker.id, TypedExpression(0)).filter(Worker.id == 1).named("levels") { levels in
      let (id, level) = levels.columns
      return Worker.select(Worker.id, level + 1).joining(levels, on: Worker.bossId == id)
    }
    try add("recursive-types", levels.read())
    let rates = values([("EUR", 1.0), ("USD", 1.08)]).named("rate")
    let (currency, factor) = rates.columns
    try add("named-values", Car.select(Car.name, currency, Car.price * factor).joining(rates, on: .all([])))
    let tag = JSONEach(Car.name, "tags", 0, as: "tag")
    try add("json-each", Car.select(Car.id, tag.value(as: String.self)).joining(tag))
    let leaf = JSONEach.tree(Car.name, as: "leaf")
    try add("json-tree", Car.select(Car.id, leaf.path).joining(leaf, on: leaf.type == "text"))
  }

  /// A named query with two columns of each of these types.
  private static func columns(of types: String...) -> Data {
    let names = types.flatMap { ["\"\($0)\"", "\"\($0)?\""] }.joined(separator: ",")
    let values = types.flatMap { _ in ["1", "2"] }.joined(separator: ",")
    let query = #"{"values":[[\#(values)]]}"#
    return Data(#"{"read":{"from":[{"as":"t","columns":[\#(names)],"query":\#(query)}]},"sqlable":1}"#.utf8)
  }
}
