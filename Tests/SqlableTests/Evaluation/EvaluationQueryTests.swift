import Foundation
import Sqlable
import Testing

/// Queries of several tables evaluated in memory, each beside what SQLite makes of the same rows.
@Suite struct EvaluationQueryTests {
  private static let persons = [Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo"), Person(id: 3, name: "Cid")]
  private static let bikes = [
    Bicycle(id: 1, name: "Norco", color: "red", ownerId: 1), Bicycle(id: 2, name: "Trek", color: "blue", ownerId: 2),
    Bicycle(id: 3, name: "Giant", color: "red", ownerId: 1), Bicycle(id: 4, name: "Kona", color: "green"),
  ]
  private let tables = try! MemoryTables(persons, bikes, Worker.all)

  /// The values of a query in memory, which must be those of a database, in any order.
  private func compared<Row>(
    _ query: Select<Row>, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [[DatabaseValue]] {
    let own = try query.untyped.evaluate(over: tables).map(\.values)
    try withCompany { db in
      let other = try query.untyped.run(db).map(\.values)
      #expect(Set(other) == Set(own) && other.count == own.count, "\(other)", sourceLocation: sourceLocation)
    }
    return own
  }

  @Test func joinsGiveModels() throws {
    let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id)
    let pairs = try owned.evaluate(over: tables)
    #expect(pairs.map(\.0) == Array(Self.bikes[..<3]) && pairs.map(\.1.name) == ["Anna", "Bo", "Anna"])
    let all = try Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id).evaluate(
      over: tables)
    #expect(all.map(\.1?.name) == ["Anna", "Bo", "Anna", nil])
    #expect(try Bicycle.crossJoin(Person.self).evaluate(over: tables).count == 12)
    let boss = Alias(Worker.self, "boss")
    let bosses = Worker.leftJoin(boss, on: Worker.bossId == boss[Worker.id]).select(Worker.name, boss.optional)
    #expect(try bosses.evaluate(over: tables).map(\.1?.name) == [nil, "Ada", "Ada", "Ben"])
  }

