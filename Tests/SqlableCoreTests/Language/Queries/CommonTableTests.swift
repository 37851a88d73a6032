import SqlableCore
import Testing

@testable import SqlableTestSupport

@Suite struct CommonTableTests {
  /// The rows of a recursive query: a worker and its depth in the tree.
  private enum Level: TableDeclaration {
    static let id = Entry<Level>.column("id", Int.self, PrimaryKey())
    static let depth = Entry<Level>.column("depth", Int.self)
    static let columns = [id.column, depth.column]
  }

  @Test func aRecursiveQueryIsJoinedAndIsAList() throws {
    try withCompany { db in
      let team = Alias(Worker.self, "team") { team in
        Worker.read().filter(Worker.id == 2)
          .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
      }
      let bosses = try Worker.join(team, on: team[Worker.bossId] == Worker.id).select(Worker.name, team[Worker.name])
        .orderBy(Worker.id.asc, team[Worker.id].asc).run(db)
      #expect(bosses.map(\.0) == ["Ada", "Ben"])
      #expect(bosses.map(\.1) == ["Ben", "Dan"])
      let outside = try Worker.read().filter(Worker.id.notIn(team.read().select(team[Worker.id]))).run(db)
      #expect(outside.map(\.name) == ["Ada", "Cleo"])
    }
  }

  @Test func theModelOfAQueryNeedsNoTable() throws {
    try withCompany { db in
      let levels = Alias(Entry<Level>.self, "levels") { levels in
        Worker.select(Worker.id, TypedExpression(0)).filter(Worker.bossId.isNull)
          .unionAll(
            Worker.read().joining(levels, on: Worker.bossId == levels[Level.id])
              .select(Worker.id, levels[Level.depth] + 1))
      }
      let rows = try levels.read().orderBy(levels[Level.id]).run(db)
      #expect(rows.map(\.values) == [[1, 0], [2, 1], [3, 1], [4, 2]])
      let deepest = try levels.read().select(levels[Level.depth].max()).first(db)
      #expect(deepest == 2)
    }
  }

  @Test func aQueryOfTheWrongColumnsIsRefused() throws {
    try withCompany { db in
      let wrong = Alias(Entry<Level>.self, "wrong") { _ in Worker.read() }
      let error = sqlError { _ = try wrong.read().run(db) }
      #expect(error?.message == "query wrong has 4 columns, but its model has 2")
      let (one, two) = (
        Alias(Entry<Level>.self, "same") { _ in Worker.select(Worker.id, Worker.id) },
        Alias(Entry<Level>.self, "SAME") { _ in Worker.select(Worker.id, TypedExpression(1)) }
      )
      let double = sqlError { _ = try one.read().join(two, on: one[Level.id] == two[Level.id]).run(db) }
      #expect(
        double?.message == "two different queries are named SAME; rename one of the queries",
        "\(String(describing: double))")
    }
  }
}
