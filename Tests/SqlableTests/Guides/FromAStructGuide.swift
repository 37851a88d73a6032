import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Parcel: Codable, Equatable {
  var id: Int?
  var address: String
  var grams: Int
  var deliveredAt: Date?
}

extension Parcel: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let address = column("address", String.self)
  static let grams = column("grams", Int.self, Check("grams > 0"))
  static let deliveredAt = column("delivered_at", Date?.self)
  static let tableLayout = [id.column, address.column, grams.column, deliveredAt.column]
  static let tableIndexes = [Index(deliveredAt)]
}

extension Parcel {
  static let waiting = read().filter(deliveredAt == nil).orderBy(id)
  static let weight = select(grams.sum()).filter(deliveredAt == nil)

  static func deliver(_ id: Int, at time: Date) -> Statement<Parcel, Int> {
    update(deliveredAt.set(to: time)).filter(Parcel.id == id && deliveredAt == nil)
  }
}

private struct Shipment: Codable, Equatable {
  var id: Int?
  var address: String
  var weight: Int
  var customer: String?
  var deliveredAt: Date?
}

extension Shipment: SqlCodable {
  static let tableName = "parcel"
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let address = column("address", String.self)
  static let weight = column("weight", Int.self, Check("weight > 0"))
  static let customer = column("customer", String?.self)
  static let deliveredAt = column("delivered_at", Date?.self)
  static let tableLayout = [id.column, address.column, weight.column, customer.column, deliveredAt.column]
  static let tableIndexes = [Index(deliveredAt), Index(customer)]
}

/// The examples of Docs/FromAStruct.md.
@Suite struct FromAStructGuide {
  let releases = Migrations([
    Migration(
      "parcels",
      sql: """
        CREATE TABLE parcel (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL,
          grams INTEGER NOT NULL CHECK (grams > 0), delivered_at REAL);
        CREATE INDEX parcel_delivered_at ON parcel (delivered_at)
        """)
  ])

  func open(_ path: String) throws -> SqlitePool {
    try SqlitePool(filepath: path, schema: Schema(Parcel.self), migrations: releases)
  }

  @Test func serviceStoresAndDeliversParcels() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await Task.detached { try open(directory + "/parcels.sqlite") }.value
      let id = try await Parcel(address: "1 Main Street", grams: 900).insert().run(pool)
      let changed = try await Parcel.deliver(id, at: Date()).run(pool)  // 1; 0 if it was delivered already
      let waiting = try await Parcel.waiting.run(pool)
      try await pool.transaction { db in
        for parcel in try Parcel.waiting.run(db) { try Parcel.deliver(parcel.id ?? 0, at: Date()).run(db) }
      }
      #expect(changed == 1)
      #expect(waiting.isEmpty)
      for try await parcels in Parcel.waiting.updates(in: pool) {
        print(parcels.count)
        if parcels.isEmpty { break }
      }
      do {
        try await Parcel(address: "2 Main Street", grams: 0).insert().run(pool)
      } catch let error as SqlError where error.kind == .constraint(.check) {
        print(error.message, error.table ?? "")
      }
      #expect(try await Parcel.count().run(pool) == 1)
      try await pool.close(within: .seconds(5))
    }
  }

  @Test func aParcelIsDeliveredOnce() async throws {
    let pool = try SqlitePool.inMemory()
    try await releases.apply(pool)
    let id = try await Parcel(address: "x", grams: 1).insert().run(pool)
    #expect(try await Parcel.deliver(id, at: Date()).run(pool) == 1)
    #expect(try await Parcel.deliver(id, at: Date()).run(pool) == 0)
    try await pool.close()
  }

  @Test func secondReleaseMigratesTheDatabase() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try releases.apply(db)
      let plan = try Schema(Shipment.self).plan(db, renamed: ["grams": "weight"])
      print(plan)
      #expect(
        plan.description == """
          parcel: rename column grams to weight
            ALTER TABLE "parcel" RENAME COLUMN "grams" TO "weight"
          parcel: add column customer
            ALTER TABLE "parcel" ADD COLUMN "customer" TEXT
          parcel: create index parcel_customer
            CREATE INDEX "parcel_customer" ON "parcel" ("customer")
          """)
    }
    let second = Migrations(
      releases.all + [
        Migration(
          "customers",
          sql: """
            ALTER TABLE parcel RENAME COLUMN grams TO weight;
            ALTER TABLE parcel ADD COLUMN customer TEXT;
            CREATE INDEX parcel_customer ON parcel (customer)
            """)
      ])
    // A file of the first release, and a new file.
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try releases.apply(db)
      try Schema(Parcel.self).verify(db)
      #expect(try second.apply(db) == ["customers"])
      try Schema(Shipment.self).verify(db)
    }
    let empty = try SqliteDatabase.inMemory()
    try second.apply(empty)
    try Schema(Shipment.self).verify(empty)
    try second.checkPastVersions { db, version in
      if version == "parcels" { try db.execute("INSERT INTO parcel (address, grams) VALUES ('x', 900)") }
    } checking: { db, version in
      try Schema(Shipment.self).verify(db)
      if version == "parcels" { #expect(try Shipment.read().run(db).map(\.weight) == [900]) }
    }
  }
}
