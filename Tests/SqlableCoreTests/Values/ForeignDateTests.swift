import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Dates in ISO 8601 that other programs wrote.
@Suite struct ForeignDateTests {
  /// The same table, whose texts without a zone are in UTC.
  private struct UTCEvent: Sqlable, Equatable {
    var id: Int
    var at: Date?
    static let tableName = "event"
    static let id = column("id", Int.self, PrimaryKey())
    static let at = column("at", Date?.self, as: .date(.iso8601AssumingUTC))
    static let tableLayout = [id.column, at.column]

    init(id: Int, at: Date?) { (self.id, self.at) = (id, at) }
    init(row: ReadRow) throws { (id, at) = (try row.get(UTCEvent.id), try row.get(UTCEvent.at)) }
    func write(to row: inout RowWriter) throws {
      row.set(UTCEvent.id, id)
      row.set(UTCEvent.at, at)
    }
  }

  private struct Event: Sqlable {
    var id: Int
    var at: Date
    static let id = column("id", Int.self, PrimaryKey())
    static let at = column("at", Date.self, as: .date(.iso8601))
    static let tableLayout = [id.column, at.column]

    init(row: ReadRow) throws { (id, at) = (try row.get(Event.id), try row.get(Event.at)) }
    func write(to row: inout RowWriter) throws {
      row.set(Event.id, id)
      row.set(Event.at, at)
    }
  }

  /// 2013-01-01 06:00 UTC
  private static let six = 1_357_020_000.0
  private static let midnight = 1_356_998_400.0

  /// Texts with a zone, or in the form of SQLite's `datetime()`, and their seconds since 1970.
  private static let zoned: [(String, Double)] = [
    ("2013-01-01T06:00:00Z", six), ("2013-01-01T06:00:00+00:00", six), ("2013-01-01T06:00:00+0000", six),
    ("2013-01-01T06:00:00-0000", six), ("2013-01-01T06:00:00+00", six), ("2013-01-01T07:30:00+0130", six),
    ("2013-01-01T01:00:00-0500", six), ("2013-01-01T07:00+01:00", six), ("2013-01-01T06:00Z", six),
    ("2013-01-01T06:00:00.250+0000", six + 0.25), ("2013-01-01 06:00:00", six), ("2013-01-01 06:00", six),
    ("2013-01-01 06:00:00+00", six), ("2013-01-01 06:00:00.5", six + 0.5), ("2013-01-01T07:00+01", six),
  ]

  /// Texts without a zone, as Python's `isoformat()` and `date.isoformat()` write them.
  private static let zoneless: [(String, Double)] = [
    ("2013-01-01", midnight), ("2013-01-01T06:00", six), ("2013-01-01T06:00:00", six),
    ("2013-01-01T06:00:00.250000", six + 0.25),
  ]

  private static let invalid = [
    "", "2013", "2013-01", "2013-1-1", "20130101", "2013-02-30", "2013-01-01T", "2013-01-01 ", "2013-01-01T06",
    "2013-01-01T06:00:", "2013-01-01T6:00Z", "2013-01-01T24:00Z", "2013-01-01T06:60Z", "2013-01-01T06:00:60Z",
    "2013-01-01T06:00:00.Z", "2013-01-01T06:00:00+0", "2013-01-01T06:00:00+000", "2013-01-01T06:00:00+00:0",
    "2013-01-01T06:00:00+00000", "2013-01-01T06:00:00+24", "2013-01-01T06:00:00+0060", "2013-01-01T06:00:00 Z",
    "2013-01-01T06:00:00z", "2013-01-01t06:00:00Z", "2013-01-01T06:00:00+00:00Z", "2013-01-01Z", "2013-01-01+00:00",
    "2013-01-01T06:00.5Z", "2013-01-01T0600Z", "2013-01-01T06:00:00Z ", "01/02/2013",
  ]

