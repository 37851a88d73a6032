import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// The JSON that GRDB writes: milliseconds since 1970, sorted keys, escaped slashes.
private struct Leg: Codable, Hashable, SqlJSON {
  var start: Date
  var link = "a/b"
  var rest: Rest?

  static func configure(_ encoder: JSONEncoder) {
    encoder.dateEncodingStrategy = .millisecondsSince1970
    encoder.outputFormatting = []
  }

  static func configure(_ decoder: JSONDecoder) { decoder.dateDecodingStrategy = .millisecondsSince1970 }
}

/// JSON with other keys and with dates in ISO 8601.
private struct Rest: Codable, Hashable, SqlJSON {
  var startsAt: Date
  var endsAt: Date?

  static func configure(_ encoder: JSONEncoder) {
    encoder.dateEncodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
  }

  static func configure(_ decoder: JSONDecoder) {
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .convertFromSnakeCase
  }
}

/// JSON without a configuration.
private struct Plain: Codable, Hashable, SqlJSON {
  var at: Date
}

/// `SqlJSON` types that configure Foundation's coders.
@Suite struct JSONCoderTests {
  private struct Tour: Codable, Equatable, SqlCodable {
    struct Plan: Codable, Equatable, SqlEmbedded {
      var leg: Leg
      static let leg = field("leg", Leg.self)
      static let fields = [leg.column]

      init(leg: Leg) { self.leg = leg }
      init(row: EmbeddedRow) throws { leg = try row.get(Plan.leg) }
      func write(to row: inout EmbeddedWriter) throws { row.set(Plan.leg, leg) }
    }

    var id: Int
    var legs: [Leg]
    var byDay: [String: Leg]
    var distinct: Set<Leg>
    var last: Leg?
    var bytes: Leg
    var plan: Plan

    static let id = column("id", Int.self, PrimaryKey())
    static let legs = column("legs", [Leg].self)
    static let byDay = column("by_day", [String: Leg].self)
    static let distinct = column("distinct", Set<Leg>.self)
    static let last = column("last", Leg?.self)
    static let bytes = column("bytes", Leg.self, as: .blob)
    static let plan = embedded("plan", Plan.self)
    static let tableLayout =
      [id.column, legs.column, byDay.column, distinct.column, last.column, bytes.column] + plan.columns
  }

  private let six = Date(timeIntervalSince1970: 1_357_020_000.25)
  private var leg: Leg { Leg(start: six) }
  private let text = #"{"link":"a\/b","start":1357020000250}"#

  @Test func datesOfAnotherProgramAreReadAndFound() throws {
    try withDatabase { db in
      typealias Row = Stored<Leg, TextForm>
      try db.createTable(Row.self)
      try db.execute("INSERT INTO stored VALUES (1, \(text)), (2, '{\"link\":\"\",\"start\":0}')")
      #expect(try Row.byId(1).run(db)?.value == leg)
      let found = Row.read().filter(Row.value == leg)
      #expect(found.sql == #"SELECT "id", "value" FROM "stored" WHERE "value" = ?"#)
      #expect(found.bindings == [.text(text)])
      #expect(try found.run(db).map(\.id) == [1])
      #expect(try db.query("SELECT id FROM stored WHERE value = \(json: leg)", as: Int.self) == [1])
      try Row(leg).insert().run(db)
      #expect(try db.query("SELECT count(*) FROM stored WHERE value = \(text)", as: Int.self) == [2])
      try db.execute(#"UPDATE stored SET value = '{"link":"","start":"2013"}' WHERE id = 1"#)
      let error = sqlError { _ = try Row.read().run(db) }
      #expect(error?.message.hasSuffix("holds another type where Double is expected, at key start") == true)
    }
  }

  @Test func collectionsOptionalsAndEmbeddedStructsUseTheirElements() throws {
    try withDatabase { db in
      try db.createTable(Tour.self)
      let tour = Tour(
        id: 1, legs: [leg], byDay: ["first": leg], distinct: [leg], last: leg, bytes: leg, plan: Tour.Plan(leg: leg))
      try tour.insert().run(db)
      let rows = try db.query(
        "SELECT legs, by_day, \"distinct\", last, CAST(bytes AS TEXT), plan_leg FROM tour", as: DynamicRow.self)
      #expect(
        rows.first?.values.map { try? String(databaseValue: $0) }
          == ["[\(text)]", #"{"first":\#(text)}"#, "[\(text)]", text, text, text])
      #expect(try Tour.read().run(db) == [tour])
      #expect(try Tour.count(Tour.legs == [leg] && Tour.distinct == [leg] && Tour.last == leg).run(db) == 1)
      #expect(try Tour.count(Tour.byDay == ["first": leg] && Tour.plan[Tour.Plan.leg] == leg).run(db) == 1)
      let each = JSONEach(Tour.legs, as: "each")
      #expect(try Tour.select(each.value(as: Leg.self)).joining(each).run(db) == [leg])
      let nested: [String: [Leg?]] = ["a": [leg, nil]]
      #expect(try nested.databaseValue == .text(#"{"a":[\#(text),null]}"#))
      #expect(try [String: [Leg?]](databaseValue: nested.databaseValue) == nested)
    }
  }

  @Test func theOuterTypeConfiguresAllOfItsJSON() throws {
    let rest = Rest(startsAt: Date(timeIntervalSince1970: 0), endsAt: Date(timeIntervalSince1970: 1))
    let own = #"{"ends_at":"1970-01-01T00:00:01Z","starts_at":"1970-01-01T00:00:00Z"}"#
    #expect(try rest.databaseValue == .text(own))
    #expect(try Rest(databaseValue: .text(own)) == rest)
    let outer = Leg(start: Date(timeIntervalSince1970: 1), link: "", rest: rest)
    let whole = #"{"link":"","rest":{"endsAt":1000,"startsAt":0},"start":1000}"#
    #expect(try outer.databaseValue == .text(whole))
    #expect(try Leg(databaseValue: .text(whole)) == outer)
  }

  /// `configure` of `Leg` removes all options. Unsorted keys would have another order in each process.
  @Test func keysAreAlwaysSorted() throws {
    struct Wide: Codable, SqlJSON {
      var values = Dictionary(uniqueKeysWithValues: (0..<40).map { ("k\($0 + 10)", $0) })
      static func configure(_ encoder: JSONEncoder) { encoder.outputFormatting = [] }
    }
    let entries = (0..<40).map { #""k\#($0 + 10)":\#($0)"# }.joined(separator: ",")
    #expect(try Wide().databaseValue == .text(#"{"values":{\#(entries)}}"#))
  }

  @Test func withoutConfigurationDatesCountFrom2001() throws {
    let plain = Plain(at: Date(timeIntervalSinceReferenceDate: 1.5))
    #expect(try plain.databaseValue == .text(#"{"at":1.5}"#))
    #expect(try [plain].databaseValue == .text(#"[{"at":1.5}]"#))
    #expect(try Plain(databaseValue: .text(#"{"at":1.5}"#)) == plain)
  }
}
