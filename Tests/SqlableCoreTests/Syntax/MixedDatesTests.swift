import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Dates in columns of different formats, which must never mix.
@Suite struct MixedDatesTests {
  private let day = Date(timeIntervalSince1970: 1_700_000_000)

  private func withStay(_ body: (SqliteDatabase) throws -> Void) throws {
    try withStays(Stay(id: 1, at: day), body: body)
  }

  @Test func columnsInDifferentFormsAreNotMixed() throws {
    try withStay { db in
      let wrong: [SqlExpression] = [
        Stay.real == Stay.milliseconds, Stay.milliseconds > Stay.seconds, Stay.seconds != Stay.iso,
        Stay.milliseconds.least(Stay.seconds) > day,
        Stay.real.coalesce(Stay.milliseconds) == day, Case.when(Stay.id > 0, then: Stay.real).else(Stay.seconds) == day,
        Stay.real.in(Stay.select(Stay.milliseconds)), Stay.milliseconds == scalar(Stay.select(Stay.seconds)),
      ]
      for condition in wrong { expectInvalidStatement { _ = try Stay.count().filter(condition).run(db) } }
      expectInvalidStatement { _ = try Stay.select(Stay.real).union(Stay.select(Stay.milliseconds)).run(db) }
      let (inMilliseconds, inSeconds) = ("INTEGER (date as unixMilliseconds)", "INTEGER (date as unixSeconds)")
      for (assignment, message) in [
        (
          Stay.milliseconds.set(to: Stay.seconds),
          "column milliseconds takes \(inMilliseconds), but was given \(inSeconds)"
        ),
        (
          Stay.real.set(to: Stay.iso),
          "column real takes REAL (date as unixSecondsWithFraction), but was given TEXT (date as iso8601)"
        ),
        (
          Stay.seconds.set(to: Stay.milliseconds.least(Stay.milliseconds)),
          "column seconds takes \(inSeconds), but was given \(inMilliseconds)"
        ),
      ] {
        let error = sqlError { try Stay.updateAll(assignment).run(db) }
        #expect(error?.message == message)
        #expect(error?.table == "stay")
      }
      let stored = try Stay.select(Stay.real, Stay.milliseconds, Stay.seconds, Stay.iso).first(db)
      #expect(try #require(stored) == (day, day, day, day))
    }
  }

  @Test func datesInTheSameFormAreComparedAndStored() throws {
    try withStay { db in
      let other = Alias(Stay.self, "other")
      let right: [SqlExpression] = [
        Stay.milliseconds == Stay.milliseconds, Stay.iso.least(Stay.iso) == day,
        Stay.milliseconds.in(Stay.select(Stay.milliseconds)),
        scalar(other.read().select(other[Stay.iso])) == day,
        scalar(other.read().select(other[Stay.milliseconds])) >= day,
        Case.when(Stay.id > 0, then: Stay.iso).else(Stay.iso) == day,
      ]
      for condition in right {
        let count = try Stay.count().filter(condition).run(db)
        #expect(count == 1)
      }
      try Stay.updateAll(Stay.milliseconds.set(to: Stay.milliseconds.adding(1, .day))).run(db)
      #expect(try Stay.select(Stay.milliseconds).first(db) == day + 86_400)
    }
  }

  @Test func anErrorNamesTheTableOfTheColumn() throws {
    try withStay { db in
      try db.createTables(Person.self, Bicycle.self)
      let joined = Person.join(Stay.self, on: Stay.id == Person.id.typed(as: Int.self))
      for (condition, column) in [
        (Stay.real == Stay.milliseconds, "milliseconds"), (Stay.id.expression == "x", "id"),
        (Stay.iso.expression + 1 == 2, "iso"),
        (Stay.id.expression.year() == 1, "id"),
      ] {
        let error = sqlError { _ = try joined.filter(condition).run(db) }
        #expect(error?.table == "stay", "\(String(describing: error))")
        #expect(error?.column == column, "\(String(describing: error))")
        // The column belongs to a subquery, then to the query around one.
        let inner = sqlError { _ = try Person.read().filter(exists(Stay.read().filter(condition))).run(db) }
        #expect(inner?.table == "stay")
        #expect(inner?.column == column)
        let around = sqlError { _ = try Stay.count().filter(exists(Person.read().filter(condition))).run(db) }
        #expect(around?.table == "stay")
        #expect(around?.column == column)
        let other = Alias(Stay.self, "other")
        let aliased = sqlError { _ = try Person.join(other, on: condition).run(db) }
        #expect(aliased?.table == "stay")
        #expect(aliased?.column == column)
      }
      let named = Stay.select(Stay.real, Stay.milliseconds).named("both")
      let error = sqlError { _ = try Person.read().joining(named, on: named.columns.0 == named.columns.1).run(db) }
      #expect(error?.table == "both")
      #expect(error?.column == "c2")
    }
  }

  @Test func dateFunctionsWorkOnADateConstant() throws {
    try withStay { db in
      let term = TypedExpression(day)
      let query = Stay.select(term.date(), term.year(), term.strftime("%H"), term.adding(1, .day))
      for _ in 1...2 {
        let row = try query.first(db)
        #expect(row?.0 == "2023-11-14")
        #expect(row?.1 == 2023)
        #expect(row?.2 == "22")
        #expect(row?.3 == day + 86_400)
      }
      let null = TypedExpression(nil as Date?)
      #expect(try Stay.select(null.date()).run(db) == [nil])
      #expect(try Stay.count().filter(term.date() == Stay.milliseconds.date() && term.month() == 11).run(db) == 1)
      // A text or a number has no date, although its statement has the same shape.
      for _ in 1...2 {
        expectInvalidStatement { _ = try Stay.select(TypedExpression("2023-11-14").expression.date()).run(db) }
        expectInvalidStatement { _ = try Stay.select(TypedExpression(5).expression.date()).run(db) }
      }
      // A constant date is in seconds and can't be compared with milliseconds.
      let error = expectInvalidStatement { _ = try Stay.count().filter(term == Stay.milliseconds).run(db) }
      #expect(error?.column == "milliseconds")
      #expect(error?.table == "stay")
      #expect(
        try Stay.count().filter(term == Stay.real && term == Stay.seconds && Stay.milliseconds == day).run(db) == 1)
    }
  }

  @Test func aDateInSQLTextTakesTheFormOfAColumn() throws {
    try withStay { db in
      for column in [Stay.real, Stay.milliseconds, Stay.seconds, Stay.iso] {
        let found = try db.query("SELECT count(*) FROM stay WHERE \(column) = \(day, as: column)", as: Int.self)
        #expect(found == [1])
        let later = try db.query("SELECT count(*) FROM stay WHERE \(column) > \(day, as: column)", as: Int.self)
        #expect(later == [0])
      }
      let text = sqlError { _ = try db.query("SELECT \("x", as: Stay.milliseconds)", as: Int.self) }
      #expect(
        text?.message == "column milliseconds takes INTEGER (date as unixMilliseconds), but was given TEXT",
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
