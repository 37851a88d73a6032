import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Rows as dictionaries, groups, sets and single rows.
@Suite struct CollectedTests {
  @Test func asDictionaryKeysRowsByAValue() throws {
    try withCompany { db in
      let byId = try Bicycle.read().asDictionary(by: \.id).run(db)
      #expect(byId.keys.sorted() == [1, 2, 3, 4])
      #expect(byId[2]?.name == "Trek")
      let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
      #expect(try owned.asDictionary(by: \.0.name).run(db).mapValues(\.1.name).count == 3)
      let names = Person.select(Person.id.typed(as: Int.self), Person.name.typed(as: String.self))
      #expect(try names.asDictionary().run(db) == [1: "Anna", 2: "Bo", 3: "Cid"])
      let bosses = Worker.select(Worker.bossId, Worker.name)
      #expect(try bosses.filter(Worker.bossId == nil).grouped().run(db).keys.contains(nil))
      #expect(try Bicycle.read().filter(Bicycle.id > 9).asDictionary(by: \.id).run(db).isEmpty)
    }
  }

  @Test func asDictionaryRefusesDuplicateAndNullKeys() throws {
    try withCompany { db in
      let error = expectError(.notUnique) { _ = try Bicycle.read().asDictionary(by: \.color).run(db) }
      #expect(error?.message == "two rows of the result have the same key; use grouped to keep both")
      #expect(error?.sql == Bicycle.read().sql)
      #expect(error?.transaction == SqlError.TransactionFate.none)
      let missing = expectError(.notFound) { _ = try Bicycle.read().asDictionary(by: \.ownerId).run(db) }
      #expect(missing?.message == "a row of the result has a NULL key; exclude NULL keys with a filter")
      let pairs = Bicycle.select(Bicycle.ownerId.typed(as: Int?.self), Bicycle.name.typed(as: String.self))
      expectError(.notFound) { _ = try pairs.asDictionary().run(db) }
      expectError(.notUnique) { _ = try pairs.filter(Bicycle.ownerId == 1).asDictionary().run(db) }
      try db.transaction { db in
        let error = expectError(.notUnique) { _ = try Bicycle.read().asDictionary(by: \.color).run(db) }
        #expect(error?.transaction == .untouched)
      }
    }
  }

