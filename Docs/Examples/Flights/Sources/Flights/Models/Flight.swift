import Foundation
import Sqlable

/// A scheduled flight from New York City.
///
/// The data has no short key, so SQLite numbers the flights. Times are local, as numbers (517 is 5:17); delays are in
/// minutes, negative if early. A cancelled flight has no times, a diverted one no arrival delay.
struct Flight: Hashable, Sendable {
  var id: Int?
  var year: Int
  var month: Int
  var day: Int
  var departure: Int?
  var scheduledDeparture: Int
  var departureDelay: Int?
  var arrival: Int?
  var scheduledArrival: Int
  var arrivalDelay: Int?
  var carrier: String
  var number: Int
  var tailnum: String?
  var origin: String
  var destination: String
  var airTime: Int?
  /// In miles.
  var distance: Int
  var scheduledHour: Int
  var scheduledMinute: Int
  /// The hour of the scheduled departure, as a point in time.
  var timeHour: Date
}

extension Flight: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let year = column("year", Int.self)
  static let month = column("month", Int.self)
  static let day = column("day", Int.self)
  static let departure = column("dep_time", Int?.self)
  static let scheduledDeparture = column("sched_dep_time", Int.self)
  static let departureDelay = column("dep_delay", Int?.self)
  static let arrival = column("arr_time", Int?.self)
  static let scheduledArrival = column("sched_arr_time", Int.self)
  static let arrivalDelay = column("arr_delay", Int?.self)
  // Every carrier is in the table of airlines, so this column is a foreign key. Planes (a sixth of the flights have a
  // tail number that planes.csv lacks) and airports (four destinations are missing) are not complete: foreign keys
  // would reject those flights.
  static let carrier = column("carrier", String.self, ForeignKey<Airline>())
  static let number = column("flight", Int.self)
  static let tailnum = column("tailnum", String?.self)
  static let origin = column("origin", String.self)
  static let destination = column("dest", String.self)
  static let airTime = column("air_time", Int?.self)
  static let distance = column("distance", Int.self)
  static let scheduledHour = column("hour", Int.self)
  static let scheduledMinute = column("minute", Int.self)
  static let timeHour = column("time_hour", Date.self)

  static let tableLayout = [
    id.column, year.column, month.column, day.column,
    departure.column, scheduledDeparture.column, departureDelay.column,
    arrival.column, scheduledArrival.column, arrivalDelay.column,
    carrier.column, number.column, tailnum.column, origin.column, destination.column,
    airTime.column, distance.column, scheduledHour.column, scheduledMinute.column, timeHour.column,
  ]

  /// The general form of writing: a value per column, nil for a column that is not this struct's.
  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Flight.id: id
    case Flight.year: year
    case Flight.month: month
    case Flight.day: day
    case Flight.departure: departure.orNull
    case Flight.scheduledDeparture: scheduledDeparture
    case Flight.departureDelay: departureDelay.orNull
    case Flight.arrival: arrival.orNull
    case Flight.scheduledArrival: scheduledArrival
    case Flight.arrivalDelay: arrivalDelay.orNull
    case Flight.carrier: carrier
    case Flight.number: number
    case Flight.tailnum: tailnum.orNull
    case Flight.origin: origin
    case Flight.destination: destination
    case Flight.airTime: airTime.orNull
    case Flight.distance: distance
    case Flight.scheduledHour: scheduledHour
    case Flight.scheduledMinute: scheduledMinute
    case Flight.timeHour: timeHour
    case _: nil
    }
  }

  /// The fast form of writing, for structs stored by the hundred thousand: no box and no switch per value. NULL is
  /// stored for nil, so all flights have the same columns, and one statement inserts them all.
  func write(to row: inout RowWriter) throws {
    row.set(Flight.id, id)
    row.set(Flight.year, year)
    row.set(Flight.month, month)
    row.set(Flight.day, day)
    row.set(Flight.departure, departure)
    row.set(Flight.scheduledDeparture, scheduledDeparture)
    row.set(Flight.departureDelay, departureDelay)
    row.set(Flight.arrival, arrival)
    row.set(Flight.scheduledArrival, scheduledArrival)
    row.set(Flight.arrivalDelay, arrivalDelay)
    row.set(Flight.carrier, carrier)
    row.set(Flight.number, number)
    row.set(Flight.tailnum, tailnum)
    row.set(Flight.origin, origin)
    row.set(Flight.destination, destination)
    row.set(Flight.airTime, airTime)
    row.set(Flight.distance, distance)
    row.set(Flight.scheduledHour, scheduledHour)
    row.set(Flight.scheduledMinute, scheduledMinute)
    row.set(Flight.timeHour, timeHour)
  }

  init(row: ReadRow) throws {
    id = try row.get(Flight.id)
    year = try row.get(Flight.year)
    month = try row.get(Flight.month)
    day = try row.get(Flight.day)
    departure = try row.get(Flight.departure)
    scheduledDeparture = try row.get(Flight.scheduledDeparture)
    departureDelay = try row.get(Flight.departureDelay)
    arrival = try row.get(Flight.arrival)
    scheduledArrival = try row.get(Flight.scheduledArrival)
    arrivalDelay = try row.get(Flight.arrivalDelay)
    carrier = try row.get(Flight.carrier)
    number = try row.get(Flight.number)
    tailnum = try row.get(Flight.tailnum)
    origin = try row.get(Flight.origin)
    destination = try row.get(Flight.destination)
    airTime = try row.get(Flight.airTime)
    distance = try row.get(Flight.distance)
    scheduledHour = try row.get(Flight.scheduledHour)
    scheduledMinute = try row.get(Flight.scheduledMinute)
    timeHour = try row.get(Flight.timeHour)
  }
}
