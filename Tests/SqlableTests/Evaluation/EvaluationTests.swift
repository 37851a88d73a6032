import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct EvaluationTests {
  private static let bikes = [
    Bicycle(id: 1, name: "Norco", color: "red", ownerId: 1), Bicycle(id: 2, name: "Trek", color: "blue", ownerId: 2),
    Bicycle(id: 3, name: "Giant", color: "red", ownerId: 1), Bicycle(id: 4, name: "Kona", color: "green"),
  ]
  private static let persons = [Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo"), Person(id: 3, name: "Cid")]
  private let tables = try! MemoryTables(Self.persons, Self.bikes, Worker.all)

  // MARK: Reads of structs

  @Test func readsFilterOrderAndLimitStructs() throws {
    let bikes = Self.bikes
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    #expect(try reds.evaluate(over: bikes) == [bikes[0], bikes[2]])
    #expect(try reds.orderBy(Bicycle.name).evaluate(over: bikes) == [bikes[2], bikes[0]])
    #expect(try Bicycle.read().limit(1, offset: 1).evaluate(over: bikes) == [bikes[1]])
    #expect(try Bicycle.byId(3).evaluate(over: bikes) == bikes[2])
    #expect(try Bicycle.byId(5).evaluate(over: bikes) == nil)
    #expect(try reds.first().evaluate(over: bikes) == bikes[0])
    #expect(try Bicycle.count().filter(Bicycle.color == "red").evaluate(over: bikes) == 2)
    #expect(try Bicycle.count().limit(1).evaluate(over: bikes) == 1)
    #expect(try Bicycle.exists().filter(Bicycle.color == "white").evaluate(over: bikes) == false)
    #expect(try Bicycle.read().in("archive").evaluate(over: bikes) == bikes)
    #expect(try Bicycle.read().evaluate(over: []).isEmpty)
  }

  @Test func computedDefaultsAreEvaluatedForEachRow() throws {
    enum Token: TableDeclaration {
      static let id = Column("id", .integer, PrimaryKey())
      static let token = Column("token", .text, Default(sql: "hex(randomblob(8))"))
      static let columns = [id, token]
    }
    let rows = [Entry<Token>(1), Entry(2, "mine"), Entry(3), Entry()]
    let tokens = try Entry<Token>.select(Token.token).evaluate(over: MemoryTables(rows)).map {
      try $0.get(at: 0) as String
    }
    #expect(tokens[1] == "mine")
    #expect(Set(tokens.map(\.count)) == [4, 16])
    #expect(Set(tokens).count == 4)
  }

  /// All evaluations of a table share a database.
  @Test func anEvaluationSeesNoRowsOfAnother() throws {
    for bike in Self.bikes { #expect(try Bicycle.read().evaluate(over: [bike]) == [bike]) }
    let overflow = Bicycle.read().filter((Bicycle.id - Bicycle.id + Int64.min).abs() == 1)
    expectError(.other) { _ = try overflow.evaluate(over: Self.bikes) }
    #expect(try Bicycle.count().evaluate(over: Self.bikes) == 4)
  }

  @Test func threadsEvaluateConcurrently() throws {
    let counts = Mutex([Int]())
    DispatchQueue.concurrentPerform(iterations: 64) { number in
      let bikes = (0..<number).map { Bicycle(id: $0, name: "", color: "red") }
      let count = try? Bicycle.count().evaluate(over: bikes)
      counts.withLock { $0.append(count ?? -1) }
    }
    #expect(counts.withLock { $0.sorted() } == Array(0..<64))
  }

  /// Only the ids distinguish the rows, and the ids do not ascend.
  @Test func rowsThatCompareEqualKeepTheirOrder() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<100 {
      let ids = Array(1...40).shuffled(using: &random)
      let bikes = ids.map { Bicycle(id: $0, name: "\($0)", color: random.pick(["red", "blue", "green"])) }
      #expect(try Bicycle.read().evaluate(over: bikes) == bikes)
      let colors = ["blue", "green", "red"]
      let ordered = colors.flatMap { color in bikes.filter { $0.color == color } }
      #expect(try Bicycle.read().orderBy(Bicycle.color).evaluate(over: bikes) == ordered)
      #expect(try Bicycle.read().orderBy(Bicycle.color).limit(7).evaluate(over: bikes) == Array(ordered.prefix(7)))
      // A column that is not grouped has the value of the group's first row.
      let tables = try MemoryTables(bikes, Self.persons)
      let groups = try Bicycle.select(Bicycle.color, Bicycle.name).groupBy(Bicycle.color).evaluate(over: tables)
      #expect(
        groups.map { $0.values[1] }
          == colors.compactMap { color in
            bikes.first { $0.color == color }.map { .text($0.name) }
          })
      let pairs = try Bicycle.crossJoin(Person.self).select(Bicycle.id, Person.id).evaluate(over: tables)
      let all = ids.flatMap { id in (1...3).map { [.integer(Int64(id)), DatabaseValue.integer($0)] } }
      #expect(pairs.map(\.values) == all)
    }
  }

  @Test func structsAreStoredAsByAnInsert() throws {
    let bikes = [Bicycle(id: nil, name: "a", color: "red"), Bicycle(id: 7, name: "b", color: "red")]
    let more = bikes + [Bicycle(id: nil, name: "c", color: "red")]
    #expect(try Bicycle.read().evaluate(over: more).map(\.id) == [1, 7, 8])
    var car = Car(id: nil, name: "a", price: .nan, isElectric: true, soldAt: nil)
    let error = expectSqlError { _ = try Car.read().evaluate(over: [car]) }
    if case .encoding = error?.kind {} else { Issue.record("\(String(describing: error))") }
    car.price = .infinity
    #expect(try Car.read().filter(Car.price > 1e300).evaluate(over: [car]).count == 1)
    let last = [Bicycle(id: .max, name: "a", color: ""), Bicycle(id: nil, name: "b", color: "")]
    expectError(.full) { _ = try Bicycle.read().evaluate(over: last) }
  }

  @Test func aMissingValueOfANotNullColumnThrows() throws {
    enum Strict: TableDeclaration {
      static let name = "strict"
      static let columns = [
        Column("id", .integer, PrimaryKey()), Column("name", .text), Column("kind", .text, Default("plain")),
      ]
    }
    let whole = try Entry<Strict>.read().evaluate(over: [Entry<Strict>(nil, "a")])
    #expect(whole.map { $0.values[2] } == ["plain"])
    let error = expectError(.constraint(.notNull)) {
      _ = try Entry<Strict>.read().evaluate(over: [Entry<Strict>(nil, nil)])
    }
    #expect(error?.message == "NOT NULL constraint failed: strict.name")
    #expect(error?.column == "name")
  }

  @Test func otherConstraintsAreNotChecked() throws {
    // Both bikes have the same key, and their owner does not exist.
    let bike = Bicycle(id: 1, name: "Norco", color: "red", ownerId: 99)
    #expect(try Bicycle.read().evaluate(over: [bike, bike]) == [bike, bike])
  }

  @Test func generatedColumnsAreComputed() throws {
    let seats = [Seat(row: 4, letter: "a"), Seat(row: 5, letter: "b")]
    #expect(try Seat.read().evaluate(over: seats).map(\.label) == ["4a", "5b"])
  }

  // MARK: Queries of tables

  @Test func joinsReturnModels() throws {
    let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id)
    let pairs = try owned.evaluate(over: tables)
    #expect(pairs.map(\.0) == Array(Self.bikes[..<3]))
    #expect(pairs.map(\.1.name) == ["Anna", "Bo", "Anna"])
    let all = Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id)
    #expect(try all.evaluate(over: tables).map(\.1?.name) == ["Anna", "Bo", "Anna", nil])
    let boss = Alias(Worker.self, "boss")
    let bosses = Worker.leftJoin(boss, on: Worker.bossId == boss[Worker.id]).select(Worker.name, boss.optional)
    #expect(try bosses.evaluate(over: tables).map(\.1?.name) == [nil, "Ada", "Ada", "Ben"])
  }

  @Test func groupsSubqueriesAndCombinedQueriesAreEvaluated() throws {
    let several = Bicycle.select(Bicycle.color).groupBy(Bicycle.color).having(countAll().expression > 1)
    #expect(try several.evaluate(over: tables).map(\.values) == [[.text("red")]])
    let owners = Person.read().filter(exists(Bicycle.read().filter(Bicycle.ownerId == Person.id)))
    #expect(try owners.evaluate(over: tables).map(\.name) == ["Anna", "Bo"])
    let (red, odd) = (Bicycle.read().filter(Bicycle.color == "red"), Bicycle.read().filter(Bicycle.id < 3))
    #expect(try red.union(odd).evaluate(over: tables).count == 3)
    #expect(try Bicycle.select(Bicycle.color).distinct().evaluate(over: tables).count == 3)
    let team = Worker.select(Worker.id, Worker.name).filter(Worker.id == 1).named("team") { team in
      let (id, _) = team.columns
      return Worker.select(Worker.id, Worker.name).joining(team, on: Worker.bossId == id)
    }
    #expect(try team.read().evaluate(over: tables).map(\.0) == [1, 2, 3, 4])
  }

  @Test func windowsFullTextAndJSONAreEvaluated() throws {
    let ranks = Bicycle.select(rowNumber().over(orderBy: Bicycle.name.asc))
    #expect(try ranks.evaluate(over: tables) == [3, 4, 1, 2])
    let stories = [Story(1, "Swift"), Story(2, "Slow", "not swift"), Story(3, "Other")]
    let found = Story.read().filter(Story.matches(.words("swift"))).orderBy(Story.id)
    #expect(try found.evaluate(over: stories).map(\.id) == [1, 2])
    let memos = try MemoryTables([Memo(7, "Swift"), Memo(3, "Other")])
    #expect(try Memo.search(.words("swift")).evaluate(over: memos).map(\.rowid) == [7])
    let stay = Stay(id: 1, at: Date(timeIntervalSince1970: 0), doc: #"{"a": ["x", "y"]}"#)
    let tag = JSONEach(Stay.doc, "a", as: "tag")
    let tags = Stay.select(tag.value(as: String.self)).joining(tag)
    #expect(try tags.evaluate(over: try MemoryTables([stay])) == ["x", "y"])
  }

  @Test func evaluationCanUseTheFunctionsOfAHandle() throws {
    let shout = ScalarFunction("shout") { (text: String) in text + "!" }
    let loud = Person.select(shout(Person.name))
    expectSqlError { _ = try loud.evaluate(over: self.tables) }
    let db = try SqliteDatabase.inMemory()
    try db.register(shout)
    let backwards = Collation("backwards") { $1.compare($0) }
    try db.register(backwards)
    var tables = self.tables
    tables.useFunctions(of: db)
    #expect(try loud.evaluate(over: tables) == ["Anna!", "Bo!", "Cid!"])
    let last = Person.read().orderBy(Person.name.collate(backwards))
    #expect(try last.evaluate(over: tables).map(\.name) == ["Cid", "Bo", "Anna"])
  }

  // MARK: Refusals

  @Test func aMissingTableThrows() throws {
    let bikes = try MemoryTables(Self.bikes)
    let join = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
    _ = try join.evaluate(over: tables)
    let error = expectError(.schema(.missingTable("person"))) { _ = try join.evaluate(over: bikes) }
    #expect(error?.sql != nil)
    var others = bikes
    expectMisuse { try others.insert(Self.persons, into: "Bicycle") }
    try others.insert([Self.persons[0]], into: "person")
    #expect(try join.evaluate(over: others).count == 2)
  }

  @Test func changesAndInvalidReadsThrow() throws {
    let change = Person.update(Person.name.set(to: "x")).filter(Person.id == 1)
    let error = expectInvalidStatement { _ = try change.evaluate(over: Self.persons) }
    #expect(
      error?.message == "only a query can be evaluated without a database; run the change on SqliteDatabase.inMemory()")
    expectInvalidStatement { _ = try Person.deleteAll().returning().evaluate(over: Self.persons) }
    expectInvalidStatement { _ = try Person.read().limit(-1).evaluate(over: []) }
    expectInvalidStatement { _ = try Person.read().filter(countAll().expression > 1).evaluate(over: Self.persons) }
    expectError(.schema(.missingColumn("color"))) {
      _ = try Person.read().filter(Bicycle.color == "red").evaluate(over: [])
    }
  }
}
