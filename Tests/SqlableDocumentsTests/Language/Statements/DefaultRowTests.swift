import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Inserts of rows with the default of every column.
@Suite struct DefaultRowTests {
  private struct Ticket: Sqlable, Equatable {
    static let tableName = #"the "ticket""#
    static let id = column("id", Int?.self, PrimaryKey())
    static let state = column("state", String.self, Default("open"))
    static let note = column(#"a "note""#, String?.self)
    static let tableLayout = [id.column, state.column, note.column]
    var id: Int?
    var state: String
    var note: String?

    init(id: Int?, state: String, note: String?) { (self.id, self.state, self.note) = (id, state, note) }
    init(row: ReadRow) throws {
      self.init(id: try row.get(Self.id), state: try row.get(Self.state), note: try row.get(Self.note))
    }
    func write(to row: inout RowWriter) throws {
      row.set(Self.id, id)
      row.set(Self.state, state)
      row.set(Self.note, note)
    }
  }

  @Test func everyColumnGetsItsDefault() throws {
    try withDatabase { db in
      try db.createTable(Ticket.self)
      let log = EventLog()
      log.listen(to: db, on: Ticket.self)
      let insert = Ticket.insertDefaults()
      #expect(insert.sql == #"INSERT INTO "the ""ticket""" DEFAULT VALUES"#)
      #expect(insert.bindings.isEmpty)
      let ids = try [insert.run(db), insert.run(db)]
      #expect(ids == [1, 2])
      #expect(log.take().count == 2)
      let stored = try Ticket.byId(2).run(db)
      #expect(stored == Ticket(id: 2, state: "open", note: nil))
      let same = try Statement<Ticket, Int>(json: insert.json())
      #expect(same == insert)
      #expect(same.sql == insert.sql)
    }
  }

  @Test(.needs(35, "RETURNING")) func theInsertedDefaultRowIsReturned() throws {
    try withDatabase { db in
      try db.createTable(Ticket.self)
      let row = Ticket.insertDefaults().returning().first()
      #expect(row.sql == #"INSERT INTO "the ""ticket""" DEFAULT VALUES RETURNING "id", "state", "a ""note""""#)
      let stored = try row.run(db)
      #expect(stored?.state == "open")
      let state: String? = try Ticket.insertDefaults().returning(Ticket.state).first().run(db)
      #expect(state == "open")
    }
  }

  @Test func defaultRowsAreInsertedIntoOtherTables() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(
        filepath: directory + "/a.sqlite", configuration: Configuration(attached: ["archive": directory + "/b.sqlite"]))
      try db.execute("CREATE TABLE archive.\"the \"\"ticket\"\"\" (id INTEGER PRIMARY KEY, state TEXT DEFAULT 'old')")
      try db.createTable(Ticket.self, named: "other")
      let attached = Ticket.insertDefaults().in(database: "archive")
      #expect(attached.sql == #"INSERT INTO "archive"."the ""ticket""" DEFAULT VALUES"#)
      let id = try attached.run(db)
      let states = try db.query("SELECT state FROM archive.\"the \"\"ticket\"\"\"", as: String.self)
      #expect(id == 1)
      #expect(states == ["old"])
      let untyped = Table("other", "id", "state").insertDefaults()
      #expect(untyped.sql == #"INSERT INTO "other" DEFAULT VALUES"#)
      try untyped.run(db)
      try Ticket.insertDefaults().in("other").run(db)
      let count = try Ticket.count().in("other").filter(Ticket.state == "open").run(db)
      #expect(count == 2)
    }
  }

  @Test func aRequiredColumnWithoutADefaultIsRefused() throws {
    try withCompany { db in
      let error = expectSqlError { _ = try Bicycle.insertDefaults().run(db) }
      #expect(error?.kind == .constraint(.notNull))
      let skipped = try Bicycle.insertDefaults().ignoreOnConflict().run(db)
      let count = try Bicycle.count().run(db)
      #expect(skipped == 0)
      #expect(count == 4)
      let upsert = expectInvalidStatement { _ = try Bicycle.insertDefaults().onConflict(Bicycle.name).run(db) }
      #expect(upsert?.message == "an insert without columns can't be an upsert")
    }
  }
}
