import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct UserFunctionTests {
  @Test func functionsRefuseColumnsThatTheyWouldMisread() throws {
    try withDatabase { db in
      try db.register(secondsOf)
      try db.register(lastDate)
      try db.createTable(Stay.self)
      try Stay(id: 1, at: Date(timeIntervalSince1970: 1)).insert().run(db)
      let typed = expectInvalidStatement { _ = try Stay.select(secondsOf(Stay.milliseconds)).run(db) }
      let untyped = expectInvalidStatement { _ = try Stay.select(secondsOf(Stay.milliseconds.column)).run(db) }
      let aggregate = expectInvalidStatement { _ = try Stay.select(lastDate(Stay.milliseconds)).run(db) }
      #expect(
        typed?.message
          == "function seconds_of takes dates in seconds, but the column stores milliseconds; use seconds(since:)")
      #expect(untyped?.column == "milliseconds")
      #expect(
        aggregate?.message
          == "function last_date takes dates in seconds, but the column stores milliseconds; use seconds(since:)")
    }
  }

  @Test func aCallIsATermOfItsType() throws {
    try withSamples { db in
      try db.register(gap)
      let far = Sample.select(Sample.id).filter(gap(Sample.real, Sample.weight) > 30)
      #expect(far.sql == #"SELECT "id" FROM "sample" WHERE "gap"("real", "weight") > ?"#)
      #expect(try far.run(db) == [1])
      #expect(
        try Sample.read().orderBy(gap(Sample.real, Sample.weight), .desc).run(db).map(\.id) == [1, 2, 3])
      let pairs = Sample.select(Sample.id, gap(Sample.real, Sample.weight)).orderBy(Sample.id)
      #expect(try pairs.run(db).map(\.1) == [40, 5, nil])
      // The function works in raw SQL and with untyped columns.
      #expect(try db.query("SELECT GAP(real, weight) FROM sample ORDER BY id", as: Double?.self) == [40, 5, nil])
      #expect(try Sample.count().filter(gap(Sample.real.column, Sample.weight.column) == 5).run(db) == 1)
      expectInvalidStatement { _ = try Sample.count().filter(gap(Sample.real.column) == 5).run(db) }
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
    try withSamples([Sample(id: 1, text: "secret", real: 1, weight: 1)]) { db in
      try db.register(ScalarFunction("twice") { (_: Int, value: Int) in value * 2 })
      let wrong = sqlError { _ = try db.query("SELECT twice(1, text) FROM sample", as: Int.self) }
      #expect(wrong?.kind == .decoding(.init(expected: "INTEGER", found: "TEXT")))
      #expect(wrong?.message == "argument 2 of function twice takes INTEGER, but was given TEXT")
      #expect(wrong?.sql == "SELECT twice(1, text) FROM sample")
      let null = sqlError { _ = try db.query("SELECT twice(NULL, 1)", as: Int.self) }
      #expect(null?.message == "argument 1 of function twice takes INTEGER, but was given NULL")
      try db.register(ScalarFunction("text") { (value: String) in value })
      let invalid = sqlError { _ = try db.query("SELECT text(CAST(x'ff' AS TEXT))", as: String.self) }
      #expect(invalid?.message == "argument 1 of function text takes TEXT, but was given TEXT that is not valid UTF-8")
      try db.register(ScalarFunction("vague") { Double.nan })
      let result = sqlError { _ = try db.query("SELECT vague()", as: Double.self) }
      #expect(result?.message == "function vague returned a value that SQLite can't store")
      try db.transaction { db -> Void in
        let error = sqlError { try db.execute("UPDATE sample SET real = twice(1, text)") }
        #expect(error?.transaction == .untouched)
        let sample = try Sample.byId(1).run(db)
        #expect(sample == Sample(id: 1, text: "secret", real: 1, weight: 1))
      }
      for error in [wrong, null, invalid, result] { #expect(error?.description.contains("secret") == false) }
    }
  }

  @Test func aFunctionsErrorIsRethrownAndItsStatementUndone() throws {
    try withSamples { db in
      try db.register(
        ScalarFunction("strict") { (number: Int) in
          guard number < 3 else { throw Refusal(number: number) }
          return number
        })
      #expect(throws: Refusal(number: 3)) { try db.execute("UPDATE sample SET real = strict(id)") }
      #expect(try Sample.read().orderBy(Sample.id).run(db).map(\.real) == [10, 10, 7])
      #expect(throws: Refusal(number: 3)) { try db.query("SELECT strict(id) FROM sample", as: Int.self) }
      #expect(throws: Refusal(number: 7)) {
        try db.transaction { db -> Void in
          try Sample.deleteAll().run(db)
          _ = try db.query("SELECT strict(7)", as: Int.self)
        }
      }
      #expect(try Sample.count().run(db) == 3)
      // The error does not outlive its statement.
      #expect(sqlError { try db.execute("SELECT strict('x')") }?.message.contains("argument 1") == true)
      #expect(sqlError { try db.execute("INSERT INTO sample SELECT * FROM sample") }?.kind == .constraint(.primaryKey))
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
    try withSamples { db in
      for name in ["", "a\0b", String(repeating: "a", count: 256)] {
        expectMisuse { try db.register(ScalarFunction(name) { 1 }) }
        expectMisuse { try db.register(Collation(name) { $0.compare($1) }) }
      }
      for name in [String(repeating: "a", count: 255), "a \"quoted\" näme; --"] {
        let function = ScalarFunction(name) { (number: Int) in number }
        try db.register(function)
        #expect(try Sample.select(function(Sample.id)).limit(1).run(db) == [1])
      }
      for name in ["BINARY", "nocase", "RTrim"] { expectMisuse { try db.register(Collation(name) { $0.compare($1) }) } }
    }
  }

  /// A statement that calls a function holds a snapshot, and the function reads from that snapshot.
}
