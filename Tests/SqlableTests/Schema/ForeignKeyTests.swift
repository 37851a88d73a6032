import Sqlable
import Testing

private enum Parent: TableDeclaration {
  static let name = "parent"
  static let id = Column("id", .integer, PrimaryKey())
  static let code = Column("code", .nullable(.text), Unique())
  static let columns = [id, code]
}

private enum Child: TableDeclaration {
  static let name = "child"
  static let id = Column("id", .integer, PrimaryKey())
  static let parent = Column("parent_id", .nullable(.integer), ForeignKey<Table<Parent>>(onDelete: .cascade))
  static let code = Column(
    "code", .nullable(.text), ForeignKey<Table<Parent>>(column: Parent.code, onDelete: .setNull, onUpdate: .cascade))
  static let above = Column("above", .nullable(.integer), ForeignKey<Table<Child>>(column: Child.id, deferred: true))
  static let columns = [id, parent, code, above]
}

private enum Hen: TableDeclaration {
  static let name = "hen"
  static let id = Column("id", .integer, PrimaryKey())
  static let egg = Column("egg", .nullable(.integer), ForeignKey<Table<Egg>>(deferred: true))
  static let columns = [id, egg]
}

private enum Egg: TableDeclaration {
  static let name = "egg"
  static let id = Column("id", .integer, PrimaryKey())
  static let hen = Column("hen", .nullable(.integer), ForeignKey<Table<Hen>>(column: Hen.id, onDelete: .restrict))
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
    ForeignKeys([row, number], to: Table<Chair>.self, [Chair.row, Chair.number], onDelete: .setNull)
  ]
}

@Suite struct ForeignKeyTests {
  @Test func referencesAreSpelledAndKept() throws {
    try withDatabase { db in
      try db.createTable(Table<Parent>.self)
      try db.createTable(Table<Child>.self)
      let sql = #"""
        CREATE TABLE "child" ("id" INTEGER PRIMARY KEY, "parent_id" INTEGER REFERENCES "parent" ("id") ON DELETE CASCADE, \#
        "code" TEXT REFERENCES "parent" ("code") ON DELETE SET NULL ON UPDATE CASCADE, \#
        "above" INTEGER REFERENCES "child" ("id") DEFERRABLE INITIALLY DEFERRED)
        """#
      #expect(try db.definition(of: "child") == sql)
      try Table<Parent>.insert([.init(1, "a"), .init(2, "b")]).run(db)
      try Table<Child>.insert([.init(1, 1, "a", 2), .init(2, 1, "b", nil), .init(3, 2, "a", 3)]).run(db)
      let missing = expectError(.constraint(.foreignKey)) { try Table<Child>(9, 7, nil, nil).insert().run(db) }
      #expect(missing?.table == "child")
      expectError(.constraint(.foreignKey)) { try Table<Child>(9, nil, "zz", nil).insert().run(db) }
      // Deferred: looked at when the transaction commits.
      expectError(.constraint(.foreignKey)) {
        try db.transaction { db in
          try Table<Child>(9, nil, nil, 99).insert().run(db)
          #expect(try Table<Child>.count().run(db) == 4)
        }
      }
      #expect(try Table<Child>.count().run(db) == 3)
      try Table<Parent>.update(Parent.code.set(to: "A")).filter(Parent.id == 1).run(db)
      #expect(try Table<Child>.read().filter(Child.code == "A").run(db).count == 2)
      try Table<Parent>.delete(Parent.id == 2).run(db)
      #expect(try Table<Child>.read().run(db) == [Table<Child>(1, 1, "A", 2), Table<Child>(2, 1, .null, .null)])
    }
  }

  @Test func tablesMayReferToOneAnother() throws {
    try withDatabase { db in
      try db.createTable(Table<Hen>.self)
      try db.createTable(Table<Egg>.self)
      #expect(
        try db.definition(of: "egg")
          == #"CREATE TABLE "egg" ("id" INTEGER PRIMARY KEY, "hen" INTEGER REFERENCES "hen" ("id") ON DELETE RESTRICT)"#
      )
      try db.transaction { db in
        try Table<Hen>(1, 1).insert().run(db)
        try Table<Egg>(1, 1).insert().run(db)
      }
      let error = expectError(.constraint(.foreignKey)) { try Table<Hen>(1).delete().run(db) }
      #expect(error?.table == "hen")
      #expect(try Table<Hen>.count().run(db) == 1)
    }
  }

  @Test func compositeReferences() throws {
    try withDatabase { db in
      try db.createTable(Table<Chair>.self)
      try db.createTable(Table<Ticket>.self)
      let sql = #"""
        CREATE TABLE "ticket" ("id" INTEGER PRIMARY KEY, "row" TEXT, "number" INTEGER, \#
        FOREIGN KEY ("row", "number") REFERENCES "chair" ("row", "number") ON DELETE SET NULL)
        """#
      #expect(try db.definition(of: "ticket") == sql)
      try Table<Chair>("A", 1).insert().run(db)
      try Table<Ticket>(1, "A", 1).insert().run(db)
      expectError(.constraint(.foreignKey)) { try Table<Ticket>(2, "A", 2).insert().run(db) }
      try Table<Chair>("A", 1).delete().run(db)
      #expect(try Table<Ticket>.byId(1).run(db) == Table<Ticket>(1, .null, .null))
    }
  }

  @Test func aReferenceToACompositeKeyNeedsAllItsColumns() throws {
    enum Wrong: TableDeclaration {
      static let columns = [Column("chair", .text, ForeignKey<Table<Chair>>())]
    }
    enum Keyless: TableDeclaration { static let columns = [Column("a", .text)] }
    enum ToKeyless: TableDeclaration { static let columns = [Column("a", .text, ForeignKey<Table<Keyless>>())] }
    try withDatabase { db in
      expectMisuse { try db.createTable(Table<Wrong>.self) }
      expectMisuse { try db.createTable(Table<ToKeyless>.self) }
      let tables = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      #expect(tables == [0])
    }
  }

  @Test func aMissingParentTableIsNamed() throws {
    try withDatabase { db in
      try db.createTable(Table<Child>.self)
      let error = expectError(.schema(.missingTable("parent"))) { try Table<Child>(1, 1, nil, nil).insert().run(db) }
      #expect(error?.table == "parent")
    }
  }
}
