import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// A table that another program has created, with dates in SQLite's own text form.
private struct Shift: Equatable {
  var at: Date
  var end: Date?
  static let tableName = "shift"
}

extension Shift: Sqlable {
  static let at = column("at", Date.self, as: .date(.sqliteText), PrimaryKey(), DeclaredType("DATETIME"))
  static let end = column("end", Date?.self, as: .date(.sqliteText), DeclaredType("DATETIME"))
  static let tableLayout = [at.column, end.column]

  init(row: ReadRow) throws { self.init(at: try row.get(Shift.at), end: try row.get(Shift.end)) }
  func write(to row: inout RowWriter) throws {
    row.set(Shift.at, at)
    row.set(Shift.end, end)
  }
}

/// The same table in the form of ISO 8601.
private enum ISOShift: TableDeclaration {
  static let name = "shift"
  static let at = Entry<ISOShift>.column("at", Date.self, as: .date(.iso8601), PrimaryKey())
  static let end = Entry<ISOShift>.column("end", Date?.self, as: .date(.iso8601AssumingUTC))
  static let columns = [at.column, end.column]
}

/// Dates in the form `2013-01-01 06:00:00.000`, as GRDB and SQLite's functions write them.
@Suite struct SQLiteDateTests {
  /// 2026-11-28 18:45:41.250 UTC
  private let evening = Date(timeIntervalSince1970: 1_795_891_541.25)

