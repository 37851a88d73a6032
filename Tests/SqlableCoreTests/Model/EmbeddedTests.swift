import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct EmbeddedTests {
  private struct Domicile: SqlEmbedded, Equatable {
    var street: String
    var city: String?
    var since: Date
    var usesUnlistedField = false
    static let street = field("street", String.self)
    static let city = field("city", String?.self)
    static let since = field("since", Date.self, as: .date(.iso8601))
    static let unlisted = field("unlisted", Int.self)
    static let fields = [street.column, city.column, since.column]

    init(street: String, city: String?, since: Date) { (self.street, self.city, self.since) = (street, city, since) }

    init(row: EmbeddedRow) throws {
      since = try row.get(Domicile.since)
      street = try row.get(Domicile.street)
      city = try row.get(Domicile.city)
    }

    func write(to row: inout EmbeddedWriter) throws {
      row.set(Domicile.street, street)
      row.set(Domicile.city, city)
      row.set(Domicile.since, since)
      if usesUnlistedField { row.set(Domicile.unlisted, 1) }
    }
  }

  private struct Household: Sqlable, Equatable {
    let id: Int
    var home: Domicile
    var work: Domicile?
    static let id = column("id", Int.self, PrimaryKey())
    static let home = embedded("home", Domicile.self)
    static let work = embedded("work", Domicile?.self)
    static let tableLayout = [id.column] + home.columns + work.columns

    init(id: Int, home: Domicile, work: Domicile?, usesUnlistedField: Bool = false) {
      (self.id, self.home, self.work) = (id, home, work)
      self.home.usesUnlistedField = usesUnlistedField
    }

    init(row: ReadRow) throws {
      id = try row.get(Household.id)
      home = try row.get(Household.home)
      work = try row.get(Household.work)
    }

    func write(to row: inout RowWriter) throws {
      row.set(Household.id, id)
      row.set(Household.home, home)
      row.set(Household.work, work)
    }
  }

  private let oslo = Domicile(street: "Karl Johans gate 1", city: "Oslo", since: Date(timeIntervalSince1970: 86_400))
  private let nowhere = Domicile(street: "", city: nil, since: Date(timeIntervalSince1970: 0))

  private func withHouseholds(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Household.self)
      try Household.insert([
        Household(id: 1, home: oslo, work: nil), Household(id: 2, home: nowhere, work: oslo),
        Household(id: 3, home: oslo, work: nowhere),
      ]).run(db)
      try body(db)
    }
  }

  @Test func anEmbeddedStructIsStoredInSeveralColumns() throws {
    try withHouseholds { db in
      let columns = try db.query(
        """
        SELECT name || ' ' || type || CASE WHEN "notnull" THEN ' NOT NULL' ELSE '' END \
        FROM pragma_table_info('household')
        """, as: String.self)
      #expect(
        columns == [
          "id INTEGER",
          "home_street TEXT NOT NULL",
          "home_city TEXT",
          "home_since TEXT NOT NULL",
          "work_street TEXT",
          "work_city TEXT",
          "work_since TEXT",
        ])
      let all = try Household.read().orderBy(Household.id).run(db)
      #expect(all.map(\.home) == [oslo, nowhere, oslo])
      #expect(all.map(\.work) == [nil, oslo, nowhere])
    }
  }

  @Test func fieldsAreColumnsInStatements() throws {
    try withHouseholds { db in
      let inOslo = Household.count().filter(Household.home[Domicile.city] == "Oslo")
      #expect(inOslo.sql == #"SELECT count(*) FROM "household" WHERE "home_city" = ?"#)
      #expect(try inOslo.run(db) == 2)
      #expect(try Household.count().filter(Household.work[Domicile.street] == nil).run(db) == 1)
      // The filter uses the field's date format.
      let old = Household.count().filter(Household.home[Domicile.since] < Date(timeIntervalSince1970: 1))
      #expect(try old.run(db) == 1)
      try Household.update(Household.work[Domicile.city].set(to: nil)).filter(Household.id == 2).run(db)
      #expect(try Household.byId(2).run(db)?.work?.city == nil)
      let moved = Household(id: 1, home: nowhere, work: oslo)
      #expect(
        moved.update(Household.work[Domicile.city]).sql == #"UPDATE "household" SET "work_city" = ? WHERE "id" = ?"#)
      try moved.update().run(db)
      #expect(try Household.byId(1).run(db)?.home == nowhere)
      let cities = try Household.select(Household.home[Domicile.city], countAll()).groupBy(
        Household.home[Domicile.city]
      )
      .orderBy(countAll()).run(db)
      #expect(cities.map(\.1) == [1, 2])
    }
  }

  @Test func anOptionalStructThatIsNilClearsItsColumns() throws {
    try withHouseholds { db in
      try Household(id: 2, home: oslo, work: nil).update().run(db)
      #expect(try Household.byId(2).run(db)?.work == nil)
      let cleared = try db.query(
        "SELECT id FROM household WHERE work_street IS NULL AND work_city IS NULL AND work_since IS NULL", as: Int.self)
      #expect(cleared.contains(2))
    }
  }

  private struct Place: SqlEmbedded {
    static let (city, zip) = (field("city", String.self), field("zip", String?.self))
    static let fields = [city.column, zip.column]
    let city: String
    init(city: String) { self.city = city }
    init(row: EmbeddedRow) throws {
      city = try row.get(Place.city)
      row.skip(Place.zip)
    }
    func write(to row: inout EmbeddedWriter) throws {
      row.set(Place.city, city)
      row.skip(Place.zip)
    }
  }

  private struct Stop: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let place = embedded("place", Place.self)
    static let tableLayout = [id.column] + place.columns
    let id: Int
    let place: Place
    init(city: String) { (id, place) = (1, Place(city: city)) }
    init(row: ReadRow) throws { (id, place) = (try row.get(Stop.id), try row.get(Stop.place)) }
    func write(to row: inout RowWriter) throws {
      row.set(Stop.id, id)
      row.set(Stop.place, place)
    }
  }

  @Test func aSkippedFieldKeepsItsStoredValue() throws {
    try withDatabase { db in
      try db.createTable(Stop.self)
      try Stop(city: "Oslo").insert().run(db)
      try db.execute("UPDATE stop SET place_zip = '0150'")
      try Stop(city: "Bergen").update().run(db)
      #expect(try Stop.byId(1).run(db)?.place.city == "Bergen")
      #expect(try db.query("SELECT place_zip FROM stop", as: String.self) == ["0150"])
    }
  }

  @Test func anErrorInAFieldNamesTheColumnOfTheTable() throws {
    try withHouseholds { db in
      try db.execute("UPDATE household SET work_street = NULL WHERE id = 3")
      let missing = sqlError { _ = try Household.byId(3).run(db) }
      #expect(missing?.column == "work_street")
      #expect(missing?.rowId == 3)
      try db.execute("UPDATE household SET home_since = 'yesterday' WHERE id = 1")
      #expect(sqlError { _ = try Household.byId(1).run(db) }?.column == "home_since")
      let unlisted = Household(id: 9, home: oslo, work: nil, usesUnlistedField: true)
      expectMisuse { try unlisted.insert().run(db) }
      expectError(.schema(.missingColumn("unlisted"))) {
        _ = try Household.read().filter(Household.home[Domicile.unlisted] == 1).run(db)
      }
    }
  }
}
