import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Day: RawRepresentable, Codable, Hashable, SqlValue {
  let rawValue: String  // 2013-01-01

  init(_ date: Date, in zone: TimeZone) {
    rawValue = date.formatted(Date.ISO8601FormatStyle(timeZone: zone).year().month().day())
  }

  init?(rawValue: String) {
    let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
    guard let date = try? Date(rawValue, strategy: style), Day(date, in: .gmt).rawValue == rawValue else { return nil }
    self.rawValue = rawValue
  }
}

private struct Trip: Codable, Equatable {
  var id: Int?
  var startedAt: Date
  var day: Day
}

extension Trip: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let startedAt = column("started_at", Date.self)
  static let day = column("day", Day.self)
  static let tableLayout = [id.column, startedAt.column, day.column]
  static let tableIndexes = [Index(startedAt), Index(day)]
}

private struct Rider: Codable, Equatable {
  var id: Int?
  var bornOn: Day
}

extension Rider: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let bornOn = column("born_on", Day.self, DeclaredType("DATE"))
  static let tableLayout = [id.column, bornOn.column]
}

private struct RiderWithDate: Codable, Equatable {
  var id: Int?
  var bornOn: Date
}

extension RiderWithDate: SqlCodable {
  static let tableName = "rider"
  static let id = column("id", Int.self, PrimaryKey())
  static let bornOn = column("born_on", Date.self, as: .date(.iso8601))
  static let tableLayout = [id.column, bornOn.column]
}

private struct PythonTrip: Codable, Equatable {
  var id: Int?
  var startedAt: Date
}

extension PythonTrip: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let startedAt = column("started_at", Date.self, as: .date(.iso8601AssumingUTC))
  static let tableLayout = [id.column, startedAt.column]
}

private struct GRDBTrip: Codable, Equatable {
  var id: Int?
  var startedAt: Date
}

extension GRDBTrip: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let startedAt = column("started_at", Date.self, as: .date(.sqliteText))
  static let tableLayout = [id.column, startedAt.column]
}

private struct Stop: Codable, Equatable {
  var id: Int?
  var at: Date
}

extension Stop: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let at = column("at", Date.self, as: .date(.unixMilliseconds))
  static let tableLayout = [id.column, at.column]
}

private struct Marker: Codable, Equatable, SqlJSON {
  var at: Date
}

/// The examples of Docs/Dates.md.
@Suite struct DatesGuide {
  let berlin = TimeZone(identifier: "Europe/Berlin")!

