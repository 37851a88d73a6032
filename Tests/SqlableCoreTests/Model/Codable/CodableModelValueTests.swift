import Foundation
import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// An enum that is stored as its raw value although it is no `SqlValue`.
private enum Rig: String, Codable, CaseIterable { case sloop, ketch, schooner }

private enum Grade: Int, Codable, SqlValue, CaseIterable { case low, high }

/// A struct that is stored as the single value that it encodes.
private struct Knots: Codable, Equatable {
  var speed: Double
  init(speed: Double) { self.speed = speed }
  init(from decoder: any Decoder) throws { speed = try decoder.singleValueContainer().decode(Double.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(speed)
  }
}

/// A struct that is stored as JSON by `Codable`.
private struct Sailor: Codable, Equatable {
  var name: String
  var ranks: [Int]
  var born: Date?
}

/// A struct that is stored as JSON by `SqlJSON`.
private struct Cook: SqlJSON, Equatable {
  var name: String
  var ranks: [Int]
  var born: Date?
}

private struct Ship: SqlCodable, Equatable {
  var id: Int
  var int8: Int8, int16: Int16, int32: Int32, int64: Int64
  var uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64, uint: UInt
  var flag: Bool
  var maybeFlag: Bool?
  var float: Float, double: Double
  var maybeDouble: Double?
  var text: String
  var maybeText: String?
  var data: Data
  var maybeData: Data?
  var date: Date, isoDate: Date
  var maybeDate: Date?
  var uuid: UUID, textUUID: UUID, url: URL, decimal: Decimal
  var rig: Rig
  var maybeRig: Rig?
  var grade: Grade
  var maybeGrade: Grade?
  var knots: Knots
  var captain: Sailor
  var mate: Sailor?
  var crew: [Sailor]
  var cook: Cook
  var tags: [String], depths: [String: Int], ports: Set<String>

  static let tableLayout = columns()

  static func columns() -> [Column] {
    [
      column("id", Int.self, PrimaryKey()).column,
      column("int8", Int8.self).column, column("int16", Int16.self).column, column("int32", Int32.self).column,
      column("int64", Int64.self).column, column("uint8", UInt8.self).column, column("uint16", UInt16.self).column,
      column("uint32", UInt32.self).column, column("uint64", UInt64.self).column, column("uint", UInt.self).column,
      column("flag", Bool.self).column, column("maybe_flag", Bool?.self).column, column("float", Float.self).column,
      column("double", Double.self).column, column("maybe_double", Double?.self).column,
      column("text", String.self).column, column("maybe_text", String?.self).column, column("data", Data.self).column,
      column("maybe_data", Data?.self).column, column("date", Date.self).column,
      column("iso_date", Date.self, as: .date(.iso8601)).column,
      column("maybe_date", Date?.self, as: .date(.unixMilliseconds)).column, column("uuid", UUID.self).column,
      column("text_uuid", UUID.self, as: .text).column, column("url", URL.self).column,
      column("decimal", Decimal.self).column, Column("rig", .text), Column("maybe_rig", .nullable(.text)),
      column("grade", Grade.self).column, column("maybe_grade", Grade?.self).column, Column("knots", .real),
      Column("captain", .text), Column("mate", .nullable(.text)), Column("crew", .text),
      column("cook", Cook.self).column, column("tags", [String].self).column,
      column("depths", [String: Int].self).column, column("ports", Set<String>.self).column,
    ]
  }

