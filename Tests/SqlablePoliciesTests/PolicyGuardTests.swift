import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Errors and names in documents, which must not reveal the rows that a policy hides.
@Suite struct PolicyGuardTests {
  private func data(_ body: String) -> Data { Data(#"{"sqlable":1,\#(body)}"#.utf8) }

  private let joined = """
    "read":{"from":[{"table":"account","as":"a"},{"table":"payment","as":"p","join":"inner","on":1}],\
    "select":[{"column":"id","of":"a"}],"where":{">":[{"function":"abs","arguments":[\
    {"case":[[{"=":[{"column":"name","of":"a"},"Cid"]},-9223372036854775808]],"else":1}]},0]}}
    """

  @Test func aHiddenRowOfAJoinCausesNoError() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Account.self, Payment.self)
      try Account(id: 1, tenant: 1, name: "Anna", color: nil, owed: 0, note: nil).insert().run(db)
      try Account(id: 2, tenant: 2, name: "Cid", color: nil, owed: 0, note: nil).insert().run(db)
      try Payment(id: 1, account: 1, tenant: 1, amount: 1).insert().run(db)
      for rows: SqlExpression in [
        Account.tenant == 1, contains(Account.tenant, [1]), contains(Account.tenant, [1, 3]),
      ] {
        let policy = StatementPolicy(
          .table(Account.self).reading(Account.id).filtering(Account.name, by: .equality).rows(where: rows),
          .table(Payment.self).reading(Payment.id).rows(where: Payment.tenant == 1),
          features: [.joins, .arithmetic], functions: ["abs"])
        let read = try policy.statement(AnyStatement.self, json: data(joined))
        guard case .rows(let found) = try read.limited(by: policy).run(db) else {
          Issue.record("no rows")
          return
        }
        #expect(found.count == 1)
      }
    }
  }

  @Test func aRefusedSubqueryIsReportedInEveryTerm() throws {
    let policy = tenantPolicy(features: [.joins, .subqueries, .aggregates, .windows, .arithmetic])
    for join in ["right", "full"] {
      let hidden =
        #"{"query":{"from":[{"table":"account","as":"a"},"#
        + #"{"table":"account","as":"b","join":"\#(join)","on":1}],"select":[1]}}"#
      for term in [
        hidden, #"{"collate":\#(hidden),"as":"NOCASE"}"#, #"{"function":"lower","arguments":[\#(hidden)]}"#,
        #"{"case":[[1,\#(hidden)]]}"#, #"{"case":[[\#(hidden),1]],"else":2}"#,
        #"{"count":{"from":"account","where":{"=":[\#(hidden),1]}}}"#,
        #"{"function":"row_number","over":{"orderBy":[{"asc":\#(hidden)}]}}"#,
      ] {
        let read = data(#""read":{"from":"account","select":[\#(term)]}"#)
        let error = sqlError { _ = try policy.statement(AnyStatement.self, json: read) }
        #expect(error?.message == "the policy does not allow this", "\(term): \(String(describing: error))")
      }
    }
  }

  @Test func aGuardedQueryUsesTheIndexOfThePolicysCondition() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Account.self)
      let read =
        #""read":{"from":"account","select":[{"column":"id"}],"where":{"like":[{"column":"name"},"A%"]}}"#
      for rows: SqlExpression in [
        Account.tenant == 1, contains(Account.tenant, [1]), SqlExpression(sql: "tenant = 1"),
      ] {
        let policy = tenantPolicy(rows: { _ in rows })
        let plan = try policy.statement(AnyStatement.self, json: data(read)).explain(db)
        #expect(plan.description.contains("USING INDEX account_tenant (tenant=?)"), "\(plan)")
      }
    }
  }

  @Test func theThirdTableOfAJoinCanBeFilteredByAPattern() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Account.self, Payment.self)
      try Account(id: 1, tenant: 1, name: "Anna", color: nil, owed: 0, note: nil).insert().run(db)
      try Payment(id: 1, account: 1, tenant: 1, amount: 1).insert().run(db)
      let read =
        #""read":{"from":[{"table":"account","as":"a"},{"table":"payment","as":"p","join":"inner","on":1},"#
        + #"{"table":"account","as":"b","join":"inner","on":{"like":[{"column":"name","of":"b"},"A%"]}}],"#
        + #""select":[{"column":"id","of":"b"}]}"#
      let policy = tenantPolicy(features: [.joins])
      let found = try policy.statement(AnyStatement.self, json: data(read)).limited(by: policy).run(db)
      guard case .rows(let rows) = found else { throw CancellationError() }
      #expect(rows.map { $0.values } == [[.integer(1)]])
    }
  }

  @Test func anAliasThatHidesATableOfTheConditionIsRefused() {
    let condition = SqlExpression(sql: "id IN (SELECT account_id FROM \"Payment\" WHERE tenant = 1)")
    let policy = StatementPolicy(
      .table(Account.self).reading(Account.id).rows(where: condition), features: [.joins, .namedQueries])
    for name in ["payment", "PAYMENT", "a b", "account"] {
      let read = #""read":{"from":[{"table":"account","as":"\#(name)"}],"select":[{"column":"id","of":"\#(name)"}]}"#
      #expect(
        sqlError { _ = try policy.statement(AnyStatement.self, json: data(read)) }?.message
          == (name == "account" ? nil : "the policy does not allow this"), "\(name)")
    }
  }

  @Test func aLongSecondArgumentIsRefused() {
    var policy = tenantPolicy(features: [.json])
    policy.functions = ["instr", "replace", "trim", "ltrim", "rtrim"]
    for function in ["instr", "replace", "trim", "ltrim", "rtrim"] {
      for (length, isAllowed) in [(128, true), (129, false)] {
        let more = function == "replace" ? #","""# : ""
        let text = String(repeating: "x", count: length)
        let term = #"{"function":"\#(function)","arguments":[{"column":"name"},"\#(text)"\#(more)]}"#
        let read = data(#""read":{"from":"account","select":[\#(term)]}"#)
        let error = sqlError { _ = try policy.statement(AnyStatement.self, json: read) }
        #expect((error == nil) == isAllowed, "\(function) \(String(describing: error))")
      }
    }
  }
}
