import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Nation {
  let code: String
  var name: String
}

extension Nation: Sqlable {
  static let code = Column("code", .text, PrimaryKey())
  static let name = Column("name", .text)
  static let tableLayout = [code, name]
  static let tableOptions: [TableOption] = [.withoutRowid]

  func write(to row: inout RowWriter) throws {
    row.set(Nation.code, code)
    row.set(Nation.name, name)
  }

  init(row: ReadRow) throws {
    code = try row.get(Nation.code)
    name = try row.get(Nation.name)
  }
}

private struct LogLine: Codable, Equatable {
  var rowid: Int?
  var text: String
}

extension LogLine: SqlCodable {
  static let rowid = column("rowid", Int.self, RowId())
  static let text = column("text", String.self)
  static let tableLayout = [rowid.column, text.column]
}

private struct Berth {
  var deck: Int
  var number: Int
  var guest: String?
}

extension Berth: Sqlable {
  static let deck = column("deck", Int.self)
  static let number = column("number", Int.self)
  static let guest = column("guest", String?.self)
  static let tableLayout = [deck.column, number.column, guest.column]
  static let tableConstraints = [PrimaryKeys(Berth.deck, Berth.number)]

  func write(to row: inout RowWriter) throws {
    row.set(Berth.deck, deck)
    row.set(Berth.number, number)
    row.set(Berth.guest, guest)
  }

  init(row: ReadRow) throws {
    deck = try row.get(Berth.deck)
    number = try row.get(Berth.number)
    guest = try row.get(Berth.guest)
  }
}

private enum Rig: String, Codable { case sloop, ketch, schooner }

private struct Sailor: Codable, Equatable {
  var name: String
}

private struct Boat: SqlCodable, Equatable {
  var id: Int?
  var name: String
  var ownerId: Int?
  var rig = Rig.sloop
  var crew: [Sailor] = []
}

extension Boat {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let ownerId = column("owner_id", Int?.self)
  static let rig = Column("rig", .text)
  static let crew = Column("crew", .text)
  static let tableLayout = [id.column, name.column, ownerId.column, rig, crew]
}

private struct HTTPServer {}

extension HTTPServer: Sqlable {
  static let port = Column("port", .integer)
  static let tableLayout = [port]
  init(row: ReadRow) throws {}
}

private enum Shop {
  struct Index {
    var text: String
  }
}

/// A model with the name of a type that its own declarations use.
extension Shop.Index: Sqlable {
  fileprivate static let text = column("text", String.self)
  static let tableLayout = [text.column]
  static let tableIndexes = [Index(text)]

  func write(to row: inout RowWriter) throws { row.set(Shop.Index.text, text) }

  init(row: ReadRow) throws { text = try row.get(Shop.Index.text) }
}

private struct Contradiction {}

extension Contradiction: Sqlable {
  static let a = Column("a", .integer, PrimaryKey())
  static let b = Column("b", .integer, PrimaryKey())
  static let tableLayout = [a, b]
  init(row: ReadRow) throws {}
}

