import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A model of one table, written by `valueForColumn`, by `write(to:)`, or by `write(to:)` with typed columns.
private protocol Jotting: Sqlable, Equatable {
  init(id: Int?, title: String, body: String?, stars: Int?)
}

private struct AskedNote: Jotting {
  var id: Int?
  var title: String
  var body: String?
  var stars: Int?

  static let tableName = "note"
  static let id = Column("id", .integer, PrimaryKey())
  static let title = Column("title", .text)
  static let body = Column("body", .nullable(.text), Default("empty"))
  static let stars = Column("stars", .nullable(.integer))
  static let tableLayout = [id, title, body, stars]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case AskedNote.id: return id
    case AskedNote.title: return title
    case AskedNote.body: return body
    case AskedNote.stars: return stars.orNull
    case _: return nil
    }
  }
}

extension AskedNote {
  init(row: ReadRow) throws {
    // The reads don't follow the order of the layout.
    stars = try row.get(AskedNote.stars)
    body = try row.get(AskedNote.body)
    title = try row.get(AskedNote.title)
    id = try row.get(AskedNote.id)
  }
}

private struct WrittenNote: Jotting {
  var id: Int?
  var title: String
  var body: String?
  var stars: Int?

  static let tableName = "note"
  static let id = Column("id", .integer, PrimaryKey())
  static let title = Column("title", .text)
  static let body = Column("body", .nullable(.text), Default("empty"))
  static let stars = Column("stars", .nullable(.integer))
  static let tableLayout = [id, title, body, stars]

  func write(to row: inout RowWriter) throws {
    row.set(WrittenNote.stars, stars)
    row.set(WrittenNote.title, "first thought")
    row.set(WrittenNote.id, id)
    row.set(WrittenNote.body, body)
    row.set(WrittenNote.title, title)
  }
}

extension WrittenNote {
  init(row: ReadRow) throws {
    title = try row.get(WrittenNote.title)
    let again: String = try row.get(WrittenNote.title)
    guard again == title else { throw CancellationError() }
    stars = try row.get(WrittenNote.stars)
    id = try row.get(WrittenNote.id)
    body = try row.get(WrittenNote.body)
  }
}

private struct TypedNote: Jotting {
  var id: Int?
  var title: String
  var body: String?
  var stars: Int?

  static let tableName = "note"
  static let id = column("id", Int?.self, PrimaryKey())
  static let title = column("title", String.self)
  static let body = column("body", String?.self, Default("empty"))
  static let stars = column("stars", Int?.self)
  static let tableLayout = [id.column, title.column, body.column, stars.column]

  func write(to row: inout RowWriter) throws {
    row.set(TypedNote.id, id)
    row.set(TypedNote.title, title)
    row.set(TypedNote.body, body)
    if let stars { row.set(TypedNote.stars, stars) } else { row.set(TypedNote.stars, Null()) }
  }
}

extension TypedNote {
  init(row: ReadRow) throws {
    id = try row.get(TypedNote.id)
    title = try row.get(TypedNote.title)
    body = try row.get(TypedNote.body)
    stars = try row.get(TypedNote.stars)
  }
}

@Suite struct RowWritingTests {
  private func rows<Model: Jotting>(_ model: Model.Type, body: String?) throws -> [String] {
    try withDatabase { db in
      try db.createTable(model)
      try Model.insert([
        Model(id: nil, title: "a", body: "b", stars: 1), Model(id: 7, title: "c", body: nil, stars: nil),
        Model(id: nil, title: "d", body: "", stars: .min),
      ]).run(db)
      let read = try #require(try Model.byId(7).run(db))
      #expect(read == Model(id: 7, title: "c", body: body, stars: nil))
      try Model(id: 8, title: "e", body: nil, stars: nil).save().run(db)
      try Model(id: 1, title: "f", body: nil, stars: nil).update().run(db)
      return try db.query(
        "SELECT id || '|' || title || '|' || coalesce(body, 'NULL') || '|' || coalesce(stars, 'NULL') FROM note",
        as: String.self)
    }
  }

  /// The three ways differ only in `nil`.
  @Test func writeToStoresNilAsNullAndValueForColumnLeavesItOut() throws {
    #expect(try rows(AskedNote.self, body: "empty") == ["1|f|b|NULL", "7|c|empty|NULL", "8|e||NULL"])
    let cleared = ["1|f|NULL|NULL", "7|c|NULL|NULL", "8|e|NULL|NULL"]
    #expect(try rows(WrittenNote.self, body: nil) == cleared)
    #expect(try rows(TypedNote.self, body: nil) == cleared)
  }

