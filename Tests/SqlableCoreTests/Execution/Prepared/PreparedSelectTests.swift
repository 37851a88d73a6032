import SqlableCore
import Testing

@testable import SqlableTestSupport

@Suite struct PreparedSelectTests {
  @Test func aPreparedQueryRunsWithManyValues() throws {
    try withCompany { db in
      let dear = try db.prepare(
        Worker.select(Worker.name, Worker.salary).filter(Worker.salary > Parameter("least")).orderBy(Worker.id))
      #expect(dear.sql == #"SELECT "name", "salary" FROM "worker" WHERE "salary" > ? ORDER BY "id""#)
      #expect(dear.parameterNames == ["least"])
      #expect(try dear.run(6).map(\.0) == ["Ada", "Cleo"])
      #expect(try dear.run(["least": 9]).map(\.1) == [10])
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        let misses = try db.statementCacheUse.misses
        for least in 0..<9 {
          #expect(try dear.run(Double(least)).count == Worker.all.count { $0.salary > Double(least) })
        }
        #expect(try db.statementCacheUse.misses == misses)
      }
      expectMisuse { _ = try dear.run() }
      expectMisuse { _ = try dear.run(["other": 1]) }
      let wrong = sqlError { _ = try dear.run("six") }
      #expect(wrong?.column == "salary")
      try db.execute("DROP TABLE worker")
      expectError(.schema(.missingTable("worker"))) { _ = try dear.run(1) }
    }
  }

  @Test func aPreparedQueryReturnsValuesOrModels() throws {
    try withCompany { db in
      let names = try db.prepare(
        Worker.select(Worker.name).filter(Worker.bossId == Parameter("boss")).orderBy(Worker.id))
      #expect(try names.run(1) == ["Ben", "Cleo"])
      #expect(try names.run(2) == ["Dan"])
      #expect(try names.run(3) == [])
      let team = try db.prepare(Worker.read().filter(Worker.bossId == Parameter("boss")).orderBy(Worker.id))
      #expect(try team.run(["boss": 1]) == Array(Worker.all[1...2]))
      var seen: [String] = []
      try team.forEach(["boss": 1]) { worker in
        // The query runs inside its own loop.
        seen += try team.run(worker.id).map(\.name)
        return .continue
      }
      #expect(seen == ["Dan"])
    }
  }

  @Test func aParameterMayStandInAJoinAndInASubquery() throws {
    try withCompany { db in
      let owned = try db.prepare(
        Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id && Person.name == Parameter("name"))
          .orderBy(Bicycle.id))
      let pairs = try owned.run("Anna")
      #expect(pairs.map(\.0.name) == ["Norco", "Giant"])
      #expect(pairs.map(\.1.name) == ["Anna", "Anna"])
      let others = try db.prepare(
        Person.select(Person.name.typed(as: String.self)).filter(
          !exists(
            Bicycle.read().filter(
              Bicycle.ownerId == Person.id && Bicycle.color == Parameter<String>("color").expression)
          )
        )
        .orderBy(Person.id))
      #expect(try others.run("red") == ["Bo", "Cid"])
      #expect(try others.run("blue") == ["Anna", "Cid"])
    }
  }

  @Test func preparedSQLGivesValuesAndTuples() throws {
    try withCompany { db in
      let color = "red"
      let names = try db.prepare(
        "SELECT name FROM bicycle WHERE color = \(color) AND owner_id = \(Parameter<Int>("owner")) ORDER BY id",
        as: String.self)
      #expect(names.sql == "SELECT name FROM bicycle WHERE color = ? AND owner_id = ? ORDER BY id")
      #expect(try names.run(1) == ["Norco", "Giant"])
      #expect(try names.run(["owner": 2]) == [])
      let counts = try db.prepare(
        "SELECT color, count(*), max(owner_id) FROM bicycle GROUP BY color ORDER BY color",
        as: String.self, Int.self, Int?.self)
      let rows = try counts.run()
      #expect(rows.map(\.0) == ["blue", "green", "red"])
      #expect(rows.map(\.1) == [1, 1, 2])
      #expect(rows.map(\.2) == [2, nil, 1])
      expectMisuse { _ = try db.prepare("DELETE FROM bicycle", as: Int.self) }
      expectMisuse { _ = try db.prepare("SELECT 1", as: Int.self, Int.self) }
      expectInvalidStatement { _ = try db.prepare("SELECT name FROM bicycle WHERE id = ?", as: String.self) }
      #expect(sqlError { _ = try db.prepare("SELEC name", as: String.self) }?.kind == .syntax)
    }
  }
}
