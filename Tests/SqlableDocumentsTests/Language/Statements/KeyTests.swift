import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tables without an integer key: WITHOUT ROWID, generated columns, text keys and hostile names.
@Suite struct KeyTests {
  @Test func aWithoutRowidTableWithAGeneratedColumnIsReadAndWritten() throws {
    try withDatabase { db in
      try db.createTable(Seat.self)
      let seat = Seat(row: 1, letter: "A", price: 5)
      #expect(seat.insert().sql == #"INSERT INTO "seat" ("row", "letter", "price") VALUES (?, ?, ?)"#)
      #expect(try seat.insert().run(db) == 0)
      #expect(try Seat(row: 1, letter: "B").insert().run(db) == 0)
      let rows = try Seat.read().orderBy(Seat.letter).run(db)
      #expect(rows.map(\.label) == ["1A", "1B"])
      #expect(rows.map(\.price) == [5, nil])
      #expect(
        seat.save().sql == #"INSERT INTO "seat" ("row", "letter", "price") VALUES (?, ?, ?) "#
          + #"ON CONFLICT ("row", "letter") DO UPDATE SET "price" = excluded."price""#)
      #expect(try Seat(row: 1, letter: "A", price: 7).save().run(db) == 0)
      try Seat(row: 1, letter: "A").save().run(db)
      let cleared = try Seat.byId(1, "A").run(db)
      #expect(cleared != nil)
      #expect(cleared?.price == nil)
      try Seat(row: 1, letter: "B", price: 9.5).update().run(db)
      #expect(seat.update().sql == #"UPDATE "seat" SET "price" = ? WHERE "row" = ? AND "letter" = ?"#)
      #expect(try Seat(row: 1, letter: "A", price: 8).update().run(db) == 1)
      let cheap = Seat.delete(Seat.price < 100).orderBy(Seat.price, .desc).limit(1)
      #expect(
        cheap.sql == #"DELETE FROM "seat" WHERE ("row", "letter") IN "#
          + #"(SELECT "row", "letter" FROM "seat" WHERE "price" < ? ORDER BY "price" DESC LIMIT ?)"#)
      #expect(try cheap.run(db) == 1)
      #expect(try Seat.read().filter(Seat.label == "1A").run(db).map(\.price) == [8])
      for statement in [seat.insert(Seat.label), seat.update(Seat.label), Seat.updateAll(Seat.label.set(to: "x"))] {
        let error = sqlError { try statement.run(db) }
        #expect(error?.kind == .invalidStatement("column label is generated and can't be set"))
      }
    }
  }

  @Test func saveReturnsTheIdEvenWithNothingToUpdate() throws {
    try withDatabase { db in
      try db.createTable(Mark.self)
      #expect(try Mark(id: 7).insert().run(db) == 7)
      #expect(try Mark(id: 7).save().run(db) == 7)
      #expect(try Mark(id: 8).save().run(db) == 8)
      #expect(try Mark(id: 8).insert().ignoreOnConflict().run(db) == 0)
      #expect(try Mark(id: 8).insert().onConflict(Mark.id).run(db) == 0)
      #expect(try Mark(id: 8).insert().replaceOnConflict().run(db) == 8)
      #expect(try Mark.count().run(db) == 2)
    }
  }

