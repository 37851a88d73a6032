import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Valid documents that an earlier version refused or misread.
@Suite struct DecodedQueryTests {
  private func withAccounts(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Account.self, Payment.self)
      try Account.insert([
        Account(id: 1, tenant: 1, name: "Anna", color: "red", owed: 1, note: nil),
        Account(id: 2, tenant: 1, name: "Bo", color: nil, owed: 2, note: nil),
      ]).run(db)
      try Payment.insert([
        Payment(id: 1, account: 1, tenant: 1, amount: 7), Payment(id: 2, account: 2, tenant: 1, amount: 9),
      ]).run(db)
      try body(db)
    }
  }

  private func statement(_ body: String) throws -> AnyStatement {
    try AnyStatement(json: data(body), rules: StatementRules(models: [Account.self, Payment.self, Essay.self]))
  }

  private func data(_ body: String) -> Data { Data(#"{"sqlable":1,\#(body)}"#.utf8) }

  @Test func aLimitedNamedQueryCanHaveAnAlias() throws {
    try withAccounts { db in
      let query =
        #"{"query":{"from":"account","select":[{"column":"id"}]},"name":"ids","as":"i","columns":["integer"]}"#
      for select in [#"{"column":"c1","of":"i"}"#, #"{"function":"countRows"}"#] {
        let policy = tenantPolicy(features: [.namedQueries, .aggregates])
        let read = try policy.statement(json: data(#""read":{"from":[\#(query)],"select":[\#(select)]}"#))
        let rows = try read.limited(by: policy).run(db)
        #expect(rows != .rows([]))
      }
    }
  }

  @Test func aLimitedDistinctSubqueryCanSelectOuterColumns() throws {
    try withAccounts { db in
      let policy = tenantPolicy(features: [.subqueries, .distinct])
      let body =
        #""read":{"from":"account","select":[{"column":"id"}],"where":{"in":[{"column":"id"},"#
        + #"{"from":[{"table":"payment","as":"p"}],"select":[{"column":"id","of":"account"}],"distinct":true,"#
        + #""limit":1}]}}"#
      let read = try policy.statement(json: data(body))
      guard case .rows(let rows) = try read.limited(by: policy).run(db) else { throw CancellationError() }
      #expect(rows.map { $0.values } == [[.integer(1)], [.integer(2)]])
    }
  }

  @Test func aSubqueryOrdersByAnOuterColumnOnlyIfItSelectsIt() throws {
    func body(_ selected: String) -> String {
      #""read":{"from":"account","select":[{"query":{"from":[{"table":"payment","as":"p"}],"select":[\#(selected)],"#
        + #""orderBy":[{"desc":{"column":"id","of":"account"}}],"limit":1}}]}"#
    }
    try withAccounts { db in
      let rows = try statement(body(#"{"column":"id","of":"account"}"#)).run(db)
      guard case .rows(let found) = rows else { throw CancellationError() }
      #expect(found.map { $0.values } == [[.integer(1)], [.integer(2)]])
      let error = sqlError { _ = try statement(body(#"{"column":"id","of":"p"}"#)).run(db) }
      #expect(error?.message.contains("with a column of the enclosing query") == true)
      #expect(error?.column == "id")
    }
  }

  @Test func aParameterComparedWithAnElementOfJSONBindsAsInTheOriginal() throws {
    try withAccounts { db in
      let element = JSONEach(Account.note, as: "element")
      let query = Account.select(Account.id).joining(
        element, on: element.value(as: String.self) == Parameter<String>("wanted"))
      let decoded = try Select<Int>(json: query.json(), rules: StatementRules(models: [Account.self]))
      try Account.update(Account.note.set(to: #"["a"]"#)).filter(Account.id == 1).run(db)
      #expect(try query.binding(["wanted": "a"]).run(db) == [1])
      #expect(try decoded.binding(["wanted": "a"]).run(db) == [1])
    }
  }

  @Test(.needsFullText) func aSecondTableCanBeSearched() throws {
    try withEssays { db throws in
      let body =
        #""read":{"from":[{"table":"essay","as":"e"},{"table":"essay","join":"inner","search":true,"#
        + #""on":{"=":[{"column":"id","of":"e"},{"column":"id","of":"essay"}]}}],"select":[{"function":"countRows"}]}"#
      guard case .rows(let rows) = try statement(body).run(db) else { throw CancellationError() }
      let count = try Essay.count().run(db)
      #expect(rows.map { $0.values } == [[.integer(Int64(count))]])
      let left = body.replacingOccurrences(of: "inner", with: "left")
      #expect(
        sqlError { _ = try statement(left) }?.message.contains("needs an inner or cross join") == true)
    }
  }
}
