import Foundation
import Sqlable
import Testing

@testable import Flights

/// The data that comes with the program, imported by it and counted once more by splitting the lines at their commas:
/// none of them holds a quote.
@Suite struct ShippedDataTests {
  /// The lines of a shipped file behind its header, as fields by the names in the header.
  private func lines(of name: String) throws -> [[String: Substring]] {
    let text = try String(contentsOfFile: try DataFiles.path(of: name), encoding: .utf8)
    try #require(!text.utf8.contains(UInt8(ascii: "\"")))
    let lines = text.split(separator: "\n")
    let header = try #require(lines.first).split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    return lines.dropFirst().map { line in
      let fields = line.split(separator: ",", omittingEmptySubsequences: false)
      return Dictionary(uniqueKeysWithValues: zip(header, fields))
    }
  }

  @Test func januaryIsStoredAsItIsInTheFile() throws {
    let lines = try lines(of: DataFiles.flights)
    try #require(lines.count == 27_004)
    try withFlightsDatabase { db in
      let reader = try BackgroundReader(besides: db)
      var committed: Set<Int> = []
      let path = try DataFiles.path(of: DataFiles.flights)
      let result = Importer(db: db).run(Flight.self, from: try CSVReader<Flight.CSV>.open(path)) {
        committed.insert($0)
      }
      let findings = reader.stop()
      #expect(result.failure == nil)
      #expect(result.rows == 27_004)
      #expect(result.skippedCount == 0)
      // Meanwhile the other handle saw whole batches only.
      #expect(findings.failure == nil)
      #expect(findings.rowCounts.isSubset(of: committed))

      try expectTotals(of: lines, in: db)
      try expectRows(of: lines, in: db)
    }
  }

  /// Compares sums over the table with sums over the lines.
  private func expectTotals(of lines: [[String: Substring]], in db: SqliteDatabase) throws {
    func sum(_ column: String) -> Int { lines.reduce(0) { $0 + ($1[column].flatMap { Int($0) } ?? 0) } }
    func missing(_ column: String) -> Int { lines.count { $0[column] == "NA" } }

    for column in Flight.tableLayout where column.name != "id" && column.name != "time_hour" {
      let name = column.name
      let stored = try db.query(
        SQL(verbatim: "SELECT count(*) - count(\"\(name)\") FROM flight"), as: Int.self)
      #expect(stored == [missing(name)], "\(name)")
      guard lines.allSatisfy({ $0[name] == "NA" || $0[name].flatMap { Int($0) } != nil }) else { continue }
      let total = try db.query(SQL(verbatim: "SELECT sum(\"\(name)\") FROM flight"), as: Int.self)
      #expect(total == [sum(name)], "\(name)")
    }
    #expect(try Flight.count().filter(!Flight.departure).run(db) == missing("dep_time"))
    #expect(missing("dep_time") == 521, "as the data set's own documentation counts them")

    let carriers = Dictionary(grouping: lines) { $0["carrier"] ?? "" }
    for (carrier, flights) in carriers {
      #expect(try Flight.count().filter(Flight.carrier == String(carrier)).run(db) == flights.count)
    }
  }

  /// Compares every value of every flight with the text in the file.
  private func expectRows(of lines: [[String: Substring]], in db: SqliteDatabase) throws {
    let format = ISO8601DateFormatter()
    var dates: [Substring: Date] = [:]
    for (line, flight) in zip(lines, try Flight.read().orderBy(Flight.id).run(db)) {
      func text(_ value: Int?) -> Substring { value.map { "\($0)" } ?? "NA" }
      let hour = line["time_hour"] ?? ""
      if dates[hour] == nil { dates[hour] = format.date(from: String(hour)) }
      let stored: [String: Substring] = [
        "year": text(flight.year), "month": text(flight.month), "day": text(flight.day),
        "dep_time": text(flight.departure), "sched_dep_time": text(flight.scheduledDeparture),
        "dep_delay": text(flight.departureDelay), "arr_time": text(flight.arrival),
        "sched_arr_time": text(flight.scheduledArrival), "arr_delay": text(flight.arrivalDelay),
        "carrier": flight.carrier[...], "flight": text(flight.number), "tailnum": flight.tailnum?[...] ?? "NA",
        "origin": flight.origin[...], "dest": flight.destination[...], "air_time": text(flight.airTime),
        "distance": text(flight.distance), "hour": text(flight.scheduledHour), "minute": text(flight.scheduledMinute),
        "time_hour": dates[hour] == flight.timeHour ? hour : "another time",
      ]
      // An expectation per row would take longer than all the rest.
      if stored != line { Issue.record("flight \(flight.id ?? 0)") }
    }
  }

  @Test func airlinesAirportsAndPlanesAreStoredAsTheyAreInTheFiles() throws {
    func text(_ field: Substring?) -> String { field.map(String.init) ?? "" }
    func number(_ field: Substring?) -> Int? { Int(text(field)) }
    func decimal(_ field: Substring?) -> Double? { Double(text(field)) }
    try withFlightsDatabase { db in
      let airlines = try lines(of: DataFiles.airlines)
      #expect(try Airline.count().run(db) == airlines.count)
      for line in airlines {
        let airline = try #require(try Airline.byId(text(line["carrier"])).run(db))
        #expect(airline.name == text(line["name"]))
      }

      let airports = try lines(of: DataFiles.airports)
      #expect(try db.importShipped(Airport.self, DataFiles.airports).rows == airports.count)
      #expect(airports.count == 1_458)
      for line in airports {
        let airport = try #require(try Airport.byId(text(line["faa"])).run(db))
        #expect(airport.name == text(line["name"]))
        #expect(airport.latitude == decimal(line["lat"]))
        #expect(airport.longitude == decimal(line["lon"]))
        #expect(airport.altitude == number(line["alt"]))
        #expect(airport.timeZone == number(line["tz"]))
        #expect((airport.timeZoneName ?? "NA") == text(line["tzone"]))
      }

      let planes = try lines(of: DataFiles.planes)
      #expect(try db.importShipped(Plane.self, DataFiles.planes).rows == planes.count)
      #expect(planes.count == 3_322)
      for line in planes {
        let plane = try #require(try Plane.byId(text(line["tailnum"])).run(db))
        #expect(plane.kind.rawValue == text(line["type"]))
        #expect(plane.model == text(line["model"]))
        let numbers: [Int?] = [plane.year, plane.engines, plane.seats, plane.speed]
        let expected: [Int?] = ["year", "engines", "seats", "speed"].map { name in number(line[name]) }
        #expect(numbers == expected)
      }
    }
  }

  @Test func theWeatherIsStoredAsItIsInTheFile() throws {
    let lines = try lines(of: DataFiles.weather)
    try #require(lines.count == 2_226)
    try withFlightsDatabase { db in
      #expect(try db.importShipped(Weather.self, DataFiles.weather).rows == lines.count)
      let format = ISO8601DateFormatter()
      for line in lines {
        func number(_ name: String) -> Double? { line[name].flatMap { Double($0) } }
        func whole(_ name: String) -> Int? { line[name].flatMap { Int($0) } }
        let hour = try #require(format.date(from: String(line["time_hour"] ?? "")))
        let query = Weather.read().filter(Weather.origin == String(line["origin"] ?? "") && Weather.timeHour == hour)
        let weather = try #require(try query.first().run(db))
        let stored: [Double?] = [
          weather.temperature, weather.dewPoint, weather.humidity, weather.windSpeed, weather.windGust,
          weather.precipitation, weather.pressure, weather.visibility,
        ]
        let names = ["temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
        let times: [Int?] = [weather.year, weather.month, weather.day, weather.hour, weather.windDirection]
        // An expectation per row would take longer than all the rest.
        if stored != names.map(number) || times != ["year", "month", "day", "hour", "wind_dir"].map(whole) {
          Issue.record("\(line)")
        }
      }
      // The hour of a flight has one row of weather at most.
      let again = try db.importShipped(Weather.self, DataFiles.weather)
      #expect(again.failure.map { "\($0)" } == "line 2: refused by a constraint (primaryKey)")
    }
  }

  @Test func filesBesideTheFlightsGoBeforeThoseOfTheProgram() throws {
    try withDirectory { directory in
      try Data("carrier,name\n".utf8).write(to: URL(fileURLWithPath: directory + "/airlines.csv"))
      try Data("".utf8).write(to: URL(fileURLWithPath: directory + "/weather.csv"))
      let files = DataFiles(flightsPath: directory + "/flights.csv")
      #expect(try files.path(of: DataFiles.airlines) == directory + "/airlines.csv")
      #expect(try files.path(of: DataFiles.weather) == directory + "/weather.csv")
      #expect(files.ownNames == ["airlines.csv", "weather.csv"])
      #expect(DataFiles().ownNames.isEmpty)
      #expect(try files.path(of: DataFiles.planes) == DataFiles.path(of: DataFiles.planes))
      #expect(try DataFiles().path(of: DataFiles.weather) == DataFiles.path(of: DataFiles.weather))
    }
  }
}
