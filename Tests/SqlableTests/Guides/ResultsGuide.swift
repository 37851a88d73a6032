import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Queries.md on results.
@Suite struct ResultsGuide {
  @Test func rowsAreCollected() throws {
    try withCompany { db in
      try db.createTable(Car.self)
      try Car(name: "Zoe", price: 20_000, isElectric: true).insert().run(db)
      let norco = try Bicycle.read().filter(Bicycle.name == "Norco").only().run(db)  // Bicycle
      let cars = try Car.read().asDictionary(by: \.id).run(db)  // [Int: Car]
      let prices = try Car.select(Car.name, Car.price).asDictionary().run(db)  // [String: Double]
      let byColor = try Bicycle.read().orderBy(Bicycle.name).grouped(by: \.color).run(db)  // [String: [Bicycle]]
      let names = try Car.select(Car.name).asSet().run(db)  // Set<String>
      let dearest = try Car.select(Car.price.max()).first(db)  // Double?
      #expect(
        Bicycle.read().filter(Bicycle.name == "Norco").only().sql
          == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "name" = ? LIMIT ?"#)
      #expect(norco.id == 1)
      #expect(cars[1]?.name == "Zoe")
      #expect(prices["Zoe"] == 20_000)
      #expect(byColor["red"]?.map(\.name) == ["Giant", "Norco"])
      #expect(names == ["Zoe"])
      #expect(dearest == 20_000)
      #expect(type(of: cars) == [Int: Car].self)
      #expect(type(of: dearest) == Double?.self)
    }
  }

  @Test func rowsAreDecoded() throws {
    try withCompany { db in
      struct Stock: Decodable {
        let color: String
        let count: Int
        let newestId: Int?
      }
      let stock = Bicycle.select(Bicycle.color, Bicycle.id.count(), Bicycle.id.max()).groupBy(Bicycle.color)
        .decoded(as: Stock.self, columns: "color", "count", "newest_id")
      let rows = try stock.run(db)  // [Stock]
      let same = try db.query(
        "SELECT color, count(*) AS count, max(id) AS newest_id FROM bicycle GROUP BY color", as: Stock.self)
      #expect(rows.map(\.count).reduce(0, +) == 4)
      #expect(same.compactMap(\.newestId).max() == 4)
    }
  }
}
