import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The calls of the library's ancestor, as its users spell them.
@Suite struct SpellingTests {
  @Test func structsAreStoredReadChangedAndDeleted() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let id = try Bicycle(name: "Norco", color: "red").insert().run(db)
      #expect(id == 1)
      try Bicycle(name: "Trek", color: "blue").insert().run(db)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Norco", "Trek"])
      #expect(try Bicycle.count().run(db) == 2)
      var bike = try #require(try Bicycle.byId(1).run(db))
      bike.color = "green"
      #expect(try bike.update().run(db) == 1)
      #expect(try Bicycle.byId(1).run(db) == bike)
      try bike.delete().run(db)
      try Bicycle.delete(Bicycle.id == 2).run(db)
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  @Test func filtersAreCombinedWithAND() throws {
    let statement = Bicycle.read().filter(Bicycle.color == "red").filter(Bicycle.id > 3).limit(3)
      .orderBy(Bicycle.name, .desc)
    #expect(
      statement.sql == """
        SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? AND "id" > ? \
        ORDER BY "name" DESC LIMIT ?
        """)
    #expect(statement.bindings == [.text("red"), .integer(3), .integer(3)])
  }

  @Test func filterOperatorsHaveTheirSQL() throws {
    let terms: [(SqlExpression, String)] = [
      (Bicycle.id == 1, #""id" = ?"#),
      (Bicycle.id != 1, #""id" <> ?"#),
      (Bicycle.id < 1 || Bicycle.id >= 3, #""id" < ? OR "id" >= ?"#),
      (!(Bicycle.id == 1 && Bicycle.id <= 2), #"NOT ("id" = ? AND "id" <= ?)"#),
      (!Bicycle.ownerId, #""owner_id" IS NULL"#),
      (Bicycle.color ∈ ["red", "blue"], #""color" IN (?, ?)"#),
      (contains(Bicycle.color, ["red", "blue"]), #""color" IN (?, ?)"#),
      (Bicycle.name.lowercase() == "norco", #"lower("name") = ?"#),
      (Bicycle.name.uppercase() == "NORCO", #"upper("name") = ?"#),
      (Bicycle.name.like("%or%"), #""name" LIKE ?"#),
    ]
    for (term, sql) in terms {
      #expect(Bicycle.count().filter(term).sql == #"SELECT count(*) FROM "bicycle" WHERE "# + sql)
    }
  }

  @Test func observersAreNotifiedAfterTheCommit() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let events = Mutex<[String]>([])
      db.didUpdate = { table, id, change in
        switch change {
        case .insert: events.withLock { $0.append("insert \(table) \(id)") }
        case .update: events.withLock { $0.append("update \(table) \(id)") }
        case .delete: events.withLock { $0.append("delete \(table) \(id)") }
        }
      }
      let token = db.observe(.update, on: Bicycle.self, id: 2) { id in
        events.withLock { $0.append("observed \(id)") }
      }
      try db.transaction { db in
        try Bicycle.insert([Bicycle(name: "a", color: "b"), Bicycle(name: "c", color: "d")]).run(db)
        try Bicycle.updateAll(Bicycle.color.set(to: "x")).run(db)
        #expect(events.withLock { $0.isEmpty })
      }
      #expect(
        events.withLock { $0 } == [
          "insert bicycle 1",
          "insert bicycle 2",
          "update bicycle 1",
          "update bicycle 2",
          "observed 2",
        ])
      db.removeObserver(token)
      _ = try? db.transaction { db in
        try Bicycle.deleteAll().run(db)
        throw CancellationError()
      }
      #expect(events.withLock { $0.count } == 5)
    }
  }

  @Test func statementsOfTypedColumnsSurviveEncoding() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      let cars = (1...5).map {
        Car(id: nil, name: "car \($0)", price: Double($0) * 1.5, isElectric: $0 % 2 == 0, soldAt: nil)
      }
      #expect(try Car.insert(cars).run(db) == [1, 2, 3, 4, 5])
      let statement = Car.read().filter(Car.price * 2 > 6 && Car.isElectric == true).orderBy(Car.id)
      let data = try JSONEncoder().encode(statement)
      let same = try JSONDecoder().decode(Statement<Car, [Car]>.self, from: data)
      #expect(same == statement)
      #expect(try same.run(db).map(\.id) == [4])
      #expect(same.sql.hasSuffix(#"WHERE "price" * ? > ? AND "is_electric" = ? ORDER BY "id""#))
      #expect(try Car.byId(1).explain(db).description.contains("SEARCH"))
    }
  }
}
