import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A model with two readings in a row.
private struct Leg: Sqlable, Equatable {
  var id: Int
  var first: Double
  var second: Double?
  var note: String
  static let id = column("id", Int.self, PrimaryKey())
  static let first = column("first", Double.self)
  static let second = column("second", Double?.self)
  static let note = column("note", String.self)
  static let tableLayout = [id.column, first.column, second.column, note.column]

  init(_ id: Int, _ first: Double, _ second: Double?, _ note: String = "") {
    (self.id, self.first, self.second, self.note) = (id, first, second, note)
  }

  init(row: ReadRow) throws {
    id = try row.get(Leg.id)
    first = try row.get(Leg.first)
    second = try row.get(Leg.second)
    note = try row.get(Leg.note)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Leg.id, id)
    row.set(Leg.first, first)
    row.set(Leg.second, second)
    row.set(Leg.note, note)
  }
}

/// A model with a date in milliseconds.
private struct Fare: SqlCodable {
  var id: Int
  var paidAt: Date
  static let id = column("id", Int.self, PrimaryKey())
  static let paidAt = column("paid_at", Date.self, as: .date(.unixMilliseconds))
  static let tableLayout = [id.column, paidAt.column]
  enum CodingKeys: String, CodingKey {
    case id
    case paidAt = "paid_at"
  }
}

private struct Refusal: Error, Equatable {
  let number: Int
}

private let gap = ScalarFunction("gap", isDeterministic: true) { (a: Double, b: Double?) in b.map { abs(a - $0) } }

private let secondsOf = ScalarFunction("seconds_of") { (date: Date) in date.timeIntervalSince1970 }

private let lastDate = AggregateFunction("last_date", initial: Date.distantPast) { (last: inout Date, date: Date) in
  last = max(last, date)
} finish: {
  $0
}

private func withLegs(
  _ legs: [Leg] = [Leg(1, 10, 50), Leg(2, 10, 15), Leg(3, 7, nil)], _ body: (SqliteDatabase) throws -> Void
) throws {
  try withDatabase { db in
    try db.createTable(Leg.self)
    try Leg.insert(legs).run(db)
    try body(db)
  }
}

@Suite struct UserFunctionTests {
  @Test func functionsRefuseColumnsThatTheyWouldMisread() throws {
    try withDatabase { db in
      try db.register(secondsOf)
      try db.register(lastDate)
      try db.createTable(Fare.self)
      try Fare(id: 1, paidAt: Date(timeIntervalSince1970: 1)).insert().run(db)
      let typed = expectInvalidStatement { _ = try Fare.select(secondsOf(Fare.paidAt)).run(db) }
      let untyped = expectInvalidStatement { _ = try Fare.select(secondsOf(Fare.paidAt.column)).run(db) }
      let aggregate = expectInvalidStatement { _ = try Fare.select(lastDate(Fare.paidAt)).run(db) }
      #expect(typed?.message == "function seconds_of would read milliseconds as seconds; use seconds(since:)")
      #expect(untyped?.column == "paid_at")
      #expect(aggregate?.message == "function last_date would read milliseconds as seconds; use seconds(since:)")
    }
  }

  @Test func aCallIsATermOfItsType() throws {
    try withLegs { db in
      try db.register(gap)
      let far = Leg.read().filter(gap(Leg.first, Leg.second) > 30)
      #expect(
        far.sql == #"SELECT "id", "first", "second", "note" FROM "leg" WHERE "gap"("first", "second") > ?"#)
      #expect(try far.run(db) == [Leg(1, 10, 50)])
      #expect(try Leg.read().orderBy(gap(Leg.first, Leg.second), .desc).run(db).map(\.id) == [1, 2, 3])
      let pairs = Leg.select(Leg.id, gap(Leg.first, Leg.second)).orderBy(Leg.id)
      #expect(try pairs.run(db).map(\.1) == [40, 5, nil])
      // The function works in raw SQL and with untyped columns.
      #expect(try db.query("SELECT GAP(first, second) FROM leg ORDER BY id", as: Double?.self) == [40, 5, nil])
      #expect(try Leg.count().filter(gap(Leg.first.column, Leg.second.column) == 5).run(db) == 1)
      expectInvalidStatement { _ = try Leg.count().filter(gap(Leg.first.column) == 5).run(db) }
    }
  }

