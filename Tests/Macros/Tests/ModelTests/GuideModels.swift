import Foundation
import Sqlable
import Testing

@Sqlable struct Yacht: Equatable {
  @PrimaryKey(autoincrement: true) var id: Int?
  @Index @Collate(.nocase) var name: String
  @Default var rig: Rig = .sloop
  @Check("length_m > 0") var lengthM: Double
  @ForeignKey<Harbour>(onDelete: .setNull) var harbourId: Int?
  @Column("launched", as: .date(.iso8601)) var launchedAt: Date?
  @Transient var isSelected = false
}

enum Rig: String, SqlValue { case sloop, ketch, schooner }

@Sqlable struct Mooring: Equatable {
  var harbourId: Int
  var number: Int
  @Index var yachtId: Int?
  var depth: Double
  static let depth = column("depth", Double.self, Check("depth >= 0"))
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(harbourId, number.desc), Unique(yachtId, depth)]
}

@SqlEmbedded struct Position: Equatable {
  var latitude: Double
  var longitude: Double
}

@Sqlable struct Harbour: Equatable {
  @PrimaryKey var id: Int?
  @FullText(tokenizer: .porter) var name: String
  @Embedded var position: Position
  @Embedded("anchorage") var anchorage: Position?
}

@Sqlable struct Voyage: Equatable {
  @PrimaryKey var id: Int?
  @Index(unique: true, name: "voyage_day") var yachtId: Int
  @Index(unique: true, name: "voyage_day", descending: true) var day: Int
}

@Suite struct MacrosGuide {
  private func schema(_ model: any Sqlable.Type, of db: SqliteDatabase) throws -> [String] {
    try db.query(
      "SELECT sql FROM sqlite_schema WHERE tbl_name = \(model.tableName) AND sql IS NOT NULL ORDER BY rowid",
      as: String.self)
  }

  @Test func tablesMatchTheGuide() throws {
    try withDatabase { db in
      for model in [Harbour.self, Yacht.self, Mooring.self, Voyage.self] as [any Sqlable.Type] {
        try db.createTable(model)
      }
      #expect(
        try schema(Yacht.self, of: db) == [
          """
          CREATE TABLE "yacht" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL COLLATE NOCASE, \
          "rig" TEXT NOT NULL DEFAULT 'sloop', "length_m" REAL NOT NULL CHECK (length_m > 0), \
          "harbour_id" INTEGER REFERENCES "harbour" ("id") ON DELETE SET NULL, "launched" TEXT)
          """,
          """
          CREATE INDEX "yacht_name" ON "yacht" ("name")
          """,
        ])
      #expect(
        try schema(Mooring.self, of: db).first == """
          CREATE TABLE "mooring" ("harbour_id" INTEGER NOT NULL, "number" INTEGER NOT NULL, "yacht_id" INTEGER, \
          "depth" REAL NOT NULL CHECK (depth >= 0), PRIMARY KEY ("harbour_id", "number" DESC), \
          UNIQUE ("yacht_id", "depth"))
          """)
      #expect(
        try schema(Harbour.self, of: db).first == """
          CREATE TABLE "harbour" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL, "position_latitude" REAL NOT NULL, \
          "position_longitude" REAL NOT NULL, "anchorage_latitude" REAL, "anchorage_longitude" REAL)
          """)
      #expect(
        try schema(Voyage.self, of: db).last == """
          CREATE UNIQUE INDEX "voyage_day" ON "voyage" ("yacht_id", "day" DESC)
          """)
    }
  }

  @Test func rowsAreReadAsWritten() throws {
    try withDatabase { db in
      for model in [Harbour.self, Yacht.self, Mooring.self] as [any Sqlable.Type] { try db.createTable(model) }
      let harbour = Harbour(id: 1, name: "Ports", position: Position(latitude: 58, longitude: 8))
      try harbour.insert().run(db)
      #expect(try Harbour.read().filter(Harbour.matches(.words("port"))).run(db) == [harbour])
      let yacht = Yacht(
        id: 3, name: "Fram", rig: .schooner, lengthM: 39, harbourId: 1, launchedAt: Date(timeIntervalSince1970: 5))
      try yacht.insert().run(db)
      #expect(try Yacht.read().filter(Yacht.name == "FRAM" && Yacht.id == 3).run(db) == [yacht])
      let mooring = Mooring(harbourId: 1, number: 2, yachtId: 3, depth: 4)
      try mooring.insert().run(db)
      #expect(try Mooring.byId(1, 2).run(db) == mooring)
    }
  }
}
