import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Item {
  var id: Int?
  var price: Decimal
  var amount: Int
}

extension Item: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let price = column("price", Decimal.self, as: .decimal(scale: 2), Default(Decimal(0)))
  static let amount = column("amount", Int.self)
  static let tableLayout = [id.column, price.column, amount.column]

  func write(to row: inout RowWriter) throws {
    row.set(Item.id, id)
    row.set(Item.price, price)
    row.set(Item.amount, amount)
  }

  init(row: ReadRow) throws {
    id = try row.get(Item.id)
    price = try row.get(Item.price)
    amount = try row.get(Item.amount)
  }
}

private enum Blood: Equatable, RawRepresentable, SqlValue {
  case known(String)
  case unknown

  init?(rawValue: String) { self = rawValue.isEmpty ? .unknown : .known(rawValue) }

  var rawValue: String {
    if case .known(let group) = self { group } else { "" }
  }
}

private enum Diagnosis: Codable, Equatable, SqlJSON {
  case none
  case fracture(bone: String)  // {"fracture":{"bone":"ulna"}}
}

private struct Checkup: Codable, Equatable, SqlJSON {
  var heldAt: Date

  static func configure(_ encoder: JSONEncoder) { encoder.dateEncodingStrategy = .millisecondsSince1970 }
  static func configure(_ decoder: JSONDecoder) { decoder.dateDecodingStrategy = .millisecondsSince1970 }
}

/// A struct whose date SQL compares.
private struct Dose: Codable, Equatable, SqlJSON {
  var heldAt: Date

  static func configure(_ encoder: JSONEncoder) { encoder.dateEncodingStrategy = .secondsSince1970 }
  static func configure(_ decoder: JSONDecoder) { decoder.dateDecodingStrategy = .secondsSince1970 }
}

private struct Treatment: Codable, SqlCodable {
  var id: Int
  var dose: Dose
  static let id = column("id", Int.self, PrimaryKey())
  static let dose = column("dose", Dose.self)
  static let tableLayout = [id.column, dose.column]
}

private final class Wheel: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let size = column("size", Int.self)
  static let tableLayout = [id.column, size.column]

  let id: Int?
  let size: Mutex<Int>

  init(size: Int) { (id, self.size) = (nil, Mutex(size)) }

  init(row: ReadRow) throws {
    id = try row.get(Wheel.id)
    size = Mutex(try row.get(Wheel.size))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Wheel.id, id)
    row.set(Wheel.size, size.withLock { $0 })
  }
}

@Suite struct MoreValuesGuide {
  @Test func jsonOfAnotherProgramIsRead() throws {
    let checkup = try Checkup(databaseValue: .text(#"{"heldAt":1357020000250}"#))
    #expect(checkup.heldAt == Date(timeIntervalSince1970: 1_357_020_000.25))
    #expect(try [checkup].databaseValue == .text(#"[{"heldAt":1357020000250}]"#))
    try withDatabase { db in
      try db.createTable(Treatment.self)
      try Treatment(id: 1, dose: Dose(heldAt: checkup.heldAt)).insert().run(db)
      let held = Treatment.dose.jsonValue("heldAt", as: Date.self)
      #expect(try Treatment.select(held).run(db) == [checkup.heldAt])
      #expect(try Treatment.count(held == checkup.heldAt && held < checkup.heldAt + 1).run(db) == 1)
    }
  }

  @Test func enumsWithAssociatedValuesAreStored() throws {
    #expect(try Blood.known("AB").databaseValue == .text("AB"))
    #expect(try Blood(databaseValue: .text("")) == .unknown)
    #expect(try Diagnosis.fracture(bone: "ulna").databaseValue == .text(#"{"fracture":{"bone":"ulna"}}"#))
  }

  @Test func jsonValuesOfUnknownShapeAreRead() throws {
    let form: JSON = ["ward": 3, "allergies": ["nuts", nil], "weight": 71.5]
    let allergy = form["allergies"]?[0]?.string
    let text = try form.text
    // nuts, {"allergies":["nuts",null],"ward":3,"weight":71.5}
    #expect(allergy == "nuts")
    #expect(text == #"{"allergies":["nuts",null],"ward":3,"weight":71.5}"#)
  }

  @Test func decimalsAreStoredAsScaledIntegers() throws {
    try withDatabase { db in
      try db.createTable(Item.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name = 'item'", as: String.self) == [
          """
          CREATE TABLE "item" ("id" INTEGER PRIMARY KEY, "price" INTEGER NOT NULL DEFAULT 0, "amount" INTEGER NOT NULL)
          """
        ])
      try Item(price: Decimal(string: "12.34")!, amount: 3).insert().run(db)
      #expect(try db.query("SELECT price FROM item", as: Int.self) == [1234])
      let total = Item.price.times(Item.amount).sum()
      let statement = Item.select(Item.price + 1, total).filter(Item.price < Decimal(string: "12.345")!)
      // SELECT "price" + ?, sum("price" * "amount") FROM "item" WHERE "price" < ?
      // bindings: .integer(100), .integer(1235)
      #expect(statement.sql == #"SELECT "price" + ?, sum("price" * "amount") FROM "item" WHERE "price" < ?"#)
      #expect(statement.bindings == [.integer(100), .integer(1235)])
      let rows = try statement.run(db)
      #expect(rows.map(\.0) == [Decimal(string: "13.34")!])
      #expect(rows.map(\.1) == [Decimal(string: "37.02")!])
      let cents = try Item.select(Item.price.units.average()).run(db)
      #expect(cents == [1234])
      #expect(try db.query("SELECT id FROM item WHERE price = \(rows[0].0 - 1, as: Item.price)", as: Int.self) == [1])
    }
  }

  @Test func aFinalClassIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Wheel.self)
      try Wheel(size: 28).insert().run(db)
      let (first, second) = (try Wheel.byId(1).run(db), try Wheel.byId(1).run(db))
      #expect(first !== second)
      #expect(first?.size.withLock { $0 } == 28)
    }
  }

  @Test func blobsAreReadAndWrittenInParts() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTable(Portrait.self)
      try Portrait(name: "anna", image: Data([1, 2, 3, 4, 5, 6])).insert().run(db)
      let anna = Portrait.byId("anna")
      let start = try db.readBlob(Portrait.image, of: anna) { blob in try blob.read(4, at: 0) }  // [UInt8]
      try db.writeBlob(Portrait.image, of: anna) { blob in try blob.write(start, at: blob.count - 4) }
    }
    let anna = Portrait.byId("anna")
    #expect(try await anna.run(pool)?.image == Data([1, 2, 1, 2, 3, 4]))
    let upload = AsyncStream<[UInt8]> { stream in
      stream.yield([7, 8, 9])
      stream.finish()
    }
    for try await chunk in pool.blobBytes(Portrait.image, of: anna, chunkSize: 1 << 20) { print(chunk.count) }
    try await pool.writeBlob(Portrait.image, of: anna, size: 3, from: upload)
    #expect(try await anna.run(pool)?.image == Data([7, 8, 9]))
    try await pool.close()
  }
}
