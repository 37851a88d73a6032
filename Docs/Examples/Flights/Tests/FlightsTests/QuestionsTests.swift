import Foundation
import Sqlable
import Testing

@testable import Flights

/// The twenty questions: what a statement answers, against the rows of SQL written by hand.
@Suite struct QuestionsTests {
  /// Fails the test for every question to which statement and SQL give other answers; the answers.
  @discardableResult
  private func expectSameAnswers(_ db: SqliteDatabase, _ comment: Comment? = nil) throws -> [Comparison] {
    let questions = Question.all
    #expect(questions.count == 20)
    return try questions.map { question in
      let comparison = try question.compare(db)
      if let row = comparison.difference {
        Issue.record("\(question.title) row \(row): \(comparison.row(row)) \(comment?.rawValue ?? "")")
      }
      #expect(question.columns.count == question.places.count, "\(question.title)")
      #expect(comparison.statement.rows.allSatisfy { $0.count > question.places.max() ?? 0 }, "\(question.title)")
      return comparison
    }
  }

  @Test func januaryHasTheSameAnswers() throws {
    try withJanuary { db in
      let answers = try expectSameAnswers(db)
      for (question, answer) in zip(Question.all, answers) where answer.statement.rows.isEmpty {
        #expect(question.title == Question.planesOfSeveralCarriers.title, "\(question.title)")
      }
      // No plane was flown by two carriers in January, so one has to be.
      var flight = try #require(try Flight.read().filter(Flight.carrier == "UA").orderBy(Flight.id).first().run(db))
      (flight.id, flight.carrier) = (nil, "DL")
      try flight.insert().run(db)
      let several = try Question.planesOfSeveralCarriers.compare(db)
      #expect(several.difference == nil)
      #expect(several.statement.rows.count == 1)
      #expect(several.statement.rows.first?.map(Comparison.text)[2...3] == ["DL", "UA"])
    }
  }

  @Test func emptyTablesHaveTheSameAnswers() throws {
    try withFlightsDatabase { db in
      let answers = try expectSameAnswers(db)
      #expect(answers.filter { !$0.statement.rows.isEmpty }.count == 1, "only the counts of destinations have rows")
    }
  }

  @Test(arguments: 1...8) func flightsMadeByChanceHaveTheSameAnswers(seed: Int) throws {
    try withFlightsDatabase { db in
      var chance = Chance(state: UInt64(seed))
      try Plane.insert(["N1", "N2", "N3"].map { chance.plane($0) }).run(db)
      try Airport.insert(["AAA", "BBB", "EWR"].map { chance.airport($0) }).run(db)
      try Weather.insert((0..<40).map { chance.weather(hour: $0) }).run(db)
      try Flight.insert((0..<200 * seed).map { _ in chance.flight() }).run(db)
      try expectSameAnswers(db, "seed \(seed)")
    }
  }

  @Test func theAnswersArePrintedWithTheirTimes() throws {
    try withFlightsDatabase { db in
      var chance = Chance(state: 1)
      var flight = chance.flight()
      (flight.arrivalDelay, flight.departureDelay, flight.carrier) = (200, nil, "UA")
      try flight.insert().run(db)
      let lines = try Question.carriersByDelay.compare(db).lines(of: Question.carriersByDelay, count: 5)
      #expect(
        lines.prefix(2) == [
          "  carrier                flights  mean delay", "  United Air Lines Inc.        1      200.00",
        ])
      #expect(lines.count == 3)
      #expect(lines[2].hasSuffix(": same answer)"))
      let none = try Question.lateAllTheSame.compare(db).lines(of: Question.lateAllTheSame, count: 5)
      #expect(none[1] == "  nothing")
    }
  }

  // MARK: Comparing

  private func answer(_ rows: [[any SqlValue]]) -> Answer { Answer(rows: rows, duration: .zero) }

  @Test func theFirstRowThatDiffersIsNamed() {
    func difference(_ left: [[any SqlValue]], _ right: [[any SqlValue]]) -> Int? {
      let (left, right) = (answer(left), answer(right))
      let asText = Comparison(statement: left, asText: right, byHand: left).difference
      let byHand = Comparison(statement: left, asText: left, byHand: right).difference
      #expect(asText == byHand)
      return byHand
    }
    #expect(difference([], []) == nil)
    #expect(difference([[1, "a"], [2, "b"]], [[1, "a"], [2, "b"]]) == nil)
    #expect(difference([[1, "a"], [2, "b"]], [[1, "a"], [2, "c"]]) == 2)
    #expect(difference([[1], [2]], [[2], [1]]) == 1, "order counts")
    #expect(difference([[1]], [[1], [2]]) == 2)
    #expect(difference([[1], [2]], [[1]]) == 2)
    #expect(difference([[1]], []) == 1)
    #expect(difference([[1]], [[1, 2]]) == 1)
    #expect(difference([[1]], [[1.0]]) == 1)
    #expect(difference([[1]], [["1"]]) == 1)
    #expect(difference([[Int?.none]], [[0]]) == 1)
    #expect(difference([[Int?.none]], [[Int?.none]]) == nil)
    #expect(difference([[Int?.some(3)]], [[3]]) == nil)
  }

  @Test func numbersMayDifferInTheirLastDigitsOnly() {
    #expect(Comparison.isSame([0.1 + 0.2], [0.3]))
    #expect(Comparison.isSame([-1e-300], [-1e-300]))
    #expect(!Comparison.isSame([1.0], [1.000_000_01]))
    #expect(!Comparison.isSame([0.0], [1e-12]))
    #expect(!Comparison.isSame([1.0], [-1.0]))
  }
}

