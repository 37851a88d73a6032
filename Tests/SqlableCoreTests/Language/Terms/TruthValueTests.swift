import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Boolean terms as conditions. NULL is not true.
@Suite struct TruthValueTests {
  private func withSamples(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      try Sample.insert([
        Sample(id: 1, isOpen: true),
        Sample(id: 2, isOpen: false, isPaid: true, parent: 1),
        Sample(id: 3, isOpen: true, isPaid: false, parent: 1),
        Sample(id: 4, isOpen: true, isPaid: true),
      ]).run(db)
      try body(db)
    }
  }

  @Test func aBooleanTermFiltersStatementsQueriesAndAssociations() throws {
    try withSamples { (db: SqliteDatabase) throws -> Void in
      #expect(Sample.read(Sample.isPaid).sql.hasSuffix(#" WHERE "is_paid""#))
      #expect(try Sample.read(Sample.isPaid).run(db).map(\.id) == [2, 4])
      #expect(try Sample.read().filter(Sample.isOpen).filter(Sample.isPaid).run(db).map(\.id) == [4])
      #expect(try Sample.select(Sample.id).filter(Sample.isOpen).run(db) == [1, 3, 4])
      #expect(try Sample.count(Sample.isPaid).run(db) == 2)
      #expect(try Sample.exists(Sample.isPaid).filter(Sample.id == 1).run(db) == false)
      let parts = try Sample.read().filter(Sample.id == 1).including(Sample.parts.filter(Sample.isOpen)).run(db)
      #expect(parts.map { $0.1.map(\.id) } == [[3]])
      let isOdd = TypedExpression<Bool>(sql: "\(Sample.id) % 2")
      #expect(try Sample.read().filter(isOdd).run(db).map(\.id) == [1, 3])
    }
  }

  @Test func aBooleanTermIsAConditionOfGroupsAndCases() throws {
    try withSamples { (db: SqliteDatabase) throws -> Void in
      let groups = Sample.select(Sample.parent, countAll()).groupBy(Sample.parent).having(Sample.isOpen.min()).orderBy(
        Sample.parent)
      #expect(groups.sql.hasSuffix(#" GROUP BY "parent" HAVING min("is_open") ORDER BY "parent""#))
      #expect(try groups.run(db).map(\.1) == [2])
      let marks = Sample.select(Case.when(Sample.isPaid, then: "!").when(Sample.isOpen, then: "x").else("")).orderBy(
        Sample.id)
      #expect(try marks.run(db) == ["x", "!", "x", "!"])
    }
  }

  @Test func aBooleanTermSelectsTheRowsToChange() throws {
    try withSamples { (db: SqliteDatabase) throws -> Void in
      #expect(try Sample.update(Sample.isOpen.set(to: true)).filter(Sample.isPaid).run(db) == 2)
      #expect(try Sample.delete(Sample.isPaid).run(db) == 2)
      #expect(try Sample.read().run(db).map(\.id) == [1, 3])
    }
  }

  @Test func aBooleanTermIsAConditionOfJoinsAndAggregates() throws {
    try withSamples { (db: SqliteDatabase) throws -> Void in
      let part = Alias(Sample.self, "part")
      let joined = Sample.join(part, on: part[Sample.isOpen]).filter(Sample.id == 1)
      #expect(joined.sql.hasSuffix(#" ON "part"."is_open" WHERE "sample"."id" = ?"#))
      #expect(try joined.run(db).map(\.1.id) == [1, 3, 4])
      #expect(try Sample.join(part, on: !part[Sample.isOpen]).filter(Sample.id == 1).run(db).map(\.1.id) == [2])
      let counts = Sample.select(countAll(where: Sample.isPaid), Sample.id.sum(where: Sample.isOpen))
      #expect(
        counts.sql == #"""
          SELECT count(*) FILTER (WHERE "is_paid"), sum("id") FILTER (WHERE "is_open") FROM "sample"
          """#)
      let row = try counts.run(db)
      #expect(row.map(\.0) == [2])
      #expect(row.map(\.1) == [8])
      let hasParts = Sample.parts.aggregate(Sample.isOpen.max())
      #expect(try Sample.read().filter(hasParts).run(db).map(\.id) == [1])
    }
  }
}

extension Sample {
  fileprivate static let parts = toMany(Sample.self, by: parent, of: id)
}