  @Test func everyStorageClassPassesThroughUnchanged() throws {
    try withDatabase { db in
      try db.register(ScalarFunction("text") { (value: String?) in value })
      try db.register(ScalarFunction("bytes") { (value: Data?) in value })
      try db.register(ScalarFunction("whole") { (value: Int64?) in value })
      try db.register(ScalarFunction("number") { (value: Double?) in value })
      try db.register(ScalarFunction("none") { 42 })
      for text in ["", "a\0b", "\0", "é", String(repeating: "ü", count: 10_000)] {
        #expect(try db.query("SELECT text(\(text))", as: String?.self) == [text])
      }
      for data in [Data(), Data([0, 255, 0])] {
        #expect(try db.query("SELECT bytes(\(data))", as: Data?.self) == [data])
        #expect(try db.query("SELECT typeof(bytes(\(data)))", as: String.self) == ["blob"])
      }
      for integer in [Int64.min, 0, .max] {
        #expect(try db.query("SELECT whole(\(integer))", as: Int64?.self) == [integer])
      }
      for real in [-Double.infinity, 0.1, .greatestFiniteMagnitude] {
        #expect(try db.query("SELECT number(\(real))", as: Double?.self) == [real])
      }
      #expect(
        try db.query("SELECT text(NULL) IS NULL AND bytes(NULL) IS NULL AND whole(NULL) IS NULL", as: Bool.self) == [
          true
        ])
      #expect(try db.query("SELECT none()", as: Int.self) == [42])
    }
  }

  @Test func aWrongArgumentIsNamedWithoutItsValue() throws {
    try withLegs([Leg(1, 1, 1, "secret")]) { db in
      try db.register(ScalarFunction("twice") { (_: Int, value: Int) in value * 2 })
      let wrong = sqlError { _ = try db.query("SELECT twice(1, note) FROM leg", as: Int.self) }
      #expect(wrong?.kind == .decoding(.init(expected: "INTEGER", found: "TEXT")))
      #expect(wrong?.message == "argument 2 of function twice takes INTEGER, but was given TEXT")
      #expect(wrong?.sql == "SELECT twice(1, note) FROM leg")
      let null = sqlError { _ = try db.query("SELECT twice(NULL, 1)", as: Int.self) }
      #expect(null?.message == "argument 1 of function twice takes INTEGER, but was given NULL")
      try db.register(ScalarFunction("text") { (value: String) in value })
      let invalid = sqlError { _ = try db.query("SELECT text(CAST(x'ff' AS TEXT))", as: String.self) }
      #expect(invalid?.message == "argument 1 of function text takes TEXT, but was given TEXT that is not valid UTF-8")
      try db.register(ScalarFunction("vague") { Double.nan })
      let result = sqlError { _ = try db.query("SELECT vague()", as: Double.self) }
      #expect(result?.message == "function vague returned a value that SQLite can't store")
      try db.transaction { db -> Void in
        let error = sqlError { try db.execute("UPDATE leg SET first = twice(1, note)") }
        #expect(error?.transaction == .untouched)
        let leg = try Leg.byId(1).run(db)
        #expect(leg == Leg(1, 1, 1, "secret"))
      }
      for error in [wrong, null, invalid, result] { #expect(error?.description.contains("secret") == false) }
    }
  }

  @Test func aFunctionsErrorIsRethrownAndItsStatementUndone() throws {
    try withLegs { db in
      try db.register(
        ScalarFunction("strict") { (number: Int) in
          guard number < 3 else { throw Refusal(number: number) }
          return number
        })
      #expect(throws: Refusal(number: 3)) { try db.execute("UPDATE leg SET first = strict(id)") }
      #expect(try Leg.read().orderBy(Leg.id).run(db).map(\.first) == [10, 10, 7])
      #expect(throws: Refusal(number: 3)) { try db.query("SELECT strict(id) FROM leg", as: Int.self) }
      #expect(throws: Refusal(number: 7)) {
        try db.transaction { db -> Void in
          try Leg.deleteAll().run(db)
          _ = try db.query("SELECT strict(7)", as: Int.self)
        }
      }
      #expect(try Leg.count().run(db) == 3)
      // The error does not outlive its statement.
      #expect(sqlError { try db.execute("SELECT strict('x')") }?.message.contains("argument 1") == true)
      #expect(sqlError { try db.execute("INSERT INTO leg SELECT * FROM leg") }?.kind == .constraint(.primaryKey))
    }
  }

  @Test func aFunctionMayReadOnTheHandleThatCallsIt() throws {
    try withLegs { db in
      try db.register(
        ScalarFunction("strict") { (number: Int) in
          guard number < 3 else { throw Refusal(number: number) }
          return number
        })
      try db.register(
        ScalarFunction("looked") { [weak db] (id: Int) in
          guard let db else { return -1 }
          return try db.query("SELECT strict(id) FROM leg WHERE id = \(id)", as: Int.self).first ?? 0
        })
      try db.register(
        ScalarFunction("forgiving") { [weak db] (id: Int) in
          guard let db else { return -1 }
          do { return try db.query("SELECT strict(\(id))", as: Int.self)[0] } catch { return -id }
        })
      #expect(try db.query("SELECT looked(id) FROM leg WHERE id < 3 ORDER BY id", as: Int.self) == [1, 2])
      #expect(throws: Refusal(number: 3)) { try db.query("SELECT looked(id) FROM leg", as: Int.self) }
      #expect(try db.query("SELECT forgiving(id) FROM leg ORDER BY id", as: Int.self) == [1, 2, -3])
      #expect(sqlError { _ = try db.query("SELECT forgiving(id), nosuch(id) FROM leg", as: Int.self) } != nil)
      try db.execute("UPDATE leg SET first = looked(id) WHERE id < 3")
      #expect(try Leg.read().orderBy(Leg.id).run(db).map(\.first) == [1, 2, 7])
    }
  }

  @Test(.needs(35, "RETURNING")) func aFunctionMayNotWriteOnTheHandleThatCallsIt() throws {
    try withLegs { db in
      let attempts: [@Sendable (SqliteDatabase) throws -> Void] = [
        { db in try Leg.deleteAll().run(db) },
        { db in try Leg(9, 9, 9).insert().run(db) },
        { db in try Leg.insert([Leg(8, 9, 9), Leg(9, 9, 9)]).run(db) },
        { db in try db.execute("DELETE FROM leg") },
        { db in _ = try db.query("DELETE FROM leg RETURNING id", as: Int.self) },
        { db in try db.transaction { _ in } },
        { db in try db.beginTransaction() },
        { db in try db.commitTransaction() },
        { db in try db.rollbackTransaction() },
        { db in try db.createTable(Person.self) },
        { db in try db.register(gap) },
        { db in try db.close() },
      ]
      for (index, attempt) in attempts.enumerated() {
        try db.register(
          ScalarFunction("meddle") { [weak db] (id: Int) in
            if let db { try attempt(db) }
            return id
          })
        expectMisuse("attempt \(index)") { _ = try db.query("SELECT meddle(id) FROM leg", as: Int.self) }
        try db.beginTransaction()
        expectMisuse("attempt \(index)") { try db.execute("UPDATE leg SET first = meddle(id)") }
        #expect(db.transactionLevel == 1)
        try db.commitTransaction()
      }
      #expect(try Leg.read().orderBy(Leg.id).run(db).map(\.first) == [10, 10, 7])
    }
  }

  @Test func registeringAgainReplacesFunctionsOfCompiledStatements() throws {
    try withLegs { db in
      func register(_ factor: Int) throws {
        try db.register(ScalarFunction("scaled") { (number: Int) in number * factor })
      }
      try register(1)
      try db.register(ScalarFunction("SCALED") { (number: Int, factor: Int) in number * factor })
      let scaled = SQL("SELECT scaled(id) FROM leg ORDER BY id")
      #expect(try db.query(scaled, as: Int.self) == [1, 2, 3])
      try register(10)
      #expect(try db.query(scaled, as: Int.self) == [10, 20, 30])
      // A function with another number of arguments is a different function.
      #expect(try db.query("SELECT scaled(id, 5) FROM leg ORDER BY id", as: Int.self) == [5, 10, 15])
      var seen: [Int] = []
      try Leg.read().orderBy(Leg.id).forEach(db) { leg in
        expectMisuse { try register(100) }
        try db.register(ScalarFunction("another\(leg.id)") { 1 })
        seen += try db.query("SELECT scaled(\(leg.id))", as: Int.self)
      }
      #expect(seen == [10, 20, 30])
      try register(100)
      #expect(try db.query(scaled, as: Int.self) == [100, 200, 300])
    }
  }

  @Test func allHandlesOfADatabaseHaveTheFunctions() throws {
    try withLegs { db in
      let before = try db.createChild()
      let other = try SqliteDatabase(filepath: db.filepath)
      try db.register(ScalarFunction("version") { 1 })
      let after = try db.createChild()
      let grandchild = try before.createChild()
      func versions() throws -> [Int] {
        try [db, before, after, grandchild].flatMap { try $0.query("SELECT version()", as: Int.self) }
      }
      #expect(try versions() == [1, 1, 1, 1])
      let missing = sqlError { _ = try other.query("SELECT version()", as: Int.self) }
      let message = """
        no such function: version; register a function of the program with register(_:) on the handle or pool, before \
        its first use
        """
      #expect(missing?.message == message)
      #expect(missing?.kind == .misuse(message))
      // A registration on a child reaches the others. A handle that reads rows gets the function after the read.
      var seen: [Int] = []
      try Leg.read().limit(1).forEach(after) { _ in
        seen += try after.query("SELECT version()", as: Int.self)
        try grandchild.register(ScalarFunction("version") { 2 })
        seen += try after.query("SELECT version()", as: Int.self)
      }
      #expect(seen == [1, 1])
      #expect(try versions() == [2, 2, 2, 2])
      try db.close()
      try grandchild.register(ScalarFunction("version") { 3 })
      #expect(try before.query("SELECT version()", as: Int.self) == [3])
      expectError(.closed) { try db.register(gap) }
    }
  }

  @Test func aPreparedStatementCallsTheNewestFunction() throws {
    try withLegs { db in
      try db.register(ScalarFunction("gap") { (_: Double, _: Double?) in 1.0 as Double? })
      let child = try db.createChild()
      let prepared = try child.prepare(Leg.count().filter(gap(Leg.first, Leg.second) == Parameter<Double?>("gap")))
      #expect(try prepared.run(["gap": 1]) == 3)
      try db.register(gap)
      #expect(try prepared.run(["gap": 1]) == 0)
      #expect(try prepared.run(["gap": 40]) == 1)
    }
  }

  @Test func theSchemaCallsOnlyFunctionsAllowedInIt() throws {
    try withDatabase { db in
      try db.register(ScalarFunction("private_even", isDeterministic: true) { (number: Int) in number % 2 == 0 })
      try db.register(
        ScalarFunction("even", isDeterministic: true, isAllowedInSchema: true) { (number: Int) in number % 2 == 0 })
      try db.register(ScalarFunction("vague_even", isAllowedInSchema: true) { (number: Int) in number % 2 == 0 })
      try db.execute("CREATE TABLE a (x INTEGER CHECK (even(x)), half AS (even(x / 2)) STORED)")
      try db.execute("CREATE INDEX a_even ON a (even(x))")
      try db.execute("INSERT INTO a (x) VALUES (4)")
      expectError(.constraint(.check)) { try db.execute("INSERT INTO a (x) VALUES (3)") }
      #expect(try db.query("SELECT half FROM a WHERE even(x) = 1", as: Bool.self) == [true])
      for function in ["private_even", "vague_even"] {
        expectSqlError { try db.execute(SQL(verbatim: "CREATE INDEX bad ON a (\(function)(x))")) }
      }
      try db.execute("CREATE VIEW secret AS SELECT private_even(x) FROM a")
      let unsafe = sqlError { _ = try db.query("SELECT * FROM secret", as: Bool.self) }
      #expect(unsafe?.message.hasPrefix("unsafe use of private_even() in the schema") == true)
    }
  }

  @Test func invalidNamesAreRefused() throws {
    try withLegs { db in
      for name in ["", "a\0b", String(repeating: "a", count: 256)] {
        expectMisuse { try db.register(ScalarFunction(name) { 1 }) }
        expectMisuse { try db.register(Collation(name) { $0.compare($1) }) }
      }
      for name in [String(repeating: "a", count: 255), "a \"quoted\" näme; --"] {
        let function = ScalarFunction(name) { (number: Int) in number }
        try db.register(function)
        #expect(try Leg.select(function(Leg.id)).limit(1).run(db) == [1])
      }
      for name in ["BINARY", "nocase", "RTrim"] { expectMisuse { try db.register(Collation(name) { $0.compare($1) }) } }
    }
  }

  @Test func capturedValuesAreFreedWithTheLastHandle() throws {
    final class Held: Sendable {}
    try withDatabase { db in
      weak var held: Held?
      weak var replaced: Held?
      func register(_ held: Held) throws {
        // The function captures the handle too, which must not keep a closed handle alive.
        try db.register(ScalarFunction("held") { withExtendedLifetime((held, db)) { 1 } })
      }
      try {
        let (first, second) = (Held(), Held())
        (replaced, held) = (first, second)
        try register(first)
        #expect(try db.query("SELECT held()", as: Int.self) == [1])
        try register(second)
      }()
      #expect(replaced == nil)
      let child = try db.createChild()
      try db.close()
      #expect(held != nil)
      #expect(try child.query("SELECT held()", as: Int.self) == [1])
      try child.close()
      #expect(held == nil)
    }
  }

  /// A statement that calls a function holds a snapshot, and the function reads from that snapshot.
  @Test func aFunctionReadsAssociatedRowsOnItsHandle() throws {
    try withSchool { db in
      let cost = ScalarFunction("cost_of") { [db] (person: Int) in
        let people = Person.read().filter(Person.id == person).including(Person.bikes.including(Bicycle.repairs))
        return try people.run(db).flatMap { $0.1.flatMap(\.1) }.map(\.cost).reduce(0, +)
      }
      try db.register(cost)
      #expect(try Person.select(cost(Person.id)).orderBy(Person.id).run(db) == [75, 90, 0])
      try db.transaction { db in
        try Repair.updateAll(Repair.cost.set(to: 1)).run(db)
        #expect(try db.query("SELECT cost_of(1)", as: Int.self) == [3])
      }
    }
  }

  @Test func functionsRunOnFourThreads() throws {
    try withLegs((1...1_000).map { Leg($0, Double($0), Double($0 * 3)) }) { db in
      let results = Mutex<[Int]>([])
      let children = try (0..<4).map { _ in try db.createChild() }
      onThreads(4) { index in
        do {
          try children[index].register(gap)
          for round in 1...5 {
            try children[index].register(ScalarFunction("own\(index)") { round })
            let far = try Leg.read().filter(gap(Leg.first, Leg.second) > 1_000).run(children[index])
            let own = try children[index].query(SQL(verbatim: "SELECT own\(index)()"), as: Int.self)
            results.withLock { $0 += [far.count, own[0] - round] }
          }
        } catch { Issue.record(error) }
      }
      #expect(results.withLock { $0.filter { $0 == 500 }.count } == 20)
      #expect(results.withLock { $0.filter { $0 == 0 }.count } == 20)
      #expect(try db.query("SELECT own0() + own1() + own2() + own3()", as: Int.self) == [20])
    }
  }
}
