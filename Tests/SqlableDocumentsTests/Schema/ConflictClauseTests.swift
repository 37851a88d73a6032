import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests of the ON CONFLICT clauses and the names of constraints.
@Suite struct ConflictClauseTests {
  private enum Policies: TableDeclaration {
    static let id = Column("id", .integer, PrimaryKey(autoincrement: true, onConflict: .replace, name: "the key"))
    static let code = Column("code", .nullable(.text), Unique(onConflict: .ignore, name: "one code"))
    static let color = Column(
      "color", .text, Default("black"), NotNull(onConflict: .replace, name: "colored"), Check("color <> ''", name: "c"))
    static let size = Column("size", .integer, NotNull(onConflict: .ignore), Check("size > 0"), Check("size < 99"))
    static let columns = [id, code, color, size]
    static let constraints: [TableConstraint] = [
      Unique(color, size.desc, onConflict: .replace, name: "color \"and\" size"), Check("size <> id", name: "apart"),
    ]
  }

  private let sql = #"""
    CREATE TABLE "t" ("id" INTEGER CONSTRAINT "the key" PRIMARY KEY ON CONFLICT REPLACE AUTOINCREMENT, \#
    "code" TEXT CONSTRAINT "one code" UNIQUE ON CONFLICT IGNORE, \#
    "color" TEXT CONSTRAINT "colored" NOT NULL ON CONFLICT REPLACE DEFAULT 'black' \#
    CONSTRAINT "c" CHECK (color <> ''), \#
    "size" INTEGER NOT NULL ON CONFLICT IGNORE CHECK (size > 0) CHECK (size < 99), \#
    CONSTRAINT "color ""and"" size" UNIQUE ("color", "size" DESC) ON CONFLICT REPLACE, \#
    CONSTRAINT "apart" CHECK (size <> id))
    """#

  @Test func policiesAndNamesAreWrittenAndReadBack() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Policies>.self)
      #expect(try db.definition(of: "t") == sql)
      let schema = Schema(Entry<Policies>.self)
      #expect(try schema.differences(db) == [])
      #expect(try schema.plan(db).isEmpty)
      let table = try #require(try db.schema()[table: "t"])
      #expect(table.primaryKey?.onConflict == "REPLACE")
      #expect(table.primaryKey?.name == "the key")
      #expect(table.uniques.map(\.onConflict) == ["IGNORE", "REPLACE"])
      #expect(table.uniques.map(\.name) == ["one code", "color \"and\" size"])
      #expect(table.checks.map(\.name) == ["c", nil, nil, "apart"])
      #expect(table.columns.map(\.notNullConflict) == [nil, nil, "REPLACE", "IGNORE"])
    }
  }

  @Test func conflictClausesApplyUnlessAStatementOverridesThem() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Policies>.self)
      typealias Row = Entry<Policies>
      #expect(try Row(1, "a", "red", 7).insert().run(db) == 1)
      // The key replaces the row.
      #expect(try Row(1, "b", "red", 8).insert().run(db) == 1)
      // The code ignores the new row.
      #expect(try Row(5, "b", "blue", 9).insert().run(db) == 0)
      // NULL becomes the default, or skips the row.
      #expect(try Row(2, .null, .null, 9).insert().run(db) == 2)
      #expect(try Row(3, .null, "red", .null).insert().run(db) == 0)
      // Color and size replace a row.
      #expect(try Row(4, "c", "black", 9).insert().run(db) == 4)
      #expect(try Row.read().orderBy(Policies.id).run(db) == [Row(1, "b", "red", 8), Row(4, "c", "black", 9)])
      expectError(.constraint(.primaryKey)) { try Row(1, "d", "x", 3).insert().onConflict(.abort).run(db) }
      expectError(.constraint(.notNull)) { try Row(6, "d", .null, 3).insert().onConflict(.abort).run(db) }
      #expect(try Row.update(Policies.code.set(to: "b")).filter(Policies.id == 4).run(db) == 0)
      #expect(
        Row.updateAll(Policies.code.set(to: "b")).onConflict(.abort).sql == #"UPDATE OR ABORT "t" SET "code" = ?"#)
    }
  }

  @Test(.needsPreupdateHook) func observersAreNotifiedOfRowsThatAConstraintReplaces() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Policies>.self)
      try Entry<Policies>(1, "a", "red", 7).insert().run(db)
      let log = EventLog()
      log.listen(to: db, on: Entry<Policies>.self)
      try Entry<Policies>(2, "b", "red", 7).insert().run(db)
      #expect(log.take() == ["delete t 1", "insert t 2"])
      try Entry<Policies>(3, "b", "blue", 7).insert().run(db)
      #expect(log.take() == [])
    }
  }

  @Test func updateWithConflictClauseIsNotRepeatable() throws {
    let update = Entry<Policies>.update(Policies.code.set(to: "b")).filter(Policies.size > 1)
    let error = expectInvalidStatement { try AnyStatement(update).checkIsRepeatable() }
    #expect(
      error?.message == """
        the update is not repeatable: the conflict policy might keep any one of several conflicting rows; use abort
        """)
    try AnyStatement(update.onConflict(.abort)).checkIsRepeatable()
  }

  @Test func aNamedCheckIsNamedByItsViolation() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Policies>.self)
      let ofColumn = expectError(.constraint(.check)) { try Entry<Policies>(1, "a", "", 7).insert().run(db) }
      #expect(ofColumn?.table == "t")
      #expect(ofColumn?.column == "color")
      #expect(ofColumn?.message.hasSuffix("c") == true)
      let second = expectError(.constraint(.check)) { try Entry<Policies>(1, "a", "x", 100).insert().run(db) }
      #expect(second?.table == "t")
      #expect(second?.column == "size")
      let ofTable = expectError(.constraint(.check)) { try Entry<Policies>(7, "a", "x", 7).insert().run(db) }
      #expect(ofTable?.table == "t")
      #expect(ofTable?.column == nil)
      #expect(ofTable?.message.hasSuffix("apart") == true)
    }
  }

  @Test func missingConflictClauseDiffersAndMissingNameDoesNot() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT UNIQUE, color TEXT NOT NULL DEFAULT 'black' \
        CHECK (color <> ''), size INTEGER NOT NULL CHECK (size > 0) CHECK (size < 99), UNIQUE (color, size DESC), \
        CHECK (size <> id));
        INSERT INTO t VALUES (1, 'a', 'red', 7)
        """)
      let schema = Schema(Entry<Policies>.self)
      #expect(
        try schema.differences(db).map(\.description) == [
          "t.color: the NOT NULL is set, and should be set ON CONFLICT REPLACE",
          "t.size: the NOT NULL is set, and should be set ON CONFLICT IGNORE",
          "t: the primary key is PRIMARY KEY (id) AUTOINCREMENT, "
            + "and should be PRIMARY KEY (id) AUTOINCREMENT ON CONFLICT REPLACE",
          "t: the UNIQUE constraint is missing: UNIQUE (code) ON CONFLICT IGNORE",
          "t: the UNIQUE constraint is missing: UNIQUE (color, size DESC) ON CONFLICT REPLACE",
          "t: the UNIQUE constraint is not expected: UNIQUE (code)",
          "t: the UNIQUE constraint is not expected: UNIQUE (color, size DESC)",
        ])
      try schema.plan(db).apply(db)
      #expect(try db.definition(of: "t") == sql)
      #expect(try Entry<Policies>.read().run(db) == [Entry<Policies>(1, "a", "red", 7)])
    }
  }

  @Test func uniqueIndexDoesNotReplaceAConstraintWithAPolicy() throws {
    enum Ignoring: TableDeclaration {
      static let columns = [Column("a", .text, Unique(onConflict: .ignore))]
    }
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute("CREATE TABLE t (a TEXT NOT NULL); CREATE UNIQUE INDEX u ON t (a)")
      let missing = try Schema(Entry<Ignoring>.self).differences(db).filter(\.isMissing)
      #expect(missing.map(\.description) == ["t: the UNIQUE constraint is missing: UNIQUE (a) ON CONFLICT IGNORE"])
    }
  }

  @Test func foreignKeysHaveNamesAndAColumnCanHaveSeveral() throws {
    enum Parent: TableDeclaration {
      static let name = "parent"
      static let id = Column("id", .integer, PrimaryKey())
      static let code = Column("code", .integer, Unique())
      static let columns = [id, code]
    }
    enum Child: TableDeclaration {
      static let name = "child"
      static let a = Column(
        "a", .integer, ForeignKey<Entry<Parent>>(name: "by id"), ForeignKey<Entry<Parent>>(column: Parent.code))
      static let columns = [a]
      static let constraints: [TableConstraint] = [
        ForeignKeys([a], to: Entry<Parent>.self, [Parent.id], onDelete: .cascade, name: "again")
      ]
    }
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Entry<Child>.self, Entry<Parent>.self)
      #expect(
        try db.definition(of: "child") == #"""
          CREATE TABLE "child" ("a" INTEGER NOT NULL CONSTRAINT "by id" REFERENCES "parent" ("id") \#
          REFERENCES "parent" ("code"), \#
          CONSTRAINT "again" FOREIGN KEY ("a") REFERENCES "parent" ("id") ON DELETE CASCADE)
          """#)
      #expect(try Schema(Entry<Child>.self).differences(db) == [])
      #expect(try db.schema()[table: "child"]?.foreignKeys.map(\.name) == ["by id", nil, "again"])
      try Entry<Parent>(1, 2).insert().run(db)
      expectError(.constraint(.foreignKey)) { try Entry<Child>(1).insert().run(db) }
    }
  }
}
