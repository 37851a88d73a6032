import Foundation
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests of triggers that are declared as typed statements.
@Suite struct TriggerTests {
  /// A row of the table that the triggers write.
  private struct Remark: SqlCodable, Equatable {
    var text: String
    var bicycle: Int?
    var weight: Double?

    static let text = column("text", String.self)
    static let bicycle = column("bicycle", Int?.self)
    static let weight = column("weight", Double?.self)
    static let tableLayout = [text.column, bicycle.column, weight.column]

    init(_ text: String, _ bicycle: Int?, _ weight: Double? = nil) {
      (self.text, self.bicycle, self.weight) = (text, bicycle, weight)
    }
  }

  private func withBicycles(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, Remark.self)
      try Person(id: 7, name: "Ann").insert().run(db)
      try body(db)
    }
  }

  @Test func triggerSeesTheOldAndNewRow() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let trigger = Trigger(
        "repainted", after: .update(of: Bicycle.color, Bicycle.name), on: Bicycle.self,
        when: Bicycle.color.new != Bicycle.color.old && Bicycle.color.new != "it's",
        run: Remark.insert(
          Remark.text.column, Remark.bicycle.column, Remark.weight.column,
          from: Bicycle.select(
            Bicycle.color.old.concatenated("-").concatenated(Bicycle.color.new), Bicycle.id, Bicycle.id * 1.1
          )
          .filter(Bicycle.id == Bicycle.id.new)),
        Person.update(Person.name.set(to: Bicycle.name.new)).filter(Person.id == Bicycle.ownerId.new))
      #expect(
        trigger.sql == #"""
          CREATE TRIGGER "repainted" AFTER UPDATE OF "color", "name" ON "bicycle" FOR EACH ROW WHEN "new"."color" <> \#
          "old"."color" AND "new"."color" <> 'it''s' BEGIN INSERT INTO "remark" ("text", "bicycle", "weight") SELECT \#
          "old"."color" || '-' || "new"."color", "bicycle"."id", "bicycle"."id" * 1.1 FROM "bicycle" WHERE \#
          "bicycle"."id" = "new"."id"; UPDATE "person" SET "name" = "new"."name" WHERE "id" = "new"."owner_id"; END
          """#)
      try trigger.run(db)
      let id = try Bicycle(name: "Trek", color: "red", ownerId: 7).insert().run(db)
      func paint(_ color: String) throws { try Bicycle.updateAll(Bicycle.color.set(to: color)).run(db) }
      try paint("blue")
      try paint("blue")
      try paint("it's")
      #expect(try Remark.read().run(db) == [Remark("red-blue", id, 1.1)])
      #expect(try Person.byId(7).run(db)?.name == "Trek")
      expectSqlError { try trigger.run(db) }
      try trigger.ifNotExists().run(db)
      try DropStatement.trigger("repainted").run(db)
      try paint("green")
      #expect(try Remark.count().run(db) == 1)
    }
  }

  @Test func insertsAndDeletesFireTriggers() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let added = Remark.insert(Remark.text.column, Remark.bicycle.column, from: values([("in", 0)]))
      try Trigger("added", before: .insert, on: Bicycle.self, run: added).run(db)
      try Trigger(
        "gone", after: .delete, on: Bicycle.self, when: Bicycle.ownerId.old.isNull,
        run: Remark.delete(Remark.bicycle == Bicycle.id.old).in("remark"),
        Remark.updateAll(Remark.weight.set(to: -0.5))
      ).run(db)
      let id = try Bicycle(name: "a", color: "red").insert().run(db)
      #expect(try Remark.read().run(db) == [Remark("in", 0)])
      try Remark("own", id).insert().run(db)
      let heard = Mutex<[Int]>([])
      db.observe(.delete, on: Remark.self) { (id: Int) in heard.withLock { $0.append(id) } }
      try Bicycle.deleteAll().run(db)
      #expect(try Remark.read().run(db) == [Remark("in", 0, -0.5)])
      #expect(heard.withLock { $0 } == [2])
    }
  }

  @Test func errorInATriggerUndoesTheChange() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let nothing = Remark.insert(
        Remark.text.column, from: Bicycle.select(Bicycle.ownerId.new.cast(to: String.self)).limit(1))
      try Trigger("fails", after: .insert, on: Bicycle.self, run: nothing).run(db)
      try Bicycle(name: "a", color: "red", ownerId: 7).insert().run(db)
      expectError(.constraint(.notNull)) { try Bicycle(name: "b", color: "red").insert().run(db) }
      #expect(try Bicycle.count().run(db) == 1)
      #expect(try Remark.read().run(db) == [Remark("7", nil)])
    }
  }

  @Test func eachTableOfAModelHasItsOwnTriggers() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Bicycle.self, named: "old bikes")
      let note = Remark.insert(Remark.text.column, from: values(["x"]))
      try Trigger("it's \"here\"", after: .insert, on: Bicycle.self, in: "old bikes", run: note).run(db)
      try Bicycle(name: "a", color: "red").insert().run(db)
      try Bicycle(name: "a", color: "red").insert().in("old bikes").run(db)
      #expect(try Remark.count().run(db) == 1)
      #expect(try db.schema()[table: "old bikes"]?.triggers.map(\.name) == ["it's \"here\""])
    }
  }

  @Test func planCreatesAndReplacesTriggers() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      func note(_ text: String) -> Trigger {
        let remark = Remark.insert(Remark.text.column, from: values([text]))
        return Trigger("noted", after: .insert, on: Bicycle.self, run: remark)
      }
      let models = Schema(Person.self, Bicycle.self, Remark.self)
      let (first, second) = (models.adding(note("first")), models.adding(note("second")))
      #expect(try first.differences(db).map(\.description) == ["bicycle: the trigger noted is missing"])
      let changes = try db.createTables(of: first)
      #expect(changes.flatMap(\.addedTriggers) == ["noted"])
      #expect(changes.count { $0.isEmpty } == 2)
      try first.verify(db)
      #expect(try db.createTables(of: first).map(\.isEmpty) == [true, true, true])
      // The comparison reports a changed trigger, and a plan recreates it.
      let error = sqlError { try second.verify(db) }
      let found = try #require(try db.schema()[table: "bicycle"]?.triggers.first).sql.text
      let wanted = found.replacing("first", with: "second")
      let difference = "bicycle: the trigger noted is \(found), and should be \(wanted)"
      #expect(error?.message == "the database differs from the models: " + difference)
      let drift = sqlError { try db.createTables(of: second) }
      let end = "; change the tables with a plan or a migration"
      #expect(drift?.message == "createTable can't bring existing tables up to date: " + difference + end)
      let plan = try second.plan(db)
      #expect(plan.steps.flatMap { $0.changes.map(\.description) } == ["drop trigger noted", "create trigger noted"])
      #expect(!plan.losesData)
      #expect(!plan.rebuilds)
      try plan.apply(db)
      try second.verify(db)
      #expect(try second.plan(db).isEmpty)
      try Bicycle(name: "a", color: "red").insert().run(db)
      #expect(try Remark.read().run(db) == [Remark("second", nil)])
      // Undeclared triggers stay and are not reported.
      try db.execute("CREATE TRIGGER other AFTER DELETE ON bicycle BEGIN SELECT 1; END")
      try second.verify(db)
      #expect(try second.plan(db).isEmpty)
      #expect(try db.schema()[table: "bicycle"]?.triggers.count == 2)
    }
  }

  @Test func triggerOnADroppedColumnIsDroppedFirst() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE TABLE remark (text TEXT NOT NULL, bicycle INTEGER, weight REAL, size TEXT NOT NULL DEFAULT 'M');
        CREATE TRIGGER noted AFTER INSERT ON remark WHEN new.size = 'L' BEGIN SELECT 1; END;
        INSERT INTO remark (text) VALUES ('kept');
        """)
      let trigger = Trigger("NOTED", after: .insert, on: Remark.self, run: Remark.delete(Remark.text == "x"))
      let schema = Schema(Remark.self).adding(trigger)
      try schema.plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
      try schema.verify(db)
      try Remark("x", 1).insert().run(db)
      #expect(try Remark.read().run(db) == [Remark("kept", nil)])
    }
  }

  @Test func aTriggerThatASchemaCantHaveIsRefused() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let remark = Remark.insert(Remark.text.column, from: values(["x"]))
      let trigger = Trigger("t", after: .insert, on: Bicycle.self, run: remark)
      func messages(_ schema: Schema) -> Set<String?> {
        [
          sqlError { try schema.verify(db) }?.message, sqlError { _ = try schema.plan(db) }?.message,
          sqlError { try db.createTables(of: schema) }?.message,
        ]
      }
      #expect(
        messages(Schema(Remark.self).adding(trigger))
          == ["trigger t is on table bicycle, which is not in the schema"])
      #expect(
        messages(
          Schema(Bicycle.self).adding(trigger).adding(Trigger("T", after: .delete, on: Bicycle.self, run: remark)))
          == ["the schema has two triggers named T"])
      #expect(
        messages(Schema(Bicycle.self).adding(Trigger("t", after: .insert, on: Bicycle.self)))
          == ["trigger t has no statements"])
      #expect(
        messages(Schema(Memo.self).adding(Trigger("t", after: .insert, on: Memo.self, run: remark)))
          == ["trigger t can't be on a full-text table"])
      #expect(try db.schema().tables.allSatisfy(\.triggers.isEmpty))
    }
  }

  @Test func invalidTriggersSayWhy() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let note = Remark.insert(Remark.text.column, from: values(["x"]))
      func message<Output>(
        _ statement: Statement<Remark, Output>, on event: Trigger.Event = .insert, when condition: SqlExpression? = nil
      ) -> String? {
        let trigger = Trigger("t", after: event, on: Bicycle.self, when: condition, run: statement)
        #expect(trigger.sql.hasPrefix("-- "))
        return sqlError { try trigger.run(db) }?.message
      }
      #expect(message(Remark.read()) == "trigger t can't contain a query; use an insert, update or delete")
      #expect(message(Remark("x", 1).insert())?.hasSuffix("insert the rows of a query") == true)
      #expect(message(Remark.deleteAll().returning()) == "trigger t can't contain RETURNING")
      #expect(message(note, when: Bicycle.name.new == Parameter("name"))?.contains("a parameter") == true)
      #expect(message(note, on: .delete, when: Bicycle.name.new == "x")?.contains("alias new") == true)
      #expect(message(note, when: Bicycle.name.old == "x")?.contains("alias old") == true)
      #expect(message(note, when: Person.name.new == "x")?.contains("column name is not in the layout") == true)
      #expect(message(note, on: .update(of: Person.name))?.contains("column name is not in the layout") == true)
      #expect(message(Remark.delete())?.contains("would change every row") == true)
      expectMisuse { try Trigger("t", after: .insert, on: Bicycle.self).run(db) }
      expectMisuse { try Trigger("", after: .insert, on: Bicycle.self, run: note).run(db) }
      expectMisuse { try Trigger("a\0", after: .insert, on: Bicycle.self, run: note).run(db) }
      expectError(.schema(.missingTable("none"))) {
        try Trigger("t", after: .insert, on: Bicycle.self, in: "none", run: note).run(db)
      }
      #expect(try db.schema().tables.allSatisfy(\.triggers.isEmpty))
    }
  }

  @Test func poolsRunTriggers() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try await pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self, Remark.self) }
      let note = Remark.insert(Remark.text.column, from: values(["x"]))
      try await Trigger("t", after: .insert, on: Bicycle.self, run: note).run(pool)
      try await Bicycle(name: "a", color: "red").insert().run(pool)
      #expect(try await Remark.count().run(pool) == 1)
      try await pool.close()
    }
  }
}
