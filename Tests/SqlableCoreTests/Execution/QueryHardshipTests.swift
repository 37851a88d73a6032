import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Queries under difficult conditions: deep terms, full disks, other processes, threads and functions.
@Suite struct QueryHardshipTests {
  @Test func deepTermsWorkOrThrowInvalidStatement() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      var (worked, refused) = (0, 0)
      for depth in 1...40 {
        for negations in 0...3 {
          let text = (0..<depth).reduce(Worker.name.expression) { text, _ in Worker.name.expression.concatenated(text) }
          // No row has a negative id, so the inserts find nothing.
          let deep = (0..<negations).reduce(text == "x") { term, _ in !term } && Worker.id < 0
          for outcome in outcomes(of: deep, db) {
            guard let outcome else {
              worked += 1
              continue
            }
            refused += 1
            guard case .invalidStatement = outcome.kind, outcome.message.contains("nested too deeply") else {
              Issue.record("\(depth) \(negations): \(outcome)")
              continue
            }
          }
        }
      }
      #expect(worked > 100)
      #expect(refused > 100)
    }
  }

  /// The errors of statements with the condition in different places; nil for a success.
  private func outcomes(of deep: SqlExpression, _ db: SqliteDatabase) -> [SqlError?] {
    let all = Worker.read().filter(deep).limit(1)
    let ids = Worker.select(Worker.id).filter(deep)
    let (named, inner) = (ids.named("ids"), Worker.select(Worker.id).named("inner"))
    let outer = inner.read().filter(inner.column.in(ids)).named("outer")
    let combined = ids.unionAll(ids).orderBy(Worker.id).limit(1)
    return [
      sqlError { _ = try Worker.insert(from: all).run(db) },
      sqlError { _ = try Worker.insert(from: all).onConflict(Worker.id, update: Worker.name).run(db) },
      sqlError { _ = try Worker.insert(Worker.id, from: combined).onConflict(Worker.id, update: Worker.name).run(db) },
      sqlError { _ = try named.read().run(db) },
      sqlError { _ = try outer.read().run(db) },
      sqlError { _ = try Worker.insert(Worker.id, from: outer.read()).onConflict(Worker.id).run(db) },
      sqlError { _ = try combined.run(db) },
      sqlError { _ = try Worker.read().filter(Worker.id.in(ids)).run(db) },
      sqlError { _ = try Worker.read().filter(!Worker.id.in(outer.read())).run(db) },
      sqlError { _ = try Worker.delete(exists(outer.read()) && Worker.id < 0).orderBy(Worker.id).limit(1).run(db) },
      sqlError { _ = try Worker.select(scalar(ids)).groupBy(Worker.id).having(deep).run(db) },
      sqlError { _ = try db.query("SELECT count(*) FROM worker WHERE \(deep)", as: Int.self) },
      sqlError { _ = try Worker.select(countAll(where: deep).over(partitionBy: deep, orderBy: deep.asc)).run(db) },
      sqlError { _ = try Worker.select(Case.when(deep, then: 1).when(deep, then: 2).else(3)).run(db) },
    ]
  }

  @Test func anInsertOfAQueryThatFillsTheDiskStoresNothing() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let other = Alias(Worker.self, "other")
      let third = Alias(Worker.self, "third")
      let before = try Worker.count().run(db)
      let pages = try db.query("PRAGMA page_count", as: Int.self)[0]
      _ = try db.query(SQL(verbatim: "PRAGMA max_page_count = \(pages + 2)"), as: Int.self)
      let text = String(repeating: "x", count: 5000)
      let query = Worker.read().crossJoin(other).crossJoin(third).select(
        (Worker.id + 10) * 100 + other[Worker.id] * 10 + third[Worker.id], TypedExpression(text),
        TypedExpression<Int?>(nil),
        Worker.salary)
      let statement = Worker.insert(Worker.id, Worker.name, Worker.bossId, Worker.salary, from: query)
      expectError(.full) { _ = try statement.run(db) }
      let after = try Worker.count().run(db)
      #expect(after == before)
      var rolledBack = false
      let error = sqlError {
        try db.transaction { db in
          try Worker(id: 50, name: "E", bossId: nil, salary: 1).insert().run(db)
          do { _ = try statement.run(db) } catch {
            rolledBack = true
            throw error
          }
        }
      }
      #expect(error?.kind == .full)
      #expect(rolledBack)
      #expect(try Worker.count().run(db) == before)
      try db.query("PRAGMA max_page_count = 1000000") { _ in }
      try Worker(id: 50, name: "E", bossId: nil, salary: 1).insert().run(db)
    }
  }

  @Test(.needsSQLiteProgram)
  func preparedQueriesDetectSchemaChangesOfOtherProcesses() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.execute("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
      let pairs = try db.prepare("SELECT * FROM t", as: Int?.self, String?.self)
      #expect(try pairs.run().map(\.1) == ["x", "y"])
      let process = try SQLiteProcess(path)
      try process.run("ALTER TABLE t ADD COLUMN c;")
      expectMisuse { _ = try pairs.run() }
      try process.run("DROP TABLE t; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7);")
      expectMisuse { _ = try pairs.run() }
      expectMisuse { try pairs.forEach([:]) { _, _ in .continue } }
      expectMisuse { _ = try db.query("SELECT * FROM t", as: Int?.self, String?.self) }
      try process.run("DROP TABLE t; CREATE VIEW t AS SELECT 'v' AS b, 1 AS a;")
      let wrong = sqlError { _ = try pairs.run() }
      #expect(wrong?.message == "b should hold INTEGER, but holds TEXT", "\(String(describing: wrong))")
      let one = try db.prepare("SELECT b FROM t", as: String.self)
      #expect(try one.run() == ["v"])
      process.quit()
    }
  }

  @Test func threadsShareAHandleForQueriesOfAllKinds() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let failures = Mutex<[String]>([])
      let prepared = try db.prepare(Worker.select(Worker.name).filter(Worker.id == Parameter("id")))
      let shared = Unchecked(prepared)
      onThreads(6) { number in
        do {
          for round in 0..<times(60) {
            let boss = Alias(Worker.self, "boss")
            let rows = try Worker.join(boss, on: Worker.bossId == boss[Worker.id]).select(
              Worker.name, boss[Worker.name]
            )
            .filter(Worker.id <= 4 && Worker.name != "thread \(number) \(round)").orderBy(Worker.id).run(db)
            if rows.map(\.1) != ["Ada", "Ada", "Ben"] { failures.withLock { $0.append("rows") } }
            let cursor = try Worker.read().filter(Worker.id <= 4).orderBy(Worker.id).cursor(db)
            var seen: [Int] = []
            while let worker = try cursor.next() {
              seen.append(worker.id)
              if number == 0 {
                try Worker(id: 1000 + round * 10 + worker.id, name: "n", bossId: nil, salary: 0).insert().run(db)
              }
            }
            if seen != [1, 2, 3, 4] { failures.withLock { $0.append("cursor \(seen)") } }
            if try shared.value.run(number % 4 + 1) != [Worker.all[number % 4].name] {
              failures.withLock { $0.append("prepared") }
            }
            var found: [String] = []
            try Worker.select(Worker.name).filter(Worker.id <= 3).orderBy(Worker.id).forEach(db) { name in
              found.append(name)
              return found.count == 2 ? .stop : .continue
            }
            if found != ["Ada", "Ben"] { failures.withLock { $0.append("each") } }
            let many = try Person.read().orderBy(Person.id).including(
              Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId
            ).run(db)
            if many.map(\.1.count) != [2, 1, 0] { failures.withLock { $0.append("many") } }
            let raw = try db.query(
              "SELECT name, id FROM worker WHERE \(Worker.id == number % 4 + 1)", as: String.self, Int.self)
            if raw.count != 1 { failures.withLock { $0.append("raw") } }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
    }
  }

  private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  @Test func functionsMayQueryInsideQueries() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let bosses = ScalarFunction("boss_name") { (id: Int?) in try bossName(id, db) }
      try db.register(bosses)
      let query = Worker.select(Worker.name, bosses(Worker.bossId)).orderBy(Worker.id)
      for _ in 1...3 {
        let rows = try query.run(db)
        #expect(rows.map(\.1) == [nil, "Ada", "Ada", "Ben"])
      }
      // The function runs the query that calls it.
      let depth = Mutex(0)
      let nested = ScalarFunction("nested") { (id: Int) in try nestedCall(id, depth, db) }
      try db.register(nested)
      let values = try Worker.select(nested(Worker.id)).orderBy(Worker.id).run(db)
      #expect(values == [1, 2, 3, 4])
      let closing = ScalarFunction("closing") { (id: Int) in try closed(id, db) }
      try db.register(closing)
      expectMisuse { _ = try Worker.select(closing(Worker.id)).run(db) }
      let writing = ScalarFunction("writing") { (id: Int) in try Worker.deleteAll().run(db) }
      try db.register(writing)
      expectMisuse { _ = try Worker.select(writing(Worker.id)).run(db) }
      let releasing = ScalarFunction("releasing") { (id: Int) in try released(id, db) }
      try db.register(releasing)
      let names = try Worker.select(releasing(Worker.id), Worker.name).orderBy(Worker.id).run(db)
      #expect(names.map(\.1) == ["Ada", "Ben", "Cleo", "Dan"])
    }
  }

  @Test func anErrorOfAFunctionEndsTheQuery() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let failing = ScalarFunction("failing") { (id: Int) in try notThree(id) }
      try db.register(failing)
      #expect(throws: Stop.self) { _ = try Worker.select(failing(Worker.id)).run(db) }
      let cursor = try Worker.select(failing(Worker.id)).orderBy(Worker.id).cursor(db)
      let first = try [cursor.next(), cursor.next()]
      #expect(first == [1, 2])
      #expect(throws: Stop.self) { _ = try cursor.next() }
      let end = try cursor.next()
      #expect(end == nil)
      let source = Worker.select(failing(Worker.id) + 10, Worker.name, Worker.bossId, Worker.salary)
      let insert = Worker.insert(Worker.id, Worker.name, Worker.bossId, Worker.salary, from: source)
      #expect(throws: Stop.self) { _ = try insert.run(db) }
      let count = try Worker.count().run(db)
      #expect(count == 4)
    }
  }

  @Test func observersMayQueryWhileACursorIsOpen() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let seen = Mutex<[Int]>([])
      let token = db.observe(on: Worker.self) { _ in
        let ids = (try? Worker.select(Worker.id).orderBy(Worker.id).run(db)) ?? []
        seen.withLock { $0 = ids }
      }
      let open = try Worker.select(Worker.id).orderBy(Worker.id).cursor(db)
      _ = try open.next()
      try Worker(id: 7, name: "g", bossId: nil, salary: 0).insert().run(db)
      let ids = seen.withLock { $0 }
      #expect(ids == [1, 2, 3, 4, 7])
      let next = try open.next()
      #expect(next == 2)
      db.removeObserver(token)
    }
  }

  @Test(arguments: [0, 3_000, 7_000]) func cursorsSurviveTransactionsAndSchemaChanges(capacity: Int) throws {
    try withDatabase(Configuration(statementCacheBytes: capacity)) { (db: SqliteDatabase) throws -> Void in
      try fillCompany(db)
      let all = Worker.select(Worker.id).orderBy(Worker.id)
      let cursor = try all.cursor(db)
      #expect(try cursor.next() == 1)
      _ = try? db.transaction { db -> TransactionResult in
        try Worker(id: 9, name: "x", bossId: nil, salary: 1).insert().run(db)
        return .rollback
      }
      let afterRollback = sqlError {
        let next = try cursor.next()
        #expect(next == 2)
      }
      #expect(afterRollback == nil, "\(String(describing: afterRollback))")
      var inner: Cursor<Int>?
      let committed = sqlError {
        try db.transaction { db in
          inner = try Worker.select(Worker.id).filter(Worker.id > 1).orderBy(Worker.id).cursor(db)
          _ = try inner?.next()
        }
      }
      #expect(committed == nil)
      #expect(try inner?.next() == 3)
      inner = nil
      try db.execute("CREATE TABLE other (x)")
      try db.execute("ALTER TABLE worker ADD COLUMN more")
      let changed = sqlError { _ = try cursor.next() }
      #expect(changed == nil, "\(String(describing: changed))")
      expectError(.busy) { try db.execute("DROP TABLE worker") }
      var ids: [Int] = []
      try all.forEach(db) { id in
        try all.forEach(db) { other in
          ids.append(id * 10 + other)
          let again = try all.run(db)
          #expect(again.count == 4)
          return other == 2 ? .stop : .continue
        }
        return id == 2 ? .stop : .continue
      }
      #expect(ids == [11, 12, 21, 22])
      let child = try db.createChild()
      let own = try all.cursor(child)
      #expect(try own.next() == 1)
      try Worker(id: 9, name: "x", bossId: nil, salary: 1).insert().run(db)
      #expect(try own.next() == 2)
      expectMisuse { try child.close() }
    }
  }

  @Test func positionsOutsideOfARowAreRefused() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      var kept: ReadRow?
      for position in [-1, 3, .max, .min] {
        let error = expectMisuse { _ = try db.query("SELECT 1, 2, 3") { try $0.get(at: position, as: Int.self) } }
        #expect(error?.message == "the result has no column at position \(position)")
      }
      _ = try db.query("SELECT 1, 2, 3") { row in kept = row }
      let late = expectMisuse { _ = try kept?.get(at: 0, as: Int.self) }
      #expect(late?.message == "a row was read after its statement advanced or was reset")
      let row = try Worker.select(Worker.id.expression, Worker.name.expression).run(db)[0]
      expectMisuse { _ = try row.get(at: -1, as: Int.self) }
      expectMisuse { _ = try row.get(at: 2, as: Int.self) }
      expectDecoding("INTEGER", "TEXT") { _ = try row.get(at: 1, as: Int.self) }
    }
  }

  private enum Parent: TableDeclaration {
    static let name = "parent"
    static let (id, key) = (Column("id", .integer, PrimaryKey()), Column("key", .text))
    static let columns = [id, key]
  }

  private enum Child: TableDeclaration {
    static let name = "child"
    static let (id, key) = (Column("id", .integer, PrimaryKey()), Column("key", .nullable(.text)))
    // A TEXT foreign key that references an INTEGER column. SQLite compares both as integers.
    static let parent = Column("parent", .nullable(.text))
    static let columns = [id, parent, key]
  }

  @Test func includedRowsMatchKeysByBytesAndStorageClass() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Entry<Parent>.self, Entry<Child>.self)
      for (id, key) in [(1, "e\u{301}"), (2, "é"), (3, ""), (4, "a"), (5, "A "), (6, "1")] {
        try db.execute("INSERT INTO parent VALUES (\(id), \(key))")
        try db.execute("INSERT INTO child VALUES (\(id * 10), \(String(id)), \(key)), (\(id * 10 + 1), NULL, NULL)")
      }
      let byText = try Entry<Parent>.read().orderBy(Parent.id).including(
        Entry<Child>.read().orderBy(Child.id), by: Child.key, of: Parent.key
      ).run(db)
      #expect(byText.map { $0.1.map { $0.values[0] } } == [[10], [20], [30], [40], [50], [60]])
      let error = expectMisuse {
        _ = try Entry<Parent>.read().including(Entry<Child>.read(), by: Child.parent, of: Parent.id).run(db)
      }
      #expect(error?.column == "parent")
      #expect(error?.message.contains("type TEXT can't match a referenced column of type INTEGER") == true)
    }
  }

  @Test func aNamedQueryMayNotHideATable() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let person = Worker.select(Worker.id, Worker.name).named("PERSON")
      let (id, _) = person.columns
      let shadowed = person.read().filter(exists(Person.read().filter(Person.name == "Anna" && id > 0)))
      expectInvalidStatement { _ = try shadowed.run(db) }
      let itself = Worker.select(Worker.id).named("worker")
      expectInvalidStatement { _ = try itself.read().run(db) }
      #expect(try person.read().run(db).count == 4)
      let aliased = Alias(Person.self, "p")
      let also = person.read().filter(exists(aliased.read().filter(aliased[Person.name] == "Anna")))
      expectInvalidStatement { _ = try also.run(db) }
    }
  }
}

private struct Stop: Error {}

private func bossName(_ id: Int?, _ db: SqliteDatabase) throws -> String? {
  guard let id else { return nil }
  return try Worker.select(Worker.name).filter(Worker.id == id).first(db)
}

private func nestedCall(_ id: Int, _ depth: Mutex<Int>, _ db: SqliteDatabase) throws -> Int {
  let level = depth.withLock { level in
    level += 1
    return level
  }
  defer { depth.withLock { $0 -= 1 } }
  guard level < 4 else { return id }
  return try db.query("SELECT nested(id) FROM worker WHERE id = \(id)", as: Int.self)[0]
}

private func closed(_ id: Int, _ db: SqliteDatabase) throws -> Int {
  try db.close()
  return id
}

private func released(_ id: Int, _ db: SqliteDatabase) throws -> Int {
  try db.releaseMemory()
  return id
}

private func notThree(_ id: Int) throws -> Int {
  if id == 3 { throw Stop() }
  return id
}
