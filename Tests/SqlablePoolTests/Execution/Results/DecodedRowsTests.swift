import FoundationEssentials
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

private struct Stock: Decodable, Equatable {
  let color: String
  let count: Int
  let newestId: Int?
  var note: String?
}

private enum Paint: String, Decodable { case red, blue, green }

private struct Painted: Decodable { let color: Paint }

private struct Sizes: Codable, Equatable { let wheels: [Int] }

private struct Measured: Decodable, Equatable {
  let id: Int
  let sizes: Sizes
  let madeAt: Date
  let tags: Set<String>?
}

/// Rows decoded into types that are not models.
@Suite struct DecodedRowsTests {
  private struct Frame: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let sizes = Column("sizes", .text)
    static let madeAt = Column("made_at", .date(.iso8601))
    static let tags = Column("tags", .nullable(.text))
    static let tableLayout = [id.column, sizes, madeAt, tags]

    init(row: ReadRow) throws { throw SqlError(.other, message: "rows are decoded, not read") }
  }

  private static let stock = Bicycle.select(Bicycle.color, Bicycle.id.count(), Bicycle.id.max())
    .groupBy(Bicycle.color).orderBy(Bicycle.color)

  private static let expected = [
    Stock(color: "blue", count: 1, newestId: 2),
    Stock(color: "green", count: 1, newestId: 4),
    Stock(color: "red", count: 2, newestId: 3),
  ]

  @Test func codingKeysMatchColumnNames() throws {
    try withCompany { db in
      let stock = Self.stock.decoded(as: Stock.self, columns: "color", "count", "newest_id")
      let rows = try stock.run(db)
      #expect(rows == Self.expected)
      #expect(stock.isReadOnly)
      #expect(stock.sql == Self.stock.sql)
      let raw: SQL = "SELECT count(*) AS count, max(id) AS newestId, color FROM bicycle GROUP BY color ORDER BY color"
      #expect(try db.query(raw, as: Stock.self) == Self.expected)
      #expect(try raw.rows(as: Stock.self).asDictionary(by: \.color).run(db)["red"]?.count == 2)
      #expect(stock != Self.stock.decoded(as: Stock.self, columns: "color", "count", "other"))
    }
  }

  @Test func decodingWorksWithoutColumnNames() throws {
    try withCompany { db in
      let painted = try Bicycle.read().decoded(as: Painted.self).run(db)
      #expect(painted.map(\.color) == [.red, .blue, .red, .green])
      let colors = Bicycle.select(Bicycle.color).orderBy(Bicycle.id).decoded(as: Paint.self)
      #expect(try colors.run(db) == [.red, .blue, .red, .green])
      #expect(try db.query("SELECT 'red' UNION SELECT 'blue'", as: Paint.self).count == 2)
      #expect(try Bicycle.read().filter(Bicycle.id > 9).decoded(as: Stock.self).run(db).isEmpty)
    }
  }

  @Test func valuesAreDecodedInTheFormOfTheirColumn() throws {
    try withDatabase { db in
      try db.createTable(Frame.self)
      let sizes = #"{"wheels":[26,29]}"#
      let day = "2026-01-02T03:04:05Z"
      try db.execute("INSERT INTO frame VALUES (1, \(sizes), \(day), '[\"a\"]'), (2, \(sizes), \(day), NULL)")
      let frames = try Frame.read().orderBy(Frame.id).decoded(as: Measured.self).run(db)
      let date = Date(timeIntervalSince1970: 1_767_323_045)
      let wheels = Sizes(wheels: [26, 29])
      #expect(
        frames == [
          Measured(id: 1, sizes: wheels, madeAt: date, tags: ["a"]),
          Measured(id: 2, sizes: wheels, madeAt: date, tags: nil),
        ])
      try db.execute("UPDATE frame SET sizes = '{}' WHERE id = 2")
      let error = expectSqlError { _ = try Frame.read().decoded(as: Measured.self).run(db) }
      #expect(error?.column == "sizes")
      #expect(error?.message.contains("{}") == false)
    }
  }

  @Test func aMismatchedTypeIsRefused() throws {
    try withCompany { db in
      let unnamed = expectError(.schema(.missingColumn("count"))) { _ = try Self.stock.decoded(as: Stock.self).run(db) }
      #expect(
        unnamed?.message
          == "the result has no column count; to read computed terms by name, name all columns of the query")
      let missing = expectError(.schema(.missingColumn("count"))) {
        _ = try db.query("SELECT color FROM bicycle", as: Stock.self)
      }
      #expect(missing?.message == "the result has no column count")
      let few = expectMisuse { _ = try Self.stock.decoded(as: Stock.self, columns: "color").run(db) }
      #expect(few?.message == "the query has 3 columns, but the number of column names is 1")
      let twice = expectMisuse { _ = try db.query("SELECT color, color, 1 AS count FROM bicycle", as: Stock.self) }
      #expect(twice?.message == "several columns of the result are named color; give them different names")
      let joined = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).decoded(as: Stock.self)
      #expect(expectSqlError { _ = try joined.run(db) }?.message.contains("count") == true)
      let null = expectDecoding("TEXT", "NULL") {
        _ = try db.query("SELECT NULL AS color, 1 AS count", as: Stock.self)
      }
      #expect(null?.column == "color")
      let raw = expectDecoding("a raw value of Paint", "an unknown raw value") {
        let secret = "secret"
        _ = try db.query("SELECT \(secret) AS color", as: Painted.self)
      }
      #expect(raw?.column == "color")
      #expect(raw?.description.contains("secret") == false)
      let single = expectMisuse { _ = try db.query("SELECT 'red', 1", as: Paint.self) }
      #expect(single?.message.contains("decodes a single-value container, but the result has 2 columns") == true)
    }
  }

  @Test func aDecodingErrorUndoesTheChangeOfItsQuery() throws {
    try withCompany { db in
      expectSqlError { _ = try db.query("UPDATE bicycle SET color = 'pink' RETURNING color", as: Painted.self) }
      let pink = try Bicycle.count().filter(Bicycle.color == "pink").run(db)
      #expect(pink == 0)
    }
  }

  @Test func poolsDecodeRowsAndLiveResults() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try fillCompany(db) }
      let stock = Self.stock.decoded(as: Stock.self, columns: "color", "count", "newestId")
      #expect(try await stock.run(pool) == Self.expected)
      #expect(try await pool.query("SELECT color FROM bicycle WHERE id = 1", as: Painted.self).map(\.color) == [.red])
      var counts: [Int] = []
      for try await rows in stock.updates(in: pool) {
        counts.append(rows.count)
        if counts.count == 2 { break }
        try await Bicycle(name: "Cube", color: "white").insert().run(pool)
      }
      #expect(counts == [3, 4])
    }
  }
}
