import Foundation
import Sqlable

/// The weather of one hour at one of the three airports.
///
/// The key is the airport and the hour as a point in time. In local time it would not be unique: when the clocks go
/// back in November, an hour occurs twice.
struct Weather: Hashable, Sendable {
  var origin: String
  var year: Int
  var month: Int
  var day: Int
  var hour: Int
  /// In degrees Fahrenheit, like the dew point.
  var temperature: Double?
  var dewPoint: Double?
  /// In per cent.
  var humidity: Double?
  /// In degrees.
  var windDirection: Int?
  /// In miles per hour, like the gusts.
  var windSpeed: Double?
  var windGust: Double?
  /// In inches.
  var precipitation: Double
  /// In millibars.
  var pressure: Double?
  /// In miles, at most ten.
  var visibility: Double
  /// The hour as a point in time.
  var timeHour: Date
}

extension Weather: Sqlable {
  static let origin = column("origin", String.self)
  static let year = column("year", Int.self)
  static let month = column("month", Int.self)
  static let day = column("day", Int.self)
  static let hour = column("hour", Int.self)
  static let temperature = column("temp", Double?.self)
  static let dewPoint = column("dewp", Double?.self)
  static let humidity = column("humid", Double?.self)
  static let windDirection = column("wind_dir", Int?.self)
  static let windSpeed = column("wind_speed", Double?.self)
  static let windGust = column("wind_gust", Double?.self)
  static let precipitation = column("precip", Double.self)
  static let pressure = column("pressure", Double?.self)
  static let visibility = column("visib", Double.self)
  static let timeHour = column("time_hour", Date.self)

  static let tableLayout = [
    origin.column, year.column, month.column, day.column, hour.column, temperature.column, dewPoint.column,
    humidity.column, windDirection.column, windSpeed.column, windGust.column, precipitation.column, pressure.column,
    visibility.column, timeHour.column,
  ]
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(origin, timeHour)]

  func write(to row: inout RowWriter) throws {
    row.set(Weather.origin, origin)
    row.set(Weather.year, year)
    row.set(Weather.month, month)
    row.set(Weather.day, day)
    row.set(Weather.hour, hour)
    row.set(Weather.temperature, temperature)
    row.set(Weather.dewPoint, dewPoint)
    row.set(Weather.humidity, humidity)
    row.set(Weather.windDirection, windDirection)
    row.set(Weather.windSpeed, windSpeed)
    row.set(Weather.windGust, windGust)
    row.set(Weather.precipitation, precipitation)
    row.set(Weather.pressure, pressure)
    row.set(Weather.visibility, visibility)
    row.set(Weather.timeHour, timeHour)
  }

  init(row: ReadRow) throws {
    origin = try row.get(Weather.origin)
    year = try row.get(Weather.year)
    month = try row.get(Weather.month)
    day = try row.get(Weather.day)
    hour = try row.get(Weather.hour)
    temperature = try row.get(Weather.temperature)
    dewPoint = try row.get(Weather.dewPoint)
    humidity = try row.get(Weather.humidity)
    windDirection = try row.get(Weather.windDirection)
    windSpeed = try row.get(Weather.windSpeed)
    windGust = try row.get(Weather.windGust)
    precipitation = try row.get(Weather.precipitation)
    pressure = try row.get(Weather.pressure)
    visibility = try row.get(Weather.visibility)
    timeHour = try row.get(Weather.timeHour)
  }
}

extension Weather: CSVModel {
  enum CSV: Int, CSVColumn {
    case origin, year, month, day, hour
    case temp, dewp, humid, windDir, windSpeed, windGust, precip, pressure, visib, timeHour
  }

  init(csv line: borrowing CSVReader<CSV>) throws(CSVError) {
    origin = try line.text(.origin)
    year = try line.int(.year)
    month = try line.int(.month)
    day = try line.int(.day)
    hour = try line.int(.hour)
    temperature = try line.optionalDouble(.temp)
    dewPoint = try line.optionalDouble(.dewp)
    humidity = try line.optionalDouble(.humid)
    windDirection = try line.optionalInt(.windDir)
    windSpeed = try line.optionalDouble(.windSpeed)
    windGust = try line.optionalDouble(.windGust)
    precipitation = try line.double(.precip)
    pressure = try line.optionalDouble(.pressure)
    visibility = try line.double(.visib)
    timeHour = try line.date(.timeHour)
  }
}
