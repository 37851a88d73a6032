import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Live results of decoded statements, such as those of clients.
struct AnyLiveResultTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  private func decoded(_ json: String) throws -> AnyStatement {
    try AnyStatement(json: Data(json.utf8), rules: StatementRules(models: [Member.self, Account.self]))
  }

  @Test func updatesOfEveryReadMatchItsRunResult() async throws {
    try await withMembers(AnyLiveResultTests.alone) { pool in
      let documents = [
        #"{"read":{"from":"member","orderBy":[{"asc":{"column":"id"}}]},"sqlable":1}"#,
        #"{"first":{"from":"member","limit":1,"where":{"=":[{"column":"id"},2]}},"sqlable":1}"#,
        #"{"count":{"from":"member"},"sqlable":1}"#,
        #"{"exists":{"from":"member","where":{"=":[{"column":"name"},"Bo"]}},"sqlable":1}"#,
        #"{"read":{"from":"member","orderBy":[{"asc":{"column":"name"}}],"select":[{"column":"name"}]},"sqlable":1}"#,
        #"{"read":{"from":"member","groupBy":[{"column":"name"}],"select":[{"function":"countRows"}]},"sqlable":1}"#,
        // The filter applies to the first query only.
        #"{"read":{"compounds":[{"union":{"from":"member","where":{"=":[{"column":"name"},"Bo"]}}}],"#
          + #""from":"member","where":{"=":[{"column":"name"},"Anna"]}},"sqlable":1}"#,
      ]
      for document in documents {
        let statement = try decoded(document)
        let follower = Follower(statement.updates(in: pool))
        let before = try await statement.run(pool)
        try await until { follower.latest == before }
        try await Member(id: 2, name: "Bo").insert().run(pool)
        let after = try await statement.run(pool)
        #expect(before != after)
        try await until { follower.latest == after }
        try await Member.deleteAll().run(pool)
      }
    }
  }

  /// Decoded filters and pages check changed rows like typed statements.
  @Test(
    .needsPreupdateHook,
    arguments: [
      #"{"read":{"from":"member","where":{"=":[{"column":"name"},"Anna"]}},"sqlable":1}"#,
      #"{"count":{"from":"member","where":{"=":[{"column":"name"},"Anna"]}},"sqlable":1}"#,
      #"{"exists":{"from":"member","where":{"=":[{"column":"name"},"Anna"]}},"sqlable":1}"#,
      #"{"read":{"from":"member","limit":1,"orderBy":[{"asc":{"column":"id"}}]},"sqlable":1}"#,
    ]) func commitsOfOtherRowsCauseNoRead(_ document: String) async throws
  {
    try await withMembers(AnyLiveResultTests.alone) { pool in
      try await Member(id: 1, name: "Anna").insert().run(pool)
      let follower = Follower(try decoded(document).updates(in: pool))
      let all = Follower(Member.count().updates(in: pool))
      try await until { follower.values.count == 1 && all.latest == 1 }
      for id in 2...6 {
        try await Member(id: id, name: "Bo").insert().run(pool)
        try await until { all.latest == id }
      }
      try await Member(id: 1, name: "Cid").update().run(pool)
      try await until { follower.values.count >= 2 }
      #expect(follower.values.count == 2)
    }
  }

  @Test(.needsPreupdateHook) func hiddenRowsDoNotWakeTheLoopOfATenant() async throws {
    try await withMembers(AnyLiveResultTests.alone) { pool in
      try await pool.transaction { db in try db.createTable(Account.self) }
      let document = Data(#"{"read":{"from":"account","select":[{"column":"name"}]},"sqlable":1}"#.utf8)
      let whole = Data(#"{"count":{"from":"account"},"sqlable":1}"#.utf8)
      let names = Follower(try tenantPolicy(1).statement(json: document).updates(in: pool, onlyChanges: true))
      let count = Follower(try tenantPolicy(1).statement(json: whole).updates(in: pool))
      let others = Follower(try tenantPolicy(2).statement(json: whole).updates(in: pool))
      try await until { names.values == [.rows([])] && count.values == [.number(0)] && others.latest == .number(0) }
      for id in 1...5 {
        try await Account(id: id, tenant: 2, name: "Trek", owed: 1).insert().run(pool)
        try await until { others.latest == .number(id) }
      }
      try await Account(id: 9, tenant: 1, name: "Norco", owed: 1).insert().run(pool)
      try await until { count.latest == .number(1) && names.values.count >= 2 }
      #expect(count.values == [.number(0), .number(1)])
      guard case .rows(let rows) = names.latest else { throw CancellationError() }
      #expect(names.values.count == 2)
      #expect(rows.map(\.description) == ["name: Norco"])
    }
  }

  @Test func followingADecodedDeleteThrows() async throws {
    try await withMembers(AnyLiveResultTests.alone) { pool in
      var updates = try decoded(#"{"delete":{"all":true,"from":"member"},"sqlable":1}"#).updates(in: pool)
        .makeAsyncIterator()
      do {
        _ = try await updates.next()
        Issue.record("a delete was followed")
      } catch let error as SqlError { #expect(error.message.contains("no live result")) }
    }
  }
}
