import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct DropTests {
  private func names(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name", as: String.self)
  }

  @Test func tablesIndexesViewsAndTriggersAreDropped() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      try db.execute(
        #"""
        CREATE VIEW "a ""view""" AS SELECT 1;
        CREATE TRIGGER noted AFTER INSERT ON bicycle BEGIN SELECT 1; END
        """#)
      let drops: [(DropStatement, String)] = [
        (.trigger("noted"), #"DROP TRIGGER main."noted""#),
        (.view("a \"view\""), "DROP VIEW main.\"a \"\"view\"\"\""),
        (Bicycle.dropIndex(Index(Bicycle.color)), #"DROP INDEX main."bicycle_color""#),
        (Bicycle.dropTable(named: "archive"), #"DROP TABLE main."archive""#),
        (Bicycle.dropTable(), #"DROP TABLE main."bicycle""#),
      ]
      for (drop, sql) in drops {
        #expect(drop.sql == sql)
        let before = try names(db).count
        try drop.run(db)
        // Dropping a table drops its indexes.
        #expect(try names(db).count < before, "\(sql)")
        #expect(expectSqlError { try drop.run(db) }?.transaction != nil)
        try drop.ifExists().run(db)
      }
      #expect(try names(db) == ["person"])
      #expect(drops[4].0.ifExists().sql == #"DROP TABLE IF EXISTS main."bicycle""#)
      expectError(.schema(.missingTable("bicycle"))) { _ = try Bicycle.count().run(db) }
      try db.createTable(Bicycle.self)
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  @Test func tableWithReferencingRowsIsNotDropped() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      enum Parent: TableDeclaration {
        static let name = "parent"
        static let columns = [Column("id", .integer, PrimaryKey())]
      }
      enum Child: TableDeclaration {
        static let name = "child"
        static let columns = [Column("parent", .integer, ForeignKey<Entry<Parent>>())]
      }
      try db.createTables(Entry<Parent>.self, Entry<Child>.self)
      try Entry<Parent>(1).insert().run(db)
      try Entry<Child>(1).insert().run(db)
      expectError(.constraint(.foreignKey)) { try Entry<Parent>.dropTable().run(db) }
      #expect(try Entry<Parent>.count().run(db) == 1)
    }
  }

  @Test func aTransactionThatIsRolledBackDropsNothing() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try db.transaction { db in
        try Person.dropTable().run(db)
        #expect(try names(db) == [])
        return .rollback
      }
      #expect(try names(db) == ["person"])
    }
  }

  @Test func dropLeavesAttachedDatabasesUnchanged() throws {
    try withDirectory { (directory: String) throws -> Void in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.execute("ATTACH \(directory + "/b.sqlite") AS b")
      try db.execute("CREATE TABLE b.person (id INTEGER)")
      expectSqlError { try Person.dropTable().run(db) }
      try Person.dropTable().ifExists().run(db)
      let rows = try db.query("SELECT count(*) FROM b.person", as: Int.self)
      #expect(rows == [0])
    }
  }

  @Test func dropsRunOnPoolsAndAreValues() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in try db.createTable(Person.self) }
    let drop = Person.dropTable().ifExists()
    let copy = try JSONDecoder().decode(DropStatement.self, from: JSONEncoder().encode(drop))
    #expect(copy == drop)
    #expect(Set([copy, drop]).count == 1)
    #expect(drop != Person.dropTable())
    try await copy.run(pool)
    #expect(try await pool.read { db in try db.tableExists(Person.self) } == false)
    expectMisuse { try DropStatement.table("a\0b").run(SqliteDatabase.inMemory()) }
  }
}
