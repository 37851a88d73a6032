import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Changes of documents under a policy, and the sizes of documents.
extension StatementPolicyTests {
  @Test func changesNeedAnAllowedKindAndAllowedColumns() throws {
    var policy = tenantPolicy()
    policy.kinds = [.update, .delete, .insert, .updateAll]
    policy = StatementPolicy(
      .table(Account.self).reading(Account.id, Account.name).filtering(Account.id, by: .equality)
        .setting(Account.name).rows(where: Account.tenant == 1),
      .table(Payment.self).filtering(Payment.id, by: .equality).setting(
        Payment.id, Payment.account, Payment.tenant, Payment.amount),
      kinds: [.update, .delete, .insert, .updateAll])
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      func run(_ body: String) throws -> AnyStatement.Output {
        try policy.statement(AnyStatement.self, json: data(body)).run(db)
      }
      let rename = #""update":{"table":"account","set":[{"column":"name","to":"x"}],"where":{"=":[{"column":"id"},%]}}"#
      #expect(try run(rename.replacing("%", with: "1")) == .number(1))
      #expect(try run(rename.replacing("%", with: "3")) == .number(0))
      #expect(try run(#""delete":{"from":"account","where":{"=":[{"column":"id"},3]}}"#) == .number(0))
      #expect(try run(#""delete":{"from":"payment","where":{"=":[{"column":"id"},3]}}"#) == .number(1))
      #expect(
        try run(#""insert":{"into":"payment","row":{"id":8,"account_id":1,"tenant":2,"amount":1}}"#) == .number(8))
      for (refused, path) in [
        (#""update":{"table":"account","set":[{"column":"name","to":"x"}],"all":true}"#, "update.all"),
        (
          #""update":{"table":"account","set":[{"column":"id","to":7}],"where":{"=":[{"column":"id"},1]}}"#,
          "update.set"
        ),
        (
          #""update":{"table":"account","set":[{"column":"tenant","to":2}],"where":{"=":[{"column":"id"},1]}}"#,
          "update.set[0].column"
        ),
        (#""update":{"table":"account","row":{"id":1,"owed":0}}"#, "update.row"),
        (#""update":{"table":"account","row":{"id":1,"name":"y","tenant":2}}"#, "update.row"),
        (
          #""update":{"table":"account","set":[{"column":"name","to":"x"}],"where":{"<":[{"column":"id"},1]}}"#,
          "update.where"
        ),
        (#""update":{"table":"payment","set":[{"column":"amount","to":1}],"notIndexed":true}"#, "update.notIndexed"),
        (#""insert":{"into":"account","row":{"name":"y"}}"#, "insert.into"),
        (#""insert":{"into":"payment","query":{"from":"payment"}}"#, "insert.query"),
        (#""delete":{"from":"account","all":true}"#, "delete"), (#""save":{"into":"payment","row":{"id":1}}"#, "save"),
        (#""insert":{"into":"payment","row":{"id":1},"onConflict":"replace"}"#, "insert.onConflict"),
        (
          #""insert":{"into":"payment","row":{"id":1},"upsert":{"target":["id"],"columns":["amount"]}}"#,
          "insert.upsert"
        ),
        (#""delete":{"from":"payment","where":{"=":[{"column":"id"},1]},"returning":true}"#, "delete.returning"),
        (#""count":{"from":"payment"}"#, "count"),
        (#""update":{"table":"account","set":[{"column":"name","to":"x"}]}"#, "update"),
        (#""delete":{"from":"account"}"#, "delete"),
      ] {
        let error = sqlError { _ = try run(refused) }
        #expect(error?.documentPath == path, "\(refused): \(String(describing: error))")
      }
      #expect(try Account.byId(3).run(db)?.name == "Cid")
      // An update of a struct changes only a row of the tenant.
      #expect(try run(#""update":{"table":"account","row":{"id":3,"name":"y"}}"#) == .number(0))
      #expect(try run(#""update":{"table":"account","row":{"id":2,"name":"y"}}"#) == .number(1))
    }
  }

  /// A statement with clauses is found in the cache by its SQL, which takes longer.
  @Test func aChangeOfAStructWithoutAConditionGetsNoClauses() throws {
    let policy = StatementPolicy(
      .table(Payment.self).filtering(Payment.id, by: .equality).setting(Payment.id, Payment.amount),
      kinds: [.update, .delete])
    for body in [
      #""update":{"table":"payment","row":{"id":1,"amount":2}}"#, #""delete":{"from":"payment","row":{"id":1}}"#,
    ] {
      switch try policy.statement(Statement<Payment, Int>.self, json: data(body)).tree {
      case .update(let query): #expect(query.rest.isDefault)
      case .delete(let query): #expect(query.rest.isDefault)
      case let other: Issue.record("\(other)")
      }
    }
  }

  /// A subquery in a change's returning or order reads rows other than the changed ones.
  @Test func aChangesSubqueriesReadTheTenantsRowsOnly() throws {
    let policy = StatementPolicy(
      .table(Account.self).reading(Account.id, Account.name).filtering(Account.id, by: .equality)
        .sorting(Account.id, Account.name).setting(Account.name).rows(where: Account.tenant == 1),
      .table(Payment.self).reading(Payment.id).filtering(Payment.id, by: .equality).sorting(Payment.id)
        .setting(Payment.id, Payment.account, Payment.tenant, Payment.amount),
      kinds: [.insert, .update, .delete], features: [.subqueries])
    // The name of another tenant's account.
    let name =
      #"{"query":{"from":[{"table":"account","as":"o"}],"select":[{"column":"name","of":"o"}],"#
      + #""where":{"=":[{"column":"id","of":"o"},3]}}}"#
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      for change in [
        #""update":{"table":"account","set":[{"column":"name","to":"x"}],"where":{"=":[{"column":"id"},1]},"#,
        #""delete":{"from":"payment","where":{"=":[{"column":"id"},1]},"#,
        #""insert":{"into":"payment","row":{"id":8,"account_id":1,"tenant":1,"amount":1},"#,
      ] {
        let statement = try policy.statement(AnyStatement.self, json: data(change + #""returning":[\#(name)]}"#))
        guard case .rows(let rows) = try statement.run(db) else {
          Issue.record("\(statement.sql) returns no rows")
          continue
        }
        #expect(rows.map(\.values) == [[.null]], "\(statement.sql)")
      }
      let delete = #""delete":{"from":"payment","orderBy":[{"asc":\#(name)}],"limit":1}"#
      let first = try policy.statement(AnyStatement.self, json: data(delete))
      #expect(first.sql.contains(#"WHERE "o"."tenant" = ? AND "o"."id" = ?"#), "\(first.sql)")
    }
  }

  // MARK: Size

  @Test func largeDocumentsAreRefused() throws {
    let policy = tenantPolicy()
    let ids = Array(1...201).map(String.init).joined(separator: ",")
    #expect(refusal(policy, #""count":{"from":"account","where":{"in":[{"column":"id"},[\#(ids)]]}}"#) != nil)
    let wide = Array(repeating: #"{"=":[{"column":"id"},1]}"#, count: 70).joined(separator: ",")
    #expect(refusal(policy, #""count":{"from":"account","where":{"or":[\#(wide)]}}"#) != nil)
    let deep = String(repeating: #"{"not":"#, count: 20) + #"{"column":"id"}"# + String(repeating: "}", count: 20)
    #expect(refusal(policy, #""count":{"from":"account","where":\#(deep)}"#) != nil)
    let long =
      #""count":{"from":"account","where":{"=":[{"column":"name"},"\#(String(repeating: "x", count: 65_536))"]}}"#
    #expect(refusal(policy, long)?.message == "the document is larger than 65536 bytes")
  }

  /// The library never frees the layout of a named query, so a refused document must not create one.
  @Test func aNamedQueryIsRefusedBeforeItsColumnsAreRead() {
    let query = #""read":{"from":[{"as":"q","columns":["no type"],"query":{"from":"account"}}]}"#
    #expect(refusal(tenantPolicy(), query)?.message == "the policy does not allow this")
    #expect(refusal(tenantPolicy(features: [.namedQueries]), query)?.message == "unknown type of a column")
  }

  @Test func aPolicyWithAnotherModelsColumnThrows() throws {
    let policy = StatementPolicy(.table(Account.self).reading(Payment.amount))
    let error = expectMisuse { _ = try policy.statement(AnyStatement.self, json: data(#""count":{"from":"account"}"#)) }
    #expect(error?.column == "amount")
    #expect(error?.table == "account")
  }

  /// The author of the document must not learn the names in the condition.
  @Test func anInvalidConditionOfThePolicyIsMisuseWithoutAPath() throws {
    for condition in [Payment.tenant == 1, Account.color.column == 1] as [SqlExpression] {
      let policy = StatementPolicy(.table(Account.self).reading(Account.id).rows(where: condition))
      let error = expectMisuse { _ = try policy.statement(json: data(#""count":{"from":"account"}"#)) }
      #expect(error?.documentPath == nil)
      #expect(error?.table == "account")
      #expect(error?.message.hasPrefix("the policy's condition on the rows of table account can't be used: ") == true)
    }
  }

  @Test func aPolicyThatNamesATableTwiceIsMisuse() throws {
    // The second rule's columns would apply to the first rule's rows, which are all rows.
    let policy = StatementPolicy(
      .table(Account.self), .table(Account.self).readingAll().rows(where: Account.tenant == 1))
    let error = expectMisuse { _ = try policy.statement(json: data(#""count":{"from":"account"}"#)) }
    #expect(error?.message == "the policy has table account twice")
    #expect(error?.documentPath == nil)
  }
}
