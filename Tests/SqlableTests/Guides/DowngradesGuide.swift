import Foundation
import Sqlable
import SqlableBackup
import Testing

@testable import SqlableTestSupport

/// The model of the first release.
private struct Parcel: Codable, Equatable {
  var id: Int?
  var address: String
  var grams: Int
}

extension Parcel: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let address = column("address", String.self)
  static let grams = column("grams", Int.self, Check("grams > 0"))
  static let tableLayout = [id.column, address.column, grams.column]
}

/// The model of the second release.
private struct Shipment: Codable, Equatable {
  var id: Int?
  var address: String
  var weight: Int
  var customer: String?
}

extension Shipment: SqlCodable {
  static let tableName = "parcel"
  enum CodingKeys: String, CodingKey {
    case id, address, customer
    case weight = "grams"
  }
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let address = column("address", String.self)
  static let weight = column("grams", Int.self, Check("grams > 0"))
  static let customer = column("customer", String?.self)
  static let tableLayout = [id.column, address.column, weight.column, customer.column]
  static let tableIndexes = [Index(customer)]
}

/// The examples of Docs/Downgrades.md.
@Suite struct DowngradesGuide {
  static let parcels = Migration(
    "parcels",
    sql: """
      CREATE TABLE parcel (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL,
        grams INTEGER NOT NULL CHECK (grams > 0))
      """)

  static let customers = Migration(
    "customers",
    sql: """
      ALTER TABLE parcel ADD COLUMN customer TEXT;
      CREATE INDEX parcel_customer ON parcel (customer)
      """)

  /// The migrations of the first release and of the second.
  let first = Migrations([parcels])
  let second = Migrations([parcels, customers])

  /// Opens a database, also one that a newer release has migrated.
  private func open(_ path: String, _ releases: Migrations) async throws -> SqlitePool {
    let pool = try SqlitePool(filepath: path)
    if case .newer(let names) = try await releases.status(pool) {
      print("a newer release has run \(names)")
    } else {
      try await releases.apply(pool)
    }
    try await Schema(Parcel.self).verify(pool)
    return pool
  }

  /// The message of `verify` in the first release after this change of its table; nil if the table is accepted.
  private func problem(after change: String) throws -> String? {
    try withDatabase { db in
      try first.apply(db)
      try db.execute(SQL(verbatim: change))
      return sqlError { try Schema(Parcel.self).verify(db) }?.message
    }
  }