  enum CodingKeys: String, CodingKey {
    case id, int8, int16, int32, int64, uint8, uint16, uint32, uint64, uint, flag, maybeFlag, float, double
    case maybeDouble, text, maybeText, data, maybeData, date, isoDate, maybeDate, uuid
    case textUUID = "textUuid"
    case url, decimal, rig, maybeRig, grade, maybeGrade, knots, captain, mate, crew, cook, tags, depths, ports
  }
}

extension Ship {
  /// Creates a ship with default values.
  fileprivate init(_ id: Int) {
    self.init(
      id: id, int8: 0, int16: 0, int32: 0, int64: 0, uint8: 0, uint16: 0, uint32: 0, uint64: 0, uint: 0, flag: false,
      float: 0, double: 0, text: "", data: Data(), date: .distantPast, isoDate: .distantPast, uuid: UUID(),
      textUUID: UUID(), url: URL(fileURLWithPath: "/"), decimal: 0, rig: .sloop, grade: .low, knots: Knots(speed: 0),
      captain: Sailor(name: "", ranks: []), crew: [], cook: Cook(name: "", ranks: []), tags: [], depths: [:],
      ports: [])
  }
}

/// The same row, with handwritten reading and writing.
private struct HandmadeShip: Sqlable {
  var ship: Ship

  static let tableLayout = Ship.columns()

  init(_ ship: Ship) { self.ship = ship }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column.name {
    case "id": return ship.id
    case "int8": return ship.int8
    case "int16": return ship.int16
    case "int32": return ship.int32
    case "int64": return ship.int64
    case "uint8": return ship.uint8
    case "uint16": return ship.uint16
    case "uint32": return ship.uint32
    case "uint64": return ship.uint64
    case "uint": return ship.uint
    case "flag": return ship.flag
    case "maybe_flag": return ship.maybeFlag.orNull
    case "float": return ship.float
    case "double": return ship.double
    case "maybe_double": return ship.maybeDouble.orNull
    case "text": return ship.text
    case "maybe_text": return ship.maybeText.orNull
    case "data": return ship.data
    case "maybe_data": return ship.maybeData.orNull
    case "date": return ship.date
    case "iso_date": return ship.isoDate
    case "maybe_date": return ship.maybeDate.orNull
    case "uuid": return ship.uuid
    case "text_uuid": return ship.textUUID
    case "url": return ship.url
    case "decimal": return ship.decimal
    case "rig": return ship.rig.rawValue
    case "maybe_rig": return (ship.maybeRig?.rawValue).orNull
    case "grade": return ship.grade
    case "maybe_grade": return ship.maybeGrade.orNull
    case "knots": return ship.knots.speed
    case "captain": return Cook(ship.captain)
    case "mate": return ship.mate.map { Cook($0) }.orNull
    case "crew": return ship.crew.map { Cook($0) }
    case "cook": return ship.cook
    case "tags": return ship.tags
    case "depths": return ship.depths
    case "ports": return ship.ports
    case _: return nil
    }
  }

  init(row: ReadRow) throws {
    func get<Value: SqlValue>(_ name: String) throws -> Value {
      guard let column = HandmadeShip.tableLayout.first(where: { $0.name == name }) else { throw CancellationError() }
      return try row.get(column)
    }
    var ship = Ship(try get("id"))
    ship.int8 = try get("int8")
    ship.int16 = try get("int16")
    ship.int32 = try get("int32")
    ship.int64 = try get("int64")
    ship.uint8 = try get("uint8")
    ship.uint16 = try get("uint16")
    ship.uint32 = try get("uint32")
    ship.uint64 = try get("uint64")
    ship.uint = try get("uint")
    ship.flag = try get("flag")
    ship.maybeFlag = try get("maybe_flag")
    ship.float = try get("float")
    ship.double = try get("double")
    ship.maybeDouble = try get("maybe_double")
    ship.text = try get("text")
    ship.maybeText = try get("maybe_text")
    ship.data = try get("data")
    ship.maybeData = try get("maybe_data")
    ship.date = try get("date")
    ship.isoDate = try get("iso_date")
    ship.maybeDate = try get("maybe_date")
    ship.uuid = try get("uuid")
    ship.textUUID = try get("text_uuid")
    ship.url = try get("url")
    ship.decimal = try get("decimal")
    ship.rig = try #require(Rig(rawValue: get("rig")))
    ship.maybeRig = (try get("maybe_rig") as String?).flatMap { Rig(rawValue: $0) }
    ship.grade = try get("grade")
    ship.maybeGrade = try get("maybe_grade")
    ship.knots = Knots(speed: try get("knots"))
    ship.captain = Sailor(try get("captain") as Cook)
    ship.mate = (try get("mate") as Cook?).map { Sailor($0) }
    ship.crew = (try get("crew") as [Cook]).map { Sailor($0) }
    ship.cook = try get("cook")
    ship.tags = try get("tags")
    ship.depths = try get("depths")
    ship.ports = try get("ports")
    self.ship = ship
  }
}

