import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum New: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey())
  static let a = Column("a", .text)
  static let b = Column("b", .nullable(.integer))
  static let c = Column("c", .real, Default(1.5))
  static let columns = [id, a, b, c]
  static let indexes = [Index(b), Index(a, c.desc, unique: true), Index(c, name: "own name")]
}

@Suite struct ExistingTableTests {
  private func withOld(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE T (id INTEGER PRIMARY KEY, A TEXT NOT NULL, lost TEXT DEFAULT 'kept')")
      try db.execute("INSERT INTO t (a) VALUES ('x'), ('y')")
      try body(db)
    }
  }

  private func schema(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", as: String.self)
  }

  @Test func missingColumnsAndIndexesAreAddedAndReported() throws {
    try withOld { db in
      let change = try db.createTable(Entry<New>.self)
      #expect(!change.createdTable)
      #expect(change.table == "t")
      #expect(change.addedColumns == ["b", "c"])
      #expect(change.addedIndexes == ["t_b", "t_a_c_desc", "own name"])
      #expect(try db.definition(of: "t_a_c_desc") == #"CREATE UNIQUE INDEX "t_a_c_desc" ON "t" ("a", "c" DESC)"#)
      #expect(try Entry<New>.read().run(db) == [Entry<New>(1, "x", .null, 1.5), Entry<New>(2, "y", .null, 1.5)])
      #expect(try db.query("SELECT lost FROM t", as: String.self) == ["kept", "kept"])
      expectError(.constraint(.unique)) { try Entry<New>(3, "x", 1, 1.5).insert().run(db) }
      let after = try schema(db)
      #expect(try db.createTable(Entry<New>.self).isEmpty)
      #expect(try schema(db) == after)
    }
  }

  @Test func failedColumnAdditionChangesNothing() throws {
    enum NoDefault: TableDeclaration { static let columns = New.columns + [Column("d", .text)] }
    enum NullDefault: TableDeclaration { static let columns = New.columns + [Column("d", .text, Default(Null()))] }
    enum UniqueOne: TableDeclaration { static let columns = New.columns + [Column("d", .nullable(.text), Unique())] }
    enum StoredOne: TableDeclaration {
      static let columns = New.columns + [Column("d", .nullable(.text), Generated("a", stored: true))]
    }
    enum Refers: TableDeclaration {
      static let columns = New.columns + [Column("d", .integer, Default(1), ForeignKey<Person>())]
    }
    enum Key: TableDeclaration {
      static let d = Column("d", .integer, Default(1))
      static let columns = [New.a, d]
      static let constraints: [TableConstraint] = [PrimaryKeys(New.a, d)]
    }
    func expectRefusal<D: TableDeclaration>(_ declaration: D.Type) throws {
      try withOld { db in
        let before = try schema(db)
        let error = sqlError { try db.createTable(Entry<D>.self) }
        guard case .schema(.mismatch(let message)) = error?.kind else {
          Issue.record("\(D.self): \(String(describing: error))")
          return
        }
        #expect(message.contains("t.d can't be added"))
        #expect(error?.table == "t")
        #expect(error?.column == "d")
        #expect(try schema(db) == before)
        #expect(try db.query("SELECT a FROM t", as: String.self) == ["x", "y"])
      }
    }
    try expectRefusal(NoDefault.self)
    try expectRefusal(NullDefault.self)
    try expectRefusal(UniqueOne.self)
    try expectRefusal(StoredOne.self)
    try expectRefusal(Refers.self)
    try expectRefusal(Key.self)
  }

  @Test func rowsThatViolateAnAdditionChangeNothing() throws {
    enum Checked: TableDeclaration {
      static let columns = New.columns + [Column("d", .integer, Default(1), Check("a <> 'y'"))]
    }
    enum Distinct: TableDeclaration {
      static let columns = New.columns
      static let indexes = [Index(New.b), Index(New.c, unique: true)]
    }
    try withOld { db in
      let before = try schema(db)
      expectSqlError { try db.createTable(Entry<Checked>.self) }
      #expect(try schema(db) == before)
      expectError(.constraint(.unique)) { try db.createTable(Entry<Distinct>.self) }
      #expect(try schema(db) == before)
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func collidingIndexNamesAreRefused() throws {
    enum Order: TableDeclaration {
      static let name = "order"
      static let item = Column("item_id", .integer)
      static let columns = [item, Column("item", .integer)]
      static let indexes = [Index(item)]
    }
    enum Item: TableDeclaration {
      static let name = "order_item"
      static let id = Column("id", .integer)
      static let columns = [id]
      static let indexes = [Index(id, unique: true)]
    }
    enum Shadow: TableDeclaration {
      static let name = "order_it"
      static let em = Column("em", .integer)
      static let columns = [em]
      static let indexes = [Index(em, name: "ORDER")]
    }
    try withDatabase { db in
      try db.createTable(Entry<Order>.self)
      for create in [{ _ = try db.createTable(Entry<Item>.self) }, { _ = try db.createTable(Entry<Shadow>.self) }] {
        let error = sqlError { try create() }
        guard case .schema(.mismatch(let message)) = error?.kind else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(message.contains(" is taken"))
      }
      #expect(try db.definition(of: "order_item") == nil)
    }
  }

  @Test func statementsReportMissingTablesAndColumns() throws {
    try withDatabase { db in
      let statements: [(SqliteDatabase) throws -> Void] = [
        { _ = try Bicycle.read().run($0) }, { _ = try Bicycle.count().filter(Bicycle.color == "x").run($0) },
        { _ = try Bicycle.byId(1).run($0) }, { try Bicycle(name: "a", color: "b").insert().run($0) },
        { try Bicycle(id: 1, name: "a", color: "b").update().run($0) },
        { try Bicycle(id: 1, name: "a", color: "b").save().run($0) },
        { try Bicycle.insert([Bicycle(name: "a", color: "b")]).run($0) },
        { try Bicycle.updateAll(Bicycle.color.set(to: "x")).run($0) },
        { try Bicycle.delete(Bicycle.color == "x").run($0) },
      ]
      for statement in statements {
        let error = expectError(.schema(.missingTable("bicycle"))) { try statement(db) }
        #expect(error?.table == "bicycle")
      }
      // The table lacks the column "color" and has an undeclared one.
      try db.execute("CREATE TABLE bicycle (extra INT DEFAULT 5, owner_id INT, name TEXT, id INTEGER PRIMARY KEY)")
      for (index, statement) in statements.enumerated() {
        let error = expectError(.schema(.missingColumn("color")), "statement \(index)") { try statement(db) }
        #expect(error?.column == "color")
        #expect(error?.table == "bicycle")
      }
      try db.execute("ALTER TABLE bicycle ADD COLUMN color")
      let id = try Bicycle(name: "a", color: "b").insert().run(db)
      #expect(try Bicycle.read().run(db) == [Bicycle(id: 1, name: "a", color: "b")])
      try db.execute("UPDATE bicycle SET color = x'00'")
      let error = sqlError { _ = try Bicycle.read().run(db) }
      #expect(error?.kind == .decoding(.init(expected: "TEXT", found: "BLOB")))
      #expect(error?.table == "bicycle")
      #expect(error?.column == "color")
      #expect(error?.rowId == id)
    }
  }
}
