import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite struct ChoiceTests {
  @Test func theFirstTrueConditionChoosesTheResult() throws {
    try withCompany { db in
      let word = Case.when(Worker.salary > 9, then: "much").when(Worker.salary > 6, then: "enough").else("little")
      let query = Worker.select(word).orderBy(Worker.id)
      #expect(
        query.sql
          == #"SELECT CASE WHEN "salary" > ? THEN ? WHEN "salary" > ? THEN ? ELSE ? END FROM "worker" ORDER BY "id""#)
      let words: [String] = try query.run(db)
      #expect(words == ["much", "little", "enough", "little"])
      let bosses: [Int?] = try Worker.select(
        Case.when(Worker.id == 1, then: Worker.id).when(Worker.id == 2, then: 7).end()
      ).orderBy(Worker.id).run(db)
      #expect(bosses == [1, 7, nil, nil])
      #expect(try Worker.select(Worker.id).filter(word == "enough").run(db) == [3])
      #expect(try Worker.select(word.length() + 1).filter(Worker.id == 1).run(db) == [5])
      let rows = try Bicycle.select(
        Case.when(Bicycle.ownerId.isNull, then: Bicycle.color).when(Bicycle.id == 1, then: "first").else(Bicycle.name)
      ).orderBy(Bicycle.id).run(db)
      #expect(rows.map(\.values) == [[.text("first")], [.text("Trek")], [.text("Giant")], [.text("green")]])
      #expect(
        try Bicycle.select(Case.when(Bicycle.id == 1, then: Bicycle.name).end()).orderBy(Bicycle.id).run(db)
          .map(\.values) == [[.text("Norco")], [.null], [.null], [.null]])
    }
  }

  @Test func coalesceReplacesNullAndNullIfProducesNull() throws {
    try withCompany { db in
      let boss = Worker.select(Worker.bossId.ifNull(0)).orderBy(Worker.id)
      #expect(boss.sql == #"SELECT coalesce("boss_id", ?) FROM "worker" ORDER BY "id""#)
      let bosses: [Int] = try boss.run(db)
      #expect(bosses == [0, 1, 1, 2])
      let others: [Int] = try Worker.select(Worker.bossId.ifNull(Worker.id)).orderBy(Worker.id).run(db)
      #expect(others == [1, 1, 1, 2])
      let several = Worker.select(Worker.bossId.coalesce(Worker.bossId, Worker.bossId.nullIf(1))).orderBy(Worker.id)
      #expect(
        several.sql == #"SELECT coalesce("boss_id", "boss_id", nullif("boss_id", ?)) FROM "worker" ORDER BY "id""#)
      #expect(try several.run(db) == [nil, 1, 1, 2])
      let none: [Int?] = try Worker.select(Worker.id.nullIf(1)).orderBy(Worker.id).run(db)
      #expect(none == [nil, 2, 3, 4])
      let untyped = Bicycle.select(
        Bicycle.ownerId.ifNull(0),
        Bicycle.ownerId.coalesce(Bicycle.id),
        Bicycle.color.nullIf("red"))
      #expect(
        untyped.sql
          == #"SELECT coalesce("owner_id", ?), coalesce("owner_id", "id"), nullif("color", ?) FROM "bicycle""#)
      let rows = try untyped.orderBy(Bicycle.id).run(db).map(\.values)
      #expect(rows[0] == [.integer(1), .integer(1), .null])
      #expect(rows[3] == [.integer(0), .integer(4), .text("green")])
    }
  }

  @Test func nullIsDistinctFromEveryValue() throws {
    try withCompany { db in
      func workers(_ condition: SqlExpression) throws -> [Int] {
        try Worker.select(Worker.id).filter(condition).orderBy(Worker.id).run(db)
      }
      let ofColumns = Worker.count().filter(Worker.bossId.isDistinct(from: Worker.id))
      #expect(ofColumns.sql.hasSuffix(#"WHERE "boss_id" IS NOT "id""#))
      let different = try workers(Worker.bossId.isDistinct(from: 1))
      #expect(different == [1, 4])
      #expect(try workers(Worker.bossId.isDistinct(from: nil)) == [2, 3, 4])
      #expect(try workers(Worker.bossId.isNotDistinct(from: nil)) == [1])
      #expect(try workers(Worker.bossId.isNotDistinct(from: Worker.bossId)) == [1, 2, 3, 4])
      #expect(try workers(Worker.id.isDistinct(from: Worker.bossId)) == [1, 2, 3, 4])
      #expect(try Bicycle.count().filter(Bicycle.ownerId.isDistinct(from: Bicycle.id)).run(db) == 2)
      #expect(try Bicycle.count().filter(Bicycle.ownerId.isNotDistinct(from: 1)).run(db) == 2)
    }
  }

  @Test func leastAndGreatestCompareTermsOfARow() throws {
    try withCompany { db in
      let query = Worker.select(Worker.id.least(2), Worker.id.greatest(Worker.id, Worker.id + 1)).orderBy(Worker.id)
      #expect(query.sql == #"SELECT min("id", ?), max("id", "id", "id" + ?) FROM "worker" ORDER BY "id""#)
      let rows = try query.run(db)
      #expect(rows.map(\.0) == [1, 2, 2, 2])
      #expect(rows.map(\.1) == [2, 3, 4, 5])
      #expect(try Worker.select(Worker.bossId.greatest(2)).orderBy(Worker.id).run(db) == [nil, 2, 2, 2])
      #expect(
        try Bicycle.select(Bicycle.id.least(Bicycle.ownerId), Bicycle.id.greatest(3)).filter(Bicycle.id == 3).run(db)
          .map(\.values) == [[.integer(1), .integer(3)]])
    }
  }

  @Test func castsUseTheStorageClassOfTheType() throws {
    try withCompany { db in
      let query = Worker.select(
        Worker.salary.cast(to: Int.self),
        Worker.id.cast(to: String.self),
        Worker.bossId.cast(to: Double.self),
        Worker.name.cast(to: Data.self)
      ).filter(Worker.id == 1)
      #expect(
        query.sql == #"""
          SELECT CAST("salary" AS INTEGER), CAST("id" AS TEXT), CAST("boss_id" AS REAL), CAST("name" AS BLOB) \#
          FROM "worker" WHERE "id" = ?
          """#)
      let row: (Int, String, Double?, Data) = try #require(try query.first(db))
      #expect(row == (10, "1", nil, Data("Ada".utf8)))
      #expect(
        try Bicycle.select(Bicycle.id.cast(to: String.self)).orderBy(Bicycle.id).first(db)?.values == [.text("1")])
      expectInvalidStatement { _ = try Worker.select(Worker.id.cast(to: Date.self)).run(db) }
    }
  }

  @Test func bitOperatorsMaskAndShift() throws {
    try withStays(Stay(id: 1, at: Stay.moment, flags: 0b1100)) { db in
      let query = Stay.select(
        Stay.flags.bitAnd(0b0100),
        Stay.flags.bitOr(Stay.id),
        Stay.flags.shiftedLeft(1),
        Stay.flags.shiftedRight(2),
        Stay.flags.inverted().bitAnd(0xF))
      #expect(
        query.sql
          == #"SELECT "flags" & ?, "flags" | "id", "flags" << ?, "flags" >> ?, ~"flags" & ? FROM "stay""#)
      let row = try #require(try query.first(db))
      #expect(row == (0b0100, 0b1101, 0b11000, 0b11, 0b0011))
      // In SQLite, & | << >> share one precedence: above comparisons, below + and -.
      let mixed = Stay.flags.bitOr(Stay.flags.bitAnd(3)) + 1 == 13
      #expect(Stay.count().filter(mixed).sql.hasSuffix(#"WHERE ("flags" | ("flags" & ?)) + ? = ?"#))
      #expect(try Stay.count().filter(mixed).run(db) == 1)
      #expect(try Stay.count().filter(Stay.flags.bitAnd(8) > Stay.flags.bitAnd(4)).run(db) == 1)
      #expect(try Stay.count().filter((Stay.flags + 1).bitAnd(1) == 1).run(db) == 1)
      #expect(try Stay.count().filter((-Stay.flags).inverted() == 11).run(db) == 1)
      #expect(
        Bicycle.select(Bicycle.id.bitAnd(3), Bicycle.id.inverted(), Bicycle.id.shiftedLeft(2)).sql
          == #"SELECT "id" & ?, ~"id", "id" << ? FROM "bicycle""#)
    }
  }

  @Test func choicesAreComparedByTheirParts() {
    let statement = Worker.read().filter(Case.when(Worker.id == 1, then: 1).else(0) == 1)
    #expect(statement == Worker.read().filter(Case.when(Worker.id == 1, then: 1).else(0) == 1))
    #expect(statement != Worker.read().filter(Case.when(Worker.id == 1, then: 2).else(0) == 1))
  }

  @Test func bitOperatorsSurviveJSON() throws {
    let statement = Stay.read().filter(Stay.flags.bitAnd(4) == 4 && Stay.note.glob("a*"))
    let data = try JSONEncoder().encode(statement)
    #expect(try JSONDecoder().decode(Statement<Stay, [Stay]>.self, from: data) == statement)
  }
}