extension Cook {
  fileprivate init(_ sailor: Sailor) { self.init(name: sailor.name, ranks: sailor.ranks, born: sailor.born) }
}

extension Sailor {
  fileprivate init(_ cook: Cook) { self.init(name: cook.name, ranks: cook.ranks, born: cook.born) }
}

extension SeededGenerator {
  fileprivate mutating func integer<Integer: FixedWidthInteger>() -> Integer {
    let bounds = [0, 1, Integer.min, Integer.max >> 1, Integer.max]
    // No column stores an integer above the largest Int64.
    let number = chance(30) ? pick(bounds) : Integer(truncatingIfNeeded: next())
    return Int64(exactly: number) == nil ? number >> 1 : number
  }

  fileprivate mutating func number() -> Double {
    pick([0, 1.5, -2e300, .infinity, .leastNonzeroMagnitude, quarter()])
  }

  private mutating func quarter() -> Double {
    Double(Int.random(in: -1_000_000...1_000_000, using: &self)) / 4
  }

  fileprivate mutating func text() -> String {
    String((0..<Int.random(in: 0...6, using: &self)).map { _ in pick(Array("aé\u{301}\0'\"\\{}🚢 z")) })
  }

  fileprivate mutating func bytes() -> Data { Data(list { $0.integer() }) }

  fileprivate mutating func date() -> Date {
    Date(timeIntervalSince1970: Double(Int.random(in: -1_000_000_000...9_000_000_000, using: &self)) / 4)
  }

