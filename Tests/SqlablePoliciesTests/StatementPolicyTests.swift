import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Untrusted documents under a policy: allowed uses and visible rows.
@Suite struct StatementPolicyTests {
  func withAccounts(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Account.self, Payment.self)
      try Account.insert([
        Account(id: 1, tenant: 1, name: "Anna", color: "red", owed: 10, note: "{}"),
        Account(id: 2, tenant: 1, name: "Bo", color: nil, owed: 5, note: nil),
        Account(id: 3, tenant: 2, name: "Cid", color: "red", owed: 1, note: "no json"),
      ]).run(db)
      try Payment.insert([
        Payment(id: 1, account: 1, tenant: 1, amount: 7), Payment(id: 2, account: 3, tenant: 2, amount: 9),
        Payment(id: 3, account: 1, tenant: 2, amount: 11),
      ]).run(db)
      try body(db)
    }
  }

  func data(_ body: String) -> Data { Data(#"{"sqlable":1,\#(body)}"#.utf8) }

  func refusal(_ policy: StatementPolicy, _ body: String) -> SqlError? {
    sqlError { _ = try policy.statement(AnyStatement.self, json: data(body)) }
  }

  @Test func theTenantsRowsAndALimitAreAdded() throws {
    let query = Account.select(Account.id, Account.name).filter(Account.color == "red" || Account.name > "B")
    let restricted = try tenantPolicy().statement(Select<(Int, String)>.self, json: query.json())
    #expect(
      restricted.sql
        == """
        SELECT "id", "name" FROM "account" WHERE "tenant" = ? AND ("color" = ? OR "name" > ?) \
        ORDER BY "id" LIMIT ?
        """)
    #expect(
      restricted.bindings == [
        .integer(1),
        .text("red"),
        .text("B"),
        .integer(100),
      ])
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let rows = try restricted.run(db)
      #expect(rows.map(\.0) == [1, 2])
      let all = try tenantPolicy(2).statement(Statement<Account, Int>.self, json: Account.count().json()).run(db)
      #expect(all == 1)
    }
  }

  @Test func aLimitAboveThePolicysIsRefused() throws {
    let few = Account.select(Account.id).limit(7)
    #expect(try tenantPolicy().statement(Select<Int>.self, json: few.json()).bindings.last == .integer(7))
    for many in [Account.select(Account.id).limit(101), Account.select(Account.id).limit(10, offset: 10_001)] {
      expectInvalidStatement { _ = try tenantPolicy().statement(Select<Int>.self, json: many.json()) }
    }
    // SQLite reads a negative limit as no limit.
    let none = #""read":{"from":"account","select":[{"column":"id"}],"limit":-1}"#
    expectInvalidStatement { _ = try tenantPolicy().statement(Select<Int>.self, json: data(none)) }
  }

  @Test func hiddenAndMissingNamesAreRefusedAlike() throws {
    for (hidden, missing) in [
      (
        #""read":{"from":"account","select":[{"column":"owed"}]}"#,
        #""read":{"from":"account","select":[{"column":"owex"}]}"#
      ),
      (
        #""count":{"from":"account","where":{"=":[{"column":"tenant"},2]}}"#,
        #""count":{"from":"account","where":{"=":[{"column":"tenanx"},2]}}"#
      ),
      (#""count":{"from":"bicycle"}"#, #""count":{"from":"bicyclx"}"#),
      (
        #""read":{"from":"account","select":[{"function":"hex","arguments":[{"column":"name"}]}]}"#,
        #""read":{"from":"account","select":[{"function":"hexx","arguments":[{"column":"name"}]}]}"#
      ),
      (
        #""read":{"from":"account","select":[{"column":"id"}],"orderBy":[{"asc":{"column":"owed"}}]}"#,
        #""read":{"from":"account","select":[{"column":"id"}],"orderBy":[{"asc":{"column":"owex"}}]}"#
      ),
    ] {
      let (first, second) = (refusal(tenantPolicy(), hidden), refusal(tenantPolicy(), missing))
      #expect(first != nil, "\(String(describing: first)) \(String(describing: second))")
      #expect(first == second, "\(String(describing: first)) \(String(describing: second))")
      #expect(first?.message == "the policy does not allow this")
      #expect(first?.table == nil)
      #expect(first?.column == nil)
    }
  }

  @Test func aRefusedUseIsReportedWithItsClause() throws {
    func from(_ rest: String) -> String { #""read":{"from":"account","select":[{"column":"id"}]\#(rest)}"# }
    for (refused, path) in [
      (#""read":{"from":"account"}"#, "read.select"),
      (#""count":{"from":"account","where":{"<":[{"column":"color"},"red"]}}"#, "count.where"),
      (from(#","where":{"and":[{"=":[{"column":"id"},1]},{"<":[{"column":"id"},2]}]}"#), "read.where"),
      (from(#","orderBy":[{"asc":{"column":"id"}},{"asc":{"column":"color"}}]"#), "read.orderBy"),
      (from(#","distinct":true"#), "read.distinct"), (from(#","groupBy":[{"column":"id"}]"#), "read.groupBy"),
      (from(#","compounds":[{"union":{"from":"account","select":[{"column":"color"}]}}]"#), "read.compounds"),
      (from(#","where":{"exists":{"from":"payment","where":{"<":[{"column":"id"},1]}}}"#), "read.where"),
      (#""read":{"values":[[1]]}"#, "read.values"), (from(#","offset":10001"#), "read.offset"),
      (from(#","limit":101"#), "read.limit"),
      (
        #""read":{"from":["account",{"join":"cross","table":"payment"}],"select":[{"column":"id","of":"account"}]}"#,
        "read.from"
      ),
    ] {
      let error = refusal(tenantPolicy(), refused)
      #expect(error?.documentPath == path, "\(refused): \(String(describing: error))")
    }
  }

  /// Reading, filtering and sorting by a column each need a separate permission.
  @Test func everyUseOfAColumnNeedsItsPermission() throws {
    let policy = StatementPolicy(
      .table(Account.self).reading(Account.id).filtering(Account.color, by: .equality).sorting(Account.name))
    func from(_ rest: String) -> String { #""read":{"from":"account","select":[{"column":"id"}]\#(rest)}"# }
    for allowed in [
      from(""), from(#","where":{"=":[{"column":"color"},"red"]}"#),
      from(#","where":{"in":[{"column":"color"},["a"]]}"#),
      from(#","orderBy":[{"desc":{"column":"name"}}]"#), from(#","where":{"isNull":{"column":"color"}}"#),
    ] { #expect(refusal(policy, allowed) == nil, "\(allowed)") }
    for refused in [
      #""read":{"from":"account"}"#, #""read":{"from":"account","select":[{"column":"color"}]}"#,
      #""read":{"from":"account","select":[{"model":"account"}]}"#,
      from(#","where":{"<":[{"column":"color"},"red"]}"#), from(#","where":{"like":[{"column":"color"},"r%"]}"#),
      from(#","where":{"GLOB":[{"column":"color"},"r*"]}"#), from(#","where":{"=":[{"column":"name"},"x"]}"#),
      from(#","where":{"between":[{"column":"color"},"a","b"]}"#), from(#","where":{"column":"name"}"#),
      from(#","where":{"=":[{"column":"color"},{"column":"name"}]}"#),
      from(#","orderBy":[{"asc":{"column":"color"}}]"#),
      from(#","groupBy":[{"column":"id"}]"#), from(#","distinct":true"#), from(#","where":{"=":[{"+":[1,1]},2]}"#),
      from(#","where":{"exists":{"from":"account"}}"#), from(#","where":{"=":[{"parameter":"p"},1]}"#),
      from(#","compounds":[{"union":{"from":"account","select":[{"column":"id"}]}}]"#),
      #"""
      "read":{"from":["account",{"table":"account","as":"other","join":"cross"}],\#
      "select":[{"column":"id","of":"other"}]}
      """#,
      #""read":{"values":[[1]]}"#, #""read":{"from":"account","select":[{"function":"countRows"}]}"#,
      #"""
      "read":{"from":[{"query":{"from":"account","select":[{"column":"id"}]},"as":"q","columns":["integer"]}],\#
      "select":[{"column":"c1","of":"q"}]}
      """#,
      #""read":{"from":"account","select":[{"case":[[{"=":[{"column":"color"},"red"]},1]]}]}"#,
      #""read":{"from":"account","select":[{"registered":"f","arguments":[]}]}"#,
      #""delete":{"from":"account","all":true}"#, #""delete":{"from":"account","where":1}"#,
      #""update":{"table":"account","set":[{"column":"name","to":"x"}],"where":1}"#,
      #""insert":{"into":"account","row":{"id":9}}"#, #""save":{"into":"account","row":{"id":9}}"#,
      #""read":{"from":[{"table":"archive","model":"account"}],"select":[{"column":"id"}]}"#,
    ] {
      let error = refusal(policy, refused)
      guard case .invalidStatement = error?.kind else {
        Issue.record("\(refused) \(String(describing: error))")
        continue
      }
    }
  }

  @Test func theTenantsConditionIsAddedToEveryReadOfTheTable() throws {
    let other = Alias(Account.self, "other")
    let policy = tenantPolicy(features: [.joins, .subqueries, .aggregates, .compounds, .namedQueries, .distinct])
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      func check<Row: Equatable & SelectOutput>(_ query: Select<Row>, _ expected: [Row]) throws {
        let restricted = try policy.statement(Select<Row>.self, json: query.json())
        let rows = try restricted.run(db)
        #expect(rows == expected, "\(restricted.sql)")
      }
      try check(Account.select(Account.id).orderBy(Account.id), [1, 2])
      try check(Account.select(Account.id.count()), [2])
      try check(other.read().select(other[Account.id]), [1, 2])
      try check(Account.select(Account.id).unionAll(other.read().select(other[Account.id])), [1, 1, 2, 2])
      try check(Account.join(Payment.self, on: Payment.account == Account.id).select(Payment.id), [1])
      // The join does not find the other tenant's payment and returns the account without one.
      try check(
        Account.leftJoin(Payment.self, on: Payment.account == Account.id).select(
          Payment.id.typed(as: Int?.self)), [1, nil])
      try check(Payment.select(Payment.id).filter(Payment.account.in(Account.select(Account.id))), [1])
      try check(Payment.select(scalar(Account.select(Account.id.max()))), [2])
      try check(Account.select(Account.id).filter(exists(Payment.read().filter(Payment.account == Account.id))), [1])
      let names = Account.select(Account.name).named("names")
      try check(names.read(), ["Anna", "Bo"])
      try check(Account.select(Account.color).distinct().orderBy(Account.name), ["red", nil])
    }
  }

  /// A right or full join would reveal a hidden row as a row without a match.
  @Test func rightAndFullJoinsOfARestrictedTableAreRefused() throws {
    let policy = tenantPolicy(features: [.joins, .aggregates])
    let condition = Payment.account == Account.id
    for query in [
      Account.rightJoin(Payment.self, on: condition).select(Payment.id),
      Payment.read().fullJoin(Account.self, on: condition).select(countAll()),
    ] {
      let error = sqlError { _ = try policy.statement(Select<Int>.self, json: query.json()) }
      #expect(error?.message == "the policy does not allow this")
    }
    let open = StatementPolicy(
      .table(Account.self).reading(Account.id).filtering(Account.id, by: .equality),
      .table(Payment.self).reading(Payment.id, Payment.account).filtering(Payment.account, by: .equality),
      features: [.joins])
    let joined = Account.rightJoin(Payment.self, on: condition).select(Payment.id)
    let allowed = try open.statement(Select<Int>.self, json: joined.json())
    #expect(allowed.sql.contains(#"FROM "account" RIGHT JOIN "payment" ON "payment"."account_id" = "account"."id""#))
  }

  /// An error must not reveal a row that the policy hides.
  @Test func hiddenRowsCauseNoErrors() throws {
    let policy = StatementPolicy(
      .table(Account.self).reading(Account.id, Account.note).filtering(Account.note, by: .equality)
        .rows(where: Account.tenant == 1), features: [.json, .joins])
    let query = Account.select(Account.id).filter(Account.note.jsonExtract("a", as: Int.self) == nil)
    let restricted = try policy.statement(Select<Int>.self, json: query.json())
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      // Without the policy the malformed JSON of another tenant throws.
      expectSqlError { _ = try query.run(db) }
      #expect(try restricted.run(db) == [1, 2])
      let other = Alias(Account.self, "other")
      let joined = Account.join(other, on: other[Account.note].jsonExtract("a", as: Int.self) == nil)
        .select(Account.id, other[Account.id])
      let rows = try policy.statement(Select<(Int, Int)>.self, json: joined.json()).run(db)
      #expect(rows.count == 4)
    }
    // Concatenation may throw too: the text may become too large.
    let long = Account.select(Account.id).filter(Account.name.concatenated("x").length() == 3)
    let concatenating = StatementPolicy(
      .table(Account.self).reading(Account.id).filtering(Account.name, by: .equality).rows(where: Account.tenant == 1),
      features: [.arithmetic], functions: ["length"])
    let sql = try concatenating.statement(Select<Int>.self, json: long.json()).sql
    let guarded = #"CASE WHEN "tenant" = (VALUES (?)) THEN length("name" || ?) = ? ELSE ? END"#
    #expect(sql.contains(#"WHERE "tenant" = (VALUES (?)) AND \#(guarded)"#))
  }

  /// An index over a hidden column could change the order in which SQLite finds rows, and so the rows within a limit.
  @Test func rowsWithinALimitDoNotDependOnHiddenColumns() throws {
    let policy = StatementPolicy(
      .table(Account.self).reading(Account.id, Account.color).filtering(Account.color, Account.id, by: .equality)
        .sorting(Account.id),
      kinds: [.read, .delete], features: [.subqueries, .distinct, .compounds, .namedQueries, .literalRows])
    let reds = #""from":"account","select":[{"column":"id"}],"where":{"=":[{"column":"color"},"red"]}"#
    let others =
      #""from":[{"table":"account","as":"o"}],"select":[{"column":"id","of":"o"}],"#
      + #""where":{"=":[{"column":"color","of":"o"},"red"]}"#
    let named = #""as":"q","columns":["integer"],"query""#
    let (first, one) = (#"{"column":"c1","of":"q"}"#, #"{"column":"id"},1"#)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      // The index on color and owed has account 3 before account 1.
      #expect(try db.query("SELECT id FROM account WHERE color = 'red'", as: Int.self) == [3, 1])
      for (query, expected) in [
        (#"\#(reds),"limit":1"#, [1]), (#"\#(reds),"distinct":true,"limit":1"#, [1]),
        (#""from":"account","select":[{"query":{\#(others)}}],"where":{"=":[\#(one)]}"#, [1]),
        (#""from":"account","select":[{"column":"id"}],"where":{"in":[{"column":"id"},{\#(others),"limit":1}]}"#, [1]),
        (#""from":[{\#(named):{\#(reds)}}],"select":[\#(first)],"limit":1"#, [1]),
        (#""from":[{\#(named):{\#(reds),"limit":1}}],"select":[\#(first)]"#, [1]),
        (#"\#(reds),"compounds":[{"unionAll":{\#(reds)}}],"limit":3"#, [1, 1, 3]),
        (#""values":[[0]],"compounds":[{"unionAll":{\#(reds)}}],"limit":2"#, [0, 1]),
      ] {
        let statement = try policy.statement(Select<Int>.self, json: data(#""read":{\#(query)}"#))
        #expect(try statement.run(db) == expected, "\(statement.sql)")
      }
      let delete = #""delete":{"from":"account","where":{"=":[{"column":"color"},"red"]},"limit":1}"#
      _ = try policy.statement(AnyStatement.self, json: data(delete)).run(db)
      #expect(try Account.select(Account.id).orderBy(Account.id).run(db) == [2, 3])
    }
  }

  @Test func anEndlessRecursionIsReadUpToItsLimit() throws {
    let policy = tenantPolicy(features: [.namedQueries, .compounds, .literalRows, .arithmetic])
    let next =
      #"{"from":[{"as":"n","columns":["integer"],"recursive":true}],"#
      + #""select":[{"+":[{"column":"c1","of":"n"},1]}]}"#
    let numbers = #"{"values":[[1]],"compounds":[{"unionAll":\#(next)}]}"#
    let query =
      #"{"from":[{"as":"n","columns":["integer"],"query":\#(numbers)}],"#
      + #""select":[{"column":"c1","of":"n"}],"limit":4}"#
    try withDatabase { db in
      let statement = try policy.statement(Select<Int>.self, json: data(#""read":\#(query)"#))
      #expect(try statement.limited(by: policy).run(db) == [1, 2, 3, 4])
    }
  }
}
