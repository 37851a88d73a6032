import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Columns and aliases with equal or similar names.
@Suite struct SameNameTests {
  @Test func columnsDeclaredByOneFunctionBelongToTheirTables() throws {
    try withTwins { (db: SqliteDatabase) throws -> Void in
      let pairs = Entry<LeftTwin>.join(Entry<RightTwin>.self, on: LeftTwin.id == RightTwin.id).select(
        LeftTwin.mark.typed(as: String.self), RightTwin.mark.typed(as: String.self))
      #expect(
        pairs.sql == #"""
          SELECT "left_twin"."mark", "right_twin"."mark" FROM "left_twin" \#
          JOIN "right_twin" ON "left_twin"."id" = "right_twin"."id"
          """#)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == ["left 1"])
      #expect(rows.map(\.1) == ["right 1"])
      let alone = Entry<LeftTwin>.read().filter(!exists(Entry<RightTwin>.read().filter(RightTwin.id == LeftTwin.id)))
      #expect(try alone.run(db).map(\.values) == [[2, "left 2"]])
    }
  }

  @Test func termsOfColumnsWithOneNameAreOrderedSeparately() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let numbers = Bicycle.crossJoin(Person.self).select(
        (Bicycle.id * 1).typed(as: Int.self), (Person.id * 1).typed(as: Int.self)
      ).orderBy(Person.id * 1).orderBy(Bicycle.id * 1, .desc)
      #expect(numbers.sql.hasSuffix("ORDER BY 2, 1 DESC"))
      #expect(try numbers.run(db).map(\.1) == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
      let groups = Bicycle.crossJoin(Person.self).select((Bicycle.id * 1).typed(as: Int.self), countAll())
        .groupBy(Person.id * 1)
      #expect(groups.sql.hasSuffix(#"GROUP BY "person"."id" * ?"#))
      #expect(Bicycle.read().filter(Bicycle.id == Bicycle.id) != Bicycle.read().filter(Bicycle.id == Person.id))
    }
  }

  @Test func canonicallyEquivalentNamesStayDistinct() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Accent>.self)
      try db.execute("INSERT INTO accent VALUES (1, 10, 200), (2, 20, 100)")
      let (one, two) = (Alias(Entry<Accent>.self, "é"), Alias(Entry<Accent>.self, "e\u{301}"))
      let rows = try Entry<Accent>.select(Accent.short.typed(as: Int.self), Accent.long.typed(as: Int.self)).orderBy(
        Accent.long
      ).run(db)
      #expect(rows.map(\.0) == [20, 10])
      #expect(rows.map(\.1) == [100, 200])
      let terms = try Entry<Accent>.select(
        (Accent.short * 1).typed(as: Int.self), (Accent.long * 1).typed(as: Int.self)
      )
      .orderBy(Accent.long * 1).run(db)
      #expect(terms.map(\.1) == [100, 200])
      let joined = try one.read().join(two, on: one[Accent.id] < two[Accent.id])
        .select(one[Accent.short].typed(as: Int.self), two[Accent.short].typed(as: Int.self)).run(db)
      #expect(joined.map(\.0) == [10])
      #expect(joined.map(\.1) == [20])
      let ordered = try one.read().crossJoin(two)
        .select((one[Accent.id] * 1).typed(as: Int.self), (two[Accent.id] * 1).typed(as: Int.self))
        .orderBy(two[Accent.id] * 1).run(db)
      #expect(ordered.map(\.1) == [1, 1, 2, 2])
      #expect(
        try db.query("SELECT * FROM accent WHERE id = 1", as: Entry<Accent>.self).map(\.values) == [[1, 10, 200]])
      let filter = Entry<Accent>.read().filter(Accent.long == 100)
      let decoded = try JSONDecoder().decode(
        Statement<Entry<Accent>, [Entry<Accent>]>.self, from: JSONEncoder().encode(filter))
      #expect(try decoded.run(db).map(\.values) == [[2, 20, 100]])
      #expect(decoded.sql == filter.sql)
    }
  }

  private func withTwins(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Entry<LeftTwin>.self, Entry<RightTwin>.self)
      try db.execute(
        "INSERT INTO left_twin VALUES (1, 'left 1'), (2, 'left 2'); INSERT INTO right_twin VALUES (1, 'right 1')")
      try body(db)
    }
  }
}

/// Returns columns that several tables share.
private func twinColumns() -> (id: Column, mark: Column) {
  (Column("id", .integer, PrimaryKey()), Column("mark", .text))
}

private enum LeftTwin: TableDeclaration {
  static let name = "left_twin"
  static let (id, mark) = twinColumns()
  static let columns = [id, mark]
}

private enum RightTwin: TableDeclaration {
  static let name = "right_twin"
  static let (id, mark) = twinColumns()
  static let columns = [id, mark]
}

/// A table with two forms of é as columns: one text for Swift, two names for SQLite.
private enum Accent: TableDeclaration {
  static let name = "accent"
  static let id = Column("id", .integer, PrimaryKey())
  static let (short, long) = (Column("é", .integer), Column("e\u{301}", .integer))
  static let columns = [id, short, long]
}
