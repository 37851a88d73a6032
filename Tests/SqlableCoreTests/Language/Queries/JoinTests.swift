import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Joins of two to eight tables in one expression, and the tuples that they return.
@Suite struct JoinTests {
  private let b = Alias(Worker.self, "b")
  private let c = Alias(Worker.self, "c")
  private let d = Alias(Worker.self, "d")
  private let e = Alias(Worker.self, "e")
  private let f = Alias(Worker.self, "f")

  /// A condition that the alias has the same id as the first table.
  private func same(_ alias: Alias<Worker>) -> SqlExpression { alias[Worker.id] == Worker.id }
  /// A condition that the alias has the next id after the first table.
  private func next(_ alias: Alias<Worker>) -> SqlExpression { alias[Worker.id] == Worker.id + 1 }

  @Test func eachAliasedJoinAddsATupleElement() throws {
    try withCompany { db in
      let two = try Worker.join(b, on: next(b)).run(db).map { [$0.0.id, $0.1.id] }
      #expect(two == [[1, 2], [2, 3], [3, 4]])
      let three = try Worker.join(b, on: same(b)).join(c, on: next(c)).run(db).map { [$0.0.id, $0.1.id, $0.2.id] }
      #expect(three == [[1, 1, 2], [2, 2, 3], [3, 3, 4]])
      let six = Worker.join(b, on: same(b)).join(c, on: same(c)).join(d, on: same(d)).join(e, on: same(e))
        .join(f, on: next(f))
      #expect(
        six.select(Worker.id).sql
          == #"""
          SELECT "worker"."id" FROM "worker" JOIN "worker" AS "b" ON "b"."id" = "worker"."id" \#
          JOIN "worker" AS "c" ON "c"."id" = "worker"."id" \#
          JOIN "worker" AS "d" ON "d"."id" = "worker"."id" \#
          JOIN "worker" AS "e" ON "e"."id" = "worker"."id" \#
          JOIN "worker" AS "f" ON "f"."id" = "worker"."id" + ?
          """#)
      let rows = try six.run(db)
      let ids = rows.map { [$0.0.id, $0.1.id, $0.2.id, $0.3.id, $0.4.id, $0.5.id] }
      #expect(ids == [[1, 1, 1, 1, 1, 2], [2, 2, 2, 2, 2, 3], [3, 3, 3, 3, 3, 4]])
    }
  }

  @Test func aLeftJoinGivesNilInAnyPosition() throws {
    try withCompany { db in
      let two = try Worker.leftJoin(b, on: next(b)).run(db).map { $0.1?.id }
      #expect(two == [2, 3, 4, nil])
      let three = try Worker.leftJoin(b, on: next(b)).leftJoin(c, on: same(c)).run(db).map { [$0.1?.id, $0.2?.id] }
      #expect(three == [[2, 1], [3, 2], [4, 3], [nil, 4]])
      let six = try Worker.leftJoin(b, on: next(b)).leftJoin(c, on: next(c)).leftJoin(d, on: next(d))
        .leftJoin(e, on: next(e)).leftJoin(f, on: same(f)).filter(Worker.id > 2).run(db)
      #expect(
        six.map { [$0.1?.id, $0.2?.id, $0.3?.id, $0.4?.id, $0.5?.id] } == [[4, 4, 4, 4, 3], [nil, nil, nil, nil, 4]])
    }
  }

  @Test func aCrossJoinGivesEveryRowWithEveryOther() throws {
    try withCompany { db in
      let two = try Worker.crossJoin(b).orderBy(Worker.id).orderBy(b[Worker.id]).run(db).map { [$0.0.id, $0.1.id] }
      #expect(two == (1...4).flatMap { first in (1...4).map { [first, $0] } })
      let six = Worker.crossJoin(b).crossJoin(c).crossJoin(d).crossJoin(e).crossJoin(f)
      #expect(try six.count(db) == 4096)
      let row = try six.filter(next(f)).orderBy(Worker.id, .desc).first(db)
      #expect(row?.0.id == 3)
      #expect(row?.5.id == 4)
    }
  }

  @Test func modelsAreJoinedToAnyNumberOfTables() throws {
    try withCompany { db in
      let one = b.read()
      let isSame = Worker.id == b[Worker.id]
      let (two, three) = (one.crossJoin(c), one.crossJoin(c).crossJoin(d))
      let (four, five) = (three.crossJoin(e), three.crossJoin(e).crossJoin(f))
      let same2 = try one.join(Worker.self, on: isSame).run(db).filter { $0.0 == $0.1 }.count
      let same3 = try two.join(Worker.self, on: isSame).run(db).filter { $0.0 == $0.2 }.count
      let rows4 = try three.join(Worker.self, on: isSame).run(db)
      let rows5 = try four.join(Worker.self, on: isSame).run(db)
      let rows6 = try five.join(Worker.self, on: isSame).run(db)
      let joined = [
        rows4.filter { $0.0 == $0.3 }.count, rows5.filter { $0.0 == $0.4 }.count, rows6.filter { $0.0 == $0.5 }.count,
      ]
      let same = [same2, same3] + joined
      let isFar = Worker.id == b[Worker.id] + 3
      let absent2 = try one.leftJoin(Worker.self, on: isFar).run(db).filter { $0.1 == nil }.count
      let absent3 = try two.leftJoin(Worker.self, on: isFar).run(db).filter { $0.2 == nil }.count
      let left4 = try three.leftJoin(Worker.self, on: isFar).run(db)
      let left5 = try four.leftJoin(Worker.self, on: isFar).run(db)
      let left6 = try five.leftJoin(Worker.self, on: isFar).run(db)
      let unmatched = [
        left4.filter { $0.3 == nil }.count, left5.filter { $0.4 == nil }.count, left6.filter { $0.5 == nil }.count,
      ]
      let absent = [absent2, absent3] + unmatched
      let crossed2 = try one.crossJoin(Worker.self).run(db).filter { $0.0 == $0.1 }.count
      let crossed3 = try two.crossJoin(Worker.self).run(db).filter { $0.0 == $0.2 }.count
      let pairs4 = try three.crossJoin(Worker.self).run(db)
      let pairs5 = try four.crossJoin(Worker.self).run(db)
      let pairs6 = try five.crossJoin(Worker.self).run(db)
      let equal = [
        pairs4.filter { $0.0 == $0.3 }.count, pairs5.filter { $0.0 == $0.4 }.count,
        pairs6.filter { $0.0 == $0.5 }.count,
      ]
      let crossed = [crossed2, crossed3] + equal
      #expect(same == [4, 16, 64, 256, 1024])
      #expect(crossed == same)
      #expect(absent == [3, 12, 48, 192, 768])
    }
  }

  @Test(.needs(39, "a FULL JOIN")) func rowsOfMoreThanSixModelsAreTuples() throws {
    try withCompany { db in
      let five = Worker.join(b, on: same(b)).join(c, on: same(c)).join(d, on: same(d)).join(e, on: same(e))
      let (g, h) = (Alias(Worker.self, "g"), Alias(Worker.self, "h"))
      let eight = five.join(f, on: same(f)).join(g, on: same(g)).leftJoin(h, on: next(h)).orderBy(Worker.id)
      let rows = try eight.run(db)
      #expect(rows.map { $0.6.id } == [1, 2, 3, 4])
      #expect(rows.map { $0.7?.id } == [2, 3, 4, nil])
      let full = five.join(f, on: same(f)).fullJoin(g, on: next(g))
      let last = try full.run(db)
      #expect(last.filter { $0.0 == nil }.map { $0.6?.id } == [1])
      #expect(last.filter { $0.6 == nil }.map { $0.5?.id } == [4])
    }
  }

  @Test func selectedTermsAreTupleElementsByPosition() throws {
    try withCompany { db in
      let (id, name, salary) = (Worker.id, Worker.name, Worker.salary)
      let ben = Worker.read().filter(id == 2)
      #expect(try Worker.select(id, name).orderBy(id).first(db)?.1 == "Ada")
      #expect(try ben.select(id, name).first(db)?.1 == "Ben")
      #expect(try Worker.select(id, id, name).run(db).map(\.2) == ["Ada", "Ben", "Cleo", "Dan"])
      #expect(try ben.select(id, id, name).first(db)?.2 == "Ben")
      let found1 = try Worker.select(id, id, id, name).run(db).map { $0.3 }
      #expect(found1 == ["Ada", "Ben", "Cleo", "Dan"])
      #expect(try ben.select(id, id, id, name).first(db)?.3 == "Ben")
      let found2 = try Worker.select(id, id, id, name, salary).run(db).map { $0.4 }
      #expect(found2 == [10, 5, 7, 5])
      #expect(try ben.select(id, id, id, name, salary).first(db)?.4 == 5)
      let found3 = try Worker.select(id, id, id, id, name, salary).run(db).map { $0.5 }
      #expect(found3 == [10, 5, 7, 5])
      #expect(try ben.select(id, id, id, id, name, salary).first(db)?.5 == 5)
      let seven = try Worker.select(id, id, id, id, id, name, salary).run(db)
      #expect(seven.map(\.6) == [10, 5, 7, 5])
      let one = try ben.select(id, id, id, id, id, name, salary).run(db)
      #expect(one.map(\.5) == ["Ben"])
    }
  }

  @Test func aNamedQueryIsLeftJoined() throws {
    try withCompany { db in
      let teams = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("team")
      let (boss, size) = teams.columns
      let sizes = Worker.read().leftJoining(teams, on: Worker.id == boss).select(Worker.name, size.typed(as: Int?.self))
        .orderBy(Worker.id)
      let sizesFound = try sizes.run(db).map(\.1)
      #expect(sizesFound == [2, 1, nil, nil])
      #expect(sizes.sql.contains(#"FROM "worker" LEFT JOIN "team" ON "worker"."id" = "team"."c1""#))
    }
  }

  @Test func aTermOfAnUnmatchedLeftJoinThrowsAHint() throws {
    try withCompany { db in
      let teams = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("team")
      let (boss, size) = teams.columns
      let all = Worker.read().leftJoining(teams, on: Worker.id == boss).orderBy(Worker.id)
      let error = expectInvalidStatement { _ = try all.select(size * 2).run(db) }
      #expect(error?.message == "a left join may find no row of team; select the term as an optional with typed(as:)")
      // The library does not parse the terms in SQL text.
      let doubled = all.select(SqlExpression(sql: "\(size) * 2").typed(as: Int.self))
      let joined = expectDecoding("INTEGER", "NULL") { _ = try doubled.run(db) }
      let hint = "; if a left join found no row, read the column as an optional with typed(as:)"
      #expect(joined?.message.hasSuffix(hint) == true)
      let other = expectDecoding("INTEGER", "NULL") { _ = try db.query("SELECT NULL", as: Int.self) }
      #expect(other?.message.contains("left join") == false)
    }
  }

  @Test func anUntypedQueryIsAScalarValue() throws {
    try withCompany { db in
      let dearest = Worker.read().filter(
        Worker.salary.expression == scalar(Worker.select(Worker.salary.max().expression)))
      #expect(try dearest.run(db).map(\.name) == ["Ada"])
      expectInvalidStatement {
        _ = try Worker.read().filter(Worker.id == scalar(Worker.select(Worker.id.column, Worker.name.column))).run(db)
      }
      let all = [
        Worker.select(Worker.name).untyped,
        Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).untyped,
      ]
      let found4 = try all.map { try $0.first(db)?.values.count }
      #expect(found4 == [1, 6])
    }
  }
}
