import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite struct MixedOrderTests {
  @Test func termsAndOrderingsMixInOneOrder() throws {
    try withCompany { db in
      let workers = Worker.read().orderBy(Worker.salary.desc, Worker.name)
      #expect(workers.sql.hasSuffix(#" ORDER BY "salary" DESC, "name""#))
      let sorted = try workers.run(db).map(\.name)
      #expect(sorted == ["Ada", "Cleo", "Ben", "Dan"])

      let names = Worker.select(Worker.name).orderBy(Worker.salary, Worker.name.desc)
      #expect(names.sql == #"SELECT "name" FROM "worker" ORDER BY "salary", "name" DESC"#)
      let lowest = try names.run(db)
      #expect(lowest == ["Dan", "Ben", "Cleo", "Ada"])
    }
  }

  @Test func aColumnOfANamedQueryMixesToo() throws {
    try withCompany { db in
      let pay = Worker.select(Worker.salary, Worker.name).named("pay")
      let rows = try pay.read().orderBy(pay.columns.0.desc, pay.columns.1).run(db)
      #expect(rows.map(\.1) == ["Ada", "Cleo", "Ben", "Dan"])
    }
  }

  @Test func windowsOrderByTermsWithoutADirection() throws {
    try withCompany { db in
      let place = rowNumber().over(orderBy: Worker.salary.desc, Worker.name)
      let places = Worker.select(Worker.name, place).orderBy(Worker.name)
      #expect(places.sql.contains(#"row_number() OVER (ORDER BY "salary" DESC, "name")"#))
      let numbers = try places.run(db).map(\.1)
      #expect(numbers == [1, 3, 2, 4])
      let same = rowNumber().over(Window(orderBy: Worker.salary.desc).orderBy(Worker.name))
      let others = try Worker.select(same).orderBy(Worker.name).run(db)
      #expect(others == [1, 3, 2, 4])
    }
  }

  @Test func noOrderingsLeaveTheStatementAsItIs() {
    #expect(Worker.read().orderBy().sql == Worker.read().sql)
  }

  @Test func typedWithTheSameTypeChangesNothing() throws {
    try withCompany { db in
      let highest = Worker.salary.max().typed(as: Double?.self)
      let salaries = try Worker.select(highest).run(db)
      #expect(salaries == [10])
      #expect(Worker.select(Worker.salary.typed(as: Double.self)).sql == Worker.select(Worker.salary).sql)
    }
  }

  @Test func jsonComesFromALiteral() {
    let json = JSON(["x": 1, "y": ["z", nil, true]])
    #expect(json == .object(["x": .integer(1), "y": .array([.string("z"), .null, .bool(true)])]))
    #expect(JSON([1, 2]) == .array([.integer(1), .integer(2)]))
  }
}