  @Test func groupsAndAggregates() throws {
    let colors = Bicycle.select(
      Bicycle.color, Bicycle.id.count(), Bicycle.ownerId.count(distinct: true), Bicycle.id.sum(),
      Bicycle.name.groupConcat("+"), Bicycle.id.max(where: Bicycle.name != "Giant")
    ).groupBy(Bicycle.color)
    #expect(
      try compared(colors) == [
        [.text("red"), .integer(2), .integer(1), .integer(4), .text("Norco+Giant"), .integer(1)],
        [.text("blue"), .integer(1), .integer(1), .integer(2), .text("Trek"), .integer(2)],
        [.text("green"), .integer(1), .integer(0), .integer(4), .text("Kona"), .integer(4)],
      ])
    let several = Bicycle.select(Bicycle.color).groupBy(Bicycle.color).having(countAll().expression > 1)
    #expect(try compared(several) == [[.text("red")]])
    // Beside one max, the other columns are those of its row.
    #expect(try compared(Worker.select(Worker.salary.max(), Worker.name)) == [[.real(10), .text("Ada")]])
    #expect(try compared(Bicycle.select(Bicycle.color).distinct()).count == 3)
  }

  @Test func subqueriesMayUseTheRowAround() throws {
    let owners = Person.read().filter(exists(Bicycle.read().filter(Bicycle.ownerId == Person.id)))
    #expect(try owners.evaluate(over: tables).map(\.name) == ["Anna", "Bo"])
    let idle = Person.select(Person.name).filter(Person.id.notIn(Bicycle.select(Bicycle.ownerId)))
    #expect(try compared(idle).isEmpty)
    let count = scalar(Bicycle.select(countAll()).filter(Bicycle.ownerId == Person.id))
    #expect(try compared(Person.select(Person.name, count.expression)).map { $0[1] } == [2, 1, 0].map { .integer($0) })
  }

  @Test func queriesAreCombined() throws {
    let (red, odd) = (Bicycle.read().filter(Bicycle.color == "red"), Bicycle.read().filter(Bicycle.id < 3))
    #expect(try compared(red.union(odd)).count == 3)
    #expect(try compared(red.unionAll(odd)).count == 4)
    #expect(try compared(red.intersect(odd)).map { $0[0] } == [.integer(1)])
    #expect(try compared(red.except(odd)).map { $0[0] } == [.integer(3)])
    let ordered = red.union(odd).orderBy(Bicycle.name, .desc).limit(2)
    #expect(try ordered.evaluate(over: tables).map(\.name) == ["Trek", "Norco"])
  }

  /// Of equal rows a combination keeps the last one, also of a part with DISTINCT.
  @Test func ofEqualRowsTheLastOneStays() throws {
    let numbers = values([1.0]).unionAll(values([1.0])).named("number").read()
    let two = Bicycle.select(Case.when(Bicycle.id == 1, then: Bicycle.id.expression).else(1.0)).filter(Bicycle.id < 3)
    #expect(try compared(two.distinct()) == [[.integer(1)]])
    #expect(try compared(two.distinct().union(Bicycle.select(Bicycle.id).filter(Bicycle.id < 0))) == [[.real(1)]])
    let none = Bicycle.select(Bicycle.id).filter(Bicycle.id < 0)
    #expect(try compared(two.distinct().unionAll(none).except(none)) == [[.real(1)]])
    #expect(try compared(two.distinct().unionAll(none)) == [[.integer(1)]])
    #expect(try numbers.evaluate(over: tables) == [1, 1])
  }

  @Test func theFirstRowOfAGroupGivesTheOtherColumns() throws {
    let rows = Bicycle.select(Bicycle.color, Bicycle.name, countAll().expression).groupBy(Bicycle.color)
    #expect(try rows.evaluate(over: tables).map { $0.values[1] } == ["Norco", "Trek", "Kona"].map { .text($0) })
    // The rows of a join are in the order of the first table, and then of the second.
    let pairs = Bicycle.crossJoin(Person.self).select(Bicycle.id, Person.id)
    let ids = try pairs.evaluate(over: tables).map(\.values)
    #expect(
      ids
        == Self.bikes.flatMap { bike in
          Self.persons.map { [.integer(Int64(bike.id ?? 0)), .integer(Int64($0.id ?? 0))] }
        })
  }

  @Test func otherConstraintsAreNotChecked() throws {
    // Two of the same key, and an owner who is missing.
    let bike = Bicycle(id: 1, name: "Norco", color: "red", ownerId: 99)
    #expect(try Bicycle.read().evaluate(over: [bike, bike]) == [bike, bike])
  }

  @Test func namedQueriesMayBeRecursive() throws {
    let team = Worker.select(Worker.id, Worker.name).filter(Worker.id == 1).named("team") { team in
      let (id, _) = team.columns
      return Worker.select(Worker.id, Worker.name).joining(team, on: Worker.bossId == id)
    }
    #expect(try compared(team.read()).map { $0[0] } == [1, 2, 3, 4].map { .integer($0) })
    let numbers = values([1]).named("number", distinct: true) { number in
      number.read().filter(number.column < 4).select(number.column * 2)
    }
    #expect(try compared(numbers.read()) == [[.integer(1)], [.integer(2)], [.integer(4)]])
    let rates = values([("red", 2), ("blue", 3)]).named("rate")
    let (color, price) = rates.columns
    let priced = Bicycle.select(Bicycle.name, price.expression).joining(rates, on: Bicycle.color == color.expression)
    #expect(try compared(priced).count == 3)
  }

  @Test func anEndlessQueryThrows() throws {
    let numbers = values([1]).named("number") { number in number.read().select(number.column) }
    let error = expectInvalidStatement { _ = try numbers.read().evaluate(over: tables) }
    #expect(error?.message == "query number found more than 1000000 rows in memory")
  }

  @Test func dynamicRowsHaveTheNamesOfTheirColumns() throws {
    let query = Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color)
    let row = try query.evaluate(over: tables)[0]
    #expect(row.columns == ["color", #"count("id")"#])
    #expect(try row.get("color", as: String.self) == "red")
    #expect(row.description == #"color: red, count("id"): 2"#)
  }

  @Test func aTableMustBeThere() throws {
    let bikes = try MemoryTables(Self.bikes)
    let join = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
    let error = expectError(.schema(.missingTable("person"))) { _ = try join.evaluate(over: bikes) }
    #expect(error?.table == "person")
    var others = bikes
    expectMisuse { try others.insert(Self.persons, into: "Bicycle") }
    try others.insert([Self.persons[0]], into: "person")
    #expect(try join.evaluate(over: others).count == 2)
  }
}

