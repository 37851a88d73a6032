import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct DateValueTests {
  private static let moments: [Double] = [
    0, -1, 1, 1_356_998_400, -62_135_596_800, -62_167_219_200, 253_402_300_799, -12_219_292_801, -30_000_000_000,
    951_782_399, 951_782_400, 68_256_000, 4_107_542_399, -2_203_891_200,
  ]

  private static func dates(fractions: Int) -> [Date] {
    moments.map { Date(timeIntervalSince1970: $0) }
      + (0..<300).map { _ in
        let second = Int.random(in: -62_135_596_800...253_402_300_798)
        return Date(timeIntervalSince1970: Double(second) + Double(Int.random(in: 0..<fractions)) / Double(fractions))
      }
  }

  @Test func wholeSecondsKeepTheirMomentInAllFormats() throws {
    let dates = Self.dates(fractions: 1)
    try expectRoundTrip(dates)
    try expectRoundTrip(dates, in: RealForm.self)
    try expectRoundTrip(dates, in: UnixSeconds.self)
    try expectRoundTrip(dates, in: UnixMilliseconds.self)
    try expectRoundTrip(dates, in: ISO8601.self)
    try expectRoundTrip(dates, in: SQLiteText.self)
  }

  @Test func millisecondsSurviveInFormatsThatHoldThem() throws {
    let dates = Self.dates(fractions: 1000)
    try expectRoundTrip(dates)
    try expectRoundTrip(dates, in: UnixMilliseconds.self)
    try expectRoundTrip(dates, in: ISO8601.self)
    try expectRoundTrip(dates, in: SQLiteText.self)
  }

  /// A `Date` counts from 2001, so its last bit may be finer than the last bit of the seconds since 1970.
  @Test func realSecondsHaveThePrecisionOfADouble() throws {
    try withDatabase { db in
      typealias Row = Stored<Date, OwnForm<Date>>
      try db.createTable(Row.self)
      let dates = (0..<300).map { _ in Date(timeIntervalSinceReferenceDate: .random(in: -1e9...1e9)) } + [Date()]
      try Row.insert(dates.map { Row($0) }).run(db)
      let read = try Row.read().orderBy(Row.id).run(db)
      for (date, row) in zip(dates, read) {
        #expect(abs(date.timeIntervalSince(row.value)) <= date.timeIntervalSince1970.ulp / 2)
        #expect(row.value.timeIntervalSince1970 == date.timeIntervalSince1970)
        // The original date and the stored date find the same row.
        #expect(try Row.read().filter(Row.value == date).run(db).map(\.id) == [row.id])
        #expect(try Row.read().filter(Row.value == row.value).run(db).map(\.id) == [row.id])
      }
    }
  }

  @Test func farPastFarFutureAndInfinityAreStored() throws {
    let far = [Date.distantPast, Date.distantFuture] + [1e15, -1e15].map { Date(timeIntervalSince1970: $0) }
    try expectRoundTrip(far + [Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: -.infinity)])
    try expectRoundTrip(far, in: UnixSeconds.self)
    try expectRoundTrip(far, in: UnixMilliseconds.self)
    try expectRoundTrip([Date.distantPast, Date.distantFuture], in: ISO8601.self)
    try expectRoundTrip([Date.distantPast, Date.distantFuture], in: SQLiteText.self)
  }

  @Test func datesThatAFormatCannotHoldAreRefused() throws {
    func refused<Form: ColumnForm>(_ seconds: Double, _ form: Form.Type) throws -> Bool {
      let error = try errorStoring(Date(timeIntervalSince1970: seconds), in: form)
      guard case .encoding = error?.kind, error?.column == "value" else { return false }
      return true
    }
    for seconds in [.nan, .infinity, -.infinity, 1e30] {
      #expect(try refused(seconds, UnixSeconds.self))
      #expect(try refused(seconds, UnixMilliseconds.self))
      #expect(try refused(seconds, ISO8601.self))
      #expect(try refused(seconds, SQLiteText.self))
    }
    #expect(try refused(1e17, UnixMilliseconds.self))
    #expect(try refused(1.5, UnixSeconds.self))
    #expect(try refused(253_402_300_800, ISO8601.self))
    #expect(try refused(253_402_300_800, SQLiteText.self))
    #expect(try refused(-62_167_219_200.5, ISO8601.self))
  }

  @Test func millisecondsAreRoundedNotTruncated() throws {
    func texts<Form: ColumnForm>(_ form: Form.Type) throws -> [String] {
      let moments = [1_700_000_000.123, 1_700_000_000.9996, -0.001, -1.5, 0.0006, 253_402_300_799.999, -0.0001]
      return try withDatabase { db in
        try db.createTable(Stored<Date, Form>.self)
        try Stored<Date, Form>.insert(moments.map { Stored(Date(timeIntervalSince1970: $0)) }).run(db)
        return try db.query("SELECT value FROM stored ORDER BY id", as: String.self)
      }
    }
    let expected = [
      "2023-11-14 22:13:20.123", "2023-11-14 22:13:21.000", "1969-12-31 23:59:59.999", "1969-12-31 23:59:58.500",
      "1970-01-01 00:00:00.001", "9999-12-31 23:59:59.999", "1970-01-01 00:00:00.000",
    ]
    #expect(try texts(SQLiteText.self) == expected)
    #expect(try texts(ISO8601.self) == expected.map { $0.replacing(" ", with: "T") + "Z" })
  }

  /// The test compares with SQLite's calendar.
  @Test func textsMatchSQLitesFormOfTheSameMoment() throws {
    try withDatabase { db in
      typealias Row = Stored<Date, ISO8601>
      try db.createTable(Row.self)
      let dates = Self.dates(fractions: 1)
      try Row.insert(dates.map { Row($0) }).run(db)
      let texts = try db.query("SELECT value FROM stored ORDER BY id", as: String.self)
      for (date, text) in zip(dates, texts) {
        let seconds = Int(date.timeIntervalSince1970)
        let other = try db.query("SELECT strftime('%Y-%m-%dT%H:%M:%S.000Z', \(seconds), 'unixepoch')", as: String.self)
        #expect([text] == other)
      }
      let byText = try db.query("SELECT id FROM stored ORDER BY value, id", as: Int.self)
      let byTime = dates.indices.sorted { (dates[$0], $0) < (dates[$1], $1) }.map { $0 + 1 }
      #expect(byText == byTime)
    }
  }

  @Test(arguments: [
    ("2013-01-01T06:00:00Z", 1_357_020_000), ("2013-01-01T06:00:00.5Z", 1_357_020_000.5),
    ("2013-01-01T06:00:00.123456789012345678Z", 1_357_020_000.123456789), ("2013-01-01 06:00:00", 1_357_020_000),
    ("2013-01-01 06:00:00.250", 1_357_020_000.25), ("2013-01-01T06:00:00+01:00", 1_357_016_400),
    ("2013-01-01T06:00:00-00:30", 1_357_021_800), ("2000-02-29T00:00:00Z", 951_782_400),
  ])
  func otherSpellingsAreRead(text: String, seconds: Double) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE stored (id INTEGER PRIMARY KEY, value)")
      try db.execute("INSERT INTO stored VALUES (7, \(text))")
      let read = try Stored<Date, ISO8601>.read().run(db).map(\.value)
      #expect(read == [Date(timeIntervalSince1970: seconds)])
    }
  }

  @Test(arguments: [
    "", "x", "2013", "2013-01-01", "2013-01-01T06:00:00", "2013-01-01T06:00:00Zgarbage", "2013-01-01T06:00:00.Z",
    "2013-02-29T00:00:00Z", "2013-04-31T00:00:00Z", "2013-13-01T00:00:00Z", "2013-00-01T00:00:00Z",
    "2013-01-00T00:00:00Z", "1900-02-29T00:00:00Z", "2013-01-01T24:00:00Z", "2013-01-01T06:60:00Z",
    "2013-01-01T06:00:60Z", "2013-1-1T6:0:0Z", " 2013-01-01T06:00:00Z", "2013-01-01T06:00:00Z ",
    "99999-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "2013-01-01T06:00:00+1:00",
    "2013-01-01t06:00:00z", "٢٠١٣-01-01T06:00:00Z",
  ])
  func textInOtherFormatsIsRefused(text: String) throws {
    let error = try errorReading("'\(text)'", as: Date.self, in: ISO8601.self)
    #expect(
      error?.kind == .decoding(.init(expected: "a date in ISO 8601 with a zone", found: "TEXT in another format")))
    #expect(error?.rowId == 7)
    #expect(error?.column == "value")
  }

  private func expectFiltersToFollow<Form: ColumnForm>(_ form: Form.Type) throws {
    try withDatabase { db in
      typealias Row = Stored<Date, Form>
      try db.createTable(Row.self)
      let dates = [-86_400, 0, 1_357_020_000, 1_357_020_001, 4_000_000_000].map { Date(timeIntervalSince1970: $0) }
      try Row.insert(dates.map { Row($0) }).run(db)
      func ids(_ filter: SqlExpression) throws -> [Int] {
        try Row.read().filter(filter).orderBy(Row.id).run(db).compactMap(\.id)
      }
      #expect(try ids(Row.value == dates[2]) == [3])
      #expect(try ids(Row.value > dates[2]) == [4, 5])
      #expect(try ids(Row.value <= dates[1]) == [1, 2])
      #expect(try ids(Row.value.between(dates[1], and: dates[3])) == [2, 3, 4])
      #expect(try ids(Row.value.in([dates[0], dates[4]])) == [1, 5])
      #expect(try ids(Row.value.in((0..<100).map { dates[2].addingTimeInterval(Double($0)) })) == [3, 4])
      // A date between two seconds sorts between them and equals neither.
      let between = dates[2].addingTimeInterval(0.5)
      #expect(try ids(Row.value > between) == [4, 5])
      #expect(try ids(Row.value < between) == [1, 2, 3])
      #expect(try ids(Row.value == between) == [])
      #expect(try ids(Row.value.in([between, dates[0]])) == [1])
      try Row.update(Row.value.set(to: dates[0])).filter(Row.value == dates[4]).run(db)
      #expect(try ids(Row.value == dates[0]) == [1, 5])
    }
  }

  @Test func filtersFollowTheFormatOfTheirColumn() throws {
    try expectFiltersToFollow(OwnForm<Date>.self)
    try expectFiltersToFollow(RealForm.self)
    try expectFiltersToFollow(UnixSeconds.self)
    try expectFiltersToFollow(UnixMilliseconds.self)
    try expectFiltersToFollow(ISO8601.self)
    try expectFiltersToFollow(SQLiteText.self)
  }

  @Test func theFormatDeterminesTheStorageClass() throws {
    func stored<Form: ColumnForm>(_ form: Form.Type) throws -> [String] {
      try withDatabase { db in
        try db.createTable(Stored<Date, Form>.self)
        try Stored<Date, Form>(Date(timeIntervalSince1970: 1_357_020_000)).insert().run(db)
        return try db.query("SELECT typeof(value) || ' ' || value FROM stored", as: String.self)
      }
    }
    #expect(try stored(OwnForm<Date>.self) == ["real 1357020000.0"])
    #expect(try stored(UnixSeconds.self) == ["integer 1357020000"])
    #expect(try stored(UnixMilliseconds.self) == ["integer 1357020000000"])
    #expect(try stored(ISO8601.self) == ["text 2013-01-01T06:00:00.000Z"])
    #expect(try stored(SQLiteText.self) == ["text 2013-01-01 06:00:00.000"])
  }

  /// Docs/Values.md documents this loss, the only one that is not refused.
  @Test func datesAreRoundedToThePrecisionOfTheirColumn() throws {
    try withDatabase { db in
      func back<Form: ColumnForm>(_ seconds: Double, _ form: Form.Type) throws -> Double {
        try db.createTable(Stored<Date, Form>.self)
        defer { _ = sqlError { try db.execute("DROP TABLE stored") } }
        try Stored<Date, Form>(Date(timeIntervalSince1970: seconds)).insert().run(db)
        return try Stored<Date, Form>.read().run(db)[0].value.timeIntervalSince1970
      }
      for (seconds, rounded) in [(0.0004, 0), (0.0006, 0.001), (-0.0006, -0.001), (1.2345678, 1.235)] {
        #expect(abs(try back(seconds, UnixMilliseconds.self) - rounded) < 1e-6)
        #expect(abs(try back(seconds, ISO8601.self) - rounded) < 1e-6)
        #expect(abs(try back(seconds, SQLiteText.self) - rounded) < 1e-6)
      }
      // A Date counts from 2001, so it may be finer than the stored seconds since 1970.
      let fine = Date(timeIntervalSinceReferenceDate: 1e-9)
      try db.createTable(Stored<Date, OwnForm<Date>>.self)
      try Stored<Date, OwnForm<Date>>(fine).insert().run(db)
      let read = try Stored<Date, OwnForm<Date>>.read().run(db)[0].value
      #expect(read != fine)
      #expect(abs(read.timeIntervalSince(fine)) < 1e-6)
      #expect(try errorStoring(Date(timeIntervalSince1970: 0.5), in: UnixSeconds.self)?.isEncoding == true)
    }
  }
}
