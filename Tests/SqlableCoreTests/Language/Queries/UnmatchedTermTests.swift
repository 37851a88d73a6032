import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Terms of tables that an outer join may leave unmatched.
@Suite struct UnmatchedTermTests {
  private let boss = Alias(Worker.self, "boss")
  private var joined: Select<Worker> {
    Worker.read().leftJoining(boss, on: boss[Worker.id] == Worker.bossId).orderBy(Worker.id)
  }

  @Test func termsThatAreNullWithoutAMatchAreRefused() throws {
    let message = "a left join may find no row of boss; select the term as an optional with typed(as:)"
    let name = boss[Worker.name]
    try withCompany { db in
      let matched = joined.filter(Worker.bossId.isNotNull)
      for term in [
        name.uppercase(),
        name.trim(),
        name.replace("a", with: "b"),
        Case.when(Worker.salary > 5, then: name).else("little"),
        Case.when(name == "Ada", then: "first").else(name),
      ] {
        #expect(sqlError { _ = try matched.select(term).run(db) }?.kind == .invalidStatement(message))
        #expect(sqlError { _ = try matched.select(Worker.id, term).run(db) }?.table == "worker")
        let names = try joined.select(term.typed(as: String?.self)).run(db)
        #expect(names.count == 4)
      }
      let sum = boss[Worker.id] + 1
      #expect(sqlError { _ = try matched.select(sum).run(db) }?.kind == .invalidStatement(message))
      let length = name.length()
      #expect(sqlError { _ = try matched.select(length).run(db) }?.kind == .invalidStatement(message))
      let found = try joined.select(sum.typed(as: Int?.self)).run(db)
      try #require(found.count == 4)
      #expect(found[0] == nil)
    }
  }

  @Test func termsThatHaveAValueWithoutAMatchAreRead() throws {
    let name = boss[Worker.name]
    try withCompany { db in
      let terms = [
        Case.when(name.isNull, then: "none").else(name.uppercase()),
        Case.when(name.isNotNull, then: name).else("none"),
        Case.when(name == "Ada", then: "first").else("other"),
        name.uppercase().coalesce(TypedExpression("none")),
        name.hex(),
        Worker.name.uppercase(),
      ]
      for term in terms {
        let found: [String] = try joined.select(term).run(db)
        #expect(found.count == 4)
      }
      let counts: [Int] = try joined.select(boss[Worker.id].count()).groupBy(Worker.id).run(db)
      #expect(counts == [0, 1, 1, 1])
    }
  }

  @Test func theOrderOfSelectAndJoinMakesNoDifference() throws {
    let (name, isTheirs) = (boss[Worker.name], boss[Worker.id] == Worker.bossId)
    try withCompany { db in
      let names = Worker.select(Worker.id, Worker.name)
      let refused: [Select<(Int, String)>] = [
        Worker.read().select(Worker.id, name.uppercase()).leftJoining(boss, on: isTheirs),
        Worker.read().select(Worker.id, name).leftJoining(boss, on: isTheirs),
      ]
      for query in refused {
        #expect(sqlError { _ = try query.run(db) }?.message.contains("join may find no row of") == true)
      }
      let rows = try names.leftJoining(boss, on: isTheirs).run(db)
      #expect(rows.count == 4)
      let optional = Worker.read().select(name.typed(as: String?.self))
      #expect(try optional.leftJoining(boss, on: isTheirs).run(db).count == 4)
      let required = Worker.read().select(name)
      #expect(required.untyped == optional.untyped)
      #expect(required.untyped.hashValue == optional.untyped.hashValue)
      let untyped = try Worker.read().select(Worker.id, name).untyped.leftJoining(boss, on: isTheirs).run(db)
      #expect(untyped.count == 4)
    }
  }

  @Test func tablesThatAreUnmatchedTogetherAreNullTogether() throws {
    let other = Alias(Worker.self, "other")
    try withCompany { db in
      let both = joined.leftJoining(other, on: other[Worker.id] == boss[Worker.bossId])
      let either = boss[Worker.name].coalesce(other[Worker.name])
      let error = sqlError { _ = try both.select(either).run(db) }
      #expect(error?.message.hasPrefix("a left join may find no row of boss") == true)
    }
  }
}
