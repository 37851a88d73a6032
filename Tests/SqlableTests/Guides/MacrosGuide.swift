import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

// The expansion of the guide's macro. The models with macros are in Tests/Macros.

private enum Rig: String, SqlValue { case sloop, ketch, schooner }

private struct Harbour: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let tableLayout = [id.column]

  init(row: ReadRow) throws {}
}

private struct Yacht: Equatable {
  var id: Int?
  var name: String
  var rig: Rig = .sloop
  var lengthM: Double
  var harbourId: Int?
  var launchedAt: Date?
  var isSelected = false
}

extension Yacht: Sqlable {
  static let id: TypedColumn<Yacht, Int> = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let name: TypedColumn<Yacht, String> = column("name", String.self, Collate.nocase)
  static let rig = column("rig", Rig.self, Default(Rig.sloop))
  static let lengthM: TypedColumn<Yacht, Double> = column("length_m", Double.self, Check("length_m > 0"))
  static let harbourId: TypedColumn<Yacht, Int?> = column(
    "harbour_id", Int?.self, ForeignKey<Harbour>(onDelete: .setNull))
  static let launchedAt: TypedColumn<Yacht, Date?> = column("launched", Date?.self, as: .date(.iso8601))
  static let tableLayout = [id.column, name.column, rig.column, lengthM.column, harbourId.column, launchedAt.column]
  static let tableIndexes = [Index(name)]

  init(row: ReadRow) throws {
    id = try row.get(Yacht.id)
    name = try row.get(Yacht.name)
    rig = try row.get(Yacht.rig)
    lengthM = try row.get(Yacht.lengthM)
    harbourId = try row.get(Yacht.harbourId)
    launchedAt = try row.get(Yacht.launchedAt)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Yacht.id, id)
    row.set(Yacht.name, name)
    row.set(Yacht.rig, rig)
    row.set(Yacht.lengthM, lengthM)
    row.set(Yacht.harbourId, harbourId)
    row.set(Yacht.launchedAt, launchedAt)
  }
}

@Suite struct MacrosGuide {
  @Test func expansionOfTheMacroIsAValidModel() throws {
    try withDatabase(Configuration(foreignKeys: false)) { db in
      try db.createTable(Yacht.self)
      let yacht = Yacht(id: 1, name: "Fram", rig: .schooner, lengthM: 39, launchedAt: Date(timeIntervalSince1970: 5))
      try yacht.insert().run(db)
      #expect(try Yacht.read().filter(Yacht.name == "FRAM").run(db) == [yacht])
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name LIKE 'yacht%' ORDER BY rowid", as: String.self) == [
          """
          CREATE TABLE "yacht" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL COLLATE NOCASE, \
          "rig" TEXT NOT NULL DEFAULT 'sloop', "length_m" REAL NOT NULL CHECK (length_m > 0), \
          "harbour_id" INTEGER REFERENCES "harbour" ("id") ON DELETE SET NULL, "launched" TEXT)
          """,
          """
          CREATE INDEX "yacht_name" ON "yacht" ("name")
          """,
        ])
    }
  }
}
