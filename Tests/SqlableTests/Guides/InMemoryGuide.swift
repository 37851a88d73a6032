import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct InMemoryGuide {
  @Test func statementsRunOnStructs() throws {
    let bikes = [
      Bicycle(id: 1, name: "Norco", color: "red", ownerId: 1),
      Bicycle(id: 2, name: "Trek", color: "blue"),
      Bicycle(id: 3, name: "Giant", color: "red", ownerId: 2),
    ]
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    let ordered = try reds.orderBy(Bicycle.name).evaluate(over: bikes)  // [Bicycle]
    let first = try reds.first().evaluate(over: bikes)  // Bicycle?
    let count = try Bicycle.count().filter(Bicycle.ownerId == nil).evaluate(over: bikes)  // 1
    let exists = try Bicycle.exists().filter(Bicycle.color == "green").evaluate(over: bikes)  // false
    #expect(ordered == [bikes[2], bikes[0]])
    #expect(first == bikes[0])
    #expect(count == 1)
    #expect(!exists)
    try checkTables(bikes)
  }

  private func checkTables(_ bikes: [Bicycle]) throws {
    let persons = [Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]
    var tables = try MemoryTables(bikes, persons)
    try tables.insert([Bicycle(id: 4, name: "Kona", color: "green")], into: "archive")
    let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id)
    let pairs = try owned.evaluate(over: tables)  // [(Bicycle, Person)]
    let perColor = Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color)
    let colors = try perColor.evaluate(over: tables)  // [DynamicRow]
    let archived = try Bicycle.read().in("archive").evaluate(over: tables)
    #expect(pairs.map(\.1.name) == ["Anna", "Bo"])
    #expect(archived.map(\.name) == ["Kona"])
    #expect(colors.map(\.values) == [[.text("blue"), .integer(1)], [.text("red"), .integer(2)]])
    try checkFunctions(tables)
  }

  private func checkFunctions(_ tables: MemoryTables) throws {
    var tables = tables
    let db = try SqliteDatabase.inMemory()
    let shout = ScalarFunction("shout") { (text: String) in text + "!" }
    try db.register(shout)
    tables.useFunctions(of: db)
    let loud = try Person.select(shout(Person.name)).evaluate(over: tables)
    #expect(loud == ["Anna!", "Bo!"])
  }
}
