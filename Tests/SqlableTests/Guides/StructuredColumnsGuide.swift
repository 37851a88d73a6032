import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The sections on JSON arrays in Docs/Functions.md and on embedded structs in Docs/Models.md.
@Suite struct StructuredColumnsGuide {
  @Test func elementsOfJSONAreJoinedAsRows() throws {
    try withDatabase { db in
      try db.createTable(Shop.self)
      try Shop(id: 1, tags: ["new", "cheap"]).insert().run(db)
      let tag = JSONEach(Shop.tags, as: "tag")
      let tags = Shop.select(tag.value(as: String.self), countAll()).joining(tag).groupBy(tag.value(as: String.self))
      let cheap = Shop.read().filter(Shop.tags.jsonContains("cheap"))
      let sale = Shop.update(Shop.tags.set(to: Shop.tags.jsonSet(0, to: "sale"))).filter(Shop.id == 1)
      #expect(sale.sql == #"UPDATE "shop" SET "tags" = json_set("tags", '$[0]', ?) WHERE "id" = ?"#)
      #expect(
        tags.sql == """
          SELECT "tag"."value", count(*) FROM "shop" JOIN json_each("shop"."tags") AS "tag" GROUP BY "tag"."value"
          """)
      #expect(
        cheap.sql == """
          SELECT "id", "tags" FROM "shop" \
          WHERE ? IN (SELECT "element"."value" FROM json_each("shop"."tags") AS "element")
          """)
      #expect(try tags.run(db).count == 2)
      #expect(try cheap.run(db).count == 1)
    }
  }

  @Test func embeddedStructsAreStoredInPrefixedColumns() throws {
    try withDatabase { db in
      try db.createTable(House.self)
      try House(id: 1, address: Address(street: "Storgata 1", city: "Oslo"), owner: nil).insert().run(db)
      let inOslo = House.read().filter(House.address[Address.city] == "Oslo")
      #expect(
        inOslo.sql == """
          SELECT "id", "address_street", "address_city", "owner_street", "owner_city" FROM "house" \
          WHERE "address_city" = ?
          """)
      #expect(try inOslo.run(db).first?.owner == nil)
    }
  }
}

private struct Shop: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let tags = column("tags", [String].self)
  static let tableLayout = [id.column, tags.column]
  let id: Int
  let tags: [String]

  init(id: Int, tags: [String]) { (self.id, self.tags) = (id, tags) }
  init(row: ReadRow) throws { self.init(id: try row.get(Shop.id), tags: try row.get(Shop.tags)) }
  func write(to row: inout RowWriter) throws {
    row.set(Shop.id, id)
    row.set(Shop.tags, tags)
  }
}

struct Address {
  var street: String
  var city: String?
}

extension Address: SqlEmbedded {
  static let street = field("street", String.self)
  static let city = field("city", String?.self)
  static let fields = [street.column, city.column]

  init(row: EmbeddedRow) throws {
    street = try row.get(Address.street)
    city = try row.get(Address.city)
  }

  func write(to row: inout EmbeddedWriter) throws {
    row.set(Address.street, street)
    row.set(Address.city, city)
  }
}

struct House {
  let id: Int
  var address: Address
  var owner: Address?
}

extension House: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let address = embedded("address", Address.self)  // "address_street" TEXT NOT NULL, "address_city" TEXT
  static let owner = embedded("owner", Address?.self)  // "owner_street" TEXT, "owner_city" TEXT
  static let tableLayout = [id.column] + address.columns + owner.columns

  init(row: ReadRow) throws {
    id = try row.get(House.id)
    address = try row.get(House.address)
    owner = try row.get(House.owner)
  }

  func write(to row: inout RowWriter) throws {
    row.set(House.id, id)
    row.set(House.address, address)
    row.set(House.owner, owner)
  }
}
