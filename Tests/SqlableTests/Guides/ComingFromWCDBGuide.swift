import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Ticket: SqlCodable, Equatable {
  var id: Int?
  var holder: String
  var code: String?
  var seats = 1
  var day: Date
  var personId: Int?

  enum CodingKeys: String, CodingKey {
    case holder = "owner_name"
    case id, code, seats, day, personId
  }
}

extension Ticket {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let holder = column("owner_name", String.self)
  static let code = column("code", String?.self, Unique())
  static let seats = column("seats", Int.self, Default(1))
  static let day = column("day", Date.self)
  static let personId = column("person_id", Int?.self, ForeignKey<Person>())
  static let tableLayout = [id.column, holder.column, code.column, seats.column, day.column, personId.column]
  static let tableConstraints: [TableConstraint] = [Check(Ticket.seats > 0), Unique(holder, day)]
  static let tableIndexes = [Index(day, name: "ticket_day"), Index(day.desc, code, unique: true)]
}

private struct Leaflet: SqlCodable, Equatable {
  var rowid: Int?
  var text: String
  var url: String
}

extension Leaflet {
  static let rowid = column("rowid", Int?.self, PrimaryKey())
  static let text = column("text", String.self)
  static let url = column("url", String.self, Unindexed())
  static let tableLayout = [rowid.column, text.column, url.column]
  static let tableOptions: [TableOption] = [.fullText(tokenizer: .porter)]
}

/// A table that WCDB has created and filled.
private struct Message: SqlCodable, Equatable {
  static let tableName = "messageTable"
  var id: Int?
  var senderId: Int
  var sentAt: Date
  var tags: [String]
}

extension Message {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let senderId = column("senderId", Int.self)
  static let sentAt = column("sentAt", Date.self)
  static let tags = column("tags", [String].self, as: .blob)
  static let tableLayout = [id.column, senderId.column, sentAt.column, tags.column]
}

