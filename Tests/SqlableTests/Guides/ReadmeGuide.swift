import Sqlable
import Testing

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

@Suite struct ReadmeGuide {  // not shown
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

  @Test func serviceStepsWork() async throws {
    try SqliteDatabase.deleteDatabase(at: "service.sqlite")
    defer { try? SqliteDatabase.deleteDatabase(at: "service.sqlite") }
    let pool = try SqlitePool(filepath: "service.sqlite")
    try await pool.transaction { db in try db.createTable(Visit.self) }
    #expect(pool.isOpen)
    let live = Task {
      for try await visits in Visit.read().filter(Visit.page == "/home").updates(in: pool) { print(visits.count) }
    }
    let changes = Task {
      for await change in pool.changes(on: Visit.self, .insert) {
        switch change {
        case .row(let row): print("new visit", row.id)
        case .missed: print("rows may have been missed: read them again")
        }
      }
    }
    #expect(pool.isOpen)
    let id = try await Visit(page: "/home", seconds: 2.5).insert().run(pool)
    try await pool.transaction { db in
      try Visit(id: id, page: "/home", seconds: 4).update().run(db)
      try Visit(page: "/about").insert().run(db)
    }
    #expect(id == 1)
    let home = try await Visit.read().filter(Visit.page == "/home").run(pool)
    let (count, latest) = try await pool.read { db in
      (try Visit.count().run(db), try Visit.read().orderBy(Visit.id, .desc).first().run(db))
    }
    #expect(home.count == 1)
    #expect(home.first?.seconds == 4)
    #expect(count == 2)
    #expect(latest?.page == "/about")
    try await pool.close(within: .seconds(5))
    try await live.value
    await changes.value
    #expect(!pool.isOpen)
  }

  @Test func visitsAreCounted() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in try db.createTable(Visit.self) }
    try await Visit(page: "/home").insert().run(pool)
    let count = try await Visit.count().run(pool)
    #expect(count == 1)
  }
}
