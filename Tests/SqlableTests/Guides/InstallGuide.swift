import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Visit {
  var id: Int?
  var page: String
  var seconds: Double?
}

extension Visit: Sqlable {
  static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
  static let page = Column("page", .text)
  static let seconds = Column("seconds", .nullable(.real))
  static let tableLayout = [id, page, seconds]

  func write(to row: inout RowWriter) throws {
    row.set(Visit.id, id)
    row.set(Visit.page, page)
    row.set(Visit.seconds, seconds)
  }

  init(row: ReadRow) throws {
    id = try row.get(Visit.id)
    page = try row.get(Visit.page)
    seconds = try row.get(Visit.seconds)
  }
}

/// The first program of Docs/Install.md, which stands in a file of its own.  // not shown
@Suite struct InstallGuide {  // not shown
  @Test func firstProgramStoresAndReadsVisits() throws {  // not shown
    try SqliteDatabase.deleteDatabase(at: "visits.sqlite")  // not shown
    defer { try? SqliteDatabase.deleteDatabase(at: "visits.sqlite") }  // not shown
    let db = try SqliteDatabase(filepath: "visits.sqlite")
    try db.createTable(Visit.self)
    try Visit(page: "/home", seconds: 2.5).insert().run(db)
    try Visit(page: "/home").insert().run(db)

    let long = Visit.read().filter(Visit.page == "/home" && Visit.seconds > 2).orderBy(Visit.seconds, .desc)
    print(long.sql)
    for visit in try long.run(db) { print(visit) }
    // SELECT "id", "page", "seconds" FROM "visit" WHERE "page" = ? AND "seconds" > ? ORDER BY "seconds" DESC
    // Visit(id: Optional(1), page: "/home", seconds: Optional(2.5))
    #expect(
      long.sql == """
        SELECT "id", "page", "seconds" FROM "visit" WHERE "page" = ? AND "seconds" > ? ORDER BY "seconds" DESC
        """)
    let found = try long.run(db)
    #expect(found.count == 1)
    #expect(String(describing: found[0]).hasSuffix(#"Visit(id: Optional(1), page: "/home", seconds: Optional(2.5))"#))
    #expect(try Visit.count().run(db) == 2)
  }
}
