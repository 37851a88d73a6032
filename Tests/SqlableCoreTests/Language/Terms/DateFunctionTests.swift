import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct DateFunctionTests {
  static let columns = [Stay.real, Stay.seconds, Stay.milliseconds, Stay.iso, Stay.sqlite]

  @Test(arguments: columns) func datePartsFollowTheColumnsFormat(_ column: TypedColumn<Stay, Date>) throws {
    try withStays(Stay(id: 1, at: Stay.moment), Stay(id: 2, at: Date(timeIntervalSince1970: -1))) { db in
      let parts = Stay.select(
        column.year(),
        column.month(),
        column.day(),
        column.hour(),
        column.minute(),
        column.weekday()
      ).orderBy(Stay.id)
      let rows: [(Int?, Int?, Int?, Int?, Int?, Int?)] = try parts.run(db)
      #expect(rows[0] == (2024, 1, 31, 13, 45, 3))
      #expect(rows[1] == (1969, 12, 31, 23, 59, 3))
      let texts = try Stay.select(column.date(), column.strftime("%Y/%m '%H")).orderBy(Stay.id).run(db)
      #expect(texts[0] == ("2024-01-31", "2024/01 '13"))
      #expect(texts[1].0 == "1969-12-31")
      #expect(
        try Stay.select(column.column.year(), column.column.date()).filter(Stay.id == 1).run(db).map(\.values)
          == [[.integer(2024), .text("2024-01-31")]])
      #expect(try Stay.count().filter(column.year() == 2024 && column.month() < 2).run(db) == 1)
    }
  }

  @Test func aDateThatSQLiteCannotReadHasNoParts() throws {
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      try db.execute("UPDATE stay SET real = 1e15")
      #expect(try Stay.select(Stay.real).run(db) == [Date(timeIntervalSince1970: 1e15)])
      #expect(try Stay.select(Stay.real.year(), Stay.real.second()).run(db).map(\.0) == [nil])
      #expect(try Stay.select(Stay.real.start(of: .day)).run(db) == [nil])
    }
  }

  @Test func theSQLDependsOnTheColumnsDateFormat() {
    #expect(
      Stay.select(Stay.real.year(), Stay.seconds.date(), Stay.milliseconds.hour(), Stay.iso.strftime("%Y")).sql == #"""
        SELECT CAST(strftime('%Y', "real", 'unixepoch') AS INTEGER), date("seconds", 'unixepoch'), \#
        CAST(strftime('%H', "milliseconds" / 1000.0, 'unixepoch') AS INTEGER), strftime('%Y', "iso") \#
        FROM "stay"
        """#)
    #expect(
      Stay.count().filter(Stay.real.adding(-2, .day) < Stay.real.adding(1, .month)).sql == #"""
        SELECT count(*) FROM "stay" \#
        WHERE ("real" + ?) < round((julianday("real", 'unixepoch', ?) - 2440587.5) * 86400.0, 3)
        """#)
  }

  @Test(arguments: columns) func addedIntervalsKeepTheColumnsFormat(_ column: TypedColumn<Stay, Date>) throws {
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      func matches(_ count: Int, _ unit: DateUnit, _ seconds: Double) throws -> Bool {
        let shifted = column.adding(count, unit)
        return try Stay.count().filter(shifted == Date(timeIntervalSince1970: 1_706_708_730 + seconds)).run(db) == 1
          && Stay.count().filter(column.column.adding(count, unit) == shifted.expression).run(db) == 1
      }
      let isLater = try matches(30, .second, 30)
      #expect(isLater)
      #expect(try matches(-5, .minute, -300))
      #expect(try matches(2, .hour, 7200))
      #expect(try matches(1, .day, 86_400))
      #expect(try matches(-31, .day, -31 * 86_400))
      // 31 February does not exist in 2024 and becomes 2 March.
      #expect(try matches(1, .month, 31 * 86_400))
      #expect(try matches(-1, .month, -31 * 86_400))
      #expect(try matches(1, .year, 366 * 86_400))
      #expect(try Stay.select(column.adding(1, .month).month()).run(db) == [3])
      #expect(try Stay.select(column.adding(11, .hour).adding(1, .day).date()).run(db) == ["2024-02-02"])
      #expect(try Stay.count().filter(column.adding(1, .day) > column).run(db) == 1)
    }
  }

  @Test func addedIntervalsAreReadBackAsDates() throws {
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      let row = try #require(
        try Stay.select(Stay.real.adding(1, .day), Stay.seconds.adding(1, .year), Stay.real.adding(-1, .month))
          .first(db))
      #expect(row.0 == Stay.moment + 86_400)
      #expect(row.1 == Stay.moment + 366 * 86_400)
      #expect(row.2 == Stay.moment - 31 * 86_400)
    }
  }

  @Test func fractionsOfSecondsAreKept() throws {
    let moment = Date(timeIntervalSince1970: 1_706_708_730.25)
    try withDatabase { db in
      try db.createTable(Stay.self)
      var stay = Stay(id: 1, at: moment)
      stay.seconds = Stay.moment
      try stay.insert().run(db)
      let later = moment + 31 * 86_400
      for column in [Stay.real, Stay.milliseconds, Stay.iso, Stay.sqlite] {
        #expect(try Stay.count().filter(column.adding(1, .month) == later).run(db) == 1)
        #expect(try Stay.count().filter(column.adding(1, .minute) == moment + 60).run(db) == 1)
      }
    }
  }

  @Test func datePartsOfNullAreNull() throws {
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      let years: [Int?] = try Stay.select(Stay.left.year()).run(db)
      #expect(years == [nil])
      #expect(try Stay.select(Stay.left.date()).run(db) == [nil])
      #expect(try Stay.count().filter(Stay.left.adding(1, .year).isNull).run(db) == 1)
      #expect(try Stay.select(Stay.left.coalesce(Stay.left).month()).run(db) == [nil])
      #expect(try Stay.select(Stay.real.max().year()).run(db) == [2024])
    }
  }

  @Test func datesOutsideSQLitesYearsHaveNoParts() throws {
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      for (seconds, year) in [(3e11, nil), (-3e11, nil), (-1e11, -1199), (253_402_300_799, 9999)] as [(Double, Int?)] {
        try Stay.updateAll(Stay.left.set(to: Date(timeIntervalSince1970: seconds))).run(db)
        #expect(try Stay.select(Stay.left.year()).run(db) == [year])
        #expect(try Stay.count().filter(Stay.left.date().isNull).run(db) == (year == nil ? 1 : 0))
        #expect(try Stay.count().filter(Stay.left.start(of: .month).isNull).run(db) == (year == nil ? 1 : 0))
      }
    }
  }

  @Test func dateFunctionsOfOtherColumnsThrow() throws {
    try withCompany { db in
      for term in [
        Bicycle.id.year(),
        Bicycle.name.date(),
        (Bicycle.id + 1).strftime("%Y"),
        Bicycle.name.adding(1, .day),
        Bicycle.name.lowercase().hour(),
      ] {
        let error = expectInvalidStatement { _ = try Bicycle.select(term).run(db) }
        #expect(error?.message.contains("needs a date column") == true)
        expectInvalidStatement { _ = try Bicycle.count().filter(term == 1).run(db) }
      }
      #expect(sqlError { _ = try Bicycle.select(Bicycle.id.year()).run(db) }?.column == "id")
    }
    try withStays(Stay(id: 1, at: Stay.moment)) { db in
      expectInvalidStatement { _ = try Stay.count().filter(Stay.real.adding(.max, .day) == Date()).run(db) }
    }
  }

  @Test func aComputedDateIsReadInItsColumnsFormat() throws {
    try withStays(Stay(id: 1, at: Stay.moment, left: Stay.moment)) { db in
      let next = Stay.moment.addingTimeInterval(86_400)
      for column in DateFunctionTests.columns {
        let dates = try Stay.select(column.adding(1, .day)).run(db)
        let date = try #require(dates.first ?? nil)
        #expect(dates.count == 1)
        #expect(abs(date.timeIntervalSince(next)) < 0.001)
      }
      let left = try Stay.select(Case.when(Stay.id == 1, then: Stay.left).end()).run(db)
      #expect(left == [Stay.moment])
    }
  }
}
