import Sqlable
import Testing

@testable import SqlableTestSupport

/// RIGHT and FULL joins.
@Suite struct OuterJoinTests {
  private let boss = Alias(Worker.self, "boss")
  private let other = Alias(Person.self, "other")

  private var isOwner: SqlExpression { Bicycle.ownerId == Person.id }

  @Test(.needs(39, "a RIGHT JOIN")) func aRightJoinKeepsTheRowsOfTheJoinedTable() throws {
    try withCompany { db in
      let query = Bicycle.rightJoin(Person.self, on: isOwner).orderBy(Person.id).orderBy(Bicycle.id)
      #expect(
        query.sql == #"""
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \#
          "person"."name" FROM "bicycle" RIGHT JOIN "person" ON "bicycle"."owner_id" = "person"."id" \#
          ORDER BY "person"."id", "bicycle"."id"
          """#)
      let rows: [(Bicycle?, Person)] = try query.run(db)
      #expect(rows.map(\.0?.name) == ["Norco", "Giant", "Trek", nil])
      #expect(rows.map(\.1.name) == ["Anna", "Anna", "Bo", "Cid"])
      let aliased: [(Bicycle?, Person)] = try Bicycle.rightJoin(other, on: Bicycle.ownerId == other[Person.id]).run(db)
      #expect(aliased.count == 4)
    }
  }

  @Test(.needs(39, "a FULL JOIN")) func aFullJoinKeepsTheRowsOfBothTables() throws {
    try withCompany { db in
      let query = Bicycle.fullJoin(Person.self, on: isOwner).orderBy(Person.id).orderBy(Bicycle.id)
      #expect(query.sql.contains(#"FROM "bicycle" FULL JOIN "person" ON "bicycle"."owner_id" = "person"."id""#))
      let rows: [(Bicycle?, Person?)] = try query.run(db)
      #expect(rows.map(\.0?.name) == ["Kona", "Norco", "Giant", "Trek", nil])
      #expect(rows.map(\.1?.name) == [nil, "Anna", "Anna", "Bo", "Cid"])
      let aliased: [(Bicycle?, Person?)] = try Bicycle.fullJoin(other, on: Bicycle.ownerId == other[Person.id]).run(db)
      #expect(aliased.count == 5)
    }
  }

  /// A model is optional once, even if several joins may leave it unmatched.
  @Test(.needs(39, "a RIGHT JOIN")) func aRightJoinMakesEarlierTablesOptional() throws {
    try withCompany { db in
      let three: [(Bicycle?, Person?, Worker)] = try Bicycle.leftJoin(Person.self, on: isOwner)
        .rightJoin(Worker.self, on: Worker.name == Person.name).orderBy(Worker.id).run(db)
      #expect(three.allSatisfy { $0.0 == nil })
      #expect(three.allSatisfy { $0.1 == nil })
      #expect(three.map(\.2.id) == [1, 2, 3, 4])
      let later: [(Bicycle?, Person?, Worker?)] = try Bicycle.rightJoin(Person.self, on: isOwner)
        .fullJoin(Worker.self, on: Worker.id == Person.id).orderBy(Worker.id).orderBy(Bicycle.id).run(db)
      #expect(later.map(\.1?.name) == ["Anna", "Anna", "Bo", "Cid", nil])
      #expect(later.map(\.2?.name) == ["Ada", "Ada", "Ben", "Cleo", "Dan"])
      let four: [(Bicycle?, Person?, Worker?, Worker)] = try Bicycle.join(Person.self, on: isOwner)
        .leftJoin(Worker.self, on: Worker.id == Person.id)
        .rightJoin(boss, on: boss[Worker.id] == Worker.bossId).orderBy(boss[Worker.id]).run(db)
      #expect(four.map(\.3.name) == ["Ada", "Ben", "Cleo", "Dan"])
      #expect(four.map(\.1?.name) == ["Bo", nil, nil, nil])
      let names: [(String?, Person)] = try Bicycle.select(Bicycle.name.typed(as: String?.self))
        .rightJoin(Person.self, on: isOwner).orderBy(Person.id, .desc).run(db)
      #expect(names.first?.0 == nil)
      #expect(names.first?.1.name == "Cid")
      #expect(names.count == 4)
    }
  }

  @Test(.needs(39, "a RIGHT JOIN")) func anUnmatchedTableMustBeSelectedAsAnOptional() throws {
    try withCompany { db in
      let joined = Worker.rightJoin(Person.self, on: Person.id == Worker.id)
      let model = sqlError { _ = try joined.select(Worker.self, Person.name.typed(as: String.self)).run(db) }
      #expect(model?.message == "a right join may find no row of worker; select worker as an optional")
      let column = sqlError { _ = try joined.select(Worker.name).run(db) }
      #expect(
        column?.message == "a right join may find no row of worker; select the column as an optional with typed(as:)")
      let full = sqlError { _ = try Worker.fullJoin(boss, on: boss[Worker.id] == Worker.bossId).select(boss).run(db) }
      #expect(full?.message == "a full join may find no row of boss; select boss as an optional")
      let names = try joined.select(Worker?.self, Person.name.typed(as: String.self)).orderBy(Person.id).run(db)
      #expect(names.map(\.0?.name) == ["Ada", "Ben", "Cleo"])
      #expect(names.map(\.1) == ["Anna", "Bo", "Cid"])
    }
  }

  @Test(.needs(39, "a FULL JOIN")) func outerJoinsMatchHandWrittenSQL() throws {
    try withCompany { db in
      for join in ["RIGHT", "FULL"] {
        let condition = Worker.bossId == boss[Worker.id] && boss[Worker.salary] > 6
        let query =
          join == "RIGHT"
          ? Worker.rightJoin(boss, on: condition).untyped : Worker.fullJoin(boss, on: condition).untyped
        let byHand = try db.query(
          SQL(
            verbatim:
              "SELECT w.*, b.* FROM worker AS w \(join) JOIN worker AS b ON w.boss_id = b.id AND b.salary > 6"),
          as: DynamicRow.self)
        let found = Set(try query.run(db).map(\.values))
        #expect(found == Set(byHand.map(\.values)))
        #expect(found.count == (join == "RIGHT" ? 5 : 7))
        let inMemory = try query.evaluate(over: MemoryTables(Worker.all))
        #expect(Set(inMemory.map(\.values)) == found)
      }
    }
  }

  @Test(.disabled(if: SQLiteLibrary.isAtLeast(39), "this SQLite has RIGHT and FULL JOIN"))
  func anOlderSQLiteReportsTheRequiredVersion() throws {
    try withCompany { db in
      let error = expectMisuse { _ = try Bicycle.fullJoin(Person.self, on: isOwner).run(db) }
      #expect(error?.message.hasPrefix("a RIGHT or FULL JOIN needs SQLite 3.39 or later") == true)
    }
  }
}
