import Foundation
import Sqlable
import Testing

@testable import Flights

/// Lines of a file of flights.
enum FlightLines {
  static let header =
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    + "origin,dest,air_time,distance,hour,minute,time_hour"

  /// A flight of this number, on January 1.
  static func flight(_ number: Int, carrier: String = "UA") -> String {
    "2013,1,1,517,515,2,830,819,11,\(carrier),\(number),N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
  }

  /// A flight whose distance is none.
  static func malformed(_ number: Int) -> String {
    flight(number).replacingOccurrences(of: "1400", with: "far")
  }

  static let reason = "column distance: not a whole number"
}

/// Writes a file of flights, the header being its line 1.
@discardableResult
func writeFlights(_ lines: [String], to path: String) throws -> String {
  try Data((([FlightLines.header] + lines).joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
  return path
}

extension SqliteDatabase {
  /// The numbers of the flights that are stored, in the order of their ids.
  func flightNumbers() throws -> [Int] { try Flight.read().orderBy(Flight.id).run(self).map(\.number) }

  /// Imports a file of flights as the program does.
  func importFlights(
    _ lines: [String], policy: Options.ErrorPolicy = .stop, onCommit: (Int) -> Void = { _ in }
  ) throws -> ImportResult {
    try withDirectory { directory in
      let path = try writeFlights(lines, to: directory + "/flights.csv")
      return Importer(db: self, policy: policy)
        .run(Flight.self, from: try CSVReader<Flight.CSV>.open(path), onCommit: onCommit)
    }
  }

  /// Imports a file that comes with the program.
  func importShipped<Model: CSVModel>(_ model: Model.Type, _ name: String) throws -> ImportResult {
    Importer(db: self).run(model, from: try CSVReader<Model.CSV>.open(try DataFiles.path(of: name)))
  }
}

/// Calls `body` with a database of the program's tables, in which the airlines are.
func withFlightsDatabase<Result>(_ body: (SqliteDatabase) throws -> Result) throws -> Result {
  try withDirectory { directory in
    let db = try DatabasePlace(path: directory + "/flights.sqlite").open()
    try db.createTable(Airline.self)
    try db.createTable(Airport.self)
    try db.createTable(Plane.self)
    try db.createTable(Weather.self)
    try db.createTable(Flight.self)
    let airlines = try db.importShipped(Airline.self, DataFiles.airlines)
    try #require(airlines.failure == nil && airlines.rows == 16)
    defer { try? db.close() }
    return try body(db)
  }
}
