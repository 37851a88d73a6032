import Sqlable

/// An airport. Its key is the FAA code.
///
/// Its columns are untyped, the shortest form by hand: values of a wrong type are rejected when read or written.
struct Airport: Hashable, Sendable {
  var faa: String
  var name: String
  var latitude: Double
  var longitude: Double
  /// In feet.
  var altitude: Int
  /// Hours from UTC, without daylight saving time.
  var timeZone: Int
  /// Daylight saving time: `A` as in the United States, `N` none, `U` unknown.
  var daylightSaving: String
  /// A name of the tz database; three airports lack one.
  var timeZoneName: String?
}

extension Airport: Sqlable {
  static let faa = Column("faa", .text, PrimaryKey())
  static let name = Column("name", .text)
  static let latitude = Column("lat", .real)
  static let longitude = Column("lon", .real)
  static let altitude = Column("alt", .integer)
  static let timeZone = Column("tz", .integer)
  static let daylightSaving = Column("dst", .text)
  static let timeZoneName = Column("tzone", .nullable(.text))
  static let tableLayout = [faa, name, latitude, longitude, altitude, timeZone, daylightSaving, timeZoneName]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Airport.faa: faa
    case Airport.name: name
    case Airport.latitude: latitude
    case Airport.longitude: longitude
    case Airport.altitude: altitude
    case Airport.timeZone: timeZone
    case Airport.daylightSaving: daylightSaving
    case Airport.timeZoneName: timeZoneName
    case _: nil
    }
  }

  init(row: ReadRow) throws {
    faa = try row.get(Airport.faa)
    name = try row.get(Airport.name)
    latitude = try row.get(Airport.latitude)
    longitude = try row.get(Airport.longitude)
    altitude = try row.get(Airport.altitude)
    timeZone = try row.get(Airport.timeZone)
    daylightSaving = try row.get(Airport.daylightSaving)
    timeZoneName = try row.get(Airport.timeZoneName)
  }
}

extension Airport: CSVModel {
  enum CSV: Int, CSVColumn { case faa, name, lat, lon, alt, tz, dst, tzone }

  init(csv line: borrowing CSVReader<CSV>) throws(CSVError) {
    faa = try line.text(.faa)
    name = try line.text(.name)
    latitude = try line.double(.lat)
    longitude = try line.double(.lon)
    altitude = try line.int(.alt)
    timeZone = try line.int(.tz)
    daylightSaving = try line.text(.dst)
    timeZoneName = try line.optionalText(.tzone)
  }
}