  /// Calls `body` with a trip in every hour from three hours before a local day to three hours after it.
  private func withTrips(around text: String, _ body: (SqliteDatabase, Date, Calendar) throws -> Void) throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = berlin
    let now = try Date(text, strategy: .iso8601)
    let day = try #require(calendar.dateInterval(of: .day, for: now))
    try withDatabase { db in
      try db.createTable(Trip.self)
      for hour in -3..<Int(day.duration / 3600) + 3 {
        let start = day.start.addingTimeInterval(Double(hour) * 3600)
        try Trip(startedAt: start, day: Day(start, in: berlin)).insert().run(db)
      }
      try body(db, now, calendar)
    }
  }

  @Test func localDayHasItsHoursWhenClocksChange() throws {
    func count(_ text: String) throws -> Int {
      var count = 0
      try withTrips(around: text) { db, now, _ in
        let berlin = TimeZone(identifier: "Europe/Berlin")!
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = berlin
        guard let today = calendar.dateInterval(of: .day, for: now) else { return }
        let trips = try Trip.read().filter(Trip.startedAt.between(today.start..<today.end)).run(db)
        count = trips.count
        #expect(Set(trips.map(\.day)) == [Day(now, in: berlin)])
        let inclusive = Trip.count().filter(Trip.startedAt.between(today.start, and: today.end))
        #expect(try inclusive.run(db) == count + 1)
      }
      return count
    }
    #expect(try count("2024-03-31T12:00:00Z") == 23)
    #expect(try count("2024-07-01T12:00:00Z") == 24)
    #expect(try count("2024-10-27T12:00:00Z") == 25)
  }

  @Test func daysAreStoredAsTextAndSortAsDays() throws {
    try withTrips(around: "2024-03-31T12:00:00Z") { db, _, _ in
      #expect(try db.query("SELECT DISTINCT typeof(day) FROM trip", as: String.self) == ["text"])
      guard let first = Day(rawValue: "2024-03-31") else { return }
      let perDay = Trip.select(Trip.day, countAll()).filter(Trip.day >= first).groupBy(Trip.day).orderBy(Trip.day)
      let month = Trip.day.column.substr(1, 7).typed(as: String.self)
      let perMonth = Trip.select(month, countAll()).groupBy(month)
      #expect(
        perDay.sql == """
          SELECT "day", count(*) FROM "trip" WHERE "day" >= ? GROUP BY "day" ORDER BY "day"
          """)
      #expect(
        perMonth.sql == """
          SELECT substr("day", 1, 7), count(*) FROM "trip" GROUP BY 1
          """)
      let (days, months) = (try perDay.run(db), try perMonth.run(db))
      #expect(days.map(\.0.rawValue) == ["2024-03-31", "2024-04-01"])
      #expect(days.map(\.1) == [23, 3])
      #expect(months.map(\.0) == ["2024-03", "2024-04"])
    }
    #expect(Day(rawValue: "2024-02-30") == nil)
    #expect(Day(rawValue: "2024-2-3") == nil)
    #expect(Day(rawValue: "2024-02-03T00:00:00Z") == nil)
  }

  @Test func tableWithDateColumnsKeepsItsType() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE rider (id INTEGER PRIMARY KEY, born_on DATE NOT NULL)")
      try Schema(Rider.self).verify(db)
      try db.execute("INSERT INTO rider VALUES (1, '2013-01-01')")
      #expect(try Rider.read().run(db).map(\.bornOn.rawValue) == ["2013-01-01"])
      try db.execute("UPDATE rider SET born_on = '1.1.2013'")
      #expect(
        sqlError { _ = try Rider.read().run(db) }?.message
          == "rider.born_on should hold a raw value of Day, but holds an unknown raw value")
    }
  }

  @Test func functionGroupsByLocalDay() throws {
    try withTrips(around: "2024-10-27T12:00:00Z") { db, _, _ in
      let berlin = berlin
      let localDay = ScalarFunction("local_day", isDeterministic: true) { (date: Date) in Day(date, in: berlin) }
      try db.register(localDay)
      let day = localDay(Trip.startedAt)
      let perDay = try Trip.select(day, countAll()).groupBy(day).orderBy(day).run(db)  // [(Day, Int)]
      #expect(
        Trip.select(day, countAll()).groupBy(day).orderBy(day).sql == """
          SELECT "local_day"("started_at"), count(*) FROM "trip" \
          GROUP BY "local_day"("started_at") ORDER BY "local_day"("started_at")
          """)
      #expect(perDay.map(\.0.rawValue) == ["2024-10-26", "2024-10-27", "2024-10-28"])
      #expect(perDay.map(\.1) == [3, 25, 3])
    }
  }

  @Test func partsOfDatesAreInUTC() throws {
    try withTrips(around: "2024-03-31T12:00:00Z") { db, now, calendar in
      let perDay = try Trip.select(Trip.startedAt.date(), countAll()).groupBy(Trip.startedAt.date()).run(db)
      #expect(perDay.map(\.1) == [4, 24, 1])  // 30 March has an hour too many, 31 March is a day of UTC
      let evening = try Date("2024-03-30T18:00:00Z", strategy: .iso8601)
      let next = try #require(calendar.date(byAdding: .day, value: 1, to: evening))
      #expect(next.timeIntervalSince(evening) == 82_800)
      try Trip.updateAll(Trip.startedAt.set(to: evening)).run(db)
      let later = try Trip.select(Trip.startedAt.adding(1, .day)).first(db)
      #expect(later == evening.addingTimeInterval(86_400))
    }
  }

  @Test func textOfADayIsNotADate() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE rider (id INTEGER PRIMARY KEY, born_on TEXT NOT NULL)")
      try db.execute("INSERT INTO rider VALUES (1, '2013-01-01')")
      #expect(
        sqlError { _ = try RiderWithDate.read().run(db) }?.message
          == "rider.born_on should hold a date in ISO 8601 with a zone, but holds TEXT in another format")
    }
  }

  @Test func datesInSQLitesFormAreFilteredUnchanged() throws {
    try withDatabase { db in
      try db.createTable(GRDBTrip.self)
      let date = Date(timeIntervalSince1970: 1_357_020_000)
      try db.execute(
        """
        INSERT INTO grdb_trip (started_at) VALUES ('2013-01-01 06:00:00.000'), (datetime('2013-01-01 06:00:00')),
          (strftime('%Y-%m-%d %H:%M:%f', '2013-01-01 06:00:00'))
        """)
      #expect(try GRDBTrip.read().run(db).map(\.startedAt) == [date, date, date])
      #expect(try GRDBTrip.read().filter(GRDBTrip.startedAt == date).run(db).map(\.id) == [1, 3])
      #expect(try GRDBTrip.read().filter(GRDBTrip.startedAt >= date).run(db).map(\.id) == [1, 3])
      #expect(try GRDBTrip.read().filter(GRDBTrip.startedAt > date - 1).orderBy(GRDBTrip.startedAt).run(db).count == 3)
    }
  }

  @Test func textWithoutAZoneIsReadAsUTC() throws {
    try withDatabase { db in
      try db.createTable(PythonTrip.self)
      for text in ["2013-01-01T06:00:00", "2013-01-01T06:00:00.000000", "2013-01-01T06:00"] {
        try db.execute("INSERT INTO python_trip (started_at) VALUES (\(text))")
      }
      let trips = try PythonTrip.read().run(db)
      #expect(trips.map(\.startedAt.timeIntervalSince1970) == [1_357_020_000, 1_357_020_000, 1_357_020_000])
    }
  }

  @Test func functionOfSecondsTakesColumnsOfMilliseconds() throws {
    try withDatabase { db in
      let (berlin, noon) = (berlin, try Date("2024-10-27T12:00:00Z", strategy: .iso8601))
      let localDay = ScalarFunction("local_day", isDeterministic: true) { (seconds: Double?) in
        seconds.map { Day(Date(timeIntervalSince1970: $0), in: berlin) }
      }
      let misread = ScalarFunction("misread", isDeterministic: true) { (date: Date) in Day(date, in: berlin) }
      try db.register(localDay)
      try db.register(misread)
      try db.createTable(Stop.self)
      try Stop(at: noon).insert().run(db)
      let day = localDay(Stop.at.seconds(since: Date(timeIntervalSince1970: 0)))
      #expect(try Stop.select(day).run(db).map(\.?.rawValue) == ["2024-10-27"])
      let error = expectInvalidStatement { _ = try Stop.select(misread(Stop.at)).run(db) }
      #expect(
        error?.message
          == "function misread takes dates in seconds, but the column stores milliseconds; use seconds(since:)")
      #expect(error?.column == "at")
    }
  }

  @Test func dateInsideJSONCountsFrom2001() throws {
    #expect(try Marker(at: Date(timeIntervalSinceReferenceDate: 60)).databaseValue == .text(#"{"at":60}"#))
  }
}