@Suite struct ModelsGuide {
  @Test func nilLeavesTheColumnOut() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let owner = try Person(id: nil, name: "Anna").insert().run(db)
      try Bicycle(name: "Norco", color: "red", ownerId: owner).insert().run(db)
      let bike = Bicycle(id: 1, name: "Norco", color: "blue", ownerId: nil)
      try bike.update().run(db)  // owner_id is unchanged
      #expect(try Bicycle.byId(1).run(db)?.ownerId == owner)
      #expect(bike.update().sql == #"UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ?"#)
      try bike.update(Bicycle.ownerId).run(db)  // owner_id becomes NULL
      #expect(try Bicycle.byId(1).run(db) == bike)
      #expect(bike.update(Bicycle.ownerId).sql == #"UPDATE "bicycle" SET "owner_id" = ? WHERE "id" = ?"#)
      #expect(bike.update(Bicycle.ownerId).bindings == [.null, .integer(1)])
    }
  }

  @Test func nilIsNullInWriteTo() throws {
    try withDatabase { db in
      try db.createTable(Berth.self)
      try Berth(deck: 1, number: 12, guest: "Anna").insert().run(db)
      let berth = Berth(deck: 1, number: 12, guest: nil)
      try berth.update().run(db)  // guest becomes NULL
      let stored = try Berth.byId(1, 12).run(db)
      #expect(stored != nil)
      #expect(stored?.guest == nil)
      #expect(berth.update().sql == #"UPDATE "berth" SET "guest" = ? WHERE "deck" = ? AND "number" = ?"#)
      #expect(berth.update().bindings == [.null, .integer(1), .integer(12)])
    }
  }

  @Test func codableModelsDeclareTheirColumns() throws {
    try withDatabase { db in
      try db.createTable(Boat.self)
      try Boat(name: "Fram", rig: .schooner, crew: [Sailor(name: "Anna")]).insert().run(db)
      let boat = try Boat.byId(1).run(db)
      #expect(boat == Boat(id: 1, name: "Fram", rig: .schooner, crew: [Sailor(name: "Anna")]))
      #expect(
        Boat(name: "Fram").insert().sql
          == #"INSERT INTO "boat" ("name", "owner_id", "rig", "crew") VALUES (?, ?, ?, ?)"#)
      let stored = try db.query("SELECT rig, crew FROM boat", as: String.self, String.self)
      #expect(stored.map(\.0) == ["schooner"])
      #expect(stored.map(\.1) == [#"[{"name":"Anna"}]"#])
    }
  }

  @Test func textKeysIdentifyRows() throws {
    try withDatabase { db in
      try db.createTable(Nation.self)
      let id = try Nation(code: "NO", name: "Norway").insert().run(db)  // 0: the row has no integer id
      let norway = try Nation.byId("NO").run(db)
      #expect(id == 0)
      #expect(norway?.name == "Norway")
      let tables = try db.query("SELECT sql FROM sqlite_schema", as: String.self)
      #expect(
        tables == [#"CREATE TABLE "nation" ("code" TEXT PRIMARY KEY NOT NULL, "name" TEXT NOT NULL) WITHOUT ROWID"#])
    }
  }

  @Test func rowidIdentifiesRowsOfATableWithoutAKey() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE log_line (text TEXT NOT NULL); INSERT INTO log_line VALUES ('a'), ('b')")
      #expect(LogLine.read().sql == #"SELECT "rowid", "text" FROM "log_line""#)
      var line = try #require(try LogLine.byId(2).run(db))
      line.text = "c"
      #expect(line.update().sql == #"UPDATE "log_line" SET "text" = ? WHERE "rowid" = ?"#)
      let changed = try line.update().run(db)
      #expect(changed == 1)
      #expect(try LogLine.select(LogLine.text).orderBy(LogLine.rowid).run(db) == ["a", "c"])
    }
  }

  @Test func compositeKeysIdentifyRows() throws {
    try withDatabase { db in
      try db.createTable(Berth.self)
      try Berth(deck: 1, number: 12, guest: "Anna").save().run(db)
      let berth = try Berth.byId(1, 12).run(db)
      #expect(berth?.guest == "Anna")
      #expect(
        Berth.byId(1, 12).sql == """
          SELECT "deck", "number", "guest" FROM "berth" WHERE "deck" = ? AND "number" = ? LIMIT ?
          """)
      #expect(sqlError { _ = try Berth.byId(1).run(db) }?.table == "berth")
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'table'", as: String.self) == [
          """
          CREATE TABLE "berth" ("deck" INTEGER NOT NULL, "number" INTEGER NOT NULL, "guest" TEXT, \
          PRIMARY KEY ("deck", "number"))
          """
        ])
    }
  }

  @Test func aTypedColumnIsAParameter() throws {
    func cheapest(by price: TypedColumn<Car, Double>) -> Statement<Car, Car?> { Car.read().orderBy(price).first() }
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert([2, 1].map { Car(id: nil, name: "\($0)", price: $0, isElectric: true) }).run(db)
      #expect(try cheapest(by: Car.price).run(db)?.name == "1.0")
    }
  }

  @Test func modelMayShareTheNameOfALibraryType() throws {
    try withDatabase { db in
      #expect(try db.createTable(Shop.Index.self).addedIndexes == ["index_text"])
      try Shop.Index(text: "a").insert().run(db)
      #expect(try Shop.Index.read().run(db).map(\.text) == ["a"])
    }
  }

  @Test func tableNamesAreInSnakeCase() {
    #expect(Bicycle.tableName == "bicycle")
    #expect(HTTPServer.tableName == "http_server")
  }

  @Test func columnsOfAnotherTableAreRefused() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let error = sqlError {
        _ = try Bicycle.read().filter(Person.name == "Anna").run(db)
      }
      // error.kind == .schema(.missingColumn("name")): it is not this table's column of that name
      #expect(error?.kind == .schema(.missingColumn("name")))
      #expect(error?.table == "bicycle")
      #expect(error?.column == "name")
    }
  }

  @Test func aModelThatContradictsItselfThrows() throws {
    try withDatabase { db in
      guard case .misuse = sqlError({ try db.createTable(Contradiction.self) })?.kind else {
        Issue.record("a model with two primary keys was accepted")
        return
      }
    }
  }

  @Test func rowsAreReadInAnyOrder() throws {
    try withDatabase { db in
      try db.createTable(Nation.self)
      try Nation(code: "NO", name: "Norway").insert().run(db)
      let names = try db.query("SELECT name, code FROM nation", as: Nation.self).map(\.name)
      #expect(names == ["Norway"])
      let pairs = try db.query("SELECT code, name FROM nation") { row in
        (code: try row.get("code", as: String.self), name: try row.get(at: 1, as: String.self))
      }
      try #require(pairs.count == 1)
      #expect(pairs[0].code == "NO")
      #expect(pairs[0].name == "Norway")
    }
  }
}
