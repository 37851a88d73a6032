import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Boolean terms as conditions. NULL is not true.
@Suite struct TruthValueTests {
  private struct Task: Sqlable, Equatable {
    static let id = column("id", Int.self, PrimaryKey())
    static let isDone = column("is_done", Bool.self)
    static let isUrgent = column("is_urgent", Bool?.self)
    static let parent = column("parent", Int?.self)
    static let parts = toMany(Task.self, by: parent, of: id)
    static let tableLayout = [id.column, isDone.column, isUrgent.column, parent.column]
    var id: Int
    var isDone: Bool
    var isUrgent: Bool?
    var parent: Int?

    init(_ id: Int, _ isDone: Bool, _ isUrgent: Bool?, _ parent: Int? = nil) {
      (self.id, self.isDone, self.isUrgent, self.parent) = (id, isDone, isUrgent, parent)
    }
    init(row: ReadRow) throws {
      self.init(
        try row.get(Task.id), try row.get(Task.isDone), try row.get(Task.isUrgent), try row.get(Task.parent))
    }
    func write(to row: inout RowWriter) throws {
      row.set(Task.id, id)
      row.set(Task.isDone, isDone)
      row.set(Task.isUrgent, isUrgent)
      row.set(Task.parent, parent)
    }
  }

  private func withTasks(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Task.self)
      try Task.insert([Task(1, true, nil), Task(2, false, true, 1), Task(3, true, false, 1), Task(4, true, true)]).run(
        db)
      try body(db)
    }
  }

  @Test func aBooleanTermFiltersStatementsQueriesAndAssociations() throws {
    try withTasks { (db: SqliteDatabase) throws -> Void in
      #expect(Task.read(Task.isUrgent).sql.hasSuffix(#" WHERE "is_urgent""#))
      #expect(try Task.read(Task.isUrgent).run(db).map(\.id) == [2, 4])
      #expect(try Task.read().filter(Task.isDone).filter(Task.isUrgent).run(db).map(\.id) == [4])
      #expect(try Task.select(Task.id).filter(Task.isDone).run(db) == [1, 3, 4])
      #expect(try Task.count(Task.isUrgent).run(db) == 2)
      #expect(try Task.exists(Task.isUrgent).filter(Task.id == 1).run(db) == false)
      let parts = try Task.read().filter(Task.id == 1).including(Task.parts.filter(Task.isDone)).run(db)
      #expect(parts.map { $0.1.map(\.id) } == [[3]])
      let isOdd = TypedExpression<Bool>(sql: "\(Task.id) % 2")
      #expect(try Task.read().filter(isOdd).run(db).map(\.id) == [1, 3])
    }
  }

  @Test func aBooleanTermIsAConditionOfGroupsAndCases() throws {
    try withTasks { (db: SqliteDatabase) throws -> Void in
      let groups = Task.select(Task.parent, countAll()).groupBy(Task.parent).having(Task.isDone.min()).orderBy(
        Task.parent)
      #expect(groups.sql.hasSuffix(#" GROUP BY "parent" HAVING min("is_done") ORDER BY "parent""#))
      #expect(try groups.run(db).map(\.1) == [2])
      let marks = Task.select(Case.when(Task.isUrgent, then: "!").when(Task.isDone, then: "x").else("")).orderBy(
        Task.id)
      #expect(try marks.run(db) == ["x", "!", "x", "!"])
    }
  }

  @Test func aBooleanTermSelectsTheRowsToChange() throws {
    try withTasks { (db: SqliteDatabase) throws -> Void in
      #expect(try Task.update(Task.isDone.set(to: true)).filter(Task.isUrgent).run(db) == 2)
      #expect(try Task.delete(Task.isUrgent).run(db) == 2)
      #expect(try Task.read().run(db).map(\.id) == [1, 3])
    }
  }

  @Test func aBooleanTermIsAConditionOfJoinsAndAggregates() throws {
    try withTasks { (db: SqliteDatabase) throws -> Void in
      let part = Alias(Task.self, "part")
      let joined = Task.join(part, on: part[Task.isDone]).filter(Task.id == 1)
      #expect(joined.sql.hasSuffix(#" ON "part"."is_done" WHERE "task"."id" = ?"#))
      #expect(try joined.run(db).map(\.1.id) == [1, 3, 4])
      #expect(try Task.join(part, on: !part[Task.isDone]).filter(Task.id == 1).run(db).map(\.1.id) == [2])
      let counts = Task.select(countAll(where: Task.isUrgent), Task.id.sum(where: Task.isDone))
      #expect(
        counts.sql == #"""
          SELECT count(*) FILTER (WHERE "is_urgent"), sum("id") FILTER (WHERE "is_done") FROM "task"
          """#)
      let row = try counts.run(db)
      #expect(row.map(\.0) == [2])
      #expect(row.map(\.1) == [8])
      let hasParts = Task.parts.aggregate(Task.isDone.max())
      #expect(try Task.read().filter(hasParts).run(db).map(\.id) == [1])
    }
  }
}
