import Foundation
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// Tests of the statements that are found by a table and the columns of a struct.
@Suite struct ShortKeyTests {
  /// The statements of a hundred tables share the slots for short keys, and a small cache evicts them all the time.
  @Test(arguments: [12_000, 60_000, 4_000_000])
  func statementsOfManyTablesReadAndWriteTheirOwnRows(cacheBytes: Int) throws {
    try withDatabase(.init(statementCacheBytes: cacheBytes)) { warm in
      try withDatabase(.init(statementCacheBytes: 0)) { cold in
        let names = (0..<100).map { "person_\($0)" }
        for db in [warm, cold] {
          for name in names { try db.execute("CREATE TABLE \(table: name) (id INTEGER PRIMARY KEY, name TEXT)") }
        }
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for number in 0..<3_000 {
          // Most statements are about few tables, so that some find their statement and others don't.
          let name = names[random.chance(70) ? number % 7 : Int.random(in: 0..<100, using: &random)]
          let person = Person(id: random.chance(30) ? nil : Int.random(in: 1...5, using: &random), name: "\(number)")
          let change = Int.random(in: 0..<7, using: &random)
          let outcomes = [warm, cold].map { db in
            do { return try outcome(of: change, of: person, in: db.table(Person.self, named: name), db) } catch {
              return ["\((error as? SqlError)?.kind as Any)"]
            }
          }
          #expect(outcomes[0] == outcomes[1], "statement \(number), a change of \(name)")
          if number % 400 == 0 { try warm.releaseMemory() }
        }
        for name in names {
          let rows = try [warm, cold].map { try $0.table(Person.self, named: name).read().orderBy(Person.id).run($0) }
          #expect(rows[0] == rows[1])
        }
        #expect(try warm.statementCacheUse.bytes <= cacheBytes)
      }
    }
  }

  private func outcome(
    of change: Int, of person: Person, in table: ModelTable<Person, SqliteDatabase>, _ db: SqliteDatabase
  ) throws -> [String] {
    let changed =
      switch change {
      case 0: try table.insert(person).run(db)
      case 1: try table.insert(person).ignoreOnConflict().run(db)
      case 2: try table.save(person).run(db)
      case 3: try table.update(person).run(db)
      case 4: try table.delete(person).run(db)
      default: 0
      }
    let found = try table.byId(person.id ?? 1).run(db)
    return ["\(changed)", found?.name ?? "-"]
  }

  @Test func readsByTextFindTheirRows() throws {
    try withDatabase { db in
      try db.createTable(Portrait.self)
      for name in ["ann", "bo", ""] { try Portrait(name: name, image: Data(name.utf8)).insert().run(db) }
      for _ in 0..<3 {
        for name in ["ann", "bo", "", "nobody"] {
          #expect(try Portrait.byId(name).run(db)?.image == (name == "nobody" ? nil : Data(name.utf8)))
        }
      }
    }
  }

  /// The outer read uses the compiled statement, so the inner read compiles a copy.
  @Test func aReadByKeyRunsInsideAReadByKey() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert([Person(id: 1, name: "Ann"), Person(id: 2, name: "Bob"), Person(id: 3, name: "Cid")]).run(db)
      let ids = Collected<Int>()
      try HookedPerson.$whileRead.withValue({ row in
        let id = try row.get(HookedPerson.id) as Int
        _ = try HookedPerson.byId(id + 1).run(db)
        // Read again after the inner read, which must not have moved this row.
        ids.append(try row.get(HookedPerson.id))
        #expect(try row.get(HookedPerson.id) == id)
      }) { () throws -> Void in
        for _ in 0..<3 {
          #expect(try HookedPerson.byId(1).run(db)?.id == 1)
          #expect(ids.take() == [3, 2, 1])
        }
      }
    }
  }

  /// The table decides which rows it has: a read by key returns the first row if the key is not unique.
  @Test func aReadByKeyReturnsOneRowOfATableWithoutUniqueKey() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE person (id INTEGER, name TEXT)")
      try db.execute("INSERT INTO person VALUES (1, 'Ann'), (1, 'Bob')")
      #expect(Person.byId(1).sql == #"SELECT "id", "name" FROM "person" WHERE "id" = ? LIMIT ?"#)
      #expect(try Person.byId(1).run(db)?.name == "Ann")
      #expect(try db.prepare(Person.byId(1)).run()?.name == "Ann")
      // The limit of another read with the same SQL does not stay bound.
      for _ in 0..<2 {
        #expect(try Person.byId(1).limit(0).run(db) == nil)
        #expect(try Person.byId(1).run(db)?.name == "Ann")
      }
    }
  }

  /// `SELECT` names the columns, but after `ALTER TABLE` the statement is compiled again and its row moves.
  @Test func aReadByKeyFollowsAChangeOfTheSchema() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: 1, name: "Ann").insert().run(db)
      let other = try db.createChild()
      for number in 0..<5 {
        #expect(try Person.byId(1).run(db)?.name == "Ann")
        try other.execute("ALTER TABLE person ADD COLUMN \(column: "extra_\(number)") TEXT")
        #expect(try Person.byId(1).run(db)?.name == "Ann")
        try other.execute("ALTER TABLE person DROP COLUMN \(column: "extra_\(number)")")
      }
      try other.execute("ALTER TABLE person RENAME COLUMN name TO title")
      #expect(sqlError { _ = try Person.byId(1).run(db) } != nil)
    }
  }
}
