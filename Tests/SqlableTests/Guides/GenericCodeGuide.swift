import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

protocol Timestamped: Sqlable {
  static var createdAt: TypedColumn<Self, Date> { get }
}

extension Timestamped {
  static func since(_ date: Date) -> Statement<Self, [Self]> {
    read().filter(createdAt >= date).orderBy(createdAt, .desc)
  }
}

private struct Visit: SqlCodable, Timestamped {
  var id: Int?
  var page: String
  var createdAt = Date()
}

extension Visit {
  static let id = column("id", Int.self, PrimaryKey())
  static let page = column("page", String.self)
  static let createdAt = column("created_at", Date.self)
  static let tableLayout = [id.column, page.column, createdAt.column]
}

private struct Repository<Model: Sqlable>: Sendable {
  let pool: SqlitePool

  func find(_ id: Int) async throws -> Model? { try await Model.byId(id).run(pool) }

  func save(_ models: [Model]) async throws {
    try await pool.transaction { db in
      for model in models { try model.save().run(db) }
    }
  }
}

/// The examples of Docs/GenericCode.md.
@Suite struct GenericCodeGuide {
  func count<Model: Sqlable>(_ model: Model.Type, in db: SqliteDatabase) throws -> Int {
    try Model.count().run(db)
  }

  func insert(_ row: some Sqlable, in db: SqliteDatabase) throws -> Int { try row.insert().run(db) }

  func all<Model: Sqlable>(_ model: Model.Type, in db: SqliteDatabase) throws -> [Model] {
    try Model.read().run(db)
  }

  func purge<Model: Timestamped>(_ model: Model.Type, before date: Date, in db: SqliteDatabase) throws -> Int {
    try Model.delete(Model.createdAt < date).run(db)
  }

  @Test func genericFunctionsTakeModelsOfALoop() throws {
    try withDatabase { db in
      let models: [any Sqlable.Type] = [Person.self, Bicycle.self, Car.self]
      let schema = Schema(models)
      try db.createTables(of: schema)
      try schema.verify(db)
      try db.createTables(models)
      let rows: [any Sqlable] = [Person(id: nil, name: "Anna"), Bicycle(name: "Norco", color: "red")]
      try db.transaction { db in
        for row in rows { print(try insert(row, in: db)) }
      }
      for model in models { print(model.tableName, try count(model, in: db)) }
      #expect(try models.map { try count($0, in: db) } == [1, 1, 0])
      for model in models {
        let rows = try all(model, in: db)  // [any Sqlable]
        if let people = rows as? [Person] { print(people.map(\.name)) }
      }
      #expect(try all(models[0], in: db) as? [Person] == [Person(id: 1, name: "Anna")])
    }
  }

  @Test func someMembersNeedNoFunction() throws {
    try withDatabase { db in
      let models: [any Sqlable.Type] = [Person.self, Bicycle.self, Car.self]
      for model in models { try db.createTable(model) }
      try Person(id: nil, name: "Anna").insert().run(db)
      #expect(models.map { $0.tableName } == ["person", "bicycle", "car"])
      #expect(models[0].tableLayout.map(\.name) == ["id", "name"])
      #expect(try models.map { try $0.select(countAll()).first(db) } == [1, 0, 0])
      let model = models[0]
      let rows = try db.query("SELECT * FROM \(model)", as: model)
      let dynamic = try db.query("SELECT * FROM \(model)", as: DynamicRow.self)
      #expect(rows as? [Person] == [Person(id: 1, name: "Anna")])
      #expect(try dynamic[0].get("name", as: String.self) == "Anna")
    }
  }

  @Test func protocolNamesAColumnOfSeveralModels() throws {
    try withDatabase { db in
      let timestamped: [any Timestamped.Type] = [Visit.self]
      for model in timestamped { try db.createTable(model) }
      let (early, late) = (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 3))
      try Visit.insert([Visit(page: "/a", createdAt: early), Visit(page: "/b", createdAt: late)]).run(db)
      let cutoff = Date(timeIntervalSince1970: 2)
      #expect(try Visit.since(cutoff).run(db).map(\.page) == ["/b"])
      for model in timestamped { print(try purge(model, before: cutoff, in: db)) }
      #expect(try Visit.read().run(db).map(\.page) == ["/b"])
      #expect(
        Visit.since(cutoff).sql == """
          SELECT "id", "page", "created_at" FROM "visit" WHERE "created_at" >= ? ORDER BY "created_at" DESC
          """)
    }
  }

  @Test func statementsOfSeveralModelsAreRunnables() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/test.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      let people = Repository<Person>(pool: pool)
      try await people.save([Person(id: 7, name: "Anna")])
      let anna = try await people.find(7)
      #expect(anna?.name == "Anna")
      let counts: [any Runnable<Int>] = [Person.count(), Bicycle.delete(Bicycle.color == "red")]
      for count in counts { print(count.sql, try await count.run(pool)) }
      let works: [any Runnable] = [Person.read(), Bicycle.count(), Person.select(Person.name)]
      try await pool.read { db in
        for work in works { print(try work.run(db)) }
      }
      var numbers: [Int] = []
      for count in counts { numbers.append(try await count.run(pool)) }
      let results = try await pool.read { db in try works.map { try "\($0.run(db))" } }
      #expect(numbers == [1, 0])
      #expect(results.count == 3)
      #expect(results[1] == "0")
      try await pool.close()
    }
  }
}
