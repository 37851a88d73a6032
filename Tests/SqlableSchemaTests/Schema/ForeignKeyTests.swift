import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Parent: TableDeclaration {
  static let name = "parent"
  static let id = Column("id", .integer, PrimaryKey())
  static let code = Column("code", .nullable(.text), Unique())
  static let columns = [id, code]
}

private enum Child: TableDeclaration {
  static let name = "child"
  static let id = Column("id", .integer, PrimaryKey())
  static let parent = Column("parent_id", .nullable(.integer), ForeignKey<Entry<Parent>>(onDelete: .cascade))
  static let code = Column(
    "code", .nullable(.text), ForeignKey<Entry<Parent>>(column: Parent.code, onDelete: .setNull, onUpdate: .cascade))
  static let above = Column("above", .nullable(.integer), ForeignKey<Entry<Child>>(column: Child.id, deferred: true))
  static let columns = [id, parent, code, above]
}

private enum Hen: TableDeclaration {
  static let name = "hen"
  static let id = Column("id", .integer, PrimaryKey())
  static let egg = Column("egg", .nullable(.integer), ForeignKey<Entry<Egg>>(deferred: true))
  static let columns = [id, egg]
}

private enum Egg: TableDeclaration {
  static let name = "egg"
  static let id = Column("id", .integer, PrimaryKey())
  static let hen = Column("hen", .nullable(.integer), ForeignKey<Entry<Hen>>(column: Hen.id, onDelete: .restrict))
  static let columns = [id, hen]
}

private enum Chair: TableDeclaration {
  static let name = "chair"
  static let (row, number) = (Column("row", .text), Column("number", .integer))
  static let columns = [row, number]
  static let constraints: [TableConstraint] = [PrimaryKeys(row, number)]
}

private enum Ticket: TableDeclaration {
  static let name = "ticket"
  static let id = Column("id", .integer, PrimaryKey())
  static let (row, number) = (Column("row", .nullable(.text)), Column("number", .nullable(.integer)))
  static let columns = [id, row, number]
  static let constraints: [TableConstraint] = [
    ForeignKeys([row, number], to: Entry<Chair>.self, [Chair.row, Chair.number], onDelete: .setNull)
  ]
}

@Suite struct ForeignKeyTests {
  @Test func foreignKeysBecomeSQLAndAreEnforced() throws {
    try withDatabase { db in
      try db.createTable(Entry<Parent>.self)
      try db.createTable(Entry<Child>.self)
      let sql = #"""
        CREATE TABLE "child" ("id" INTEGER PRIMARY KEY, \#
        "parent_id" INTEGER REFERENCES "parent" ("id") ON DELETE CASCADE, \#
        "code" TEXT REFERENCES "parent" ("code") ON DELETE SET NULL ON UPDATE CASCADE, \#
        "above" INTEGER REFERENCES "child" ("id") DEFERRABLE INITIALLY DEFERRED)
        """#
      #expect(try db.definition(of: "child") == sql)
      try Entry<Parent>.insert([.init(1, "a"), .init(2, "b")]).run(db)
      try Entry<Child>.insert([.init(1, 1, "a", 2), .init(2, 1, "b", nil), .init(3, 2, "a", 3)]).run(db)
      let missing = expectError(.constraint(.foreignKey)) { try Entry<Child>(9, 7, nil, nil).insert().run(db) }
      #expect(missing?.table == "child")
      expectError(.constraint(.foreignKey)) { try Entry<Child>(9, nil, "zz", nil).insert().run(db) }
      // The commit checks a deferred foreign key.
      expectError(.constraint(.foreignKey)) {
        try db.transaction { db in
          try Entry<Child>(9, nil, nil, 99).insert().run(db)
          #expect(try Entry<Child>.count().run(db) == 4)
        }
      }
      #expect(try Entry<Child>.count().run(db) == 3)
      try Entry<Parent>.update(Parent.code.set(to: "A")).filter(Parent.id == 1).run(db)
      #expect(try Entry<Child>.read().filter(Child.code == "A").run(db).count == 2)
      try Entry<Parent>.delete(Parent.id == 2).run(db)
      #expect(try Entry<Child>.read().run(db) == [Entry<Child>(1, 1, "A", 2), Entry<Child>(2, 1, .null, .null)])
    }
  }

  @Test func tablesMayReferToOneAnother() throws {
    try withDatabase { db in
      try db.createTable(Entry<Hen>.self)
      try db.createTable(Entry<Egg>.self)
      #expect(
        try db.definition(of: "egg")
          == #"CREATE TABLE "egg" ("id" INTEGER PRIMARY KEY, "hen" INTEGER REFERENCES "hen" ("id") ON DELETE RESTRICT)"#
      )
      try db.transaction { db in
        try Entry<Hen>(1, 1).insert().run(db)
        try Entry<Egg>(1, 1).insert().run(db)
      }
      let error = expectError(.constraint(.foreignKey)) { try Entry<Hen>(1).delete().run(db) }
      #expect(error?.table == "hen")
      #expect(try Entry<Hen>.count().run(db) == 1)
    }
  }

  @Test func compositeForeignKeysAreEnforced() throws {
    try withDatabase { db in
      try db.createTable(Entry<Chair>.self)
      try db.createTable(Entry<Ticket>.self)
      let sql = #"""
        CREATE TABLE "ticket" ("id" INTEGER PRIMARY KEY, "row" TEXT, "number" INTEGER, \#
        FOREIGN KEY ("row", "number") REFERENCES "chair" ("row", "number") ON DELETE SET NULL)
        """#
      #expect(try db.definition(of: "ticket") == sql)
      try Entry<Chair>("A", 1).insert().run(db)
      try Entry<Ticket>(1, "A", 1).insert().run(db)
      expectError(.constraint(.foreignKey)) { try Entry<Ticket>(2, "A", 2).insert().run(db) }
      try Entry<Chair>("A", 1).delete().run(db)
      #expect(try Entry<Ticket>.byId(1).run(db) == Entry<Ticket>(1, .null, .null))
    }
  }

  @Test func aReferenceToACompositeKeyNeedsAllItsColumns() throws {
    enum Wrong: TableDeclaration {
      static let columns = [Column("chair", .text, ForeignKey<Entry<Chair>>())]
    }
    enum Keyless: TableDeclaration { static let columns = [Column("a", .text)] }
    enum ToKeyless: TableDeclaration { static let columns = [Column("a", .text, ForeignKey<Entry<Keyless>>())] }
    try withDatabase { db in
      expectMisuse { try db.createTable(Entry<Wrong>.self) }
      expectMisuse { try db.createTable(Entry<ToKeyless>.self) }
      let tables = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      #expect(tables == [0])
    }
  }

  @Test func aMissingParentTableIsNamed() throws {
    try withDatabase { db in
      try db.createTable(Entry<Child>.self)
      let error = expectError(.schema(.missingTable("parent"))) { try Entry<Child>(1, 1, nil, nil).insert().run(db) }
      #expect(error?.table == "parent")
    }
  }
}