/// The right columns of the tables of Docs/ComingFromWCDB.md: models, statements, transactions.
@Suite struct ComingFromWCDBGuide {
  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Car.self, Person.self, Bicycle.self)
      try Car.insert(
        [("Zoe", 2), ("Leaf", 3)].map { Car(id: nil, name: $0, price: $1, isElectric: true, soldAt: nil) }
      ).run(db)
      try body(db)
    }
  }

  @Test func equivalentsOfModelBindingWork() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Ticket.self)
      try db.createTable(Leaflet.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE tbl_name = 'ticket' AND sql IS NOT NULL", as: String.self)
          == [
            """
            CREATE TABLE "ticket" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "owner_name" TEXT NOT NULL, \
            "code" TEXT UNIQUE, "seats" INTEGER NOT NULL DEFAULT 1, "day" REAL NOT NULL, \
            "person_id" INTEGER REFERENCES "person" ("id"), UNIQUE ("owner_name", "day"), CHECK ("seats" > 0))
            """,
            #"CREATE INDEX "ticket_day" ON "ticket" ("day")"#,
            #"CREATE UNIQUE INDEX "ticket_day_desc_code" ON "ticket" ("day" DESC, "code")"#,
          ])
      let ticket = Ticket(id: nil, holder: "Anna", day: Date(timeIntervalSince1970: 0))
      let id = try ticket.insert().run(db)
      #expect(try Ticket.byId(id).run(db)?.holder == "Anna")
      try Leaflet(rowid: nil, text: "bicycles for sale", url: "a").insert().run(db)
      let found = try Leaflet.read().filter(Leaflet.matches(.words("bicycle"))).run(db)
      #expect(found.map(\.url) == ["a"])
    }
  }

  @Test func equivalentsOfTablesWork() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      #expect(try db.tableExists("bicycle"))
      try Bicycle.dropTable(named: "archive").ifExists().run(db)
      try Bicycle.createIndex(Index(Bicycle.ownerId, name: "by_owner")).run(db)
      try DropStatement.index("by_owner").ifExists().run(db)
      try db.execute("DROP INDEX bicycle_color; CREATE TABLE plain (id INTEGER PRIMARY KEY)")
      try Bicycle.addColumn(Bicycle.color, toTable: "plain").run(db)
      try Bicycle.createTable().ifNotExists().run(db)
      try AlterStatement.renameTable("plain", to: "colors").run(db)
      let shout = Person.updateAll(Person.name.set(to: Person.name.uppercase()))
      try Trigger("shout", after: .insert, on: Person.self, run: shout).run(db)
      try Person(id: nil, name: "Anna").insert().run(db)
      #expect(try Person.read().run(db).map(\.name) == ["ANNA"])
      try Pragma.userVersion.set(to: 3).run(db)
      #expect(try Pragma.userVersion.run(db) == 3)
      try DatabaseStatement.vacuum().run(db)
      try DatabaseStatement.reindex("bicycle").run(db)
      #expect(try db.tableExists("colors"))
      #expect(try !db.tableExists("archive"))
    }
  }

  @Test func equivalentsOfWritesWork() throws {
    try withTables { db in
      let bikes = [Bicycle(name: "Trek", color: "red"), Bicycle(name: "Giant", color: "red")]
      try Bicycle.insert(bikes).run(db)
      let bike = Bicycle(id: 9, name: "Norco", color: "blue")
      let id = try bike.insert().run(db)
      #expect(id == 9)
      try bike.insert().replaceOnConflict().run(db)
      try bike.insert().ignoreOnConflict().run(db)
      try bike.insert(Bicycle.name).run(db)
      try bike.insert(Bicycle.id, Bicycle.name).replaceOnConflict().run(db)
      try Bicycle.update(Bicycle.color, from: bike).filter(Bicycle.id < 2).run(db)
      try Bicycle.update(Bicycle.color.set(to: "black")).filter(Bicycle.id == 2).run(db)
      #expect(try Bicycle.read().orderBy(Bicycle.id).run(db).map(\.color) == ["blue", "black", "black"])
      try Bicycle.updateAll(Bicycle.color.set(to: "black")).run(db)
      try Bicycle.delete(Bicycle.id > 3).run(db)
      try Bicycle.delete().orderBy(Bicycle.id).limit(1).run(db)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Giant"])
      try Bicycle.deleteAll().run(db)
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  @Test func equivalentsOfReadsWork() throws {
    try withTables { db in
      let bikes = [Bicycle(name: "Trek", color: "red"), Bicycle(name: "Giant", color: "red")]
      try Bicycle.insert(bikes).run(db)
      #expect(try Bicycle.read().run(db).count == 2)
      let page = try Bicycle.read(Bicycle.id > 1).orderBy(Bicycle.id.desc).limit(10, offset: 0).run(db)
      #expect(page.map(\.name) == ["Giant"])
      let names = try Bicycle.read(only: Bicycle.id, Bicycle.name).run(db)
      #expect(names.map(\.color) == ["black", "black"])
      #expect(try Bicycle.read().first().run(db)?.name == "Trek")
      #expect(try Bicycle.byId(1).run(db)?.name == "Trek")
      let rows = try Car.select(Car.name, Car.price).run(db)
      #expect(rows.map(\.1) == [2, 3])
      #expect(try db.table("car").read().run(db).map { $0["name"] } == [.text("Zoe"), .text("Leaf")])
      let row = try Car.select(Car.name, Car.price).first(db)
      #expect(row?.0 == "Zoe")
      #expect(try Car.select(Car.name).run(db) == ["Zoe", "Leaf"])
      #expect(try Car.select(Car.isElectric).distinct().run(db) == [true])
      #expect(try Car.select(Car.price.max()).first(db) == 3)
      #expect(try Car.count().run(db) == 2)
    }
  }

  @Test func equivalentsOfChainCallsWork() throws {
    try withTables { db in
      let anna = try Person(id: nil, name: "Anna").insert().run(db)
      let bikes = [Bicycle(name: "Trek", color: "red", ownerId: anna), Bicycle(name: "Giant", color: "red")]
      try Bicycle.insert().replaceOnConflict().run(db, streaming: bikes)
      let bike = bikes[0]
      let paint = Bicycle.update(Bicycle.color, from: bike).filter(Bicycle.id > 3)
      let removal = Bicycle.delete(Bicycle.id > 3).orderBy(Bicycle.id).limit(1)
      let reds = Bicycle.read(Bicycle.color == "red")
      #expect(try [paint.run(db), removal.run(db)] == [0, 0])
      #expect(try reds.run(db).count == 2)
      var names: [String] = []
      let cursor = try reds.cursor(db)
      while let bike = try cursor.next() { names.append(bike.name) }
      #expect(names == ["Trek", "Giant"])
      let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).run(db)
      #expect(owned.map(\.1.name) == ["Anna"])
      let colors = Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color).having(countAll() > 1)
      #expect(try colors.run(db).count == 1)
      #expect(reds.sql.hasPrefix("SELECT"))
      #expect(try db.query("SELECT name FROM bicycle", as: String.self).sorted() == ["Giant", "Trek"])
    }
  }

  @Test func equivalentsOfTableObjectsWork() throws {
    try withTables { db in
      try db.createTable(Bicycle.self, named: "archive")
      let bikes = [Bicycle(id: 1, name: "Trek", color: "red"), Bicycle(id: 2, name: "Giant", color: "blue")]
      let archive = db.table(Bicycle.self, named: "archive")
      try archive.insert(bikes).run(archive)
      try archive.insert(bikes[0]).replaceOnConflict().run(archive)
      try archive.update(bikes[0], Bicycle.color).run(archive)
      try archive.update(Bicycle.color.set(to: "black")).filter(Bicycle.id == 2).run(archive)
      #expect(try archive.read(Bicycle.color == "red").run(archive) == [bikes[0]])
      #expect(try archive.byId(2).run(archive)?.color == "black")
      let archived = try Bicycle.select(Bicycle.name.typed(as: String.self)).in("archive").run(db)
      #expect(archived.sorted() == ["Giant", "Trek"])
      #expect(try archive.count().run(archive) == 2)
      try archive.delete(Bicycle.color == "red").run(archive)
      try archive.deleteAll().run(archive)
      #expect(try archive.read().run(archive).isEmpty)
    }
  }

  @Test func equivalentsOfTransactionsWork() throws {
    try withTables { db in
      let bike = Bicycle(name: "Norco", color: "red")
      try db.transaction { db in try bike.insert().run(db) }
      let result = try db.transaction { db in
        let deleted = try Bicycle.delete(Bicycle.color == "red").run(db)
        return deleted > 0 ? .rollback : .commit
      }
      #expect(result == .rollback)
      try db.beginTransaction()
      #expect(db.transactionLevel > 0)
      try Bicycle(name: "Trek", color: "red").insert().run(db)
      try db.commitTransaction()
      try db.beginTransaction()
      try Bicycle.deleteAll().run(db)
      try db.rollbackTransaction()
      #expect(try Bicycle.count().run(db) == 2)
      let price = try db.prepare("SELECT price FROM car WHERE name = \(Parameter<String>("name"))", as: Double.self)
      #expect(try price.run("Zoe") == [2])
    }
  }

  @Test func aCaughtErrorUndoesOnlyTheInnerTransaction() throws {
    struct OutOfStock: Error {}
    try withTables { db in
      try db.transaction { db in
        try Bicycle(name: "Trek", color: "red").insert().run(db)
        try? db.transaction { db in
          try Bicycle(name: "Giant", color: "red").insert().run(db)
          throw OutOfStock()
        }
      }
      #expect(try Bicycle.read().run(db).map(\.name) == ["Trek"])
      #expect(throws: OutOfStock.self) { try db.transaction { _ in throw OutOfStock() } }
    }
  }

  @Test func tablesOfWCDBAreReadAfterAPlan() throws {
    try withDatabase { db in
      try db.execute(
        #"""
        CREATE TABLE IF NOT EXISTS messageTable(id INTEGER PRIMARY KEY AUTOINCREMENT, senderId INTEGER,
          sentAt REAL, tags BLOB);
        INSERT INTO messageTable VALUES (1, 7, 1795435200.25, CAST('["a","b"]' AS BLOB))
        """#)
      let schema = Schema(Message.self)
      #expect(try schema.differences(db).map(\.kind) == [.notNull, .notNull, .notNull])
      guard case .schema(.mismatch) = sqlError({ try db.createTable(Message.self) })?.kind else {
        Issue.record("createTable accepted columns without NOT NULL")
        return
      }
      try schema.plan(db).apply(db)
      try schema.verify(db)
      let date = Date(timeIntervalSince1970: 1_795_435_200.25)
      let message = Message(id: 1, senderId: 7, sentAt: date, tags: ["a", "b"])
      #expect(try Message.read().filter(Message.sentAt == date && Message.tags == ["a", "b"]).run(db) == [message])
      try db.execute("UPDATE messageTable SET senderId = 'x'")
      guard case .decoding = sqlError({ _ = try Message.read().run(db) })?.kind else {
        Issue.record("a text was read as a number")
        return
      }
    }
  }
}
