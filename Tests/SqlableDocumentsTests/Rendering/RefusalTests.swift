import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Invalid statements, which the library refuses before SQLite sees them.
@Suite struct RefusalTests {
  private let bike = Bicycle(id: 1, name: "Norco", color: "red")

  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      for create in [
        { _ = try db.createTable(Person.self) }, { _ = try db.createTable(Bicycle.self) },
        { _ = try db.createTable(Note.self) }, { _ = try db.createTable(Car.self) },
      ] { try create() }
      try body(db)
    }
  }

  /// Returns the reason for which a statement is refused. Running, showing and encoding must give the same reason.
  private func refusal<Model, Output>(
    _ statement: Statement<Model, Output>, _ run: () throws -> Output
  ) -> String? {
    guard let error = sqlError({ _ = try run() }) else { return nil }
    #expect(error.code == 0, "SQLite was asked")
    #expect(statement.sql == "-- " + error.message)
    #expect(statement.bindings == [])
    #expect(sqlError { _ = try JSONEncoder().encode(statement) }?.message == error.message)
    return switch error.kind {
    case .invalidStatement(let reason): "invalid: " + reason
    case .misuse(let reason): "misuse: " + reason
    case .schema: "schema: " + error.message
    default: "\(error)"
    }
  }

  @Test func meaninglessModifiersAreRefused() throws {
    try withTables { db throws in
      let yes = Bicycle.id == 1
      func check(_ statement: Statement<Bicycle, Int>, _ reason: String) {
        #expect(refusal(statement) { try statement.run(db) } == "invalid: " + reason)
      }
      check(bike.insert().filter(yes), "an insert can't have a filter")
      check(bike.insert().orderBy(Bicycle.id), "an insert can't have an order")
      check(bike.insert().limit(1), "an insert can't have a limit")
      check(bike.insert().offset(1), "an insert can't have an offset")
      check(bike.update().limit(1), "an update of a struct can't have a limit")
      check(bike.update().orderBy(Bicycle.id), "an update of a struct can't have an order")
      check(bike.delete().limit(1), "a delete of a struct can't have a limit")
      check(bike.save().filter(yes), "a save can't have a filter")
      check(bike.save().ignoreOnConflict(), "a save can't have a second conflict policy")
      check(Bicycle.count().ignoreOnConflict(), "a count can't have a conflict policy")
      check(Bicycle.deleteAll().replaceOnConflict(), "a delete can't have a conflict policy")
      check(bike.delete().onConflict(Bicycle.id), "a delete of a struct can't have a conflict policy")
      check(bike.update().onConflict(Bicycle.id), "an update of a struct can't have columns to update on conflict")
      check(bike.insert().ignoreOnConflict().onConflict(Bicycle.id), "an insert can't have two conflict policies")
      check(Bicycle.count().limit(-1), "a limit can't be negative")
      check(Bicycle.delete().limit(1, offset: -1), "an offset can't be negative")
      check(Bicycle.update(), "the update sets no column")
      check(Bicycle.update().filter(yes), "the update sets no column")
      check(bike.update(Bicycle.id), "the update sets no column: only the struct's key has a value")
      check(
        bike.insert().onConflict(update: Bicycle.color),
        "an upsert that changes the existing row must name the conflict columns: onConflict(column, update: …)")
      let read = Bicycle.read().ignoreOnConflict()
      #expect(refusal(read) { try read.run(db) } == "invalid: a read can't have a conflict policy")
      let first = Bicycle.read().limit(-5).first()
      #expect(refusal(first) { try first.run(db) } == "invalid: a limit can't be negative")
      let many = Bicycle.insert([bike]).filter(yes)
      #expect(refusal(many) { try many.run(db) } == "invalid: an insert can't have a filter")
      let pattern = Bicycle.count().filter(Bicycle.name.like("x", escape: "e\u{301}\u{302}"))
      #expect(refusal(pattern) { try pattern.run(db) }?.contains("escape of LIKE") == true)
      let nul = Bicycle.count().filter(Bicycle.name.like("x", escape: "\0"))
      #expect(refusal(nul) { try nul.run(db) }?.contains("escape of LIKE") == true)
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  @Test func structsWithoutAKeyAreRefused() throws {
    try withTables { db throws in
      let note = Note(id: 1, name: "x")
      try note.insert().run(db)
      for statement in [note.update(), note.delete(), note.save()] {
        let reason = "misuse: table note has no primary key to identify a row"
        #expect(refusal(statement) { try statement.run(db) } == reason)
      }
      #expect(sqlError { _ = try Note.byId(1).run(db) }?.message == "table note has no primary key to identify a row")
      let new = Bicycle(name: "a", color: "b")
      for statement in [new.update(), new.delete()] {
        let reason = "misuse: the struct has no value for its key bicycle.id; insert the struct first"
        #expect(refusal(statement) { try statement.run(db) } == reason)
      }
      #expect(
        sqlError { _ = try Bicycle.byId(1, 2).run(db) }?.message
          == "the primary key of table bicycle has 1 columns, but 2 values were given")
      #expect(try Note.count().run(db) == 1)
    }
  }

  @Test func columnsOfOtherTablesAreRefused() throws {
    try withTables { db throws in
      let note = Note(id: 1, name: "x")
      let statements: [(String, Statement<Note, Int>)] = [
        ("id", Note.count().filter(Person.id == 1)),
        ("name", Note.count().filter(Note.id == 1 && !(Bicycle.name == "x"))),
        ("color", Note.count().filter(Bicycle.color.lowercase() == Note.name)),
        ("name", Note.count().orderBy(Person.name).limit(1)),
        ("price", Note.count().filter(Car.price > 1)),
        ("price", Note.count().filter(Car.price * 2 > Car.price)),
        ("name", Note.updateAll(Person.name.set(to: "x"))),
        ("name", Note.updateAll(Note.name.set(to: Person.name))),
        ("color", Note.updateAll(Bicycle.color.set(to: "x"))),
        ("name", note.insert(Person.name)),
        ("name", note.insert().onConflict(Person.name, update: Note.id)),
        ("name", note.insert().onConflict(Note.id, update: Person.name)),
        ("name", Note.delete(Person.name == "x")),
        ("id", Note.delete().orderBy(Person.id).limit(1)),
        ("id", Note.count().filter(Person.id.in(Array(1...100)))),
      ]
      for (column, statement) in statements {
        // The message names the source line of the column.
        let message = refusal(statement) { try statement.run(db) }
        #expect(message?.hasPrefix("schema: column \(column) is not in the layout of table note; the column ") == true)
        #expect(message?.contains(/SqlableTestSupport\/(Person|Bicycle|Car)\.swift:/) == true)
        let error = sqlError { try statement.run(db) }
        #expect(error?.table == "note")
        #expect(error?.column == column)
      }
      #expect(try Note.count().run(db) == 0)
    }
  }

  @Test func aColumnThatIsSetTwiceIsRefused() throws {
    try withTables { db throws in
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let twice = Bicycle.updateAll(Bicycle.name.set(to: "a"), Bicycle.color.set(to: "b"), Bicycle.name.set(to: "c"))
      let error = sqlError { try twice.run(db) }
      #expect(error?.kind == .invalidStatement("column name is set twice"))
      #expect(error?.table == "bicycle")
      #expect(try Bicycle.count().filter(Bicycle.name == "Norco" && Bicycle.color == "red").run(db) == 1)
    }
  }

  @Test func valuesThatDoNotFitTheirColumnAreRefused() throws {
    try withTables { db throws in
      for filter in [
        Bicycle.name == 1, Bicycle.id == "1", Bicycle.id.in(["1"]), Bicycle.color.between(1, and: "x"),
        Bicycle.name.is(Data()), !(Bicycle.id > "x") && Bicycle.name == "x",
      ] {
        let error = sqlError { _ = try Bicycle.count().filter(filter).run(db) }
        guard case .encoding = error?.kind else {
          Issue.record("\(filter) gave \(String(describing: error))")
          continue
        }
      }
      #expect(try Bicycle.count().filter(Bicycle.id > 0.5).run(db) == 0)
      let error = sqlError { try Bicycle.updateAll(Bicycle.id.set(to: 1.5)).run(db) }
      #expect(error?.column == "id")
    }
  }

  @Test func valuesThatDoNotFitAComputedTermAreRefused() throws {
    try withTables { db throws in
      let next = Bicycle.id + 1
      for filter in [next == "x", next != Data(), !(next > "x"), next.is("x"), next.isNot("x") || next == 1] {
        let error = expectInvalidStatement { _ = try Bicycle.count().filter(filter).run(db) }
        #expect(
          error?.message
            == "the compared terms have different types and are never equal; convert a term with cast(to:)")
      }
      #expect(try Bicycle.count().filter(next == 1.5 || next == nil || next.is(Null())).run(db) == 0)
    }
  }
}