  @Test func olderProgramIsRefusedByApplyAndServedByStatus() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/parcels.sqlite"
      let pool = try await open(path, second)
      let error = await #expect(throws: SqlError.self) { try await first.apply(pool) }
      #expect(
        error?.description == """
          SqlError.schema: the database has run migration customers, which this program does not have; \
          deploy the newer program, or restore a backup (at sqlable_migration)
          """)
      #expect(try await first.status(pool) == .newer(["customers"]))
      try await pool.close()
      let older = try await open(path, first)
      try await Parcel(address: "1 Main Street", grams: 900).insert().run(older)
      #expect(try await Parcel.count().run(older) == 1)
      try await older.close()
    }
  }

  @Test func verifyAcceptsAdditions() throws {
    for change in [
      "CREATE TABLE customer (id INTEGER PRIMARY KEY)",
      "CREATE VIEW heavy AS SELECT * FROM parcel WHERE grams > 1000",
      "CREATE TRIGGER t AFTER INSERT ON parcel BEGIN SELECT 1; END",
      "CREATE INDEX i ON parcel (address)",
      "ALTER TABLE parcel ADD COLUMN customer TEXT",
      "ALTER TABLE parcel ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE parcel ADD COLUMN customer TEXT CHECK (customer <> '')",
      "ALTER TABLE parcel ADD COLUMN customer_id INTEGER REFERENCES customer (id)",
      "ALTER TABLE parcel ADD COLUMN code TEXT; CREATE UNIQUE INDEX parcel_code ON parcel (code)",
      "UPDATE parcel SET grams = grams * 1000",
    ] { #expect(try problem(after: change) == nil, "\(change)") }
  }

  @Test func verifyRefusesOtherChanges() throws {
    for (change, message) in [
      ("CREATE UNIQUE INDEX i ON parcel (address)", "parcel: the index i is not expected"),
      (
        "ALTER TABLE parcel RENAME COLUMN address TO destination",
        "parcel.address: the column is missing; parcel.destination: the column is not expected"
      ),
      (
        """
        DROP TABLE parcel; CREATE TABLE parcel (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT,
          grams REAL NOT NULL CHECK (grams > 0))
        """,
        "parcel.address: the NOT NULL is not set, and should be set; "
          + "parcel.grams: the type is REAL, and should be INTEGER"
      ),
      ("DROP TABLE parcel", "parcel: the table is missing"),
    ] {
      let found = try problem(after: change)
      #expect(found == "the database differs from the models: \(message)", "\(change)")
    }
  }

  @Test func olderStatementsNeedTheirColumns() throws {
    try withDatabase { db in
      try first.apply(db)
      try db.execute("ALTER TABLE parcel ADD COLUMN customer_id INTEGER REFERENCES parcel (id) CHECK (customer_id > 0)")
      try Parcel(address: "1 Main Street", grams: 900).insert().run(db)
      #expect(try Parcel.count().run(db) == 1)
      try db.execute("ALTER TABLE parcel RENAME COLUMN address TO destination")
      expectError(.schema(.missingColumn("address"))) { _ = try Parcel.read().run(db) }
    }
  }

  @Test func renamedPropertyNeedsNoMigration() throws {
    try withDatabase { db in
      try second.apply(db)
      try Schema(Shipment.self).verify(db)
      try Parcel(address: "1 Main Street", grams: 900).insert().run(db)
      #expect(try Shipment.read().run(db).map(\.weight) == [900])
    }
  }

  @Test func previousModelsFitTheNewDatabase() throws {
    let db = try SqliteDatabase.inMemory()
    try second.apply(db)
    try Schema(Parcel.self).verify(db)  // the models of the release before
    try Parcel(address: "1 Main Street", grams: 900).insert().run(db)
    #expect(try Parcel.count().run(db) == 1)
  }

  @Test func olderUpdatesKeepNewColumnsAndReplaceLosesThem() throws {
    try withDatabase { db in
      try second.apply(db)
      try Shipment(address: "1 Main Street", weight: 900, customer: "Anna").insert().run(db)
      var parcel = try #require(try Parcel.byId(1).run(db))
      parcel.grams = 950
      try parcel.update().run(db)
      try parcel.save().run(db)
      #expect(try Shipment.byId(1).run(db)?.customer == "Anna")
      try parcel.insert().replaceOnConflict().run(db)
      #expect(try Shipment.byId(1).run(db)?.customer == nil)
    }
  }

  @Test func backupBeforeTheMigrationIsRestored() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/parcels.sqlite"
      let pool = try await open(path, first)
      try await Parcel(address: "1 Main Street", grams: 900).insert().run(pool)
      if case .pending(let names) = try await second.status(pool) {
        print("before \(names)")
        try await pool.backup(to: path + ".before")
      }
      try await second.apply(pool)
      try await Parcel(address: "2 Main Street", grams: 100).insert().run(pool)
      try await pool.restore(from: path + ".before")
      #expect(try await first.status(pool) == .current)
      #expect(try await Parcel.read().run(pool).map(\.address) == ["1 Main Street"])
      try await pool.close()
    }
  }

  @Test(.needs(35, "DROP COLUMN")) func laterMigrationTakesTheChangeBack() throws {
    try withDatabase { db in
      try second.apply(db)
      let third = Migrations(
        second.all + [
          Migration(
            "no customers",
            sql: "DROP INDEX parcel_customer; ALTER TABLE parcel DROP COLUMN customer")
        ])
      try third.apply(db)
      #expect(try first.status(db) == .newer(["customers", "no customers"]))
      try Schema(Parcel.self).verify(db)
    }
  }

  @Test(.needs(35, "DROP COLUMN")) func migrationIsUndoneByHand() throws {
    try withDatabase { db in
      try second.apply(db)
      try Parcel(address: "1 Main Street", grams: 900).insert().run(db)
      try db.transaction { db in
        try db.execute("DROP INDEX parcel_customer; ALTER TABLE parcel DROP COLUMN customer")
        let records = try db.table(Migrations.tableName)
        try records.delete(records["name"] == "customers").run(db)
      }
      #expect(try first.status(db) == .current)
      #expect(try first.apply(db).isEmpty)
      try Schema(Parcel.self).verify(db)
      #expect(try second.apply(db) == ["customers"])
      try Schema(Shipment.self).verify(db)
      #expect(try Parcel.count().run(db) == 1)
    }
  }
}
