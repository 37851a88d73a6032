import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private enum Contact: Equatable {
  case email(String)
  case phone(String, line: Int?)
}

extension Contact: Sqlable {
  enum Kind: String, SqlValue { case email, phone }

  static let kind = column("kind", Kind.self)
  static let address = column("address", String.self)
  static let line = column("line", Int?.self)
  static let tableLayout = [kind.column, address.column, line.column]

  init(row: ReadRow) throws {
    let (kind, address) = (try row.get(Contact.kind), try row.get(Contact.address))
    let line = try row.get(Contact.line)
    switch kind {
    case .email: self = .email(address)
    case .phone: self = .phone(address, line: line)
    }
  }

  func write(to row: inout RowWriter) throws {
    switch self {
    case .email(let address):
      row.set(Contact.kind, .email)
      row.set(Contact.address, address)
      row.set(Contact.line, nil)
    case .phone(let number, let line):
      row.set(Contact.kind, .phone)
      row.set(Contact.address, number)
      row.set(Contact.line, line)
    }
  }
}

private struct Snapshot: SqlCodable, Equatable {
  var id: Int?
  var title: String
  var image: Data?
}

extension Snapshot {
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let image = column("image", Data?.self)
  static let tableLayout = [id.column, title.column, image.column]
}

private struct SnapshotTitle: SqlCodable, Equatable {
  var id: Int?
  var title: String
}

extension SnapshotTitle {
  static let tableName = "snapshot"
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let tableLayout = [id.column, title.column]
}

private struct Gadget: SqlCodable, Equatable {
  var id: Int?
  var features: JSON
}

extension Gadget {
  static let id = column("id", Int.self, PrimaryKey())
  static let features = column("features", JSON.self)
  static let tableLayout = [id.column, features.column]
}

/// The handwritten models of Docs/ModelForms.md; MoreValuesGuide has its class, and Tests/Macros its macros.
@Suite struct ModelFormsGuide {
  @Test func anEnumIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Contact.self)
      try Contact.insert([.email("anna@example.org"), .phone("555 01", line: 7)]).run(db)
      let phones = try Contact.read().filter(Contact.kind == .phone).run(db)
      #expect(phones == [.phone("555 01", line: 7)])
      #expect(try Contact.read().run(db) == [.email("anna@example.org"), .phone("555 01", line: 7)])
      let stored = try db.query("SELECT kind, line FROM contact", as: String.self, Int?.self)
      #expect(stored.map(\.0) == ["email", "phone"])
      #expect(stored.map(\.1) == [nil, 7])
      #expect(
        Contact.email("").insert().sql == #"INSERT INTO "contact" ("kind", "address", "line") VALUES (?, ?, ?)"#)
      #expect(sqlError { _ = try Contact.email("").delete().run(db) }?.kindIsMisuse == true)
      try db.execute("UPDATE contact SET kind = 'fax'")
      guard case .decoding = sqlError({ _ = try Contact.read().run(db) })?.kind else {
        Issue.record("a contact of an unknown kind was read")
        return
      }
    }
  }

  @Test func aColumnIsNotRead() throws {
    try withDatabase { db in
      try db.createTable(Snapshot.self)
      try Snapshot(id: 1, title: "Oslo", image: Data([1, 2])).insert().run(db)
      let list = try Snapshot.read(without: Snapshot.image).run(db)  // image is nil
      var snapshot = list[0]
      snapshot.title = "Bergen"
      try snapshot.update(Snapshot.title).run(db)
      #expect(list == [Snapshot(id: 1, title: "Oslo", image: nil)])
      #expect(Snapshot.read(without: Snapshot.image).sql == #"SELECT "id", "title", ? FROM "snapshot""#)
      #expect(snapshot.update(Snapshot.title).sql == #"UPDATE "snapshot" SET "title" = ? WHERE "id" = ?"#)
      #expect(try Snapshot.byId(1).run(db) == Snapshot(id: 1, title: "Bergen", image: Data([1, 2])))
    }
  }

  @Test func aSecondModelHasFewerColumns() throws {
    try withDatabase { db in
      try db.createTable(Snapshot.self)
      try Snapshot(id: 1, title: "Oslo", image: Data([1, 2])).insert().run(db)
      var title = try #require(try SnapshotTitle.byId(1).run(db))
      title.title = "Bergen"
      try title.save().run(db)
      #expect(SnapshotTitle.read().sql == #"SELECT "id", "title" FROM "snapshot""#)
      #expect(try Snapshot.byId(1).run(db) == Snapshot(id: 1, title: "Bergen", image: Data([1, 2])))
      #expect(try SnapshotTitle(id: nil, title: "Moss").insert().run(db) == 2)
      #expect(try Snapshot.byId(2).run(db)?.image == nil)
      try Schema(SnapshotTitle.self).verify(db)
    }
  }

  @Test func jsonOfAnyShapeIsStored() throws {
    try withDatabase { db in
      try db.createTable(Gadget.self)
      try Gadget(id: nil, features: ["color": "red", "sizes": [9, 12.5], "note": nil]).insert().run(db)
      let color = Gadget.features.jsonValue("color", as: String.self)
      var red = try Gadget.read().filter(color == "red").run(db)
      red[0].features["color"] = "blue"
      try red[0].update().run(db)
      try Gadget.updateAll(Gadget.features.set(to: Gadget.features.jsonSet("count", to: 3))).run(db)
      let stored = try Gadget.select(Gadget.features).first(db)
      #expect(stored == ["color": "blue", "count": 3, "note": nil, "sizes": [9, 12.5]])
      #expect(
        Gadget.read().filter(color == "red").sql
          == #"SELECT "id", "features" FROM "gadget" WHERE "features" ->> '$.color' = ?"#)
    }
  }

  @Test func aDictionaryOfAnyIsConverted() throws {
    let dictionary: [String: Any] = ["color": "red", "sizes": [9, 12]]
    let data = try JSONSerialization.data(withJSONObject: dictionary)
    let features = try JSON(text: String(decoding: data, as: UTF8.self))
    let back = try JSONSerialization.jsonObject(with: Data(features.text.utf8)) as? [String: Any]
    #expect(features == ["color": "red", "sizes": [9, 12]])
    #expect(back?["color"] as? String == "red")
  }
}
