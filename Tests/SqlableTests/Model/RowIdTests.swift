import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// A row of another program's table, which has no key.
private struct Jotting: Codable, Equatable {
  var rowid: Int?
  var text: String
  var level: Int?
}

extension Jotting: SqlCodable {
  static let rowid = column("rowid", Int.self, RowId())
  static let text = column("text", String.self)
  static let level = column("level", Int?.self)
  static let tableLayout = [rowid.column, text.column, level.column]
  static let tableIndexes = [Index(text)]
}

/// The same table with another column, added by a later version of the program.
private struct LongJotting: Codable, Equatable {
  var rowid: Int?
  var text: String
  var level: Int?
  var more: String?
}

extension LongJotting: SqlCodable {
  static let tableName = "jotting"
  static let rowid = column("rowid", Int.self, RowId())
  static let text: TypedColumn<LongJotting, String> = column("text", String.self, Check(LongJotting.text != "x"))
  static let level = column("level", Int?.self)
  static let more = column("more", String?.self)
  static let tableLayout = [rowid.column, text.column, level.column, more.column]
}

/// Models of tables without a declared key.
@Suite struct RowIdTests {
  private func withJottings(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE jotting (text TEXT NOT NULL, level INTEGER); CREATE INDEX jotting_text ON jotting (text);
        INSERT INTO jotting (rowid, text) VALUES (3, 'c'), (1, 'a'), (7, 'a')
        """)
      try body(db)
    }
  }

  @Test func aRowIsReadUpdatedAndDeletedByItsRowid() throws {
    try withJottings { db in
      #expect(Jotting.read().sql == #"SELECT "rowid", "text", "level" FROM "jotting""#)
      var note = try #require(try Jotting.byId(7).run(db))
      #expect(note == Jotting(rowid: 7, text: "a"))
      note.text = "z"
      #expect(note.update().sql == #"UPDATE "jotting" SET "text" = ?, "level" = ? WHERE "rowid" = ?"#)
      let changed = try note.update().run(db)
      let deleted = try Jotting(rowid: 1, text: "").delete().run(db)
      #expect(changed == 1)
      #expect(deleted == 1)
      let rows = try Jotting.read().orderBy(Jotting.rowid).run(db)
      #expect(rows == [Jotting(rowid: 3, text: "c"), Jotting(rowid: 7, text: "z")])
      expectMisuse { try Jotting(rowid: nil, text: "").delete().run(db) }
    }
  }

  @Test func aRowIsInsertedAndSaved() throws {
    try withJottings { db in
      let id = try Jotting(rowid: nil, text: "new").insert().run(db)
      let ids = try Jotting.insert([Jotting(rowid: 20, text: "x"), Jotting(rowid: nil, text: "y")]).run(db)
      let saved = try [
        Jotting(rowid: 20, text: "saved", level: 1).save().run(db), Jotting(text: "other").save().run(db),
      ]
      #expect([id] + ids + saved == [8, 20, 21, 20, 22])
      #expect(try Jotting.byId(20).run(db) == Jotting(rowid: 20, text: "saved", level: 1))
      let many = try Jotting.insert((0..<300).map { Jotting(rowid: nil, text: "\($0)") }).run(db)
      #expect(many == Array(23..<323))
    }
  }

  @Test(.needs(35, "RETURNING")) func changesReturnTheRowid() throws {
    try withJottings { db in
      let row = try Jotting(rowid: nil, text: "new").insert().returning().first().run(db)
      #expect(row == Jotting(rowid: 8, text: "new"))
      let gone = try Jotting.delete(Jotting.text == "a").returning(Jotting.rowid).run(db)
      #expect(gone.sorted() == [1, 7])
    }
  }

  @Test func joinsAndLimitsUseTheRowid() throws {
    try withJottings { db in
      let other = Alias(Jotting.self, "other")
      let pairs = Jotting.join(other, on: Jotting.text == other[Jotting.text] && Jotting.rowid < other[Jotting.rowid])
        .select(Jotting.rowid, other[Jotting.rowid])
      let found = try pairs.run(db)
      #expect(found.map { [$0.0, $0.1] } == [[1, 7]])
      try Jotting.delete().orderBy(Jotting.rowid, .desc).limit(1).run(db)
      #expect(try Jotting.select(Jotting.rowid).orderBy(Jotting.rowid).run(db) == [1, 3])
    }
  }

  @Test func observersGetTheRowid() throws {
    try withJottings { db in
      let changes = Mutex<[String]>([])
      db.observe(on: Jotting.self) { (change: RowChange) in
        changes.withLock { $0.append("\(change.change) \(change.id)") }
      }
      try Jotting(rowid: 3, text: "d").update().run(db)
      try Jotting(rowid: 7, text: "").delete().run(db)
      #expect(changes.withLock { $0 } == ["update 3", "delete 7"])
    }
  }

  @Test func theSchemaOfTheTableFitsTheModel() throws {
    try withJottings { db in
      #expect(try Schema(Jotting.self).differences(db).isEmpty)
      #expect(try Schema(Jotting.self).plan(db).isEmpty)
      let change = try db.createTable(Jotting.self)
      #expect(change.addedColumns.isEmpty)
    }
  }

  @Test func aNewTableHasNoColumnForTheRowid() throws {
    try withDatabase { db in
      try db.createTable(Jotting.self)
      let sql = try db.query("SELECT sql FROM sqlite_schema WHERE name = 'jotting'", as: String.self)
      #expect(sql == [#"CREATE TABLE "jotting" ("text" TEXT NOT NULL, "level" INTEGER)"#])
      try db.createTable(Jotting.self, named: "other")
      let id = try Jotting(rowid: nil, text: "a").insert().in("other").run(db)
      #expect(id == 1)
      try Schema(Jotting.self).adding(Jotting.self, named: "other").verify(db)
    }
  }

  @Test func aRebuildKeepsTheRowids() throws {
    try withJottings { db in
      let plan = try Schema(LongJotting.self).plan(db)
      #expect(plan.steps.contains { $0.rebuilds })
      try plan.apply(db)
      let rows = try LongJotting.read().orderBy(LongJotting.rowid).run(db)
      #expect(rows.map(\.rowid) == [1, 3, 7])
      #expect(rows.map(\.text) == ["a", "c", "a"])
    }
  }

  @Test func aStatementIsEncoded() throws {
    let statement = Jotting.read().filter(Jotting.rowid > 3)
    #expect(try Statement<Jotting, [Jotting]>(json: statement.json()) == statement)
    let update = Jotting(rowid: 3, text: "d").update()
    #expect(try Statement<Jotting, Int>(json: update.json()) == update)
  }

  @Test func liveResultFollowsTheRowid() async throws {
    let pool = try SqlitePool.inMemory()
    defer { try? pool.close() }
    _ = try await pool.transaction { db in try db.createTable(Jotting.self) }
    let id = try await Jotting(rowid: nil, text: "a").insert().run(pool)
    var results: [[String]] = []
    for try await notes in Jotting.read().filter(Jotting.rowid == id).updates(in: pool) {
      results.append(notes.map(\.text))
      if results.count == 1 { try await Jotting(rowid: id, text: "b").update().run(pool) }
      if results.count == 2 { break }
    }
    #expect(results == [["a"], ["b"]])
  }

  private enum Wrong: TableDeclaration {
    static let name = "wrong"
    static let columns = [Column("a", .integer, RowId())]
  }

  private enum OfText: TableDeclaration {
    static let columns = [Column("rowid", .text, RowId())]
  }

  private enum Indexed: TableDeclaration {
    static let (rowid, text) = (Column("rowid", .integer, RowId()), Column("text", .text))
    static let columns = [rowid, text]
    static let indexes = [Index(text, rowid)]
  }

  private enum Referring: TableDeclaration {
    static let columns = [Column("note", .integer, ForeignKey<Jotting>())]
  }

  @Test func contradictoryModelsThrow() throws {
    try withDatabase { db in
      let wrong = expectMisuse { _ = try Entry<Wrong>.read().run(db) }
      #expect(
        wrong?.message == """
          the model Entry<Wrong> of table wrong has an invalid column a: RowId() needs an integer column named rowid, \
          _rowid_ or oid, in a table with rowids
          """)
      expectMisuse { _ = try Entry<OfText>.read().run(db) }
      expectMisuse { try db.createTable(Entry<OfText>.self) }
      expectMisuse { try db.createTable(Entry<Indexed>.self) }
      let reference = expectMisuse { try db.createTable(Entry<Referring>.self) }
      let suffix = "to the RowId() column of table jotting, which SQLite can't reference; use PrimaryKey()"
      #expect(reference?.message.hasSuffix(suffix) == true)
    }
  }
}
