import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct IncludingTests {
  private struct Errand: SqlCodable {
    static let id = column("id", Int.self, PrimaryKey())
    static let workerId = column("worker_id", Int.self, ForeignKey<Worker>())
    static let code = column("code", Int?.self, Unique())
    static let before = column("before", Int?.self, ForeignKey<Errand>(column: Errand.code, deferred: true))
    static let tableLayout = [id.column, workerId.column, code.column, before.column]
    var id: Int
    var workerId: Int
    var code: Int?
    var before: Int?
  }

  @Test func parentsAreReturnedWithTheirChildren() throws {
    try withCompany { db in
      let owners = Person.read().orderBy(Person.id).including(
        Bicycle.read().orderBy(Bicycle.name, .desc), by: Bicycle.ownerId)
      let rows: [(Person, [Bicycle])] = try owners.run(db)
      #expect(rows.map(\.0.name) == ["Anna", "Bo", "Cid"])
      #expect(rows.map { $0.1.map(\.name) } == [["Norco", "Giant"], ["Trek"], []])
      let reds = Person.read().filter(Person.id < 3).orderBy(Person.id).limit(1).including(
        Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id), by: Bicycle.ownerId)
      #expect(try reds.run(db).map { $0.1.map(\.name) } == [["Norco", "Giant"]])
      #expect(reds != owners)
      #expect(reds == reds)
    }
  }

  @Test func includingRunsTwoStatementsForAnyNumberOfRows() throws {
    try withCompany { db in
      try Person.insert((4...3_000).map { Person(id: $0, name: "p") }).run(db)
      try Bicycle.insert((0..<5_000).map { Bicycle(name: "b\($0)", color: "c", ownerId: $0 % 3_000 + 1) }).run(db)
      let owners = Person.read().including(Bicycle.read(), by: Bicycle.ownerId)
      let before = try db.statementCacheUse
      let rows = try owners.run(db)
      let after = try db.statementCacheUse
      #expect(after.hits + after.misses - before.hits - before.misses == 2)
      #expect(rows.count == 3_000)
      #expect(rows.reduce(0) { $0 + $1.1.count } == 5_003)
      #expect(rows.allSatisfy { person, bikes in bikes.allSatisfy { $0.ownerId == person.id } })
    }
  }

  /// The library opens a transaction for the two statements. The program has not opened it and can't end it.
  @Test func anErrorDoesNotReportTheInternalTransaction() throws {
    try withCompany { db in
      try db.execute("DROP TABLE bicycle")
      let owners = Person.read().including(Bicycle.read(), by: Bicycle.ownerId)
      let error = expectSqlError { _ = try owners.run(db) }
      #expect(error?.transaction == SqlError.TransactionFate.none)
      try db.transaction { db in
        let inside = expectSqlError { _ = try owners.run(db) }
        #expect(inside?.transaction == .untouched)
      }
    }
  }

  @Test func severalTablesMayReferToTheRows() throws {
    try withCompany { db in
      try db.createTable(Errand.self)
      try Errand.insert([(1, 1), (2, 2), (3, 1)].map { Errand(id: $0, workerId: $1) }).run(db)
      let both = Worker.read().orderBy(Worker.id)
        .including(Worker.bossId, of: Worker.id)
        .including(Errand.read().orderBy(Errand.id), by: Errand.workerId)
      let rows: [(Worker, [Worker], [Errand])] = try both.run(db)
      #expect(rows.map { $0.1.map(\.name).sorted() } == [["Ben", "Cleo"], ["Dan"], [], []])
      #expect(rows.map { $0.2.map(\.id) } == [[1, 3], [2], [], []])
    }
  }

  @Test func keysMatchAsSQLiteComparesThem() throws {
    try withDatabase { db in
      try db.createTables(OrderTag.self, Label.self)
      // Swift treats the precomposed and the decomposed é as equal. SQLite does not.
      try OrderTag.insert(["", "DK", "e\u{301}", "se", "\u{E9}"].map(OrderTag.init)).run(db)
      try Label.insert([
        Label(id: 1, text: "SE"),
        Label(id: 2, text: "dk"),
        Label(id: 3, text: "\u{E9}"),
        Label(id: 4, text: "e\u{301}"),
        Label(id: 5, text: nil),
      ]).run(db)
      let rows = try OrderTag.read().orderBy(OrderTag.name).including(Label.text, of: OrderTag.name).run(db)
      #expect(rows.map { $0.1.map(\.id) } == [[], [2], [4], [1], [3]])
      let byNumber = Label.read().including(Label.read(), by: Label.number, of: Label.number)
      #expect(try byNumber.run(db).map { $0.1.map(\.id) } == [[], [], [], [], []])
    }
  }

  @Test func bothStatementsSeeOneSnapshot() throws {
    try withCompany { db in
      let writer = try db.createChild()
      let once = Mutex(false)
      // A function of the parents' filter commits a change before the children are read.
      let change = ScalarFunction("change") { (id: Int) -> Int in
        let isFirst = once.withLock { done in
          defer { done = true }
          return !done
        }
        if isFirst { try writer.execute("DELETE FROM bicycle") }
        return id
      }
      try db.register(change)
      let owners = Person.read().filter(change(Person.id) > 0).orderBy(Person.id)
        .including(Bicycle.read(), by: Bicycle.ownerId)
      #expect(try owners.run(db).map(\.1.count) == [2, 1, 0])
      #expect(try owners.run(db).map(\.1.count) == [0, 0, 0])
    }
  }

  @Test func aColumnThatDoesNotReferToTheParentIsRefused() throws {
    try withCompany { db in
      try db.createTable(Errand.self)
      func message<Row>(_ run: @autoclosure () throws -> Row) -> String? { expectMisuse { _ = try run() }?.message }
      // Foreign keys that refer to another table, to another column, or to nothing.
      #expect(
        message(try Worker.read().including(Bicycle.read(), by: Bicycle.ownerId).run(db))
          == "column owner_id does not reference worker")
      #expect(
        message(try Worker.read().including(Bicycle.read(), by: Bicycle.ownerId, of: Worker.id).run(db))
          == "column owner_id does not reference worker.id")
      #expect(
        message(try Worker.read().including(Errand.read(), by: Errand.workerId, of: Worker.bossId).run(db))
          == "column worker_id does not reference worker.boss_id")
      for error in [
        expectMisuse { _ = try Person.read().including(Bicycle.read(), by: Bicycle.id).run(db) },
        expectMisuse { _ = try Worker.read().including(Worker.bossId).run(db) },
      ] { #expect(error?.message.hasSuffix("pass the referenced column as `of`") == true) }
      #expect(try Worker.read().including(Errand.workerId).run(db).count == 4)
      // A foreign key may refer to a column that is not the primary key.
      try Errand.insert([
        Errand(id: 1, workerId: 1, code: 20),
        Errand(id: 2, workerId: 1, code: 1),
        Errand(id: 3, workerId: 1, before: 1),
      ]).run(db)
      let byCode = try Errand.read().orderBy(Errand.id).including(Errand.before).run(db)
      #expect(byCode.map { $0.1.map(\.id) } == [[], [3], []])
    }
  }

  @Test func anInvalidInclusionThrowsAPreciseError() throws {
    try withCompany { db in
      try db.createTable(Seat.self)
      let bikes = Bicycle.read()
      expectInvalidStatement { _ = try Person.read().including(bikes.limit(-1), by: Bicycle.ownerId).run(db) }
      expectError(.schema(.missingColumn("name"))) { _ = try Person.read().including(bikes, by: Person.name).run(db) }
      expectMisuse { _ = try Seat.read().including(bikes, by: Bicycle.ownerId).run(db) }
      #expect(try Person.read().filter(Person.id > 99).including(bikes, by: Bicycle.ownerId).run(db).isEmpty)
    }
  }
}
