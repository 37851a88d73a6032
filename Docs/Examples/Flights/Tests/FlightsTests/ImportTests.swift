import Foundation
import Sqlable
import Testing

@testable import Flights

/// The importer on small files and a real database. The header is line 1, so the first flight is on line 2.
@Suite struct ImportTests {
  private func flights(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { FlightLines.flight($0) } }

  /// Fails the test unless the file is sound and takes another import.
  private func expectUsable(_ db: SqliteDatabase) throws {
    #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    let rows = try Flight.count().run(db)
    let again = try db.importFlights(flights(1...3))
    #expect(again.failure == nil)
    #expect(again.rows == 3)
    #expect(try Flight.count().run(db) == rows + 3)
  }

  @Test func aLineBecomesAFlightWithAllItsValues() throws {
    try withFlightsDatabase { db in
      let result = try db.importFlights([
        FlightLines.flight(1545),
        "2013,1,31,NA,2359,NA,NA,500,NA,\"B6\",9,NA,JFK,BQN,NA,1576,23,59,2013-02-01T04:00:00Z",
      ])
      #expect(result.failure == nil)
      #expect(result.rows == 2)
      #expect(result.skippedCount == 0)
      #expect(result.table == "flight")
      let expected = [
        Flight(
          id: 1, year: 2013, month: 1, day: 1, departure: 517, scheduledDeparture: 515, departureDelay: 2,
          arrival: 830, scheduledArrival: 819, arrivalDelay: 11, carrier: "UA", number: 1545, tailnum: "N14228",
          origin: "EWR", destination: "IAH", airTime: 227, distance: 1400, scheduledHour: 5, scheduledMinute: 15,
          timeHour: Date(timeIntervalSince1970: 1_357_034_400)),
        Flight(
          id: 2, year: 2013, month: 1, day: 31, departure: nil, scheduledDeparture: 2359, departureDelay: nil,
          arrival: nil, scheduledArrival: 500, arrivalDelay: nil, carrier: "B6", number: 9, tailnum: nil,
          origin: "JFK", destination: "BQN", airTime: nil, distance: 1576, scheduledHour: 23, scheduledMinute: 59,
          timeHour: Date(timeIntervalSince1970: 1_359_691_200)),
      ]
      #expect(try Flight.read().orderBy(Flight.id).run(db) == expected)
    }
  }

  @Test func aFileWithoutFlightsIsImportedToo() throws {
    try withFlightsDatabase { db in
      let result = try db.importFlights([])
      #expect(result.failure == nil)
      #expect(result.rows == 0)
      try expectUsable(db)
    }
  }

  // MARK: Malformed lines

  @Test func aMalformedLineStopsTheImportAndTheFlightsBeforeItStay() throws {
    try withFlightsDatabase { db in
      let result = try db.importFlights(flights(1...2) + [FlightLines.malformed(3)] + flights(4...5))
      #expect(result.failure as? CSVError == CSVError(line: 4, column: "distance", problem: .notAnInteger))
      #expect(result.rows == 2)
      #expect(result.skippedCount == 0)
      #expect(try db.flightNumbers() == [1, 2])
      try expectUsable(db)
    }
  }