  private func withShifts(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE shift (at DATETIME PRIMARY KEY NOT NULL, "end" DATETIME);
        INSERT INTO shift VALUES ('2026-11-28 18:45:41.250', '2026-11-29 02:00:00.000'),
          ('2026-11-28 06:00:00.000', NULL), ('2026-11-27 18:45:41.251', '2026-11-28 00:00:00.000')
        """)
      try body(db)
    }
  }

  private func texts(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT at FROM shift ORDER BY at", as: String.self)
  }

  @Test func datesOfAnotherProgramAreFilteredAndSorted() throws {
    try withShifts { db in
      try Schema(Shift.self).verify(db)
      let query = Shift.select(Shift.at).filter(Shift.at > evening - 86_400).orderBy(Shift.at)
      #expect(query.sql == #"SELECT "at" FROM "shift" WHERE "at" > ? ORDER BY "at""#)
      #expect(query.bindings == [.text("2026-11-27 18:45:41.250")])
      let dates = [evening - 86_400 + 0.001, evening - 45_941.25, evening]
      let read = try query.run(db)
      for (date, expected) in zip(read, dates) { #expect(abs(date.timeIntervalSince(expected)) < 1e-6) }
      #expect(read.count == 3)
      func count(_ condition: SqlExpression) throws -> Int { try Shift.count(condition).run(db) }
      #expect(try count(Shift.at == evening) == 1)
      #expect(try count(Shift.at != evening) == 2)
      #expect(try count(Shift.at.between((evening - 60)...evening)) == 1)
      #expect(try count(Shift.at.between((evening - 60)..<evening)) == 0)
      #expect(try count(Shift.at.in([evening, evening + 1])) == 1)
      #expect(try count(Shift.end > Shift.at.optional) == 2)
      #expect(try count(Shift.end.isNull) == 1)
      #expect(try count(Shift.at.start(of: .day) == Shift.end.start(of: .day)) == 0)
      #expect(try Shift.select(Shift.at.max()).first(db) == evening)
    }
  }

  @Test func writesKeepTheForm() throws {
    try withShifts { db in
      var shift = try #require(try Shift.byId(evening).run(db))
      #expect(shift.end == evening + 26_058.75)
      shift.end = evening + 0.0004
      try shift.update().run(db)
      try shift.save().run(db)
      try Shift(at: evening + 1, end: nil).insert().run(db)
      try Shift.update(Shift.at.set(to: Shift.at.adding(1, .hour))).filter(Shift.at < evening - 80_000).run(db)
      #expect(
        try texts(db) == [
          "2026-11-27 19:45:41.251", "2026-11-28 06:00:00.000", "2026-11-28 18:45:41.250", "2026-11-28 18:45:42.250",
        ])
      #expect(
        try db.query("SELECT \"end\" FROM shift WHERE at = \(evening, as: Shift.at)", as: String.self) == [
          "2026-11-28 18:45:41.250"
        ])
      let twice = sqlError { try Shift(at: evening, end: nil).insert().run(db) }
      #expect(twice?.kind == .constraint(.primaryKey))
      try Shift.byId(evening).run(db)?.delete().run(db)
      #expect(try Shift.count().run(db) == 3)
    }
  }

  @Test func everyTextWithoutAZoneIsRead() throws {
    let six = Date(timeIntervalSince1970: 1_357_020_000)
    for (text, date) in [
      ("2013-01-01 06:00:00", six), ("2013-01-01 06:00", six), ("2013-01-01T06:00:00", six),
      ("2013-01-01T06:00:00.000Z", six), ("2013-01-01T07:00:00+0100", six), ("2013-01-01", six - 21_600),
    ] {
      try withShifts { db in
        try db.execute("UPDATE shift SET \"end\" = \(text)")
        #expect(try Shift.select(Shift.end).distinct().run(db) == [date], "\(text)")
      }
    }
    try withShifts { db in
      try db.execute("UPDATE shift SET \"end\" = '2013-02-30 06:00:00.000'")
      let error = sqlError { _ = try Shift.read().run(db) }
      #expect(error?.message.hasPrefix("shift.end should hold a date in ISO 8601, but holds TEXT") == true)
    }
  }

  /// `datetime()` and CURRENT_TIMESTAMP write no milliseconds.
  @Test func textsWithoutMillisecondsSortButEqualNoDate() throws {
    try withShifts { db in
      try db.execute("INSERT INTO shift (at) VALUES ('2026-11-28 18:45:42'), (datetime('2026-11-28 18:45:41'))")
      let sorted = try Shift.select(Shift.at).orderBy(Shift.at).run(db)
      #expect(sorted == sorted.sorted())
      #expect(sorted.count == 5)
      #expect(try Shift.count(Shift.at < evening + 0.75).run(db) == 5)
      #expect(try Shift.count(Shift.at == evening + 0.75).run(db) == 0)
    }
  }

  @Test func otherFormsAreRefused() throws {
    try withShifts { db in
      let iso = Alias(Entry<ISOShift>.self, "iso")
      for condition in [Shift.at == iso[ISOShift.at], Shift.end == iso[ISOShift.end]] {
        let error = expectInvalidStatement { _ = try Shift.join(iso, on: condition).run(db) }
        #expect(
          error?.message
            == "an operation mixes dates in different storage formats; convert the dates with seconds(since:)")
      }
      expectInvalidStatement { _ = try Shift.select(Shift.at).union(Entry<ISOShift>.select(ISOShift.at)).run(db) }
      let copy = Shift.insert(Shift.at, from: Entry<ISOShift>.select(ISOShift.at))
      #expect(
        sqlError { try copy.run(db) }?.message
          == "column at takes TEXT (date as sqliteText), but was given TEXT (date as iso8601)")
    }
  }

  @Test func statementsAreData() throws {
    try withShifts { db in
      let query = Shift.read().filter(Shift.at >= evening)
      let json = try query.json()
      #expect(String(decoding: json, as: UTF8.self).contains(#""2026-11-28 18:45:41.250""#))
      let policy = StatementPolicy(
        .table(Shift.self).reading(Shift.at, Shift.end).filtering(Shift.at, by: .comparison)
          .rows(where: Shift.at < evening + 1))
      let restricted = try policy.statement(Select<Shift>.self, json: json)
      for copy in [try Select<Shift>(json: json), restricted] {
        #expect(try copy.run(db).map(\.at) == [evening])
      }
      #expect(try query.evaluate(over: Shift.read().run(db)).map(\.at) == [evening])
    }
  }

  @Test func defaultsAndPlansUseTheForm() throws {
    enum Logged: TableDeclaration {
      static let columns = [
        Column("id", .integer, PrimaryKey()),
        Column("at", .date(.sqliteText), Default(Date(timeIntervalSince1970: 0))),
      ]
    }
    try withDatabase { db in
      try db.createTable(Entry<Logged>.self)
      #expect(
        try db.definition(of: "t")
          == #"CREATE TABLE "t" ("id" INTEGER PRIMARY KEY, "at" TEXT NOT NULL DEFAULT '1970-01-01 00:00:00.000')"#)
      try Schema(Entry<Logged>.self).verify(db)
    }
    for (text, isDate) in [("2013-01-01 06:00:00", true), ("2013-01-01", true), ("2013-02-30 06:00:00.000", false)] {
      try withDatabase { db in
        try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, at BLOB); INSERT INTO t VALUES (7, \(text))")
        let error = sqlError { try Schema(Entry<Logged>.self).plan(db).apply(db) }
        #expect((error == nil) == isDate, "\(text): \(error?.message ?? "")")
      }
    }
  }
}
