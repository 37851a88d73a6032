import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Tests that no limit of a policy is forgotten: a statement that reaches all limits is refused or stopped by each.
@Suite struct EveryLimitTests {
  /// Each limit of ``StatementPolicy/Limits`` with a change that lowers the limit.
  private static let lowered: [String: @Sendable (inout StatementPolicy.Limits) -> Void] = [
    "bytes": { $0.bytes = 8 }, "rows": { $0.rows = 1 }, "offset": { $0.offset = 0 }, "nodes": { $0.nodes = 1 },
    "depth": { $0.depth = 1 }, "list": { $0.list = 1 }, "time": { $0.time = .nanoseconds(1) },
    "steps": { $0.steps = 1 }, "valueBytes": { $0.valueBytes = 2 }, "patternBytes": { $0.patternBytes = 1 },
    "argumentBytes": { $0.argumentBytes = 1 }, "searchBytes": { $0.searchBytes = 1 },
    "scannedRows": { $0.scannedRows = 0 },
  ]

  private static let policy: StatementPolicy = {
    var policy = StatementPolicy(
      .table(Account.self).readingAll().filtering(Account.id, Account.name, by: .equality, .comparison, .pattern)
        .sorting(Account.name),
      .table(Memo.self).readingAll().filtering(Memo.title, Memo.body, Memo.stars, by: .pattern),
      features: Set(StatementPolicy.Feature.allCases), functions: ["instr"])
    // A loaded machine can stop a thread for longer than the default limit of a second.
    policy.limits.time = .seconds(600)
    return policy
  }()

  private let read = Account.read()
    .filter(Account.id.notIn([-1, -2]) && Account.name.like("%a%") && Account.name.instr("zz") == 0)
    .orderBy(Account.name).limit(2, offset: 1)
  private let search = Memo.search(.words("kept"))

  private func run(_ db: SqliteDatabase, _ policy: StatementPolicy) throws -> (accounts: Int, memos: Int) {
    let accounts = try policy.statement(Statement<Account, [Account]>.self, json: read.json())
    let memos = try policy.statement(Select<Memo>.self, json: search.json())
    return (try accounts.limited(by: policy).run(db).count, try memos.limited(by: policy).run(db).count)
  }

  @Test(.needsFullText) func everyLimitStopsAStatement() throws {
    try withDatabase { db in
      try db.createTables(Account.self, Memo.self)
      try Account.insert((1...300).map { Account(id: $0, tenant: 1, name: "a\($0)", owed: 0) }).run(db)
      try Memo(1, "kept", "text").insert().run(db)
      let found = try run(db, EveryLimitTests.policy)
      #expect(found.accounts == 2)
      #expect(found.memos == 1)
      for label in Mirror(reflecting: StatementPolicy.Limits()).children.compactMap(\.label) {
        var policy = EveryLimitTests.policy
        let lower = try #require(EveryLimitTests.lowered[label], "no document reaches the limit \(label)")
        lower(&policy.limits)
        let error = sqlError { _ = try run(db, policy) }
        #expect(error != nil, "\(label)")
      }
    }
  }
}