  @Test func malformedLinesAreSkippedAndNamedWhenThatIsWanted() throws {
    try withFlightsDatabase { db in
      let lines = flights(1...2) + [FlightLines.malformed(3), "2013,1", "\"x"] + flights(4...5)
      let result = try db.importFlights(lines, policy: .skip)
      #expect(result.failure == nil)
      #expect(result.rows == 4)
      #expect(result.skippedCount == 3)
      #expect(
        result.skipped.map(\.description)
          == [
            "line 4: column distance: not a whole number", "line 5: 2 fields instead of 19",
            "line 6: column year: unterminated quote",
          ])
      #expect(try db.flightNumbers() == [1, 2, 4, 5])
      try expectUsable(db)
    }
  }

  @Test func aMalformedLineInALaterBatchStopsTheImportThere() throws {
    try withFlightsDatabase { db in
      var committed: [Int] = []
      let lines = flights(1...4_321) + [FlightLines.malformed(0)] + flights(4_322...9_000)
      let result = try db.importFlights(lines) { committed.append($0) }
      #expect(result.failure as? CSVError == CSVError(line: 4_323, column: "distance", problem: .notAnInteger))
      #expect(result.rows == 4_321)
      #expect(committed == [2_000, 4_000, 4_321])
      #expect(try db.flightNumbers() == Array(1...4_321))
      try expectUsable(db)
    }
  }

  @Test func aFileOfNothingButMalformedLinesStoresNothing() throws {
    try withFlightsDatabase { db in
      let lines = (1...5_000).map { FlightLines.malformed($0) }
      let stopped = try db.importFlights(lines)
      #expect(stopped.failure as? CSVError == CSVError(line: 2, column: "distance", problem: .notAnInteger))
      let skipped = try db.importFlights(lines, policy: .skip)
      #expect(skipped.failure == nil)
      #expect(skipped.rows == 0)
      #expect(skipped.skippedCount == 5_000)
      #expect(skipped.skipped.map(\.line) == Array(2...21), "of the many only the first are kept")
      #expect(try Flight.count().run(db) == 0)
      try expectUsable(db)
    }
  }

  // MARK: Lines that the database refuses

  @Test func anUnknownAirlineStopsTheImportAndTheFlightsBeforeItStay() throws {
    try withFlightsDatabase { db in
      let result = try db.importFlights(flights(1...2) + [FlightLines.flight(3, carrier: "??")] + flights(4...5))
      #expect(result.failure.map { "\($0)" } == "line 4: refused by a constraint (foreignKey)")
      #expect(result.rows == 2)
      #expect(try db.flightNumbers() == [1, 2])
      try expectUsable(db)
    }
  }

  @Test func anUnknownAirlineCostsOnlyItsOwnLine() throws {
    try withFlightsDatabase { db in
      var committed: [Int] = []
      var lines = flights(1...4_500)
      lines[2_099] = FlightLines.flight(2_100, carrier: "??")
      lines[2_199] = FlightLines.malformed(2_200)
      lines[2_299] = FlightLines.flight(2_300, carrier: "NA")
      lines[2_399] = FlightLines.flight(2_400, carrier: "")
      let result = try db.importFlights(lines, policy: .skip) { committed.append($0) }
      #expect(result.failure == nil)
      #expect(result.rows == 4_496)
      #expect(result.skippedCount == 4)
      #expect(
        result.skipped.map(\.description)
          == [
            "line 2101: refused by a constraint (foreignKey)", "line 2201: column distance: not a whole number",
            "line 2301: column carrier: NA, but a value is needed", "line 2401: refused by a constraint (foreignKey)",
          ])
      #expect(try db.flightNumbers() == (1...4_500).filter { ![2_100, 2_200, 2_300, 2_400].contains($0) })
      #expect(committed.last == 4_496)
      try expectUsable(db)
    }
  }

  @Test func ofARefusedAndAMalformedLineTheFirstStopsTheImport() throws {
    try withFlightsDatabase { db in
      let refused = FlightLines.flight(2, carrier: "??")
      let first = try db.importFlights(flights(1...1) + [refused, FlightLines.malformed(3)])
      #expect(first.failure.map { "\($0)" } == "line 3: refused by a constraint (foreignKey)")
      let second = try db.importFlights(flights(1...1) + [FlightLines.malformed(3), refused])
      #expect(second.failure.map { "\($0)" } == "line 3: column distance: not a whole number")
      #expect(try db.flightNumbers() == [1, 1])
      try expectUsable(db)
    }
  }

  @Test func aKeyThatIsThereAlreadyIsRefusedByLine() throws {
    try withFlightsDatabase { db in
      try withFile(Array("carrier,name\nZZ,New Air\nUA,Another United\nYY,Newer Air\n".utf8)) { path in
        let stopped = Importer(db: db).run(Airline.self, from: try CSVReader<Airline.CSV>.open(path))
        #expect(stopped.failure.map { "\($0)" } == "line 3: refused by a constraint (primaryKey)")
        #expect(stopped.rows == 1)
        let skipped = Importer(db: db, policy: .skip).run(Airline.self, from: try CSVReader<Airline.CSV>.open(path))
        #expect(skipped.failure == nil)
        #expect(skipped.rows == 1)
        #expect(skipped.skipped.map(\.line) == [2, 3])
      }
      #expect(try Airline.byId("UA").run(db)?.name == "United Air Lines Inc.")
      #expect(try Airline.byId("YY").run(db)?.name == "Newer Air")
      try expectUsable(db)
    }
  }

  // MARK: A database that can't go on

  @Test func aFullDatabaseStopsTheImportAndKeepsTheBatchesBefore() throws {
    try withFlightsDatabase { db in
      let pages = try #require(try db.query("PRAGMA page_count", as: Int.self).first)
      // Room for two batches and a part of the third.
      try db.execute(SQL(verbatim: "PRAGMA max_page_count = \(pages + 100)"))
      let result = try db.importFlights(flights(1...20_000), policy: .skip)
      #expect((result.failure as? SqlError)?.kind == .full)
      #expect(result.rows > 0)
      #expect(result.rows % 2_000 == 0)
      #expect(result.rows < 20_000)
      #expect(result.skippedCount == 0)
      #expect(try db.flightNumbers() == Array(1...result.rows))
      try db.execute("PRAGMA max_page_count = 1000000")
      try expectUsable(db)
    }
  }

  @Test func aClosedHandleIsAFailureOfTheImport() throws {
    try withFlightsDatabase { db in
      try db.close()
      // More batches than wait at a time: the reader must not be left behind, waiting for room.
      let result = try db.importFlights(flights(1...9_000))
      #expect((result.failure as? SqlError)?.kind == .closed)
      #expect(result.rows == 0)
    }
  }
}