  private func withEvent(_ text: String, _ body: (SqliteDatabase) throws -> Void) throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Event.self)
    try db.execute("INSERT INTO event VALUES (7, \(text))")
    try body(db)
  }

  @Test func textWithAZoneIsReadByBothForms() throws {
    for (text, seconds) in ForeignDateTests.zoned {
      try withEvent(text) { db in
        let (events, others) = (try Event.read().run(db), try UTCEvent.read().run(db))
        #expect(events.map(\.at.timeIntervalSince1970) == [seconds], "\(text)")
        #expect(others.map { $0.at?.timeIntervalSince1970 } == [seconds], "\(text)")
      }
    }
  }

  @Test func textWithoutAZoneNeedsTheExplicitForm() throws {
    for (text, seconds) in ForeignDateTests.zoneless {
      try withEvent(text) { db in
        let error = expectDecoding("a date in ISO 8601 with a zone", "TEXT in another format") {
          _ = try Event.read().run(db)
        }
        #expect([error?.table, error?.column] == ["event", "at"])
        #expect(error?.rowId == 7)
        let others = try UTCEvent.read().run(db)
        #expect(others.map { $0.at?.timeIntervalSince1970 } == [seconds], "\(text)")
      }
    }
  }

  @Test func otherTextThrows() throws {
    for text in ForeignDateTests.invalid {
      try withEvent(text) { db in
        let error = expectDecoding("a date in ISO 8601", "TEXT in another format") { _ = try UTCEvent.read().run(db) }
        #expect([error?.table, error?.column] == ["event", "at"], "\(text)")
        #expect(error?.rowId == 7)
        #expect(sqlError { _ = try Event.read().run(db) } != nil, "\(text)")
      }
    }
  }

  @Test func bothFormsWriteAndCompareTheSameText() throws {
    try withEvent("2013-01-01T06:00:00.000Z") { db in
      let date = Date(timeIntervalSince1970: ForeignDateTests.six)
      try UTCEvent(id: 8, at: date).insert().run(db)
      let texts = try db.query("SELECT DISTINCT at FROM event WHERE at NOTNULL", as: String.self)
      #expect(texts == ["2013-01-01T06:00:00.000Z"])
      #expect(try UTCEvent.select(UTCEvent.id).filter(UTCEvent.at == date).run(db) == [7, 8])
      #expect(try UTCEvent.select(UTCEvent.at.hour()).filter(UTCEvent.id == 8).run(db) == [6])
      let utc = Alias(UTCEvent.self, "utc")
      let pairs = Event.join(utc, on: Event.at.optional == utc[UTCEvent.at]).select(countAll())
      #expect(try pairs.run(db) == [4])
      let moved = UTCEvent.updateAll(UTCEvent.at.set(to: UTCEvent.at.adding(1, .day)))
      try moved.run(db)
      #expect(try Event.read().run(db).map(\.at) == [date + 86_400, date + 86_400])
      #expect(try Schema(UTCEvent.self).differences(db).map(\.description).count == 1)
    }
  }

  @Test func planAcceptsOnlyTextThatTheFormReads() throws {
    let all = (ForeignDateTests.zoned + ForeignDateTests.zoneless).map(\.0) + ForeignDateTests.invalid
    for text in all {
      let db = try SqliteDatabase.inMemory()
      try db.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, at BLOB); INSERT INTO event VALUES (7, \(text))")
      let isReadable = ForeignDateTests.zoned.contains { $0.0 == text }
      let error = sqlError { try Schema(Event.self).plan(db, filling: [:]).apply(db) }
      #expect((error == nil) == isReadable, "\(text): \(error?.message ?? "")")
    }
    for text in all {
      let db = try SqliteDatabase.inMemory()
      try db.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, at BLOB); INSERT INTO event VALUES (7, \(text))")
      let error = sqlError { try Schema(UTCEvent.self).plan(db).apply(db) }
      #expect((error == nil) == !ForeignDateTests.invalid.contains(text), "\(text): \(error?.message ?? "")")
    }
  }
}
