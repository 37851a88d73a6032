import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/StatementEndpoint.md.
@Suite struct StatementEndpointGuide {
  private let body = Data(#"{"count":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}"#.utf8)

  func search(_ body: Data, by owner: Int, in pool: SqlitePool) async throws -> AnyStatement.Output {
    let policy = StatementPolicy(
      .table(Bicycle.self).readingAll().filtering(Bicycle.color, Bicycle.id, by: .equality, .comparison)
        .sorting(Bicycle.name, Bicycle.id).rows(where: Bicycle.ownerId == owner),
      features: [.aggregates])
    let statement = try policy.statement(json: body)
    #expect(statement.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" = ? AND "color" = ?"#)  // not shown
    return try await withDeadline(.seconds(1)) { try await statement.limited(by: policy).run(pool) }
  }

  func follow(_ statement: AnyStatement, in pool: SqlitePool, _ send: (AnyStatement.Output) async throws -> Void)
    async throws
  {
    for try await output in statement.updates(in: pool, onlyChanges: true) { try await send(output) }
  }

  @Test func endpointSendsLiveAnswers() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
      try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1), Bicycle(name: "Trek", color: "red", ownerId: 2),
      ]).run(db)
    }
    let answer = try await repeatingAfterTimeouts { try await search(body, by: 1, in: pool) }
    #expect(answer == .number(1))

    let statement = try StatementPolicy(
      .table(Bicycle.self).filtering(Bicycle.color, by: .equality).rows(where: Bicycle.ownerId == 1)
    ).statement(json: body)
    var outputs: [AnyStatement.Output] = []
    try await follow(statement, in: pool) { output in
      outputs.append(output)
      if outputs.count == 1 {
        try await Bicycle(name: "Cube", color: "red", ownerId: 2).insert().run(pool)
        try await Bicycle(name: "Scott", color: "red", ownerId: 1).insert().run(pool)
      } else {
        try await pool.close()
      }
    }
    #expect(outputs == [.number(1), .number(2)])
  }
}
