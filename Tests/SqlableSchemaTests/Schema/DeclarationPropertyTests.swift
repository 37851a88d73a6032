import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableSchema
@testable import SqlableTestSupport

/// Property tests: a created table has every declared part, and the schema reads back as declared.
@Suite struct DeclarationPropertyTests {
  private func eachOfSome(_ count: Int, _ body: (any Sqlable.Type) throws -> Void) rethrows {
    var generator = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<times(count) { try body(Declarations.random(&generator)) }
  }

  private func expectSame(
    _ model: any Sqlable.Type, _ db: SqliteDatabase, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let schema = Schema(model)
    try schema.verify(db)
    #expect(try schema.differences(db).map(\.description) == [], "\(model)", sourceLocation: sourceLocation)
    #expect(try schema.plan(db).description == "nothing to change", "\(model)", sourceLocation: sourceLocation)
  }

  @Test func createdTableMatchesItsModel() throws {
    try eachOfSome(80) { model in
      let db = try SqliteDatabase.inMemory()
      try db.createTables(of: Schema(Entry<CodedParent>.self, model))
      try expectSame(model, db)
    }
  }

  @Test func planConvertsOneDeclarationToAnother() throws {
    var last: (any Sqlable.Type)?
    try eachOfSome(80) { model in
      defer { last = model }
      guard let last else { return }
      let db = try SqliteDatabase.inMemory()
      try db.createTables(of: Schema(Entry<CodedParent>.self, last))
      let schema = Schema(model)
      let filling: [String: any SqlValue] = ["whole.first": 1, "whole.second": "x"]
      let dropping: SchemaDropping = [.columns, .indexes]
      let notRenamed: Set = ["whole.id", "whole.key", "whole.first", "whole.second"]
      let plan = try schema.plan(db, notRenamed: notRenamed, filling: filling, dropping: dropping)
      try db.running { connection in
        let answers = SchemaPlanner.Answers(notRenamed: notRenamed, filling: filling, dropping: dropping)
        var planner = try SchemaPlanner(connection, functions: nil, answers: answers)
        #expect(try planner.plan(for: schema) == plan)
        let copied = try planner.copy.connection.schema()
        #expect(planner.changed == copied)
        #expect(planner.changed.tables.map(\.sql) == copied.tables.map(\.sql))
      }
      try plan.apply(db, allowing: .dataLoss)
      try expectSame(model, db)
    }
  }

  /// `Tests/Record` applies more plans.
  @Test func aPlanKeepsEveryRowOrChangesNothing() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    var (applied, refused, last) = (0, 0, Declarations.random(&random))
    for _ in 0..<times(100) {
      let next = Declarations.random(&random)
      var trial = try PlanTrial(from: last, to: next, &random)
      try #require(trial.defect() == nil)
      if trial.wasApplied { applied += 1 } else { refused += 1 }
      last = next
    }
    #expect(applied > times(100) / 30)
    #expect(refused > times(100) / 30)
  }
}