  fileprivate mutating func uuid() -> UUID {
    let (high, low) = (next(), next())
    return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  fileprivate mutating func maybe<Value>(_ make: (inout SeededGenerator) -> Value) -> Value? {
    chance(50) ? make(&self) : nil
  }

  fileprivate mutating func sailor() -> Sailor {
    Sailor(name: text(), ranks: list { $0.integer() }, born: maybe { $0.date() })
  }

  fileprivate mutating func list<Element>(_ make: (inout SeededGenerator) -> Element) -> [Element] {
    (0..<Int.random(in: 0...2, using: &self)).map { _ in make(&self) }
  }

  fileprivate mutating func ship(_ id: Int) -> Ship {
    var ship = Ship(id)
    ship.int8 = integer()
    ship.int16 = integer()
    ship.int32 = integer()
    ship.int64 = integer()
    ship.uint8 = integer()
    ship.uint16 = integer()
    ship.uint32 = integer()
    ship.uint64 = integer()
    ship.uint = integer()
    ship.flag = chance(50)
    ship.maybeFlag = maybe { $0.chance(50) }
    ship.float = Float(Int.random(in: -999...999, using: &self)) / 8
    ship.double = number()
    ship.maybeDouble = maybe { $0.number() }
    ship.text = text()
    ship.maybeText = maybe { $0.text() }
    ship.data = bytes()
    ship.maybeData = maybe { $0.bytes() }
    ship.date = date()
    ship.isoDate = date()
    ship.maybeDate = maybe { $0.date() }
    ship.uuid = uuid()
    ship.textUUID = uuid()
    ship.url = URL(fileURLWithPath: "/\(next())")
    ship.decimal = Decimal(Int(integer() as Int32)) / 8
    ship.rig = pick(Rig.allCases)
    ship.maybeRig = maybe { $0.pick(Rig.allCases) }
    ship.grade = pick(Grade.allCases)
    ship.maybeGrade = maybe { $0.pick(Grade.allCases) }
    ship.knots = Knots(speed: number())
    ship.captain = sailor()
    ship.mate = maybe { $0.sailor() }
    ship.crew = list { $0.sailor() }
    ship.cook = Cook(sailor())
    ship.tags = list { $0.text() }
    ship.depths = Dictionary(list { ($0.text(), $0.integer()) }) { $1 }
    ship.ports = Set(list { $0.text() })
    return ship
  }
}

@Suite struct CodableModelValueTests {
  /// Both models must store the same values and read them back.
  @Test func randomModelsAreStoredAsByAHandwrittenModel() throws {
    try withDatabase { db in
      try db.createTables(Ship.self, HandmadeShip.self)
      var random = SeededGenerator(seed: SeededGenerator.seed)
      let ships = (1...times(300)).map { random.ship($0) }
      try Ship.insert(ships).run(db)
      try HandmadeShip.insert(ships.map { HandmadeShip($0) }).run(db)
      let stored = try db.query("SELECT * FROM ship ORDER BY id", as: DynamicRow.self)
      let byHand = try db.query("SELECT * FROM handmade_ship ORDER BY id", as: DynamicRow.self)
      for (ship, (stored, byHand)) in zip(ships, zip(stored, byHand)) {
        #expect(stored == byHand, "seed \(SeededGenerator.seed), row \(ship.id)")
      }
      #expect(stored.count == ships.count)
      #expect(try Ship.read().orderBy(Ship.tableLayout[0]).run(db) == ships)
      let read = try HandmadeShip.read().orderBy(HandmadeShip.tableLayout[0]).run(db)
      #expect(read.map(\.ship) == ships)
      for ship in ships.prefix(20) {
        var changed = random.ship(ship.id)
        try changed.update().run(db)
        #expect(try Ship.byId(ship.id).run(db) == changed)
        changed = ship
        try changed.save().run(db)
        #expect(try Ship.byId(ship.id).run(db) == ship)
      }
    }
  }

  private struct Odd<Value: Codable & Sendable>: SqlCodable {
    var value: Value
    static var tableName: String { "odd" }
    static var tableLayout: [Column] { [Column("value", .nullable(.text))] }
  }

  private func text<Value: Codable & Sendable>(of value: Value) throws -> String? {
    try withDatabase { db in
      try db.execute("CREATE TABLE odd (value TEXT)")
      try Odd(value: value).insert().run(db)
      _ = try Odd<Value>.read().run(db)
      return try db.query("SELECT value FROM odd", as: String?.self)[0]
    }
  }

  @Test func otherTypesAreStoredAsASingleValueOrAsJSON() throws {
    enum Cargo: Codable {
      case ore(tons: Int)
      case none
    }
    struct Nothing: Codable {}
    struct Wrapper: Codable {
      var rig: Rig?
      init(rig: Rig?) { self.rig = rig }
      init(from decoder: any Decoder) throws { rig = try decoder.singleValueContainer().decode(Rig?.self) }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rig)
      }
    }
    #expect(try text(of: Cargo.ore(tons: 2)) == #"{"ore":{"tons":2}}"#)
    #expect(try text(of: Nothing()) == "{}")
    #expect(try text(of: [[Rig.sloop]]) == #"[["sloop"]]"#)
    #expect(try text(of: [Sailor]()) == "[]")
    #expect(try text(of: ["a": Rig.ketch]) == #"{"a":"ketch"}"#)
    #expect(try text(of: Wrapper(rig: .ketch)) == "ketch")
    #expect(try text(of: Wrapper(rig: nil)) == nil)
    #expect(try text(of: Rig?.some(.sloop)) == "sloop")
    #expect(try text(of: Sailor?.none) == nil)
    #expect(try text(of: 1...3) == "[1,3]")
    #expect(try text(of: Optional<Cargo?>.some(Cargo.none)) == #"{"none":{}}"#)
  }
}
