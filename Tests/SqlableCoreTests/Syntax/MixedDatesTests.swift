import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Dates in columns of different formats, which must never mix.
@Suite struct MixedDatesTests {
  private let day = Date(timeIntervalSince1970: 1_700_000_000)

  private func withStamps(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Stamp.self)
      try Stamp(id: 1, a: day, b: day, c: day, d: day).insert().run(db)
      try body(db)
    }
  }

  @Test func columnsInDifferentFormsAreNotMixed() throws {
    try withStamps { db in
      let wrong: [SqlExpression] = [
        Stamp.a == Stamp.b, Stamp.b > Stamp.c, Stamp.c != Stamp.d, Stamp.b.least(Stamp.c) > day,
        Stamp.a.coalesce(Stamp.b) == day, Case.when(Stamp.id > 0, then: Stamp.a).else(Stamp.c) == day,
        Stamp.a.in(Stamp.select(Stamp.b)), Stamp.b == scalar(Stamp.select(Stamp.c)),
      ]
      for condition in wrong { expectInvalidStatement { _ = try Stamp.count().filter(condition).run(db) } }
      expectInvalidStatement { _ = try Stamp.select(Stamp.a).union(Stamp.select(Stamp.b)).run(db) }
      let (milliseconds, seconds) = ("INTEGER (date as unixMilliseconds)", "INTEGER (date as unixSeconds)")
      for (assignment, message) in [
        (Stamp.b.set(to: Stamp.c), "column b takes \(milliseconds), but was given \(seconds)"),
        (
          Stamp.a.set(to: Stamp.d),
          "column a takes REAL (date as unixSecondsWithFraction), but was given TEXT (date as iso8601)"
        ),
        (Stamp.c.set(to: Stamp.b.least(Stamp.b)), "column c takes \(seconds), but was given \(milliseconds)"),
      ] {
        let error = sqlError { try Stamp.updateAll(assignment).run(db) }
        #expect(error?.message == message)
        #expect(error?.table == "stamp")
      }
      let stamps = try Stamp.read().run(db)
      #expect(stamps.allSatisfy { [$0.a, $0.b, $0.c, $0.d] == [day, day, day, day] })
    }
  }

  @Test func datesInTheSameFormAreComparedAndStored() throws {
    try withStamps { db in
      let other = Alias(Stamp.self, "other")
      let right: [SqlExpression] = [
        Stamp.b == Stamp.b, Stamp.d.least(Stamp.d) == day, Stamp.b.in(Stamp.select(Stamp.b)),
        scalar(other.read().select(other[Stamp.d])) == day, scalar(other.read().select(other[Stamp.b])) >= day,
        Case.when(Stamp.id > 0, then: Stamp.d).else(Stamp.d) == day,
      ]
      for condition in right {
        let count = try Stamp.count().filter(condition).run(db)
        #expect(count == 1)
      }
      try Stamp.updateAll(Stamp.b.set(to: Stamp.b.adding(1, .day))).run(db)
      #expect(try Stamp.read().run(db).first?.b == day + 86_400)
    }
  }

  @Test func anErrorNamesTheTableOfTheColumn() throws {
    try withStamps { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let joined = Person.join(Stamp.self, on: Stamp.id == Person.id.typed(as: Int.self))
      for (condition, column) in [
        (Stamp.a == Stamp.b, "b"), (Stamp.id.expression == "x", "id"), (Stamp.d.expression + 1 == 2, "d"),
        (Stamp.id.expression.year() == 1, "id"),
      ] {
        let error = sqlError { _ = try joined.filter(condition).run(db) }
        #expect(error?.table == "stamp", "\(String(describing: error))")
        #expect(error?.column == column, "\(String(describing: error))")
        // The column belongs to a subquery, then to the query around one.
        let inner = sqlError { _ = try Person.read().filter(exists(Stamp.read().filter(condition))).run(db) }
        #expect(inner?.table == "stamp")
        #expect(inner?.column == column)
        let around = sqlError { _ = try Stamp.count().filter(exists(Person.read().filter(condition))).run(db) }
        #expect(around?.table == "stamp")
        #expect(around?.column == column)
        let other = Alias(Stamp.self, "other")
        let aliased = sqlError { _ = try Person.join(other, on: condition).run(db) }
        #expect(aliased?.table == "stamp")
        #expect(aliased?.column == column)
      }
      let named = Stamp.select(Stamp.a, Stamp.b).named("both")
      let error = sqlError { _ = try Person.read().joining(named, on: named.columns.0 == named.columns.1).run(db) }
      #expect(error?.table == "both")
      #expect(error?.column == "c2")
    }
  }

  @Test func dateFunctionsWorkOnADateConstant() throws {
    try withStamps { db in
      let term = TypedExpression(day)
      let query = Stamp.select(term.date(), term.year(), term.strftime("%H"), term.adding(1, .day))
      for _ in 1...2 {
        let row = try query.first(db)
        #expect(row?.0 == "2023-11-14")
        #expect(row?.1 == 2023)
        #expect(row?.2 == "22")
        #expect(row?.3 == day + 86_400)
      }
      let null = TypedExpression(nil as Date?)
      #expect(try Stamp.select(null.date()).run(db) == [nil])
      #expect(try Stamp.count().filter(term.date() == Stamp.b.date() && term.month() == 11).run(db) == 1)
      // A text or a number has no date, although its statement has the same shape.
      for _ in 1...2 {
        expectInvalidStatement { _ = try Stamp.select(TypedExpression("2023-11-14").expression.date()).run(db) }
        expectInvalidStatement { _ = try Stamp.select(TypedExpression(5).expression.date()).run(db) }
      }
      // A constant date is in seconds and can't be compared with milliseconds.
      let error = expectInvalidStatement { _ = try Stamp.count().filter(term == Stamp.b).run(db) }
      #expect(error?.column == "b")
      #expect(error?.table == "stamp")
      #expect(try Stamp.count().filter(term == Stamp.a && term == Stamp.c && Stamp.b == day).run(db) == 1)
    }
  }

  @Test func aDateInSQLTextTakesTheFormOfAColumn() throws {
    try withStamps { db in
      for column in [Stamp.a, Stamp.b, Stamp.c, Stamp.d] {
        let found = try db.query("SELECT count(*) FROM stamp WHERE \(column) = \(day, as: column)", as: Int.self)
        #expect(found == [1])
        let later = try db.query("SELECT count(*) FROM stamp WHERE \(column) > \(day, as: column)", as: Int.self)
        #expect(later == [0])
      }
      let text = sqlError { _ = try db.query("SELECT \("x", as: Stamp.b)", as: Int.self) }
      #expect(
        text?.message == "column b takes INTEGER (date as unixMilliseconds), but was given TEXT",
        "\(String(describing: text))")
    }
  }

  @Test func aggregatesOfNullableColumnsAreNotDoublyOptional() throws {
    try withCompany { db in
      let rows = try Worker.select(Worker.bossId.max(), Worker.bossId.sum(), Worker.bossId.lag().over()).run(db)
      for (highest, sum, before) in rows { print(highest ?? 0, sum ?? 0, before ?? 0) }
      #expect(try Worker.select(Worker.bossId).filter(Worker.bossId.isNotNull).distinct().count(db) == 2)
    }
  }

  @Test func textSearchesAcceptTextsThatLIKERefuses() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let long = String(repeating: "x", count: 60_000)
      let texts = ["a\0b", "ba\0", "\0ab", long + "y"]
      try Person.insert(texts.enumerated().map { Person(id: $0 + 1, name: $1) }).run(db)
      func ids(_ condition: SqlExpression) throws -> [Int?] {
        try Person.read().filter(condition).orderBy(Person.id).run(db).map(\.id)
      }
      #expect(try ids(Person.name.contains("a\0")) == [1, 2])
      #expect(try ids(Person.name.hasPrefix("a\0")) == [1])
      #expect(try ids(Person.name.contains(long)) == [4])
      #expect(try ids(Person.name.hasPrefix(long)) == [4])
      #expect(try ids(Person.name.contains(long + "z")) == [])
      #expect(try ids(Person.name.hasSuffix(long)) == [])
      // Like LIKE, the search ignores the case of ASCII letters.
      let upper = long.uppercased()
      #expect(try ids(Person.name.contains("\0B")) == [1])
      #expect(try ids(Person.name.hasPrefix(upper)) == [4])
      #expect(try ids(Person.name.hasSuffix("\0B")) == [1])
      #expect(try ids(Person.name.hasSuffix("A\0")) == [2])
      #expect(try ids(Person.name.hasSuffix(upper + "Y")) == [4])
      #expect(try ids(Person.name.hasSuffix("é\0ba\0")) == [])
    }
  }
}

private struct Stamp: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let a = column("a", Date.self)
  static let b = column("b", Date.self, as: .date(.unixMilliseconds))
  static let c = column("c", Date.self, as: .date(.unixSeconds))
  static let d = column("d", Date.self, as: .date(.iso8601))
  static let tableLayout = [id.column, a.column, b.column, c.column, d.column]
  let id: Int
  let (a, b, c, d): (Date, Date, Date, Date)

  init(id: Int, a: Date, b: Date, c: Date, d: Date) { (self.id, self.a, self.b, self.c, self.d) = (id, a, b, c, d) }
  init(row: ReadRow) throws {
    self.init(
      id: try row.get(Stamp.id), a: try row.get(Stamp.a), b: try row.get(Stamp.b), c: try row.get(Stamp.c),
      d: try row.get(Stamp.d))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Stamp.id, id)
    row.set(Stamp.a, a)
    row.set(Stamp.b, b)
    row.set(Stamp.c, c)
    row.set(Stamp.d, d)
  }
}