/// What can't be evaluated in memory is refused by its name, before a row is read.
@Suite struct EvaluationRefusalTests {
  /// A struct that must not be read.
  private static let tables = try! MemoryTables([Person(id: 1, name: "Anna")], [Story](), [Stay](), [Computed]())

  private func refuses(
    _ name: String, _ query: some SelectStatement, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = expectInvalidStatement(sourceLocation: sourceLocation) { _ = try query.evaluate(over: Self.tables) }
    let message = error?.message ?? ""
    #expect(
      message == "\(name) can't be evaluated in memory: run the statement on an in-memory database",
      sourceLocation: sourceLocation)
    #expect(error?.sql != nil, sourceLocation: sourceLocation)
  }

  @Test func termsOfOtherModules() {
    refuses("window function row_number", Person.select(rowNumber().over(orderBy: Person.id.asc)))
    refuses("window function sum", Person.select(Person.id.sum().over(orderBy: Person.id.asc)))
    let shout = ScalarFunction("shout") { (text: String) in text + "!" }
    refuses("function shout, which the program registers,", Person.select(shout(Person.name)))
    let german = Collation("german") { $0 < $1 ? .orderedAscending : .orderedDescending }
    refuses(
      "collation german, which the program registers,", Person.read().orderBy(Person.name.collate(german)))
    refuses("a full-text search", Story.search(.words("a")))
    refuses("a term of full-text search", Story.read().filter(Story.matches(.words("a"))))
    refuses(
      "parameter name, which has no value,", Person.read().filter(Person.name == Parameter<String>("name").expression))
  }

  @Test func termsOfJSON() {
    refuses("operator ->> of JSON", Stay.select(Stay.doc.jsonValue("a", as: String.self)))
    refuses("function json_type", Stay.select(Stay.doc.jsonType()))
    let tag = JSONEach(Stay.doc, as: "tag")
    refuses("table-valued function json_each", Stay.select(tag.value(as: String.self)).joining(tag))
  }

  @Test func columnsThatSQLiteComputes() throws {
    refuses("generated column twice", Computed.read())
    let rows = [Person(id: 1, name: "Anna")]
    let change = Person.update(Person.name.set(to: "x")).filter(Person.id == 1)
    let error = expectInvalidStatement { _ = try change.evaluate(over: rows) }
    #expect(error?.message.hasPrefix("a change can't be evaluated in memory") == true)
    expectInvalidStatement { _ = try Person.deleteAll().returning().evaluate(over: rows) }
  }

  @Test func aggregatesWhereSQLHasNone() throws {
    let rows = [Person(id: 1, name: "Anna")]
    let misplaced = expectInvalidStatement {
      _ = try Person.read().filter(countAll().expression > 1).evaluate(over: rows)
    }
    #expect(misplaced?.message == "aggregate count is only allowed in a result, an order or having")
    let other = Alias(Person.self, "other")
    let outer = scalar(other.read().select(Person.id.max().typed(as: Int.self)))
    refuses("aggregate max of columns of an enclosing query", Person.select(outer))
  }

  @Test func whatRunningItRefusesIsRefusedBefore() throws {
    expectInvalidStatement { _ = try Person.read().limit(-1).evaluate(over: []) }
    expectError(.schema(.missingColumn("color"))) {
      _ = try Person.read().filter(Bicycle.color == "red").evaluate(over: [])
    }
  }

  private struct Computed: Sqlable {
    static let number = Column("number", .integer)
    static let twice = Column("twice", .integer, Generated("number * 2"))
    static let tableLayout = [number, twice]
    init(row: ReadRow) throws {}
  }
}
