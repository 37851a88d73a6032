import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Rows that mix models, columns and terms.
@Suite struct MixedRowTests {
  /// A worker that reads its columns by name.
  private struct Named: Sqlable {
    let id: Int
    let name: String
    static let tableName = "worker"
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let tableLayout = [id.column, name.column]

    init(row: ReadRow) throws {
      id = try row.get("id")
      name = try row.get("name")
      #expect(throws: SqlError.self) { try row.get("salary", as: Double.self) }
    }
  }

  private let boss = Alias(Worker.self, "boss")

  /// Bosses with the size of their team: Ada leads Ben and Cleo, Ben leads Dan.
  private var teams: Select<(Worker, Int)> {
    Worker.join(boss, on: boss[Worker.id] == Worker.bossId).select(boss, Worker.id.count()).groupBy(boss[Worker.id])
      .orderBy(boss[Worker.id])
  }

  @Test func aModelIsSelectedWithAnAggregateOfItsGroup() throws {
    let counted = Worker.select(Worker.self, Worker.id.count()).groupBy(Worker.bossId).orderBy(Worker.id)
    #expect(
      counted.sql
        == #"SELECT "id", "name", "boss_id", "salary", count("id") FROM "worker" GROUP BY "boss_id" ORDER BY "id""#)
    try withCompany { db in
      let rows: [(Worker, Int)] = try counted.run(db)
      #expect(rows.map(\.1) == [1, 2, 1])
      #expect(rows.map(\.0.id) == [1, 2, 4])
    }
  }

  @Test func modelsAndTermsMayBeSelectedInAnyOrder() throws {
    try withCompany { db in
      let query = Worker.join(boss, on: boss[Worker.id] == Worker.bossId).orderBy(Worker.id)
      let first = try query.select(Worker.name, boss).run(db)
      #expect(first.map(\.0) == ["Ben", "Cleo", "Dan"])
      #expect(first.map(\.1.name) == ["Ada", "Ada", "Ben"])
      let middle = try query.select(Worker.id, boss, Worker.name.uppercase()).run(db)
      #expect(middle.map(\.0) == [2, 3, 4])
      #expect(middle.map(\.1.id) == [1, 1, 2])
      #expect(middle.map(\.2) == ["BEN", "CLEO", "DAN"])
      let two = try query.select(boss, Worker.id * 10, ModelRow(Worker.self)).run(db)
      #expect(two.map(\.0.id) == [1, 1, 2])
      #expect(two.map(\.1) == [20, 30, 40])
      #expect(two.map(\.2.id) == [2, 3, 4])
      let last = try query.select(Worker.id, Worker.id, Worker.id, Worker.id, Worker.id, ModelRow(Worker.self)).run(db)
      #expect(last.map(\.5.name) == ["Ben", "Cleo", "Dan"])
    }
  }

  @Test func aModelReadsItsColumnsByName() throws {
    try withCompany { db in
      let boss = Alias(Named.self, "boss")
      let pairs = try Worker.join(boss, on: boss[Named.id] == Worker.bossId).orderBy(Worker.id).run(db)
      #expect(pairs.map(\.0.name) == ["Ben", "Cleo", "Dan"])
      #expect(pairs.map(\.1.name) == ["Ada", "Ada", "Ben"])
      #expect(pairs.map(\.1.id) == [1, 1, 2])
      let both = try Named.join(boss, on: boss[Named.id] < Named.id).filter(Named.id == 2).run(db)
      #expect(both.map(\.0.name) == ["Ben"])
      #expect(both.map(\.1.name) == ["Ada"])
      let text: SQL = "SELECT 'x' AS name, 7, id, name FROM worker WHERE id = 2"
      let rows = try db.query(text, as: String.self, Int.self, Named.self, DynamicRow.self)
      #expect(rows.map(\.2.name) == ["Ben"])
      #expect(rows.map(\.2.id) == [2])
      let all = try db.query("SELECT 1 AS a, 2 AS b") { try $0.get("b", as: Int.self) }
      #expect(all == [2])
    }
  }

