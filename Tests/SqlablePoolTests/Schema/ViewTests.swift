import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private let text = #"""
  CREATE VIEW "color_sum" ("color", "count") AS SELECT "color", count("id") FROM "bicycle" WHERE "name" <> 'it''s' \#
  GROUP BY "color" ORDER BY "color"
  """#

private enum Wrong: TableDeclaration {
  static let a = Column("a", .text, Default("x"))
  static let columns = [a]
  static let options: [TableOption] = [.view(View(sql: "SELECT 1"))]
}

private enum Indexed: TableDeclaration {
  static let a = Column("a", .text)
  static let columns = [a]
  static let indexes = [Index(a)]
  static let options: [TableOption] = [.view(View(sql: "SELECT 1"))]
}

private enum Constrained: TableDeclaration {
  static let a = Column("a", .text)
  static let columns = [a]
  static let constraints: [TableConstraint] = [Unique(a)]
  static let options: [TableOption] = [.view(View(sql: "SELECT 1"))]
}

private enum Strict: TableDeclaration {
  static let a = Column("a", .text)
  static let columns = [a]
  static let options: [TableOption] = [.view(View(sql: "SELECT 1")), .strict]
}

private enum Wide: TableDeclaration {
  static let a = Column("a", .text)
  static let columns = [a]
  static let options: [TableOption] = [.view(View(Bicycle.read()))]
}

private enum Open: TableDeclaration {
  static let a = Column("a", .text)
  static let columns = [a]
  static let options: [TableOption] = [.view(View(Bicycle.select(Bicycle.name).filter(Bicycle.id == Parameter("id"))))]
}

private enum BySQL: TableDeclaration {
  static let name = "by sql"
  static let a = Column("a b", .integer, PrimaryKey())
  static let columns = [a]
  static let options: [TableOption] = [.view(View(sql: "SELECT count FROM color_sum"))]
}

private enum Named: TableDeclaration {
  static let name = "named"
  static let a = Column("a b", .integer)
  static let columns = [a]
  static let options: [TableOption] = [.view(View(sql: "SELECT [a b] FROM color_sum"))]
}

/// Tests of models that are views and can only be read.
@Suite struct ViewTests {
  /// The bicycles of a color and their number.
  private struct ColorSum: Sqlable, Equatable {
    var color: String
    var count: Int

    static let color = Column("color", .text, PrimaryKey())
    static let count = Column("count", .integer)
    static let tableLayout = [color, count]
    static let tableOptions: [TableOption] = [
      .view(
        View(
          Bicycle.select(Bicycle.color, Bicycle.id.count()).filter(Bicycle.name != "it's").groupBy(Bicycle.color)
            .orderBy(Bicycle.color)))
    ]

    init(color: String, count: Int) { (self.color, self.count) = (color, count) }

    init(row: ReadRow) throws {
      color = try row.get(ColorSum.color)
      count = try row.get(ColorSum.count)
    }
  }

  private func withBicycles(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(ColorSum.self, Person.self, Bicycle.self)
      try Bicycle.insert([
        Bicycle(name: "a", color: "red"), Bicycle(name: "b", color: "red"), Bicycle(name: "c", color: "blue"),
        Bicycle(name: "it's", color: "blue"),
      ]).run(db)
      try body(db)
    }
  }

  @Test func viewIsCreatedAndReadLikeATable() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      #expect(try db.query("SELECT sql FROM sqlite_schema WHERE type = 'view'", as: String.self) == [text])
      #expect(try ColorSum.read().run(db) == [.init(color: "blue", count: 1), .init(color: "red", count: 2)])
      #expect(try ColorSum.read(ColorSum.count > 1).run(db).map(\.color) == ["red"])
      #expect(try ColorSum.byId("blue").run(db)?.count == 1)
      #expect(try ColorSum.count().run(db) == 2)
      let joined = Bicycle.join(ColorSum.self, on: ColorSum.color == Bicycle.color).filter(ColorSum.count == 1)
      #expect(try joined.run(db).map(\.0.name) == ["c", "it's"])
      #expect(try db.tableExists(ColorSum.self))
      #expect(try !db.tableExists("color_sum"))
      #expect(try db.createTable(ColorSum.self).isEmpty)
      try Schema(ColorSum.self, Bicycle.self, Person.self).verify(db)
      try db.createTable(Entry<BySQL>.self)
      #expect(try Entry<BySQL>.byId(2).run(db) == Entry(2))
      try ColorSum.dropTable().run(db)
      try ColorSum.dropTable().ifExists().run(db)
      #expect(try !db.tableExists(ColorSum.self))
      expectError(.schema(.missingTable("color_sum"))) { _ = try ColorSum.read().run(db) }
    }
  }

  @Test func viewRefusesChanges() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let row = ColorSum(color: "red", count: 5)
      let messages = [
        sqlError { try row.insert().run(db) }, sqlError { try row.save().run(db) },
        sqlError { try row.update().run(db) }, sqlError { try row.delete().run(db) },
        sqlError { try ColorSum.insert([row]).run(db) }, sqlError { try ColorSum.deleteAll().run(db) },
        sqlError { try ColorSum.update(ColorSum.count.set(to: 1)).filter(ColorSum.count > 0).run(db) },
        sqlError { try ColorSum.insert(from: ColorSum.read()).run(db) },
        sqlError { _ = try db.prepare(ColorSum.deleteAll()) },
      ].map { $0?.message }
      #expect(messages.allSatisfy { $0 == "view color_sum is read-only" }, "\(messages)")
      let failure = Mutex<String?>(nil)
      db.didFail = { error in failure.withLock { $0 = "\(error)" } }
      db.observe(on: ColorSum.self) { (_: Int) in }
      #expect(failure.withLock { $0 }?.contains("view color_sum can't be observed") == true)
    }
  }

  @Test func viewDeclarationIsChecked() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      func message(_ model: any Sqlable.Type) -> String? {
        func create(_ model: (some Sqlable).Type) -> String? { sqlError { try db.createTable(model) }?.message }
        return create(model)
      }
      #expect(message(Entry<Wrong>.self)?.contains("column a can only have the option PrimaryKey()") == true)
      #expect(message(Entry<Indexed>.self)?.contains("is a view, and can't have indexes") == true)
      #expect(message(Entry<Constrained>.self)?.contains("is a view, and can't have constraints") == true)
      #expect(message(Entry<Strict>.self)?.contains("is a view, and can't have other table options") == true)
      #expect(message(Entry<Wide>.self) == "the query of view t has 4 columns, but its model has 1")
      #expect(message(Entry<Open>.self) == "the query of view t can't contain a parameter")
      #expect(try db.schema().views.isEmpty)
    }
  }

  @Test func planCreatesAndChangesViews() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(ColorSum.self, Person.self, Bicycle.self)
      let plan = try schema.plan(db)
      #expect(plan.steps.flatMap { $0.changes.map(\.kind) } == [.addTable, .addTable, .addView])
      try plan.apply(db)
      try schema.verify(db)
      try db.execute(
        """
        DROP VIEW color_sum;
        CREATE VIEW color_sum AS SELECT color, 1 AS count FROM bicycle;
        CREATE TRIGGER kept INSTEAD OF INSERT ON color_sum BEGIN SELECT 1; END
        """)
      let drift = sqlError { try db.createTable(ColorSum.self) }
      let difference = """
        color_sum: the view is CREATE VIEW color_sum AS SELECT color, 1 AS count FROM bicycle, and should be \(text)
        """
      let end = "; change the tables with a plan or a migration"
      #expect(drift?.message == "createTable can't bring existing tables up to date: " + difference + end)
      let error = sqlError { try schema.verify(db) }
      #expect(error?.message == "the database differs from the models: " + difference)
      let change = try schema.plan(db)
      #expect(change.description.hasPrefix("color_sum: change the view\n  DROP VIEW \"color_sum\""))
      #expect(!change.steps[0].losesData)
      #expect(!change.steps[0].rebuilds)
      try change.apply(db)
      try schema.verify(db)
      #expect(try db.schema().views.first?.triggers.map(\.name) == ["kept"])
      #expect(try schema.plan(db).isEmpty)
    }
  }

  @Test func viewMayTakeColumnNamesFromItsQuery() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<BySQL>.self)
      try db.execute("CREATE VIEW \"by sql\" AS select \"count\" from color_sum -- as the model's, but for the name")
      #expect(try schema.differences(db).map(\.kind) == [.view])
      try db.execute("DROP VIEW \"by sql\"; CREATE VIEW \"by sql\" (\"A B\") AS SELECT count /**/ FROM color_sum")
      try schema.verify(db)
      try db.execute(
        "DROP VIEW color_sum; CREATE VIEW color_sum AS SELECT color, count(id) AS \"a b\" FROM bicycle GROUP BY color")
      let renamed = Schema(Entry<Named>.self)
      try db.execute("CREATE VIEW named AS SELECT \"a b\" FROM color_sum")
      try renamed.verify(db)
      #expect(try renamed.plan(db).isEmpty)
      #expect(try db.createTable(Entry<Named>.self).isEmpty)
      // The view reads a missing table, so its columns are unknown.
      try db.execute("DROP VIEW color_sum")
      #expect(try renamed.differences(db).map(\.kind) == [.view])
    }
  }

  @Test func tableInPlaceOfAViewIsRefused() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try db.execute("CREATE TABLE color_sum (color TEXT, count INTEGER)")
      let drift = sqlError { try db.createTable(ColorSum.self) }
      let message = """
        createTable can't bring existing tables up to date: color_sum: the view is CREATE TABLE color_sum \
        (color TEXT, count INTEGER), and should be \(text); change the tables with a plan or a migration
        """
      #expect(drift?.message == message)
      #expect(
        sqlError { _ = try Schema(ColorSum.self).plan(db) }?.message
          == "view color_sum can't be created: the database has a table with the same name; drop or rename the table")
    }
  }

  @Test func liveResultsOfAViewFollowItsTables() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try await pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self, ColorSum.self) }
      var results = ColorSum.read(ColorSum.color == "red").updates(in: pool).makeAsyncIterator()
      #expect(try await results.next() == [])
      try await Bicycle(name: "a", color: "red").insert().run(pool)
      #expect(try await results.next() == [ColorSum(color: "red", count: 1)])
      try await Bicycle.update(Bicycle.name.set(to: "it's")).filter(Bicycle.id == 1).run(pool)
      #expect(try await results.next() == [])
      try await pool.close()
    }
  }
}