  @Test func groupsKeepTheOrderOfTheRows() throws {
    try withCompany { db in
      let byColor = try Bicycle.read().orderBy(Bicycle.name, .desc).grouped(by: \.color).run(db)
      #expect(
        byColor.mapValues { $0.map(\.name) } == ["red": ["Norco", "Giant"], "blue": ["Trek"], "green": ["Kona"]])
      #expect(try Bicycle.read().grouped(by: \.ownerId).run(db)[nil]?.map(\.name) == ["Kona"])
      let names = Bicycle.select(Bicycle.color.typed(as: String.self), Bicycle.name.typed(as: String.self))
      #expect(try names.orderBy(Bicycle.id).grouped().run(db)["red"] == ["Norco", "Giant"])
      let owners = Person.read().including(Bicycle.read(), by: Bicycle.ownerId).grouped(by: \.1.count)
      #expect(try owners.run(db).mapValues(\.count) == [2: 1, 1: 1, 0: 1])
      let raw = SQL("SELECT color, id FROM bicycle ORDER BY id").rows(as: String.self, Int.self).grouped()
      #expect(try raw.run(db) == ["red": [1, 3], "blue": [2], "green": [4]])
    }
  }

  @Test func asSetMergesEqualRows() throws {
    try withCompany { db in
      let colors = Bicycle.select(Bicycle.color.typed(as: String.self)).asSet()
      let set = try colors.run(db)
      #expect(set == ["red", "blue", "green"])
      #expect(colors.isReadOnly)
      #expect(colors.sql == #"SELECT "color" FROM "bicycle""#)
      let more = [Bicycle(name: "Cube", color: "white"), Bicycle(name: "Scott", color: "white")]
      #expect(try Bicycle.insert(more).asSet().run(db) == [5, 6])
    }
  }

  @Test func onlyThrowsUnlessTheResultHasOneRow() throws {
    try withCompany { db in
      let trek = Bicycle.read().filter(Bicycle.name == "Trek").only()
      let bike = try trek.run(db)
      #expect(bike.id == 2)
      #expect(trek.sql.hasSuffix(#"WHERE "name" = ? LIMIT ?"#))
      #expect(try Bicycle.select(Bicycle.id.typed(as: Int.self)).filter(Bicycle.name == "Trek").only().run(db) == 2)
      #expect(try Bicycle.read().orderBy(Bicycle.id).limit(1).only().run(db).id == 1)
      let none = expectError(.notFound) { _ = try Bicycle.read().filter(Bicycle.id > 9).only().run(db) }
      #expect(none?.message == "expected one row, found none")
      #expect(none?.sql?.hasSuffix("LIMIT ?") == true)
      expectError(.notUnique) { _ = try Bicycle.read().only().run(db) }
      expectError(.notUnique) { _ = try Bicycle.select(Bicycle.id.typed(as: Int.self)).only().run(db) }
      expectError(.notUnique) { _ = try SQL("SELECT id FROM bicycle").rows(as: Int.self).only().run(db) }
      // The only row holds NULL.
      let owner = Bicycle.select(Bicycle.ownerId.typed(as: Int?.self)).filter(Bicycle.id == 4)
      #expect(try owner.only().run(db) == nil)
    }
  }

  @Test func onlyRollsBackAChangeOfSeveralRows() throws {
    try withCompany { db in
      let paint = Bicycle.update(Bicycle.color.set(to: "black"))
      let error = expectError(.notUnique) { try paint.filter(Bicycle.id < 3).returning().only().run(db) }
      #expect(error?.transaction == SqlError.TransactionFate.none)
      #expect(try Bicycle.count().filter(Bicycle.color == "black").run(db) == 0)
      #expect(try paint.filter(Bicycle.id == 3).returning().only().run(db).name == "Giant")
      try db.transaction { db in
        let error = expectError(.notFound) { try Bicycle.delete(Bicycle.id == 9).returning().only().run(db) }
        #expect(error?.transaction == .untouched)
        expectError(.notUnique) { try Bicycle.delete(Bicycle.id < 3).returning().only().run(db) }
        try Bicycle.delete(Bicycle.id == 4).run(db)
      }
      #expect(try Bicycle.count().run(db) == 3)
    }
  }

  @Test func firstDoesNotNestOptionals() throws {
    try withCompany { db in
      let owners = Bicycle.select(Bicycle.ownerId.typed(as: Int?.self)).orderBy(Bicycle.id)
      let first: Int? = try owners.first(db)
      let last = try owners.filter(Bicycle.id == 4).first(db)
      #expect(first == 1)
      #expect(last == nil)
      #expect(type(of: last) == Int?.self)
      let none: Int? = try owners.filter(Bicycle.id > 9).first().run(db)
      #expect(none == nil)
      #expect(owners.first().sql == owners.limit(1).sql)
      let dearest = Car.select(Car.price.max()).first().sql
      #expect(dearest == #"SELECT max("price") FROM "car" LIMIT ?"#)
      let pair = try Person.select(Person.id.typed(as: Int.self), Person.name.typed(as: String.self)).first().run(db)
      #expect(pair?.1 == "Anna")
    }
  }

  @Test func collectedQueriesCompareByQueryAndKey() {
    let byName = Bicycle.read().grouped(by: \.name)
    #expect(byName == Bicycle.read().grouped(by: \.name))
    #expect(byName != Bicycle.read().grouped(by: \.color))
    #expect(Set([byName, Bicycle.read().filter(Bicycle.id == 1).grouped(by: \.name)]).count == 2)
    #expect(Bicycle.read().asDictionary(by: \.name) == Bicycle.read().asDictionary(by: \.name))
  }

  @Test func liveResultsCollectChangedRows() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
      }
      let byColor = Bicycle.select(Bicycle.color.typed(as: String.self), Bicycle.name.typed(as: String.self)).grouped()
      var seen: [[String: [String]]] = []
      for try await groups in byColor.updates(in: pool) {
        seen.append(groups)
        if seen.count == 2 { break }
        try await Bicycle(name: "Norco", color: "red").insert().run(pool)
      }
      #expect(seen == [[:], ["red": ["Norco"]]])
      #expect(try await byColor.run(pool) == ["red": ["Norco"]])
      let only = Bicycle.read().only()
      for try await bike in only.updates(in: pool) {
        #expect(bike.name == "Norco")
        break
      }
      let changing = Bicycle.delete(Bicycle.id == 1).returning().only().updates(in: pool)
      await #expect(throws: SqlError.self) {
        for try await _ in changing { Issue.record("it was run") }
      }
      #expect(try await Bicycle.count().run(pool) == 1)
      let children = Person.read().including(Bicycle.read(), by: Bicycle.ownerId).asDictionary(by: \.0.id)
      var owned: [Int] = []
      for try await people in children.updates(in: pool) {
        owned.append(people[1]?.1.count ?? -1)
        if owned.count == 3 { break }
        if owned.count == 1 { try await Person(id: 1, name: "Anna").insert().run(pool) }
        if owned.count == 2 { try await Bicycle(name: "Trek", color: "red", ownerId: 1).insert().run(pool) }
      }
      #expect(owned == [-1, 0, 1])
    }
  }
}
