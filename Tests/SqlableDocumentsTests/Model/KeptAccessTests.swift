import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A box that carries a cell or writer out of the call in which it is valid.
private final class Kept<Value>: @unchecked Sendable {
  var value: Value?
}

/// A value that keeps its cell to read it later, which is too late.
private struct LateValue: SqlValue, @unchecked Sendable {
  let cell: ReadCell?
  static let columnType = ColumnType.text
  var databaseValue: DatabaseValue { .null }
  init(databaseValue: DatabaseValue) { cell = nil }
  private init(cell: ReadCell) { self.cell = cell }
  static func read(from cell: ReadCell) -> LateValue { LateValue(cell: cell) }
}

/// A text that is set while another statement runs.
private struct NestedText: SqlValue {
  let db: SqliteDatabase?
  let keeper = Kept<WriteCell>()
  static let columnType = ColumnType.text
  var databaseValue: DatabaseValue { .null }
  init(db: SqliteDatabase) { self.db = db }
  init(databaseValue: DatabaseValue) { db = nil }

  func write(to cell: inout WriteCell) throws {
    keeper.value = cell
    _ = try db?.query("SELECT 1") { _ in cell.set("nested") }
  }
}

@Suite struct KeptAccessTests {
  private func withPeople(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let name = String(repeating: "secret", count: 1000)
      try Person.insert((1...3).map { (id: Int) in Person(id: id, name: name) }).run(db)
      try body(db)
    }
  }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map { String($0.name.prefix(12)) }
  }

  private func expectStale(_ cell: ReadCell?, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let cell = try #require(cell, sourceLocation: sourceLocation)
    let reads: [() throws -> Void] = [
      { _ = try cell.text() }, { _ = try cell.textBytes() }, { _ = try cell.integer() }, { _ = try cell.real() },
      { _ = try cell.blob() }, { _ = try cell.databaseValue() }, { _ = try String.read(from: cell) },
      { _ = try Int?.read(from: cell) }, { _ = try UUID.read(from: cell) }, { _ = try Date.read(from: cell) },
      { _ = try [Int]?.read(from: cell) },
    ]
    for read in reads { expectMisuse(sourceLocation: sourceLocation, read) }
    #expect(!cell.isNull, sourceLocation: sourceLocation)
    #expect(cell.storageClass == .null, sourceLocation: sourceLocation)
  }

  // MARK: Reading

  @Test func aKeptCellThrowsInsteadOfReadingAnotherRow() throws {
    let cells = Kept<[ReadCell?]>()
    let keep: @Sendable (ReadRow) throws -> Void = { row in
      cells.value = (cells.value ?? []) + [try (row.get(HookedPerson.name) as LateValue).cell]
    }
    try withPeople { db in
      try HookedPerson.$whileRead.withValue(keep) {
        try HookedPerson.read().forEach(db) { _ in
          let cells = cells.value ?? []
          for cell in cells.dropLast() { try expectStale(cell) }
          #expect(try cells.last??.text().prefix(6) == "secret")
        }
        _ = try HookedPerson.read().run(db)
        _ = try HookedPerson.read().filter(HookedPerson.id == 2).first().run(db)
      }
      let kept = try (cells.value ?? []) + db.query("SELECT name FROM person", as: LateValue.self).map(\.cell)
      #expect(kept.count == 10)
      for cell in kept { try expectStale(cell) }
      try db.releaseMemory()
      for cell in kept { try expectStale(cell) }
      try db.close()
      for cell in kept { try expectStale(cell) }
    }
    try withPeople { db in
      try Person.read().forEach(db) { _ in for cell in cells.value ?? [] { try expectStale(cell) } }
    }
  }

  // MARK: Writing

  @Test func aKeptWriterChangesNoOtherRow() throws {
    try withPeople { db in
      let kept = Kept<RowWriter>()
      func rows(_ second: @escaping @Sendable (inout RowWriter) throws -> Void) -> [HookedPerson] {
        [
          HookedPerson(id: 11, name: "one") { kept.value = $0 },
          HookedPerson(id: 12, name: "two", whileWritten: second),
        ]
      }
      let uses: [@Sendable (inout RowWriter) throws -> Void] = [
        { _ in kept.value?.set(HookedPerson.name, "kept") }, { _ in kept.value?.set(HookedPerson.id, 99) },
        { _ in kept.value?.set(HookedPerson.name, nil as String?) },
        { _ in kept.value?.set(HookedPerson.name, nil as String?) },
        { _ in try db.query("SELECT 1") { _ in kept.value?.set(HookedPerson.name, "kept") } },
      ]
      for use in uses {
        let error = expectMisuse { try HookedPerson.insert(rows(use)).run(db) }
        #expect(error?.table == "person")
        #expect(try Person.count().run(db) == 3)
      }
      // While no row is written, a kept writer has no effect.
      try HookedPerson.insert(rows { _ in }).run(db)
      kept.value?.set(HookedPerson.name, "kept")
      try HookedPerson(id: 13, name: "three").insert().run(db)
      #expect(try names(db).suffix(3) == ["one", "two", "three"])
    }
  }

  /// When the inner statement ends, the values that it added to the pending ones are gone.
  @Test func settingAValueInsideAnotherStatementIsMisuse() throws {
    try withPeople { db in
      let long = String(repeating: "n", count: 100)
      let row = HookedPerson(id: 7, name: "seven") { row in
        try db.query("SELECT \(long)") { _ in row.set(HookedPerson.name, "from inside") }
        _ = try db.query("SELECT \(String(repeating: "Z", count: 400))", as: String.self)
      }
      expectMisuse { try row.insert().run(db) }
      expectMisuse { try row.update().run(db) }
      expectMisuse { try row.save().run(db) }
      #expect(try Person.count().run(db) == 3)
      let before = HookedPerson(id: 8, name: "eight") { row in
        let name = try db.query("SELECT name || 'x' FROM person WHERE id = \(1)", as: String.self)[0]
        try Person(id: 20, name: "inserted in between").insert().run(db)
        row.set(HookedPerson.name, String(name.suffix(3)))
      }
      try before.insert().run(db)
      #expect(try names(db).suffix(2) == ["etx", "inserted in "])
    }
  }

  /// The capacities make the cache compile the inner statement again, find it, or know only its text.
  @Test(arguments: [0, 10_000, 1 << 20])
  func settingAValueInsideALoopOfAnotherStatementIsMisuse(capacity: Int) throws {
    try withDatabase(.init(statementCacheBytes: capacity)) { db in
      try db.createTable(Person.self)
      try Person.insert((1...3).map { (id: Int) in Person(id: id, name: "x") }).run(db)
      let inner = Person.read().filter(Person.name == "x").orderBy(Person.id)
      let decoded = try JSONDecoder().decode(Statement<Person, [Person]>.self, from: JSONEncoder().encode(inner))
      for statement in [inner, inner, decoded, decoded, inner.limit(2)] {
        let row = HookedPerson(id: 9, name: "orig") { row in
          try statement.forEach(db) { _ in row.set(HookedPerson.name, "from inside") }
          row.set(HookedPerson.name, String(repeating: "Z", count: 100_000))
        }
        expectMisuse { try row.insert().run(db) }
        expectMisuse { try row.save().run(db) }
        expectMisuse { try row.update().run(db) }
        expectMisuse { try HookedPerson.insert([row]).run(db) }
        #expect(try Person.count().run(db) == 3)
      }
    }
  }

  @Test func aTextThatBeginsWithNULIsRefusedBeforeItsLookup() throws {
    try withDatabase { db in
      for text in ["\0", "\0SELECT 1", "\0\u{1}"] {
        let error = sqlError { _ = try db.query(SQL(verbatim: text), as: Int.self) }
        #expect(error?.kind == .invalidStatement("the SQL text contains a NUL byte"))
      }
      let use = try db.statementCacheUse
      #expect(use.misses == 0)
    }
  }

  @Test func settingACellInsideAnotherStatementOrLaterIsRefused() throws {
    try withPeople { db in
      let text = NestedText(db: db)
      let row = HookedPerson(id: 9, name: "nine") { $0.set(HookedPerson.name, text) }
      expectMisuse { try row.insert().run(db) }
      #expect(try Person.count().run(db) == 3)
      text.keeper.value?.set("later")
      text.keeper.value?.set(Data([1]))
      try text.keeper.value?.set(.text("later"))
      try HookedPerson(id: 9, name: "nine").insert().run(db)
      #expect(try names(db).last == "nine")
    }
  }
}