  @Test func nilIsWrittenAsNullOrLeftOutOfTheSQL() throws {
    let note = AskedNote(id: nil, title: "x", body: nil, stars: nil)
    #expect(note.insert().sql == #"INSERT INTO "note" ("title", "stars") VALUES (?, ?)"#)
    #expect(note.insert().bindings == [.text("x"), .null])
    let typed = TypedNote(id: 3, title: "x", body: nil, stars: 5)
    #expect(typed.update().sql == #"UPDATE "note" SET "title" = ?, "body" = ?, "stars" = ? WHERE "id" = ?"#)
    #expect(typed.update().bindings == [.text("x"), .null, .integer(5), .integer(3)])
    #expect(
      typed.save().sql.hasPrefix(
        #"INSERT INTO "note" ("id", "title", "body", "stars") VALUES (?, ?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "#
          + #""title" = excluded."title", "body" = excluded."body", "stars" = excluded."stars""#))
    // An insert leaves out a key that is nil, so SQLite assigns the next one.
    let new = TypedNote(id: nil, title: "x", body: nil, stars: nil)
    #expect(new.insert().sql == #"INSERT INTO "note" ("title", "body", "stars") VALUES (?, ?, ?)"#)
    // An update writes every chosen column, nil as NULL.
    #expect(typed.update(TypedNote.body).sql == #"UPDATE "note" SET "body" = ? WHERE "id" = ?"#)
    #expect(typed.update(TypedNote.body).bindings == [.null, .integer(3)])
  }

  @Test func aModelThatWritesNothingIsMisuse() throws {
    struct Silent: Sqlable {
      static let id = Column("id", .nullable(.integer), PrimaryKey())
      static let name = Column("name", .nullable(.text))
      static let tableLayout = [id, name]
      init() {}
      init(row: ReadRow) throws {}
    }
    try withDatabase { db in
      try db.createTable(Silent.self)
      for statement in [Silent().insert(), Silent().update(), Silent().save(), Silent().delete()] {
        let error = expectMisuse { try statement.run(db) }
        #expect(error?.message.contains("must implement valueForColumn(_:) or write(to:)") == true)
        #expect(error?.table == "silent")
      }
      expectMisuse { try Silent.insert([Silent(), Silent()]).run(db) }
      #expect(try Silent.count().run(db) == 0)
    }
  }

  @Test func aValueOfTheWrongTypeIsRefusedByInserts() throws {
    struct Wrong: Sqlable {
      var value: any SqlValue
      static let id = Column("id", .integer, PrimaryKey())
      static let amount = column("amount", Int.self)
      static let tableLayout = [id, amount.column]
      init(_ value: any SqlValue) { self.value = value }
      init(row: ReadRow) throws { value = try row.get(Wrong.amount) }
      func valueForColumn(_ column: Column) -> SqlValue? {
        switch column {
        case Wrong.amount: return value
        case _: return nil
        }
      }
    }
    try withDatabase { db in
      try db.createTable(Wrong.self)
      let values: [any SqlValue] = ["7", 7.5, Data([7]), Size.small, Date(timeIntervalSince1970: 0.5)]
      for value in values {
        let error = sqlError { try Wrong(value).insert().run(db) }
        #expect(error?.isEncoding == true)
        #expect(error?.table == "wrong")
        #expect(error?.column == "amount")
      }
      // One wrong value in a batch: no row is stored.
      let batch = (0..<1000).map { $0 == 500 ? Wrong("seven") : Wrong($0) }
      let error = sqlError { try Wrong.insert(batch).run(db) }
      #expect(error?.message == "wrong.amount takes INTEGER, but was given TEXT")
      #expect(try Wrong.count().run(db) == 0)
      try Wrong(Gender.male).insert().run(db)
      #expect(try db.query("SELECT amount FROM wrong", as: Int.self) == [1])
    }
  }

  @Test func aColumnOfAnotherModelIsNeitherWrittenNorRead() throws {
    struct Stray: Sqlable {
      var reads = false
      static let id = Column("id", .integer, PrimaryKey())
      static let tableLayout = [id]
      init() {}
      init(row: ReadRow) throws { _ = try row.get(Person.name) as String }
      func write(to row: inout RowWriter) throws {
        row.set(Stray.id, 1)
        row.set(Person.name, "x")
      }
    }
    try withDatabase { db in
      try db.createTable(Stray.self)
      let written = expectMisuse { try Stray().insert().run(db) }
      #expect(written?.column == "name")
      #expect(try Stray.count().run(db) == 0)
      try db.execute("INSERT INTO stray VALUES (1)")
      expectError(.schema(.missingColumn("name"))) { _ = try Stray.read().run(db) }
      expectError(.schema(.missingColumn("name"))) { _ = try Stray.read().filter(Person.name == "x").run(db) }
    }
  }
}
