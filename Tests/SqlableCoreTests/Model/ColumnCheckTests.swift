import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

// Release builds skip the check.
#if DEBUG

/// The check at a model's first use for columns that the model neither uses nor skips.
@Suite struct ColumnCheckTests {
  @TaskLocal private static var isComplete = false

  private struct Memo: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let note = column("note", String?.self)
    static let length = column("length", Int.self, Generated("length(name)"))
    static let tableLayout = [id.column, name.column, note.column, length.column]
    var id: Int?
    var name: String
    var note: String?

    init(name: String, note: String? = nil) { (self.name, self.note) = (name, note) }
    init(row: ReadRow) throws {
      name = try row.get(Memo.name)
      id = try row.get(Memo.id)
      if ColumnCheckTests.isComplete { note = try row.get(Memo.note) }
    }
    func write(to row: inout RowWriter) throws {
      row.set(Memo.id, id)
      row.set(Memo.name, name)
      if ColumnCheckTests.isComplete { row.set(Memo.note, note) }
    }
  }

  @Test func columnsThatAModelDoesNotWriteOrReadAreReported() throws {
    try withDatabase { db in
      try db.createTable(Memo.self)
      let statements = [Memo(name: "x").insert(), Memo(name: "x").save()]
      for statement in statements {
        let written = expectMisuse { try statement.run(db) }
        #expect(written?.message.hasPrefix("write(to:) of the model of table memo does not set note, ") == true)
        #expect(written?.table == "memo")
        #expect(written?.column == "note")
      }
      let none = try Memo.count().run(db)
      #expect(none == 0)
      let id = try ColumnCheckTests.$isComplete.withValue(true) {
        try Memo(name: "x", note: "kept").insert().run(db)
      }
      #expect(id == 1)
      for _ in 1...2 {
        let read = expectMisuse { _ = try Memo.read().run(db) }
        #expect(read?.message.hasPrefix("init(row:) of the model of table memo does not read note, ") == true)
      }
      expectMisuse { _ = try Memo.byId(1).run(db) }
      expectMisuse { _ = try db.query("SELECT * FROM memo", as: Memo.self) }
      expectMisuse { _ = try db.prepare(Memo.read()).run() }
      expectMisuse { _ = try Memo.read().cursor(db).next() }
      expectMisuse { try Memo.read().forEach(db) { _ in } }
      let note = try ColumnCheckTests.$isComplete.withValue(true) { try Memo.byId(1).run(db)?.note }
      #expect(note == "kept")
      // After the first row that uses all columns, the model is not checked again.
      #expect(try Memo.read().run(db).count == 1)
    }
  }

  private struct Sketch: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let photo = Column("photo", .nullable(.blob))
    static let stars = column("stars", Int.self, Default(3))
    static let tableLayout = [id.column, name.column, photo, stars.column]
    let id: Int
    var name: String

    init(id: Int, name: String) { (self.id, self.name) = (id, name) }
    init(row: ReadRow) throws {
      row.skip(Sketch.photo)
      row.skip(Sketch.stars)
      // Access by position or name counts as a use too.
      id = try row.get(at: 0)
      name = try row.get("name")
    }
    func write(to row: inout RowWriter) throws {
      row.skip(Sketch.stars)
      row.set(Sketch.name, name)
      row.set(Sketch.id, id)
      row.skip(Sketch.photo)
    }
  }

  @Test func aSkippedColumnKeepsItsStoredValue() throws {
    try withDatabase { db in
      try db.createTable(Sketch.self)
      let sketch = Sketch(id: 1, name: "old")
      #expect(sketch.insert().sql.hasPrefix(#"INSERT INTO "sketch" ("id", "name") VALUES"#))
      try sketch.insert().run(db)
      try db.execute("UPDATE sketch SET photo = x'01'")
      try Sketch(id: 1, name: "new").update().run(db)
      try Sketch(id: 1, name: "newer").save().run(db)
      #expect(try Sketch.read().run(db).map(\.name) == ["newer"])
      let stored = try db.query("SELECT stars, photo FROM sketch", as: Int.self, Data.self)
      #expect(stored.map(\.0) == [3])
      #expect(stored.map(\.1) == [Data([1])])
    }
  }

  private struct Photo: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String?.self)
    static let data = column("data", Data?.self)
    static let tableLayout = [id.column, name.column, data.column]
    let id: Int
    let name: String?
    init(row: ReadRow) throws {
      id = try row.get(Photo.id)
      name = try? row.get(Photo.name)
      row.skip(Photo.data)
    }
    func write(to row: inout RowWriter) throws {}
  }

  /// Raw SQL may leave out columns that the struct can do without.
  @Test func optionalColumnsThatARawQueryLacksAreNotReported() throws {
    try withDatabase { db in
      try db.createTable(Photo.self)
      try db.execute("INSERT INTO photo VALUES (1, 'x', x'00')")
      #expect(try db.query("SELECT id FROM photo", as: Photo.self).map(\.name) == [nil])
      #expect(try db.query("SELECT name, id FROM photo", as: Photo.self).map(\.name) == ["x"])
      #expect(try Photo.read().run(db).map(\.name) == ["x"])
    }
  }

  private struct Tag: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let memoId = column("memo_id", Int.self)
    static let tableLayout = [id.column, memoId.column]
    let id: Int
    init(id: Int) { self.id = id }
    init(row: ReadRow) throws { id = try row.get(Tag.id) }
    func write(to row: inout RowWriter) throws {
      row.set(Tag.id, id)
      row.set(Tag.memoId, id)
    }
  }

  @Test func modelsOfJoinedRowsAreChecked() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Tag.self)
      try Person(id: 1, name: "Ann").insert().run(db)
      try Tag(id: 1).insert().run(db)
      let error = expectMisuse { _ = try Person.join(Tag.self, on: Tag.memoId == Person.id).run(db) }
      #expect(error?.message.contains("of table tag does not read memo_id") == true)
      let people = try Person.read().join(Alias(Person.self, "p"), on: Person.id == 1).run(db)
      #expect(people.map(\.1.name) == ["Ann"])
    }
  }

  private struct Asked: Sqlable {
    static let id = Column("id", .integer, PrimaryKey())
    static let note = Column("note", .nullable(.text))
    static let tableLayout = [id, note]
    init() {}
    init(row: ReadRow) throws { for column in Asked.tableLayout { row.skip(column) } }
    func valueForColumn(_ column: Column) -> SqlValue? { nil }
  }

  /// `valueForColumn` returns nil to leave a column out, so a forgotten column can't be detected.
  @Test func valueForColumnIsNotChecked() throws {
    try withDatabase { db in
      try db.createTable(Asked.self)
      #expect(try Asked().insert().run(db) == 1)
      #expect(try Asked.read().run(db).count == 1)
    }
  }
}
#endif