  @Test func oneOfSeveralJoinedModelsIsSelected() throws {
    try withCompany { db in
      let bosses = Worker.join(boss, on: boss[Worker.id] == Worker.bossId).select(boss).distinct().orderBy(
        boss[Worker.id])
      #expect(
        bosses.sql == #"""
          SELECT DISTINCT "boss"."id", "boss"."name", "boss"."boss_id", "boss"."salary" \#
          FROM "worker" JOIN "worker" AS "boss" ON "boss"."id" = "worker"."boss_id" \#
          ORDER BY "boss"."id"
          """#)
      let names = try bosses.run(db).map(\.name)
      #expect(names == ["Ada", "Ben"])
      let led = Worker.join(boss, on: boss[Worker.id] == Worker.bossId).select(Worker.self).orderBy(Worker.id)
      #expect(try led.run(db).map(\.name) == ["Ben", "Cleo", "Dan"])
    }
  }

  @Test func anUnmatchedLeftJoinedModelIsNil() throws {
    try withCompany { db in
      let query = Worker.leftJoin(boss, on: boss[Worker.id] == Worker.bossId).orderBy(Worker.id)
      let rows: [(String, Worker?)] = try query.select(Worker.name, boss.optional).run(db)
      #expect(rows.map { $0.1?.name } == [nil, "Ada", "Ada", "Ben"])
      let other: [(Worker?, Int)] = try boss.read().leftJoin(Worker.self, on: boss[Worker.id] == Worker.bossId)
        .orderBy(boss[Worker.id]).orderBy(Worker.id).select(Worker?.self, boss[Worker.id]).run(db)
      #expect(other.map { $0.0?.id } == [2, 3, 4, nil, nil])
      #expect(other.map(\.1) == [1, 1, 2, 3, 4])
    }
  }

  @Test func aLeftJoinedModelMustBeSelectedAsAnOptional() throws {
    let message = "a left join may find no row of boss; select boss as an optional"
    try withCompany { db in
      let joined = Worker.leftJoin(boss, on: boss[Worker.id] == Worker.bossId)
      let error = sqlError { _ = try joined.select(Worker.name, boss).run(db) }
      #expect(error?.kind == .invalidStatement(message))
      #expect(error?.table == "worker")
      let other = Worker.read().leftJoin(Person.self, on: Person.id == Worker.id)
      #expect(sqlError { _ = try other.select(Person.self).run(db) }?.table == "person")
      let rows: [Person?] = try other.select(Person?.self).orderBy(Worker.id).run(db)
      #expect(rows.map { $0?.name } == ["Anna", "Bo", "Cid", nil])
    }
  }

  @Test func aLeftJoinedColumnMustBeSelectedAsAnOptional() throws {
    try withCompany { db in
      let joined = Worker.leftJoin(boss, on: boss[Worker.id] == Worker.bossId).orderBy(Worker.id)
      let error = sqlError { _ = try joined.select(Worker.name, boss[Worker.name]).run(db) }
      let message = "a left join may find no row of boss; select the column as an optional with typed(as:)"
      #expect(error?.kind == .invalidStatement(message))
      #expect(error?.table == "worker")
      #expect(error?.column == "name")
      let names = joined.select(Worker.name, boss[Worker.name].typed(as: String?.self))
      let bossNames = try names.run(db).map(\.1)
      #expect(bossNames == [nil, "Ada", "Ada", "Ben"])
      let other = Worker.leftJoin(Person.self, on: Person.id == Worker.id)
      #expect(sqlError { _ = try other.select(Person.name.typed(as: String.self)).run(db) }?.table == "person")
      // Terms that have a value without a match, optional columns and columns of inner joins are accepted.
      let bosses = joined.select(Worker.id, boss[Worker.bossId], boss[Worker.name].coalesce(TypedExpression("none")))
      #expect(try bosses.run(db).map(\.2) == ["none", "Ada", "Ada", "Ben"])
      let inner = Worker.join(boss, on: boss[Worker.id] == Worker.bossId).select(boss[Worker.name])
      #expect(try inner.run(db).count == 3)
    }
  }

  @Test func aTableJoinedTwiceWithoutAnAliasIsRefused() throws {
    try withCompany { db in
      try db.execute("CREATE TABLE old AS SELECT * FROM worker")
      let query = Worker.read().in("old").crossJoin(Worker.self).select(Worker.self, boss[Worker.id])
      let error = sqlError { _ = try query.run(db) }
      #expect(error?.kind == .invalidStatement("table worker is in the query twice; use an alias"))
    }
  }

  @Test func aReplacedColumnStaysReplacedInASelectedModel() throws {
    let raised = Worker.read(replacing: Worker.salary, with: Worker.salary * 2).select(Worker.self, Worker.id)
    #expect(raised.sql == #"SELECT "id", "name", "boss_id", "salary" * ?, "id" FROM "worker""#)
    try withCompany { db in
      let rows = try raised.run(db)
      #expect(rows.map(\.0.salary) == [20, 10, 14, 10])
    }
  }

  @Test func aSelfJoinedModelReadsItsColumnsInAnyOrder() throws {
    try withCompany { db in
      let boss = Alias(Worker.self, "boss")
      let pairs = try Worker.join(boss, on: boss[Worker.id] == Worker.bossId).orderBy(Worker.id).run(db)
      #expect(pairs.map(\.0) == Array(Worker.all[1...]))
      #expect(pairs.map(\.1) == [Worker.all[0], Worker.all[0], Worker.all[1]])
    }
  }

  @Test func aTableMayBeSelectedBeforeItIsJoined() throws {
    try withCompany { db in
      let joined = Worker.select(Worker.name, boss).joining(boss, on: boss[Worker.id] == Worker.bossId)
      #expect(
        joined.sql == #"""
          SELECT "worker"."name", "boss"."id", "boss"."name", "boss"."boss_id", "boss"."salary" \#
          FROM "worker" JOIN "worker" AS "boss" ON "boss"."id" = "worker"."boss_id"
          """#)
      let names = try joined.orderBy(Worker.id).run(db).map(\.1.name)
      #expect(names == ["Ada", "Ada", "Ben"])
      // The order of `select` and `joining` does not matter.
      let after = Worker.read().joining(boss, on: boss[Worker.id] == Worker.bossId).select(Worker.name, boss)
      #expect(joined == after)
      #expect(joined.hashValue == after.hashValue)
    }
  }

  @Test func selectingATableThatIsNotJoinedThrows() throws {
    try withCompany { db in
      let error = sqlError { _ = try Worker.select(Worker.name, boss).run(db) }
      #expect(error?.kind == .invalidStatement("columns of boss are selected, but the table is not joined"))
      let other = sqlError { _ = try boss.read().select(Worker.self).run(db) }
      #expect(other?.kind == .invalidStatement("columns of worker are selected, but the table is not joined"))
      #expect(other?.table == "worker")
    }
  }

  @Test func mixedRowsWorkWithEveryWayOfReading() throws {
    try withCompany { db in
      #expect(try teams.run(db).map { "\($0.0.name) \($0.1)" } == ["Ada 2", "Ben 1"])
      #expect(try teams.first(db)?.1 == 2)
      #expect(try teams.count(db) == 2)
      #expect(try db.prepare(teams).run().map(\.1) == [2, 1])
      let cursor = try teams.cursor(db)
      #expect(try cursor.next()?.0.name == "Ada")
      var names: [String] = []
      try teams.forEach(db) { row in
        names.append(row.0.name)
        return .continue
      }
      #expect(names == ["Ada", "Ben"])
      #expect(try teams.limit(1, offset: 1).run(db).map(\.0.name) == ["Ben"])
      let both = try teams.unionAll(Worker.select(Worker.self, Worker.id).filter(Worker.id == 4)).orderBy(
        Worker.id.count().desc
      ).run(db)
      #expect(both.count == 3)
    }
  }

  @Test func queriesOfOneSQLTextKeepTheirRowTypes() throws {
    try withCompany { db in
      for _ in 1...3 {
        let first = try Worker.select(Worker.self, Worker.id).run(db).map(\.0.id)
        let aliased = try boss.read().select(boss, boss[Worker.id]).run(db).map(\.0.id)
        let last = try Worker.select(Worker.id, Worker.self).run(db).map(\.1.id)
        #expect([first, aliased, last] == Array(repeating: [1, 2, 3, 4], count: 3))
      }
    }
  }

  @Test func aMixedRowIsReadFromATableOfTheSameLayout() throws {
    try withCompany { db in
      try db.execute("CREATE TABLE old AS SELECT id + 10 AS id, name, boss_id, salary FROM worker")
      let query = Worker.select(Worker.self, Worker.id + 1).in("old")
      #expect(query.sql == #"SELECT "id", "name", "boss_id", "salary", "id" + ? FROM "old""#)
      #expect(try query.run(db).map { [$0.0.id, $0.1] } == [[11, 12], [12, 13], [13, 14], [14, 15]])
    }
  }

  @Test func rowsOfSevenAndTenTermsAreTuples() throws {
    try withCompany { db in
      let (a, b) = (Worker.id, Worker.name)
      let (seven, ten) = (Worker.select(a, b, a, b, a, b, a), Worker.select(a, b, a, b, a, b, a, b, a, b))
      let (five, nine) = (try seven.first(db)?.5, try ten.first(db)?.9)
      #expect(five == "Ada")
      #expect(nine == "Ada")
    }
  }

  @Test func aNamedQueryOfSixOrSevenColumnsIsJoinedToAModel() throws {
    try withCompany { db in
      let (a, b) = (Worker.id, Worker.name)
      let six = Worker.select(a, b, a, b, a, b).filter(Worker.id > 2).named("six")
      let rows = try six.read().leftJoin(boss, on: boss[Worker.bossId] == six.columns.0).run(db)
      #expect(rows.map(\.1) == ["Cleo", "Dan"])
      #expect(rows.allSatisfy { $0.6 == nil })
      let seven = Worker.select(a, b, a, b, a, b, a).filter(Worker.id == 1).named("seven")
      let led = try seven.read().join(boss, on: boss[Worker.bossId] == seven.columns.0).run(db)
      #expect(led.map(\.7.name).sorted() == ["Ben", "Cleo"])
    }
  }

  @Test func eightModelsAreOneRow() throws {
    try withCompany { db in
      let others = (2...8).map { Alias(Worker.self, "w\($0)") }
      func same(_ index: Int) -> SqlExpression { others[index][Worker.id] == Worker.id }
      let four = Worker.join(others[0], on: same(0)).join(others[1], on: same(1)).join(others[2], on: same(2))
      let six = four.join(others[3], on: same(3)).join(others[4], on: same(4))
      let rows = try six.join(others[5], on: same(5)).leftJoin(others[6], on: same(6)).orderBy(Worker.id).run(db)
      #expect(rows.map(\.0.id) == [1, 2, 3, 4])
      #expect(rows.map { $0.7?.id } == [1, 2, 3, 4])
    }
  }
}
