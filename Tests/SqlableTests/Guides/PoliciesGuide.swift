import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Policies.md.
@Suite struct PoliciesGuide {
  private let body = Data(
    #"{"read":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}"#.utf8)

  private func withBicycles(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1), Bicycle(name: "Trek", color: "red", ownerId: 2),
      ]).run(db)
      try body(db)
    }
  }

  @Test func policyLimitsASearchToTheTenantsRows() throws {
    let tenant = 1
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let policy = StatementPolicy(
        .table(Bicycle.self).readingAll().filtering(Bicycle.color, Bicycle.id, by: .equality, .comparison)
          .sorting(Bicycle.name, Bicycle.id).rows(where: Bicycle.ownerId == tenant))
      let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
      let bikes = try search.limited(by: policy).run(db)  // [Bicycle]
      #expect(bikes.map(\.name) == ["Norco"])
      #expect(
        search.sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" \
          WHERE "owner_id" = ? AND "color" = ? ORDER BY "id" LIMIT ?
          """)
      switch try policy.statement(json: body).limited(by: policy).run(db) {
      case .rows(let rows): print(rows.count)  // [DynamicRow]
      case .number(let number): print(number)
      case .ids(let ids): print(ids)
      case .exists(let exists): print(exists)
      }
      let any = try policy.statement(json: body)
      guard case .rows(let rows) = try any.run(db) else { throw CancellationError() }
      #expect(rows.count == 1)
      #expect(any.kind == .read)
    }
  }

  @Test func policyIsReadFromAFile() throws {
    let (tenant, body): (Int64, Data) = (1, body)
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let block = try #require(try GuidesTests.blocks(of: "json", in: "Docs/Policies.md").last)
      let file = Data(block.rawLines.joined(separator: "\n").utf8)
      let policy = try StatementPolicy(json: file, models: [Bicycle.self], with: ["tenant": .integer(tenant)])
      let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
      #expect(try search.run(db).map(\.name) == ["Norco"])
    }
  }

  @Test func poolRunsALimitedSearch() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", configuration: .init(waitTimeout: nil))
      try pool.transaction { db in try db.createTables() }
      let policy = StatementPolicy(.table(Bicycle.self).readingAll().filtering(Bicycle.color, by: .equality))
      let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
      let found = try search.limited(by: policy).run(pool)  // [Bicycle]
      #expect(found == [])
    }
  }

  @Test func policyAllowsAssociatedRows() throws {
    try withCompany { db in
      let policy = StatementPolicy(.table(Person.self).readingAll(), .table(Bicycle.self).readingAll())
      let body = try Person.read().including(Person.bikes).json()
      let owners = Person.read().including(Person.bikes)
      let people = try policy.statement(like: owners, json: body).limited(by: policy).run(db)  // [(Person, [Bicycle])]
      #expect(people.map { $0.1.count } == [2, 1, 0])
    }
  }

  @Test func manifestRunsApprovedStatements() throws {
    let body = Data(#"{"run":"byColor","with":{"color":"red"},"sqlable":1}"#.utf8)
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      var manifest = StatementManifest(rules: StatementRules(models: [Bicycle.self]))
      try manifest.approve(
        Bicycle.read().filter(Bicycle.color == Parameter("color") && Bicycle.ownerId == Parameter("owner")),
        as: "byColor")
      // {"run":"byColor","with":{"color":"red"},"sqlable":1}
      let search = try manifest.statement(json: body, with: ["owner": .integer(1)])
      let answer = try search.limited(by: StatementPolicy.Limits()).run(db)
      guard case .rows(let rows) = answer else { throw CancellationError() }
      #expect(rows.count == 1)
      #expect(manifest.sha256(of: "byColor")?.count == 64)
    }
  }
}

extension SqliteDatabase {
  fileprivate func createTables() throws {
    try createTable(Person.self)
    try createTable(Bicycle.self)
  }
}
