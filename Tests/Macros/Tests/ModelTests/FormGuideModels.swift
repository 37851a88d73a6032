import Foundation
import Sqlable
import Testing

@Sqlable final class Badge {
  @PrimaryKey let id: Int?
  let text: String
}

@Sqlable struct Listing: Equatable {
  @PrimaryKey var id: Int?
  var name: String
  var reach: Reach
}

enum Reach: Codable, Equatable, SqlJSON {
  case email(String)
  case phone(String, line: Int?)
}

@Sqlable struct Snapshot: Equatable {
  @PrimaryKey var id: Int?
  var title: String
  var image: Data?
}

@Sqlable("snapshot") struct SnapshotTitle: Equatable {
  @PrimaryKey var id: Int?
  var title: String
}

@Sqlable struct Gadget: Equatable {
  @PrimaryKey var id: Int?
  var features: JSON
}

/// The models with macros of Docs/ModelForms.md.
@Suite struct ModelFormsMacros {
  @Test func aClassIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Badge.self)
      try Badge(id: nil, text: "new").insert().run(db)
      #expect(try Badge.byId(1).run(db)?.text == "new")
    }
  }

  @Test func anEnumIsAProperty() throws {
    try withDatabase { db in
      try db.createTable(Listing.self)
      let listing = Listing(id: 1, name: "Anna", reach: .phone("555 01", line: 7))
      try listing.insert().run(db)
      #expect(try Listing.byId(1).run(db) == listing)
      #expect(
        try db.query("SELECT reach FROM listing", as: String.self) == [#"{"phone":{"_0":"555 01","line":7}}"#])
    }
  }

  @Test func aColumnIsNotRead() throws {
    try withDatabase { db in
      try db.createTable(Snapshot.self)
      try Snapshot(id: 1, title: "Oslo", image: Data([1])).insert().run(db)
      #expect(try Snapshot.read(without: Snapshot.image).run(db) == [Snapshot(id: 1, title: "Oslo", image: nil)])
      try SnapshotTitle(id: 1, title: "Bergen").save().run(db)
      #expect(try Snapshot.byId(1).run(db) == Snapshot(id: 1, title: "Bergen", image: Data([1])))
    }
  }

  @Test func jsonOfAnyShapeIsStored() throws {
    try withDatabase { db in
      try db.createTable(Gadget.self)
      let gadget = Gadget(id: 1, features: ["color": "red", "sizes": [9, 12.5]])
      try gadget.insert().run(db)
      let color = Gadget.features.jsonValue("color", as: String.self)
      #expect(try Gadget.read().filter(color == "red").run(db) == [gadget])
    }
  }
}