extension Comparison {
  fileprivate func row(_ number: Int) -> String {
    [statement, asText, byHand]
      .map { $0.rows.dropFirst(number - 1).first.map { "\($0.map(Comparison.text))" } ?? "none" }
      .joined(separator: ", then as text and by hand ")
  }
}

/// Calls `body` with a database of January, imported as the program does.
private func withJanuary(_ body: (SqliteDatabase) throws -> Void) throws {
  try withFlightsDatabase { db in
    for result in [
      try db.importShipped(Airport.self, DataFiles.airports), try db.importShipped(Plane.self, DataFiles.planes),
      try db.importShipped(Weather.self, DataFiles.weather), try db.importShipped(Flight.self, DataFiles.flights),
    ] {
      try #require(result.failure == nil && result.rows > 0)
    }
    try body(db)
  }
}

/// Flights made by chance, of so few different values that many are equal and many are NULL.
private struct Chance: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    // SplitMix64.
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  private mutating func one<Value>(of values: [Value]) -> Value { values[Int.random(in: values.indices, using: &self)] }

  mutating func flight() -> Flight {
    let hour = one(of: Array(0..<48))
    let delay = one(of: [nil, -5, 0, 30, 61, 200])
    return Flight(
      id: nil, year: 2013, month: one(of: [1, 2]), day: one(of: [1, 2, 3]), departure: delay.map { _ in 600 },
      scheduledDeparture: 600, departureDelay: delay, arrival: delay.map { _ in 700 }, scheduledArrival: 700,
      arrivalDelay: delay == nil ? nil : one(of: [nil, -5, 121, 200]), carrier: one(of: ["UA", "DL", "AA"]),
      number: one(of: [1, 2]), tailnum: one(of: [nil, "N1", "N2", "N3", "N4", "N5"]),
      origin: one(of: ["EWR", "JFK", "LGA"]),
      destination: one(of: ["AAA", "BBB", "CCC", "EWR", "LGA"]), airTime: nil, distance: one(of: [100, 200]),
      scheduledHour: hour % 24, scheduledMinute: 0, timeHour: Date(timeIntervalSince1970: Double(hour) * 3600))
  }

  mutating func plane(_ tailnum: String) -> Plane {
    Plane(
      tailnum: tailnum, year: one(of: [nil, 1980, 2012]), kind: .multiEngine, manufacturer: one(of: ["A", "B"]),
      model: "", engines: 2, seats: 100, speed: nil, engine: "")
  }

  mutating func airport(_ faa: String) -> Airport {
    Airport(
      faa: faa, name: "Airport \(faa)", latitude: 40.5, longitude: -74.25, altitude: 0, timeZone: -5,
      daylightSaving: "A", timeZoneName: nil)
  }

  mutating func weather(hour: Int) -> Weather {
    Weather(
      origin: one(of: ["EWR", "JFK", "LGA"]), year: 2013, month: 1, day: 1, hour: hour % 24, temperature: nil,
      dewPoint: nil, humidity: nil, windDirection: nil, windSpeed: one(of: [nil, 10, 20, 30]), windGust: nil,
      precipitation: one(of: [0, 0.05, 0.5]), pressure: nil, visibility: one(of: [1, 5, 10]),
      timeHour: Date(timeIntervalSince1970: Double(hour) * 3600))
  }
}
