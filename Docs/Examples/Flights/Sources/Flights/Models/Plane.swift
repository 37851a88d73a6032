import Sqlable

/// A plane. Its key is the tail number.
struct Plane: Hashable, Sendable {
  /// The type of aircraft, as the FAA calls it. An enum with raw values only needs `SqlValue` to be a column value.
  enum Kind: String, SqlValue {
    case singleEngine = "Fixed wing single engine"
    case multiEngine = "Fixed wing multi engine"
    case rotorcraft = "Rotorcraft"
  }

  var tailnum: String
  /// The year it was built, if known.
  var year: Int?
  var kind: Kind
  var manufacturer: String
  var model: String
  var engines: Int
  var seats: Int
  /// The cruising speed in miles per hour, recorded for few planes.
  var speed: Int?
  var engine: String
}

extension Plane: Sqlable {
  static let tailnum = Column("tailnum", .text, PrimaryKey())
  static let year = Column("year", .nullable(.integer))
  static let kind = Column("type", .text)
  static let manufacturer = Column("manufacturer", .text)
  static let model = Column("model", .text)
  static let engines = Column("engines", .integer)
  static let seats = Column("seats", .integer)
  static let speed = Column("speed", .nullable(.integer))
  static let engine = Column("engine", .text)
  static let tableLayout = [tailnum, year, kind, manufacturer, model, engines, seats, speed, engine]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Plane.tailnum: tailnum
    case Plane.year: year
    case Plane.kind: kind
    case Plane.manufacturer: manufacturer
    case Plane.model: model
    case Plane.engines: engines
    case Plane.seats: seats
    case Plane.speed: speed
    case Plane.engine: engine
    case _: nil
    }
  }

  init(row: ReadRow) throws {
    tailnum = try row.get(Plane.tailnum)
    year = try row.get(Plane.year)
    kind = try row.get(Plane.kind)
    manufacturer = try row.get(Plane.manufacturer)
    model = try row.get(Plane.model)
    engines = try row.get(Plane.engines)
    seats = try row.get(Plane.seats)
    speed = try row.get(Plane.speed)
    engine = try row.get(Plane.engine)
  }
}

extension Plane: CSVModel {
  enum CSV: Int, CSVColumn { case tailnum, year, type, manufacturer, model, engines, seats, speed, engine }

  init(csv line: borrowing CSVReader<CSV>) throws(CSVError) {
    tailnum = try line.text(.tailnum)
    year = try line.optionalInt(.year)
    guard let kind = Kind(rawValue: try line.text(.type)) else { throw line.error(.unknownWord, in: .type) }
    self.kind = kind
    manufacturer = try line.text(.manufacturer)
    model = try line.text(.model)
    engines = try line.int(.engines)
    seats = try line.int(.seats)
    speed = try line.optionalInt(.speed)
    engine = try line.text(.engine)
  }
}