  @Test func aKeyThatIsNotTheRowidIsNeverNull() throws {
    try withDatabase { db in
      try db.createTables(Entry<Ticket>.self, Entry<Trip>.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", as: String.self) == [
          #"CREATE TABLE "ticket" ("code" TEXT PRIMARY KEY NOT NULL, "note" TEXT)"#,
          #"CREATE TABLE "trip" ("day" TEXT NOT NULL, "number" INTEGER NOT NULL, PRIMARY KEY ("day", "number"))"#,
        ])
      for change in Ticket.withoutKey {
        let error = sqlError { try change.run(db) }
        #expect(error?.kind == .constraint(.notNull))
        #expect(error?.table == "ticket")
        #expect(error?.column == "code")
      }
      let trip = sqlError { try Entry<Trip>("mon", nil).insert().run(db) }
      #expect(trip?.kind == .constraint(.notNull))
      #expect(trip?.table == "trip")
      #expect(trip?.column == "number")
      try Entry<Trip>("mon", 1).insert().run(db)
      try Entry<Ticket>("a", nil).save().run(db)
      #expect(try (Entry<Ticket>.count().run(db), Entry<Trip>.count().run(db)) == (1, 1))
    }
  }

  /// The library does not alter an existing table, and stores the key that the table's SQL provides.
  @Test func aKeyProvidedByAnExistingTableIsStored() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE ticket (code TEXT PRIMARY KEY, note TEXT)")
      try db.execute("INSERT INTO ticket (note) VALUES ('old')")
      #expect(try db.createTable(Entry<Ticket>.self).isEmpty)
      for change in Ticket.withoutKey {
        let error = sqlError { try change.run(db) }
        let message = "the struct has no value for its key ticket.code, and the column has no default"
        #expect(error?.kind == .misuse(message))
        #expect(error?.table == "ticket")
        #expect(error?.column == "code")
      }
      let batch = [Entry<Ticket>("a", nil), Entry<Ticket>(nil, nil)]
      #expect(sqlError { try Entry<Ticket>.insert(batch).run(db) }?.column == "code")
      #expect(try Entry<Ticket>.read().run(db).map(\.values) == [[.null, "old"]])
    }
    try withDatabase { db in
      try db.execute("CREATE TABLE ticket (code TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(4)))), note TEXT)")
      try Entry<Ticket>(nil, "new").insert().run(db)
      #expect(try db.query("SELECT length(code), note FROM ticket", as: Int.self, String.self).map(\.0) == [8])
    }
    try withDatabase { db in
      try db.execute("CREATE TABLE stored (code TEXT, note TEXT)")
      try db.execute("CREATE VIEW ticket AS SELECT * FROM stored")
      try db.execute(
        """
        CREATE TRIGGER fill INSTEAD OF INSERT ON ticket BEGIN INSERT INTO stored VALUES ('made', new.note); END
        """)
      try Entry<Ticket>(nil, "new").insert().run(db)
      #expect(try Entry<Ticket>.read().run(db).map(\.values) == [["made", "new"]])
    }
  }

  @Test func hostileNamesAreQuotedInEveryStatement() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Hostile.self)
      try Person(id: 1, name: "stays").insert().run(db)
      #expect(try Hostile(text: "a", other: "b").insert().run(db) == 1)
      #expect(try Hostile(id: 1, text: "c", other: "b").save().run(db) == 1)
      #expect(try Hostile(text: "d", other: "b").insert().onConflict(Hostile.other, update: Hostile.text).run(db) == 1)
      #expect(try Hostile.insert([Hostile(text: nil, other: "e"), Hostile(text: "f", other: nil)]).run(db) == [2, 3])
      #expect(
        try Hostile.update(Hostile.text.set(to: Hostile.other.concatenated("!"))).orderBy(Hostile.id).limit(1).run(db)
          == 1)
      let read = Hostile.read().filter(Hostile.text == "b!" || Hostile.other.isNull).orderBy(Hostile.text, .desc)
      #expect(try read.run(db).map(\.id) == [3, 1])
      #expect(try Hostile.count().limit(2).run(db) == 2)
      #expect(try Hostile.exists().filter(!Hostile.other).run(db))
      #expect(try read.explain(db).steps.isEmpty == false)
      let decoded = try JSONDecoder().decode(Statement<Hostile, [Hostile]>.self, from: JSONEncoder().encode(read))
      #expect(try decoded.run(db) == read.run(db))
      #expect(try Hostile(id: 1, text: nil, other: nil).delete().run(db) == 1)
      #expect(try Hostile.deleteAll().run(db) == 2)
      #expect(try Person.count().run(db) == 1)
      // The SQL of a statement that can't run is a comment of one line.
      #expect(!Person.count().filter(Hostile.text == "x").sql.contains("\n"))
    }
  }

  @Test func hostileValuesNeverChangeTheSQL() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Hostile.self)
      func statementTexts(_ text: String) -> [String] {
        let row = Hostile(id: 1, text: text, other: text)
        let filters = [
          Hostile.text == text,
          Hostile.text.in([text, "x"]),
          Hostile.text.like(text, escape: "'"),
          Hostile.text.between(text, and: text),
          Hostile.text.is(text),
          Hostile.text.concatenated(text) != text,
          Hostile.text.in(Array(repeating: text, count: 50)),
        ]
        return filters.map { Hostile.read().filter($0).sql } + [
          row.insert().sql,
          row.save().sql,
          row.update().sql,
          Hostile.updateAll(Hostile.text.set(to: text)).sql,
        ]
      }
      let usual = statementTexts("usual")
      for (index, text) in hostileTexts.enumerated() {
        #expect(statementTexts(text) == usual)
        try Hostile(id: index, text: text, other: "\(index)").insert().run(db)
        for filter in [
          Hostile.text == text,
          Hostile.text.in([text]),
          Hostile.text.between(text, and: text),
          Hostile.text.is(text),
          Hostile.text.in(Array(repeating: text, count: 50)),
          Hostile.text.concatenated(text) == text + text,
        ] {
          let found = try Hostile.read().filter(filter).run(db)
          #expect(found.map(\.id) == [index])
          #expect(found.first?.text?.utf8.elementsEqual(text.utf8) == true)
        }
      }
      #expect(try Hostile.count().run(db) == hostileTexts.count)
    }
  }

  @Test func aSkippedRowConsumesAnIdOnlyWithAutoincrement() throws {
    for (autoincrement, expected) in [(true, [1, 0, 3, 0, 5, 5, 7]), (false, [1, 0, 2, 0, 3, 3, 4])] {
      try withDatabase { db in
        let key = autoincrement ? "INTEGER PRIMARY KEY AUTOINCREMENT" : "INTEGER PRIMARY KEY"
        try db.execute(
          SQL(
            verbatim: """
              CREATE TABLE bicycle (id \(key), name TEXT, color TEXT, owner_id INTEGER, UNIQUE (name, color))
              """))
        let first = Bicycle(name: "first", color: "red")
        let inserts = [
          first.insert(),
          first.insert().ignoreOnConflict(),
          Bicycle(name: "second", color: "red").insert(),
          first.insert().onConflict(Bicycle.name, Bicycle.color),
          Bicycle(name: "third", color: "red").insert(),
          Bicycle(name: "third", color: "red").insert()
            .onConflict(Bicycle.name, Bicycle.color, update: Bicycle.name),
          Bicycle(name: "fourth", color: "red").insert(),
        ]
        #expect(try inserts.map { try $0.run(db) } == expected)
      }
    }
  }
}

private enum Ticket: TableDeclaration {
  static let name = "ticket"
  static let (code, note) = (Column("code", .text, PrimaryKey()), Column("note", .nullable(.text)))
  static let columns = [code, note]

  /// Inserts of a row without its key.
  static var withoutKey: [Statement<Entry<Ticket>, Int>] {
    let ticket = Entry<Ticket>(nil, "lost")
    return [
      ticket.insert(),
      ticket.save(),
      ticket.insert(note),
      ticket.insert().onConflict(code, update: note),
    ]
  }
}

private enum Trip: TableDeclaration {
  static let name = "trip"
  static let (day, number) = (Column("day", .text), Column("number", .integer))
  static let columns = [day, number]
  static let constraints: [TableConstraint] = [PrimaryKeys(day, number)]
}
