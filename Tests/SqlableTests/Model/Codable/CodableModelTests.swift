import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Models that declare their columns, read and written by their `Codable` conformance.
@Suite struct CodableModelTests {
  @Test func aModelNeedsToDeclareOnlyItsColumns() throws {
    try withDatabase { db in
      try db.createTable(Boat.self)
      let date = Date(timeIntervalSince1970: 1_400_000_000)
      var boat = Boat(name: "Fram", isSailing: true, launchedAt: date)
      // A coding key maps to the column of the same name, or of that name in snake_case.
      #expect(
        boat.insert().sql
          == #"INSERT INTO "boat" ("name", "owner_id", "isSailing", "launched_at") VALUES (?, ?, ?, ?)"#)
      #expect(
        boat.insert().bindings == [.text("Fram"), .null, .integer(1), .text("2014-05-13T16:53:20.000Z")])
      boat.id = try boat.insert().run(db)
      try Boat.insert([Boat(name: "Gjøa", ownerID: 7), Boat(id: 9, name: "")]).run(db)
      #expect(
        try Boat.read().orderBy(Boat.id).run(db) == [
          boat,
          Boat(id: 2, name: "Gjøa", ownerID: 7),
          Boat(id: 9, name: ""),
        ])
      #expect(try Boat.byId(2).run(db)?.name == "Gjøa")
    }
  }

  @Test func anUpdateStoresNilAsNull() throws {
    try withDatabase { db in
      try db.createTable(Boat.self)
      var boat = Boat(id: 1, name: "Fram", ownerID: 3)
      try boat.save().run(db)
      boat.ownerID = nil
      #expect(
        boat.update().sql
          == #"UPDATE "boat" SET "name" = ?, "owner_id" = ?, "isSailing" = ?, "launched_at" = ? WHERE "id" = ?"#)
      try boat.update().run(db)
      #expect(try Boat.read().run(db) == [boat])
      boat.ownerID = 4
      try boat.update(Boat.ownerID).run(db)
      #expect(try Boat.read().run(db) == [boat])
    }
  }

  @Test func modelsAreReadFromJoinsAndRawSQL() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Boat.self)
      try Person(id: 3, name: "Anna").insert().run(db)
      try Boat(id: 1, name: "Fram", ownerID: 3).insert().run(db)
      try Boat(id: 2, name: "Maud").insert().run(db)
      let pairs = try Person.join(Boat.self, on: Boat.ownerID == Person.id).run(db)
      #expect(pairs.map(\.0.name) == ["Anna"])
      #expect(pairs.map(\.1) == [Boat(id: 1, name: "Fram", ownerID: 3)])
      let all = try Boat.leftJoin(Person.self, on: Boat.ownerID == Person.id).orderBy(Boat.id).run(db)
      #expect(all.map(\.0.name) == ["Fram", "Maud"])
      #expect(all.map(\.1?.name) == ["Anna", nil])
      let none = try Person.leftJoin(Boat.self, on: Boat.id == 99).run(db)
      #expect(none.map { $0.1 == nil } == [true])
      // Raw SQL may list the columns in any order.
      let sql: SQL = #"SELECT launched_at, name, "isSailing", id, owner_id FROM boat WHERE id = 1"#
      #expect(try db.query(sql, as: Boat.self) == [Boat(id: 1, name: "Fram", ownerID: 3)])
      expectError(.schema(.missingColumn("owner_id"))) {
        _ = try db.query(#"SELECT id, name, "isSailing", launched_at FROM boat"#, as: Boat.self)
      }
    }
  }

  @Test func statementsAndJSONOfTheModelAreUnaffected() throws {
    let boat = Boat(id: 1, name: "Fram", launchedAt: Date(timeIntervalSinceReferenceDate: 1))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = try encoder.encode(boat)
    #expect(String(decoding: json, as: UTF8.self) == #"{"id":1,"isSailing":false,"launchedAt":1,"name":"Fram"}"#)
    #expect(try JSONDecoder().decode(Boat.self, from: json) == boat)
    let insert = try Statement<Boat, Int>(json: boat.insert().json())
    try withDatabase { db in
      try db.createTable(Boat.self)
      #expect(try insert.run(db) == 1)
      #expect(try Boat.read().run(db) == [boat])
      let read = Boat.read().filter(Boat.launchedAt == boat.launchedAt)
      #expect(try read.evaluate(over: [boat, Boat(id: 2, name: "")]) == [boat])
    }
  }

  // MARK: Models with own implementations

  private struct Handmade: SqlCodable {
    var id = 1
    var text: String
    static let id = column("id", Int.self, PrimaryKey())
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]
    init(text: String) { self.text = text }
    init(row: ReadRow) throws { (id, text) = (try row.get(Handmade.id), try row.get(Handmade.text) + " read") }
    func write(to row: inout RowWriter) throws {
      row.set(Handmade.id, id)
      row.set(Handmade.text, text + " written")
    }
  }

  private struct HandRead: SqlCodable {
    var id = 1
    var text: String
    static let id = column("id", Int.self, PrimaryKey())
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]
    init(text: String) { self.text = text }
    init(row: ReadRow) throws { (id, text) = (try row.get(HandRead.id), try row.get(HandRead.text) + " read") }
  }

  private struct HandWritten: SqlCodable {
    var id = 1
    var text: String
    static let id = column("id", Int.self, PrimaryKey())
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]
    func write(to row: inout RowWriter) throws {
      row.set(HandWritten.id, id)
      row.set(HandWritten.text, text + " written")
    }
  }

  private struct Asked: SqlCodable {
    var id = 1
    var text: String
    static let id = Column("id", .integer, PrimaryKey())
    static let text = Column("text", .text)
    static let tableLayout = [id, text]
    func valueForColumn(_ column: Column) -> SqlValue? {
      switch column {
      case Asked.id: return id
      case Asked.text: return text + " asked"
      case _: return nil
      }
    }
  }

  @Test func aModelsImplementationsTakePrecedenceOverCodable() throws {
    try withDatabase { db in
      try db.createTables(Handmade.self, HandRead.self, HandWritten.self, Asked.self)
      try Handmade(text: "x").insert().run(db)
      #expect(try Handmade.read().run(db).map(\.text) == ["x written read"])
      try HandRead(text: "x").insert().run(db)
      #expect(try HandRead.read().run(db).map(\.text) == ["x read"])
      try HandWritten(text: "x").insert().run(db)
      #expect(try HandWritten.read().run(db).map(\.text) == ["x written"])
      for _ in 1...2 { try Asked(text: "x").save().run(db) }
      #expect(try Asked.read().run(db).map(\.text) == ["x asked"])
    }
  }

  // MARK: Properties without columns, and columns without properties

  private struct Partial: SqlCodable, Equatable {
    var id: Int
    var name: String
    var length: Int?
    /// Not stored.
    var draft: String?
    /// Not stored, and without a coding key.
    var count = 5

    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let length = column("length", Int?.self, Generated("length(name)"))
    static let stars = column("stars", Int.self, Default(3))
    static let note = column("note", String?.self)
    static let tableLayout = [id.column, name.column, length.column, stars.column, note.column]
    enum CodingKeys: CodingKey { case id, name, length, draft }
  }

  @Test func propertiesWithoutColumnsAndColumnsWithoutKeysAreSkipped() throws {
    try withDatabase { db in
      try db.createTable(Partial.self)
      let partial = Partial(id: 1, name: "Fram", length: 99)
      #expect(partial.insert().sql == #"INSERT INTO "partial" ("id", "name") VALUES (?, ?)"#)
      try partial.insert().run(db)
      try db.execute("UPDATE partial SET note = 'kept', stars = 4")
      #expect(try Partial.read().run(db) == [Partial(id: 1, name: "Fram", length: 4)])
      try Partial(id: 1, name: "Gjøa!").save().run(db)
      let stored = try db.query("SELECT note, stars, length FROM partial", as: String.self, Int.self, Int.self)
      #expect(stored.map(\.0) == ["kept"])
      #expect(stored.map(\.1) == [4])
      #expect(stored.map(\.2) == [5])
    }
  }

  @Test func aValueWithoutAColumnIsNotLost() throws {
    try withDatabase { db in
      try db.createTable(Partial.self)
      let partial = Partial(id: 1, name: "Fram", draft: "unknown column")
      for statement in [partial.insert(), partial.save()] {
        let error = expectMisuse { try statement.run(db) }
        #expect(error?.column == "draft")
        #expect(error?.message.contains("declare the column, or remove the key from CodingKeys") == true)
      }
      #expect(try Partial.count().run(db) == 0)
    }
  }

  private struct Defaulted: SqlCodable {
    var id: Int
    var tries: Int
    static let id = column("id", Int.self, PrimaryKey())
    static let tableLayout = [id.column]
    enum CodingKeys: CodingKey { case id, tries }
    init(id: Int, tries: Int) { (self.id, self.tries) = (id, tries) }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      #expect(container.contains(.id))
      #expect(!container.contains(.tries))
      #expect(container.allKeys.map(\.stringValue) == ["id"])
      id = try container.decode(Int.self, forKey: .id)
      tries = try container.decodeIfPresent(Int.self, forKey: .tries) ?? 8
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
    }
  }

  @Test func aDefaultReplacesAPropertyThatIsNotStored() throws {
    try withDatabase { db in
      try db.createTable(Defaulted.self)
      try Defaulted(id: 1, tries: 2).insert().run(db)
      #expect(try Defaulted.read().run(db).map(\.tries) == [8])
    }
  }

  // MARK: Embedded structs

  private struct Place: SqlEmbedded, Codable, Equatable {
    var city: String
    var zip: Int?
    static let (city, zip) = (field("city", String.self), field("zip", Int?.self))
    static let fields = [city.column, zip.column]
    init(city: String, zip: Int? = nil) { (self.city, self.zip) = (city, zip) }
    init(row: EmbeddedRow) throws { (city, zip) = (try row.get(Place.city), try row.get(Place.zip)) }
    func write(to row: inout EmbeddedWriter) throws {
      row.set(Place.city, city)
      row.set(Place.zip, zip)
    }
  }

  private struct Journey: SqlCodable, Equatable {
    var id: Int
    var homePort: Place
    var goal: Place?
    static let id = column("id", Int.self, PrimaryKey())
    static let homePort = embedded("home_port", Place.self)
    static let goal = embedded("goal", Place?.self)
    static let tableLayout = [id.column] + homePort.columns + goal.columns
  }

  @Test func embeddedStructsAreStoredInTheirColumns() throws {
    try withDatabase { db in
      try db.createTable(Journey.self)
      let journeys = [
        Journey(id: 1, homePort: Place(city: "Oslo", zip: 150), goal: Place(city: "Bergen")),
        Journey(id: 2, homePort: Place(city: "Narvik"), goal: nil),
      ]
      try Journey.insert(journeys).run(db)
      #expect(try Journey.read().orderBy(Journey.id).run(db) == journeys)
      #expect(try db.query("SELECT goal_city FROM journey", as: String?.self) == ["Bergen", nil])
      #expect(try Journey.count().filter(Journey.homePort[Place.city] == "Oslo").run(db) == 1)
      try Journey(id: 1, homePort: Place(city: "Oslo"), goal: nil).update().run(db)
      #expect(try db.query("SELECT count(*) FROM journey WHERE goal_city IS NULL", as: Int.self) == [2])
      try db.execute("UPDATE journey SET home_port_city = x'00' WHERE id = 2")
      let error = expectDecoding("TEXT", "BLOB") { _ = try Journey.byId(2).run(db) }
      #expect(error?.table == "journey")
      #expect(error?.column == "home_port_city")
      #expect(error?.rowId == 2)
    }
  }

  // MARK: Classes

  private final class Buoy: SqlCodable {
    let id: Int
    let color: String
    static let id = column("id", Int.self, PrimaryKey())
    static let color = column("color", String.self)
    static let tableLayout = [id.column, color.column]
    init(id: Int, color: String) { (self.id, self.color) = (id, color) }
  }

  @Test func classesWithAndWithoutASuperclassAreModels() throws {
    try withDatabase { db in
      try db.createTables(Buoy.self, Light.self)
      try Buoy(id: 1, color: "red").insert().run(db)
      #expect(try Buoy.read().run(db).map(\.color) == ["red"])
      try Light(id: 2, color: "green").insert().run(db)
      let light = try Light.byId(2).run(db)
      #expect(light?.id == 2)
      #expect(light?.color == "green")
    }
  }

  // MARK: Keys

  /// A model whose coding keys are texts instead of an enum.
  private struct TextKeyed: SqlCodable, Equatable {
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    var numbers: [String: Int]
    static let firstNumber = column("first_number", Int.self)
    static let second = column("second", Int?.self)
    static let tableLayout = [firstNumber.column, second.column]

    init(_ numbers: [String: Int]) { self.numbers = numbers }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let keys = container.allKeys.map(\.stringValue)
      numbers = try keys.reduce(into: [:]) { numbers, key in
        numbers[key] = try container.decodeIfPresent(Int.self, forKey: Key(stringValue: key))
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      for (key, number) in numbers { try container.encode(number, forKey: Key(stringValue: key)) }
    }
  }

  @Test func codingKeysMayBeMadeOfText() throws {
    try withDatabase { db in
      try db.createTable(TextKeyed.self)
      try TextKeyed(["first_number": 1, "second": 2]).insert().run(db)
      try TextKeyed(["first_number": 3]).insert().run(db)
      #expect(
        try TextKeyed.read().run(db) == [
          TextKeyed(["first_number": 1, "second": 2]),
          TextKeyed(["first_number": 3]),
        ])
      let error = expectMisuse { try TextKeyed(["first_number": 1, "third": 1]).insert().run(db) }
      #expect(error?.table == "text_keyed")
      #expect(error?.column == "third")
    }
  }
}
