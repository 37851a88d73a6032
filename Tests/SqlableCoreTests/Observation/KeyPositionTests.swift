import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Keys whose position or type in SQLite's pre-update hook differs from the table's declaration.
@Suite struct KeyPositionTests {
  /// A table whose key follows a virtual generated column.
  private struct Sum: Observed.Model {
    static let total = Column("total", .integer, Generated("amount * 2"))
    static let code = Column("code", .text, PrimaryKey())
    static let stored = Column("stored", .integer, Generated("amount * 3", stored: true))
    static let amount = Column("amount", .integer)
    static let tableLayout = [total, code, stored, amount]
  }

  /// The same without a rowid, with a key of two columns in another order.
  private struct Part: Observed.Model {
    static let total = Column("total", .integer, Generated("amount * 2"))
    static let amount = Column("amount", .integer)
    static let double = Column("double", .integer, Generated("amount * 3"))
    static let number = Column("number", .integer)
    static let code = Column("code", .text)
    static let tableLayout = [total, amount, double, number, code]
    static let tableConstraints: [TableConstraint] = [PrimaryKeys(code, number)]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  /// An integer key after a REAL column. Without a rowid, the pre-update hook confuses their types.
  private struct Weight: Observed.Model {
    static let grams = Column("grams", .nullable(.real))
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [grams, id]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  /// A key of a REAL and an INTEGER column in the reverse order of the columns.
  private struct Measure: Observed.Model {
    static let count = Column("count", .integer)
    static let length = Column("length", .real)
    static let tableLayout = [count, length]
    static let tableConstraints: [TableConstraint] = [PrimaryKeys(length, count)]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  @Test(.needsPreupdateHook, .observesGeneratedColumns) func keyBehindGeneratedColumnsIsReported() throws {
    try withDatabase { db in
      try db.createTable(Sum.self)
      let log = EventLog()
      log.listen(to: db, on: Sum.self)
      log.listen(to: db, on: Sum.self, id: "b", as: "of b: ")
      try db.execute("INSERT INTO sum (code, amount) VALUES ('a', 1)")
      #expect(log.take() == ["insert sum a"])
      try db.execute("UPDATE sum SET amount = 2; UPDATE sum SET code = 'b'; DELETE FROM sum")
      #expect(
        log.take() == [
          "update sum a",
          "update sum a→b",
          "of b: update sum a→b",
          "delete sum b",
          "of b: delete sum b",
        ])
    }
  }

  @Test(.needsPreupdateHook, .observesGeneratedColumns) func keyBehindGeneratedColumnsWithoutRowidIsReported() throws {
    try withDatabase { db in
      try db.createTable(Part.self)
      let log = EventLog()
      log.listen(to: db, on: Part.self)
      try db.execute("INSERT INTO part (amount, number, code) VALUES (7, 1, 'a')")
      #expect(log.take() == ["insert part a,1"])
      try db.execute("UPDATE part SET amount = 8; UPDATE part SET number = 2; UPDATE part SET code = 'b'")
      #expect(log.take() == ["update part a,1", "update part a,1→a,2", "update part a,2→b,2"])
      try db.execute("REPLACE INTO part (amount, number, code) VALUES (9, 2, 'b'); DELETE FROM part")
      #expect(log.take() == ["delete part b,2", "insert part b,2", "delete part b,2"])
    }
  }

  @Test(.needsPreupdateHook) func anIntegerKeyBehindARealStaysAnInteger() throws {
    try withDatabase { db in
      try db.createTable(Weight.self)
      let log = EventLog()
      log.listen(to: db, on: Weight.self, id: 5, as: "of 5: ")
      db.observe(on: Weight.self) { id in log.add("id \(id)") }
      try db.execute("INSERT INTO weight VALUES (2, 5); UPDATE weight SET grams = 3; UPDATE weight SET id = -6")
      #expect(
        log.take() == [
          "of 5: insert weight 5",
          "id 5",
          "of 5: update weight 5",
          "id 5",
          "of 5: update weight 5→-6",
          "id -6",
        ])
      try db.execute("DELETE FROM weight")
      #expect(log.take() == ["id -6"])
    }
  }

  /// The id 0 is better than the id of another row.
  @Test(.needsPreupdateHook) func roundedIntegerKeyIsNotReported() throws {
    try withDatabase { db in
      try db.createTable(Weight.self)
      let log = EventLog()
      db.observe(on: Weight.self) { id in log.add("id \(id)") }
      let id = 1 << 53 + 1
      try db.execute("INSERT INTO weight VALUES (2, \(id)); DELETE FROM weight")
      let heard = log.take()
      #expect(heard == ["id \(id)", "id 0"] || heard == ["id \(id)", "id \(id)"])
    }
  }

  @Test(.needsPreupdateHook) func realAndIntegerKeysKeepTheirForm() throws {
    try withDatabase { db in
      try db.createTable(Measure.self)
      let log = EventLog()
      log.listen(to: db, on: Measure.self)
      try db.execute("INSERT INTO measure VALUES (1, 2); UPDATE measure SET count = 3; UPDATE measure SET length = 4")
      try db.execute("DELETE FROM measure")
      #expect(
        log.take() == [
          "insert measure 2.0,1",
          "update measure 2.0,1→2.0,3",
          "update measure 2.0,3→4.0,3",
          "delete measure 4.0,3",
        ])
    }
  }
}
