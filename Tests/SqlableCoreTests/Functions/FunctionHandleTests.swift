import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Functions of the program and the handles that call them.
@Suite struct FunctionHandleTests {
  @Test func aFunctionMayReadOnTheHandleThatCallsIt() throws {
    try withSamples { db in
      try db.register(
        ScalarFunction("strict") { (number: Int) in
          guard number < 3 else { throw Refusal(number: number) }
          return number
        })
      try db.register(
        ScalarFunction("looked") { [weak db] (id: Int) in
          guard let db else { return -1 }
          return try db.query("SELECT strict(id) FROM sample WHERE id = \(id)", as: Int.self).first ?? 0
        })
      try db.register(
        ScalarFunction("forgiving") { [weak db] (id: Int) in
          guard let db else { return -1 }
          do { return try db.query("SELECT strict(\(id))", as: Int.self)[0] } catch { return -id }
        })
      #expect(try db.query("SELECT looked(id) FROM sample WHERE id < 3 ORDER BY id", as: Int.self) == [1, 2])
      #expect(throws: Refusal(number: 3)) { try db.query("SELECT looked(id) FROM sample", as: Int.self) }
      #expect(try db.query("SELECT forgiving(id) FROM sample ORDER BY id", as: Int.self) == [1, 2, -3])
      #expect(sqlError { _ = try db.query("SELECT forgiving(id), nosuch(id) FROM sample", as: Int.self) } != nil)
      try db.execute("UPDATE sample SET real = looked(id) WHERE id < 3")
      #expect(try Sample.read().orderBy(Sample.id).run(db).map(\.real) == [1, 2, 7])
    }
  }

  @Test(.needs(35, "RETURNING")) func aFunctionMayNotWriteOnTheHandleThatCallsIt() throws {
    try withSamples { db in
      let attempts: [@Sendable (SqliteDatabase) throws -> Void] = [
        { db in try Sample.deleteAll().run(db) },
        { db in try Sample(id: 9).insert().run(db) },
        { db in try Sample.insert([Sample(id: 8), Sample(id: 9)]).run(db) },
        { db in try db.execute("DELETE FROM sample") },
        { db in _ = try db.query("DELETE FROM sample RETURNING id", as: Int.self) },
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
        expectMisuse("attempt \(index)") { _ = try db.query("SELECT meddle(id) FROM sample", as: Int.self) }
        try db.beginTransaction()
        expectMisuse("attempt \(index)") { try db.execute("UPDATE sample SET real = meddle(id)") }
        #expect(db.transactionLevel == 1)
        try db.commitTransaction()
      }
      #expect(try Sample.read().orderBy(Sample.id).run(db).map(\.real) == [10, 10, 7])
    }
  }

  @Test func registeringAgainReplacesFunctionsOfCompiledStatements() throws {
    try withSamples { db in
      func register(_ factor: Int) throws {
        try db.register(ScalarFunction("scaled") { (number: Int) in number * factor })
      }
      try register(1)
      try db.register(ScalarFunction("SCALED") { (number: Int, factor: Int) in number * factor })
      let scaled = SQL("SELECT scaled(id) FROM sample ORDER BY id")
      #expect(try db.query(scaled, as: Int.self) == [1, 2, 3])
      try register(10)
      #expect(try db.query(scaled, as: Int.self) == [10, 20, 30])
      // A function with another number of arguments is a different function.
      #expect(try db.query("SELECT scaled(id, 5) FROM sample ORDER BY id", as: Int.self) == [5, 10, 15])
      var seen: [Int] = []
      try Sample.read().orderBy(Sample.id).forEach(db) { leg in
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
    try withSamples { db in
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
        no such function: version; if the program defines this function, call register(_:) on the handle or pool \
        before its first use
        """
      #expect(missing?.message == message)
      #expect(missing?.kind == .misuse(message))
      // A registration on a child reaches the others. A handle that reads rows gets the function after the read.
      var seen: [Int] = []
      try Sample.read().limit(1).forEach(after) { _ in
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
    try withSamples { db in
      try db.register(ScalarFunction("gap") { (_: Double, _: Double?) in 1.0 as Double? })
      let child = try db.createChild()
      let prepared = try child.prepare(
        Sample.count().filter(gap(Sample.real, Sample.weight) == Parameter<Double?>("gap")))
      #expect(try prepared.run(["gap": 1]) == 3)
      try db.register(gap)
      #expect(try prepared.run(["gap": 1]) == 0)
      #expect(try prepared.run(["gap": 40]) == 1)
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
    try withSamples((1...1_000).map { Sample(id: $0, real: Double($0), weight: Double($0 * 3)) }) { db in
      let results = Mutex<[Int]>([])
      let children = try (0..<4).map { _ in try db.createChild() }
      onThreads(4) { index in
        do {
          try children[index].register(gap)
          for round in 1...5 {
            try children[index].register(ScalarFunction("own\(index)") { round })
            let far = try Sample.read().filter(gap(Sample.real, Sample.weight) > 1_000).run(children[index])
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
