import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Conditions of many terms joined by AND or OR.
@Suite struct TermChainTests {
  private func conditions(_ count: Int) -> [SqlExpression] { (0..<count).map { Bicycle.id != $0 } }

  @Test func aConditionGrowsInLinearTime() {
    let all = conditions(16_000)
    let ands = growth(from: 2_000) { count in
      var condition = all[0]
      for next in all[1..<count] { condition = condition && next }
      #expect(condition != all[0])
    }
    let ors = growth(from: 2_000) { count in
      var condition = all[0]
      for next in all[1..<count] { condition = condition || next }
      #expect(condition != all[0])
    }
    let filters = growth(from: 2_000) { count in
      var query = Bicycle.read()
      for next in all[..<count] { query = query.filter(next) }
      #expect(!query.sql.isEmpty)
    }
    #expect(ands < 28)
    #expect(ors < 28)
    #expect(filters < 28)
  }

  @Test func conditionsWithTheSameFirstTermsDiffer() throws {
    let first = conditions(40)
    let common = first.dropFirst().reduce(first[0]) { $0 && $1 }
    let (red, blue) = (common && Bicycle.color == "red", common && Bicycle.color == "blue")
    let last = red && blue
    #expect(red != blue)
    #expect(red == .all(first + [Bicycle.color == "red"]))
    #expect(blue == .all(first + [Bicycle.color == "blue"]))
    #expect(last == .all(first + [Bicycle.color == "red"] + first + [Bicycle.color == "blue"]))
    #expect(common == .all(first))
    #expect(common.hashValue == SqlExpression.all(first).hashValue)
  }

  @Test func threadsMayExtendOneCondition() {
    let first = conditions(20)
    let common = first.dropFirst().reduce(first[0]) { $0 || $1 }
    let failures = Failures()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<200 {
        let own = (0..<30).map { Bicycle.id == thread * 100_000 + number * 100 + $0 }
        let condition = own.reduce(common) { $0 || $1 }
        if condition != .any(first + own) { failures.add() }
      }
    }
    #expect(failures.count == 0)
  }

  @Test(arguments: [16, 17, 100, 101, 10_001])
  func sqliteCompilesAConditionOfManyTerms(_ count: Int) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(id: -1, name: "a", color: "red").insert().run(db)
      let all = conditions(count)
      let condition = all.dropFirst().reduce(all[0]) { $0 && $1 }
      #expect(try Bicycle.read().filter(condition).run(db).count == 1)
      #expect(try Bicycle.read().filter(!condition).run(db).isEmpty)
    }
  }

  @Test func aQueryOfManyPartsIsWrittenInLinearTime() {
    let queries = Dictionary(
      uniqueKeysWithValues: [60, 480].map { count in
        let parts = (1..<count).map { id in Worker.select(Worker.id).filter(Worker.id == id) }
        return (count, parts.reduce(Worker.select(Worker.id)) { $0.unionAll($1) })
      })
    let written = growth(from: 60) { count in #expect(queries[count]?.sql.isEmpty == false) }
    #expect(written < 28)
  }
}

private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private(set) var count = 0

  func add() { lock.withLock { count += 1 } }
}
