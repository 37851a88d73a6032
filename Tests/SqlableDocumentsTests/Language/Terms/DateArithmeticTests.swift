import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Starts of periods, intervals and differences of dates in every storage format, compared with Foundation's calendar.
@Suite struct DateArithmeticTests {
  static let columns = [Stay.real, Stay.seconds, Stay.milliseconds, Stay.iso, Stay.sqlite]
  static let units: [DateUnit] = [.second, .minute, .hour, .day, .week, .month, .year]

  /// The proleptic Gregorian calendar of ISO 8601 in UTC. Its weeks start on Monday.
  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = .gmt
    return calendar
  }()

  /// Returns the days since 1970 of a proleptic Gregorian date, as SQLite counts them. Months and days may be out of
  /// range.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let months = year * 12 + month - 1
    let floor = { (a: Int, b: Int) in a >= 0 ? a / b : -((b - 1 - a) / b) }
    let (years, rest) = (floor(months, 12), months - floor(months, 12) * 12)
    // Years start in March, so that a leap day is the last day.
    let (y, m) = rest < 2 ? (years - 1, rest + 10) : (years, rest - 2)
    return 365 * y + floor(y, 4) - floor(y, 100) + floor(y, 400) + (153 * m + 2) / 5 + day - 1 - 719_468
  }

  /// Foundation's calendar confirms the day count of this suite.
  @Test func theOracleAgreesWithTheCalendar() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<500 {
      let day = Int.random(in: -40_000..<80_000, using: &random)
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = Self.calendar.dateComponents([.year, .month, .day], from: date)
      #expect(Self.days(try #require(parts.year), try #require(parts.month), try #require(parts.day)) == day)
    }
  }

  /// Returns month ends, leap days, turns of years and centuries, times before 1970 and random moments. They have
  /// milliseconds unless the column has no fractions.
  private static func moments(_ random: inout SeededGenerator, fractions: Bool) -> [Date] {
    var moments: [Date] = [0, -1, 86_399, -86_400].map { Date(timeIntervalSince1970: $0) }
    for year in [1600, 1899, 1900, 1904, 1969, 1970, 1972, 1999, 2000, 2023, 2024, 2100, 2400] {
      for (month, day) in [(1, 1), (1, 31), (2, 28), (2, 29), (3, 1), (3, 31), (5, 31), (8, 31), (12, 31)] {
        moments.append(
          Date(
            timeIntervalSince1970: Double(days(year, month, day) * 86_400 + Int.random(in: 0..<86_400, using: &random)))
        )
      }
    }
    for _ in 0..<60 {
      moments.append(
        Date(timeIntervalSince1970: Double(Int.random(in: -9_000_000_000..<9_000_000_000, using: &random))))
    }
    guard fractions else { return moments }
    return moments.map { date in
      let milliseconds = (date.timeIntervalSince1970 * 1000).rounded() + Double(random.pick([0, 1, 499, 500, 999]))
      return Date(timeIntervalSince1970: milliseconds / 1000)
    }
  }

  /// Calls `body` with a table of the moments, the moments in the order of their ids, and a random generator.
  private func withMoments(
    _ column: TypedColumn<Stay, Date>, _ body: (SqliteDatabase, [Date], inout SeededGenerator) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    let moments = Self.moments(&random, fractions: column.name != "seconds")
    try withDatabase { db in
      try db.createTable(Stay.self)
      try db.transaction { db in
        for (id, date) in moments.enumerated() {
          var stay = Stay(id: id, at: Stay.moment)
          switch column.name {
          case "real": stay.real = date
          case "seconds": stay.seconds = date
          case "milliseconds": stay.milliseconds = date
          case "iso": stay.iso = date
          default: stay.sqlite = date
          }
          try stay.insert().run(db)
        }
      }
      try body(db, moments, &random)
    }
  }

  private static func isSame(_ left: Date?, _ right: Date?) -> Bool {
    guard let left, let right else { return left == right }
    return abs(left.timeIntervalSince(right)) < 0.000_4
  }

  /// Returns the calendar's parts of a moment with millisecond precision.
  private static func parts(_ date: Date) -> DateComponents {
    calendar.dateComponents(
      [.year, .month, .day, .hour, .minute, .second, .weekday, .dayOfYear],
      from: Date(timeIntervalSince1970: (date.timeIntervalSince1970 + 0.000_2).rounded(.down)))
  }

  @Test(arguments: columns) func theStartOfAPeriodMatchesTheCalendar(_ column: TypedColumn<Stay, Date>) throws {
    try withMoments(column) { db, moments, _ in
      for unit in Self.units {
        let starts = try Stay.select(column.start(of: unit)).orderBy(Stay.id).run(db)
        for (date, start) in zip(moments, starts) {
          let component: Calendar.Component =
            switch unit {
            case .second: .second
            case .minute: .minute
            case .hour: .hour
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
          let exact = Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded() / 1000 + 0.000_01)
          let expected = Self.calendar.dateInterval(of: component, for: exact)?.start
          #expect(start == expected, "\(unit) of \(date.timeIntervalSince1970)")
        }
        // The start has the column's format, so the two compare. The start of a start is the same.
        let start = column.start(of: unit)
        #expect(try Stay.count().filter(start <= column && start.start(of: unit) == start).run(db) == moments.count)
        let first = try #require(starts.first ?? nil)
        let found = try Stay.count().filter(start == first).run(db)
        #expect(found == starts.count { $0 == first })
        #expect(found > 0)
      }
    }
  }

  @Test(arguments: columns) func datePartsMatchTheCalendar(_ column: TypedColumn<Stay, Date>) throws {
    try withMoments(column) { db, moments, _ in
      let rows = try Stay.select(
        column.year(),
        column.month(),
        column.day(),
        column.hour(),
        column.minute(),
        column.second(),
        column.weekday(),
        column.dayOfYear()
      ).orderBy(Stay.id).run(db)
      for (date, row) in zip(moments, rows) {
        let parts = Self.parts(date)
        let note: Comment = "\(date.timeIntervalSince1970)"
        #expect(row.0 == parts.year, note)
        #expect(row.1 == parts.month, note)
        #expect(row.2 == parts.day, note)
        #expect(row.3 == parts.hour, note)
        #expect(row.4 == parts.minute, note)
        #expect(row.5 == parts.second, note)
        #expect(row.6.map { $0 + 1 } == parts.weekday, note)
        #expect(row.7 == parts.dayOfYear, note)
      }
    }
  }

  /// Adds an interval. Units of fixed length are seconds. Months and years keep the day's number, which may overflow
  /// into the next month.
  private static func adding(_ count: Int, _ unit: DateUnit, to date: Date) -> Date {
    let seconds: Int
    switch unit {
    case .second: seconds = count
    case .minute: seconds = count * 60
    case .hour: seconds = count * 3600
    case .day: seconds = count * 86_400
    case .week: seconds = count * 604_800
    case .month, .year:
      let parts = Self.parts(date)
      guard let year = parts.year, let month = parts.month, let day = parts.day else { return date }
      let (years, months) = unit == .year ? (count, 0) : (0, count)
      let after = days(year + years, month + months, 1) + day - 1
      seconds = (after - days(year, month, day)) * 86_400
    }
    return Date(timeIntervalSince1970: date.timeIntervalSince1970 + Double(seconds))
  }

  @Test(arguments: columns) func addedIntervalsFollowTheCalendar(_ column: TypedColumn<Stay, Date>) throws {
    try withMoments(column) { db, moments, random in
      for unit in Self.units {
        for count in [1, -1, 12, -13, Int.random(in: -900...900, using: &random)] {
          let dates = try Stay.select(column.adding(count, unit)).orderBy(Stay.id).run(db)
          let asTerm = try Stay.select(column.adding(Stay.flags + count, unit)).orderBy(Stay.id).run(db)
          for (index, date) in moments.enumerated() {
            let expected = Self.adding(count, unit, to: date)
            #expect(
              Self.isSame(dates[index], expected),
              "\(date.timeIntervalSince1970) + \(count) \(unit): \(dates[index])")
            #expect(
              Self.isSame(asTerm[index], expected),
              "\(date.timeIntervalSince1970) + \(count) \(unit): \(asTerm[index])")
          }
        }
      }
    }
  }

  /// If the month has the day, Foundation's calendar returns the same date.
  @Test func addingAMonthKeepsTheDayIfTheMonthHasIt() {
    for start in [(2024, 1, 31), (2023, 1, 31), (2024, 2, 29), (2024, 3, 31), (2024, 1, 15), (1969, 12, 31)] {
      let date = Date(timeIntervalSince1970: Double(Self.days(start.0, start.1, start.2) * 86_400))
      for (count, unit, component) in [
        (1, DateUnit.month, Calendar.Component.month), (-1, .month, .month), (1, .year, .year),
      ] {
        let own = Self.adding(count, unit, to: date)
        let clamped = Self.calendar.date(byAdding: component, value: count, to: date)
        let hasDay = clamped.map { Self.parts($0).day == start.2 } ?? false
        #expect((own == clamped) == hasDay, "\(start) \(count) \(unit)")
      }
    }
  }

  @Test func differencesWorkWithEveryDateFormat() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    let moments = Self.moments(&random, fractions: true)
    try withDatabase { db in
      try db.createTable(Stay.self)
      try db.transaction { db in
        for (id, date) in moments.enumerated() {
          var stay = Stay(id: id, at: date)
          stay.seconds = Stay.moment
          stay.left = id.isMultiple(of: 2) ? date : nil
          try stay.insert().run(db)
        }
      }
      for column in [Stay.real, Stay.milliseconds, Stay.iso, Stay.sqlite] {
        let rows = try Stay.select(
          column.seconds(since: Stay.seconds),
          column.days(since: Stay.moment),
          Stay.seconds.seconds(since: column),
          column.seconds(since: Stay.left),
          column.days(since: Stay.iso)
        ).orderBy(Stay.id).run(db)
        for (id, row) in rows.enumerated() {
          let seconds = moments[id].timeIntervalSince(Stay.moment)
          #expect(row.0.map { abs($0 - seconds) < 0.000_01 } == true, "\(column.name) \(seconds)")
          #expect(row.1.map { abs($0 - seconds / 86_400) < 0.000_000_01 } == true)
          #expect(row.2.map { abs($0 + seconds) < 0.000_01 } == true)
          #expect(id.isMultiple(of: 2) ? row.3.map { abs($0) < 0.000_01 } == true : row.3 == nil)
          #expect(row.4.map { abs($0) < 0.000_000_01 } == true)
        }
      }
    }
  }

  @Test func theSQLDependsOnTheColumnsDateFormat() {
    func sql(_ term: some AnyTerm) -> String {
      String(Stay.read().select(term.expression).sql.dropFirst("SELECT ".count).dropLast(#" FROM "stay""#.count))
    }
    #expect(
      sql(Stay.seconds.start(of: .day)) == #"CAST(strftime('%s', "seconds", 'unixepoch', 'start of day') AS INTEGER)"#)
    #expect(
      sql(Stay.milliseconds.start(of: .minute)) == #"""
        (CAST(strftime('%s', strftime('%Y-%m-%dT%H:%M:00.000', "milliseconds" / 1000.0, 'unixepoch')) AS INTEGER) \#
        * 1000)
        """#)
    #expect(sql(Stay.iso.start(of: .week)) == #"strftime('%Y-%m-%dT00:00:00.000Z', "iso", '-6 days', 'weekday 1')"#)
    #expect(sql(Stay.iso.start(of: .year)) == #"strftime('%Y-01-01T00:00:00.000Z', "iso")"#)
    #expect(sql(Stay.sqlite.start(of: .hour)) == #"strftime('%Y-%m-%d %H:00:00.000', "sqlite")"#)
    #expect(sql(Stay.sqlite.adding(2, .week)) == #"strftime('%Y-%m-%d %H:%M:%f', "sqlite", ?)"#)
    #expect(sql(Stay.iso.adding(2, .week)) == #"strftime('%Y-%m-%dT%H:%M:%fZ', "iso", ?)"#)
    #expect(Stay.select(Stay.iso.adding(2, .week)).bindings == [.text("+14 days")])
    #expect(
      sql(Stay.iso.adding(Stay.flags, .week)) == #"strftime('%Y-%m-%dT%H:%M:%fZ', "iso", ("flags" * 7) || ' days')"#)
    #expect(sql(Stay.milliseconds.adding(Stay.flags + 1, .hour)) == #"("milliseconds" + ("flags" + ?) * 3600000)"#)
    #expect(
      sql(Stay.iso.days(since: Stay.milliseconds))
        == #"(round((julianday("iso") - 2440587.5) * 86400.0, 3) - ("milliseconds" / 1000.0)) / ?"#)
    let untyped = Stay.real.column
    #expect(sql(untyped.start(of: .month)) == sql(Stay.real.start(of: .month)))
    #expect(sql(untyped.seconds(since: Stay.iso.column)) == sql(Stay.real.seconds(since: Stay.iso)))
    #expect(sql(untyped.days(since: Stay.moment)) == sql(Stay.real.days(since: Stay.moment)))
    #expect(sql(untyped.adding(Stay.flags.column, .year)) == sql(Stay.real.adding(Stay.flags, .year)))
  }

  @Test func nullStaysNullAndOtherTypesThrow() throws {
    try withStays(Stay(id: 1, at: Stay.moment, flags: 1)) { db in
      #expect(try Stay.select(Stay.left.start(of: .day)).run(db) == [nil])
      #expect(try Stay.select(Stay.left.seconds(since: Stay.real)).run(db) == [nil])
      #expect(try Stay.select(Stay.real.adding(Stay.note.length(), .day)).run(db) == [nil])
      #expect(try Stay.select(Stay.left.adding(Stay.flags, .month)).run(db) == [nil])
      let far = Stay.real.adding(Stay.flags * 9_000_000, .month)
      #expect(try Stay.count().filter(far.expression.isNull).run(db) == 1)
      for term in [
        Stay.flags.column.start(of: .day),
        Stay.note.column.seconds(since: Stay.moment),
        Stay.real.column.days(since: Stay.flags.column),
        Stay.id.column.adding(Stay.flags.column, .day),
      ] {
        let error = expectInvalidStatement { _ = try Stay.read().select(term).run(db) }
        #expect(error?.message.contains("needs a date column") == true)
      }
      expectInvalidStatement { _ = try Stay.select(Stay.iso.adding(.max, .week)).run(db) }
      // Dates of different formats can't be compared.
      expectInvalidStatement {
        _ = try Stay.count().filter(Stay.real.start(of: .day) == Stay.iso.start(of: .day)).run(db)
      }
      #expect(try Stay.update(Stay.iso.set(to: Stay.iso.start(of: .month))).filter(Stay.id == 1).run(db) == 1)
      let never = Stay.real.adding(Stay.flags * 9_000_000, .month)
      let error = sqlError { try Stay.updateAll(Stay.real.set(to: never)).run(db) }
      #expect(error?.kind == .constraint(.notNull))
      #expect(try Stay.select(Stay.iso).run(db) == [Date(timeIntervalSince1970: 1_704_067_200)])
      let index = "CREATE INDEX day ON stay (CAST(strftime('%s', real, 'unixepoch', 'start of day') AS REAL))"
      try db.execute(SQL(verbatim: index))
      let days = Stay.read().filter(Stay.real.start(of: .day) == Date(timeIntervalSince1970: 1_706_659_200))
      #expect(try days.explain(db).description.contains("INDEX day"))
      #expect(try days.run(db).count == 1)
    }
  }
}
