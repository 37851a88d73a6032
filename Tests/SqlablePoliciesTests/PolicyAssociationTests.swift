import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Policies on reads with associated rows.
@Suite struct PolicyAssociationTests {
  private static let payments = Account.toMany(Payment.self, by: Payment.account, of: Account.id)
  private static let account = Payment.toOne(Account.self, by: Payment.account, of: Account.id)

  /// A policy that reads all columns of a tenant's accounts and payments.
  private func policy(
    _ tenant: Int = 1, features: Set<StatementPolicy.Feature> = [], _ others: TablePolicy...
  ) -> StatementPolicy {
    var policy = StatementPolicy(
      .table(Account.self).readingAll().filtering(Account.name, by: .equality).sorting(Account.name)
        .rows(where: Account.tenant == tenant),
      .table(Payment.self).readingAll().filtering(Payment.amount, by: .comparison).sorting(Payment.amount)
        .rows(where: Payment.tenant == tenant), features: features)
    policy.limits.rows = 2
    return policy
  }

  private func withAccounts(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Account.self, Payment.self)
      try Account.insert([
        Account(id: 1, tenant: 1, name: "Anna", owed: 10), Account(id: 2, tenant: 1, name: "Bo", owed: 5),
        Account(id: 3, tenant: 2, name: "Cid", owed: 1),
      ]).run(db)
      try Payment.insert([
        Payment(id: 1, account: 1, tenant: 1, amount: 7), Payment(id: 2, account: 3, tenant: 2, amount: 9),
        Payment(id: 3, account: 1, tenant: 2, amount: 11), Payment(id: 4, account: 1, tenant: 1, amount: 3),
        Payment(id: 5, account: 1, tenant: 1, amount: 5),
      ]).run(db)
      try body(db)
    }
  }

  @Test func theConditionAndTheLimitApplyToAssociatedRows() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let all = try policy().statement(like: like, json: like.json())
      #expect(try all.run(db).map { $0.1.map(\.id) } == [[1, 4], []])
      let sent = Account.read().orderBy(Account.name, .desc).including(
        PolicyAssociationTests.payments.filter(Payment.amount > 3).orderBy(Payment.amount, .desc))
      let rows = try policy().statement(like: like, json: sent.json()).run(db)
      #expect(rows.map(\.0.name) == ["Bo", "Anna"])
      #expect(rows.map { $0.1.map(\.amount) } == [[], [7, 5]])
      // If the account belongs to another tenant, the payment comes without it.
      let owners = Payment.read().including(PolicyAssociationTests.account)
      try Payment(id: 6, account: 3, tenant: 1, amount: 1).insert().run(db)
      let few = Payment.read().filter(Payment.amount < 4).including(PolicyAssociationTests.account)
      let found = try policy().statement(like: owners, json: few.json()).run(db)
      #expect(found.map(\.0.id) == [4, 6])
      #expect(found.map { $0.1?.id } == [1, nil])
    }
  }

  @Test func forbiddenAssociationsAreRefusedWithTheirPath() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    for (payments, place) in [
      (PolicyAssociationTests.payments.filter(Payment.id == 1), "read.including[0].where"),
      (PolicyAssociationTests.payments.orderBy(Payment.id), "read.including[0].orderBy"),
      (PolicyAssociationTests.payments.limit(3), "read.including[0].limit"),
      (PolicyAssociationTests.payments.filter(Payment.amount + 1 > 2), "read.including[0].where"),
    ] {
      let json = try Account.read().including(payments).json()
      let error = sqlError { _ = try policy().statement(like: like, json: json) }
      #expect(error?.documentPath == place, "\(String(describing: error))")
    }
    // No rule for the table, then a rule that lacks columns of a whole row.
    for policy in [
      StatementPolicy(.table(Account.self).readingAll()),
      StatementPolicy(.table(Account.self).readingAll(), .table(Payment.self).reading(Payment.id)),
    ] {
      expectInvalidStatement { _ = try policy.statement(like: like, json: like.json()) }
    }
    let counts = StatementPolicy(.table(Account.self).readingAll(), .table(Payment.self).readingAll(), kinds: [.count])
    expectInvalidStatement { _ = try counts.statement(like: like, json: like.json()) }
  }

  @Test func anAggregateCoversOnlyTheRowsThatThePolicyShows() throws {
    let payments = PolicyAssociationTests.payments
    let like = Account.read().including(payments.aggregate(Payment.amount.sum()))
    func policy(_ features: Set<StatementPolicy.Feature>, _ payments: TablePolicy) -> StatementPolicy {
      StatementPolicy(
        .table(Account.self).readingAll().rows(where: Account.tenant == 1), payments.rows(where: Payment.tenant == 1),
        features: features)
    }
    let refers = TablePolicy(Payment.self).filtering(Payment.account, by: .equality)
    for policy in [
      policy([], refers.reading(Payment.amount)), policy([.aggregates], refers),
      policy([.aggregates], TablePolicy(Payment.self).reading(Payment.amount)),
    ] {
      expectInvalidStatement { _ = try policy.statement(like: like, json: like.json()) }
    }
    // An aggregate may call only the functions that the policy allows.
    let owed = Account.read().including(payments.aggregate(Payment.amount.sum().ifNull(0)))
    let error = sqlError {
      _ = try policy([.aggregates], refers.reading(Payment.amount)).statement(like: owed, json: owed.json())
    }
    #expect(error?.documentPath?.hasPrefix("read.including[0].aggregate") == true, "\(String(describing: error))")
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let sums = try policy([.aggregates], refers.reading(Payment.amount)).statement(like: like, json: like.json())
      #expect(try sums.run(db).map(\.1) == [15, nil])
    }
  }

  @Test func aCountNeedsAggregatesAndTheColumnThatRefers() throws {
    let like = Account.read().including(PolicyAssociationTests.payments.count())
    func policy(_ features: Set<StatementPolicy.Feature>, _ payments: TablePolicy) -> StatementPolicy {
      StatementPolicy(
        .table(Account.self).readingAll().rows(where: Account.tenant == 1), payments.rows(where: Payment.tenant == 1),
        features: features)
    }
    let filtering = TablePolicy(Payment.self).filtering(Payment.account, by: .equality)
    for policy in [policy([], filtering), policy([.aggregates], TablePolicy(Payment.self).reading(Payment.id))] {
      expectInvalidStatement { _ = try policy.statement(like: like, json: like.json()) }
    }
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let counts = try policy([.aggregates], filtering).statement(like: like, json: like.json())
      #expect(try counts.run(db).map(\.1) == [3, 0])
      #expect(try counts.limited(by: policy([.aggregates], filtering)).run(db).map(\.1) == [3, 0])
    }
  }

  @Test func theJunctionTableNeedsARule() throws {
    let like = Person.read().including(Person.courses)
    let (people, courses) = (TablePolicy(Person.self).readingAll(), TablePolicy(Course.self).readingAll())
    let links = TablePolicy(Enrolment.self).filtering(Enrolment.personId, Enrolment.courseId, by: .equality)
    for policy in [
      StatementPolicy(people, courses), StatementPolicy(people, courses, .table(Enrolment.self).readingAll()),
    ] {
      expectInvalidStatement { _ = try policy.statement(like: like, json: like.json()) }
    }
    let policy = StatementPolicy(people, courses, links.rows(where: Enrolment.courseId != 2))
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let read = try policy.statement(like: like, json: like.json())
      let expected = [["Welding"], ["Welding"], ["Welding"]]
      #expect(try read.run(db).map { $0.1.map(\.title) } == expected)
      #expect(try read.limited(by: policy).run(db).map { $0.1.map(\.title) } == expected)
    }
  }

  @Test func aLimitedRunHasTheSameRowsAndNoScanOfALargeTable() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      var policy = policy()
      let read = try policy.statement(like: like, json: like.json())
      #expect(try read.limited(by: policy).run(db).map { $0.1.map(\.id) } == [[1, 4], []])
      policy.limits.scannedRows = 4
      let error = sqlError { try read.limited(by: policy).run(db) }
      #expect(error?.message == "the statement would scan more rows than the policy allows")
      try db.run(SQL("CREATE INDEX payments ON payment(account_id)"))
      #expect(try read.limited(by: policy).run(db).map { $0.1.map(\.id) } == [[1, 4], []])
      // The authorizer refuses tables that the policy does not name.
      let other = Account.read().including(Account.toMany(Worker.self, by: Worker.bossId, of: Account.id))
      try db.createTable(Worker.self)
      expectInvalidStatement { _ = try other.limited(by: policy).run(db) }
    }
  }

  /// With many parent rows, the read binds their keys as one list, which SQLite reads as a table.
  @Test func aLimitedRunReadsTheRowsOfManyParents() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      try Account.insert((10..<60).map { Account(id: $0, tenant: 1, name: "\($0)", owed: 0) }).run(db)
      try Payment.insert((10..<60).map { Payment(id: $0, account: $0, tenant: 1, amount: 0) }).run(db)
      var policy = policy()
      policy.limits.rows = 100
      let child = try db.createChild()
      let read = try policy.statement(like: like, json: like.json())
      #expect(try read.limited(by: policy).run(child).map { $0.1.count } == [3, 0] + Array(repeating: 1, count: 50))
      policy.limits.scannedRows = nil
      let ids = Account.select(Account.id).filter(Account.id.in(Array(1...60)))
      #expect(try ids.limited(by: policy.limits).limited(by: policy).run(db.createChild()).count == 53)
    }
  }

  @Test func limitsApplyToCollectedAndBoundReads() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      var policy = policy()
      let read = try policy.statement(like: like, json: like.json())
      #expect(try read.limited(by: policy).limited(by: policy).run(db).map { $0.1.count } == [2, 0])
      #expect(try read.binding([:]).limited(by: policy).run(db).map { $0.1.count } == [2, 0])
      #expect(try read.asDictionary(by: \.0.id).limited(by: policy).run(db)[1]?.1.count == 2)
      policy.limits.scannedRows = 4
      let scanned = "the statement would scan more rows than the policy allows"
      #expect(sqlError { try read.limited(by: policy).limited(by: policy).run(db) }?.message == scanned)
      #expect(sqlError { try read.binding([:]).limited(by: policy).run(db) }?.message == scanned)
      #expect(sqlError { try read.asDictionary(by: \.0.id).limited(by: policy).run(db) }?.message == scanned)
    }
  }

  /// An index over a hidden column must not determine the parent if several rows match.
  @Test func theMatchingParentWithTheSmallestKeyIsRead() throws {
    let like = Payment.read().including(Payment.toOne(Account.self, by: Payment.amount, of: Account.tenant))
    let policy = StatementPolicy(.table(Account.self).readingAll(), .table(Payment.self).readingAll())
    try withDatabase { db in
      try db.createTables(Account.self, Payment.self)
      try Account.insert([
        Account(id: 1, tenant: 1, name: "a", owed: 9), Account(id: 2, tenant: 1, name: "b", owed: 1),
      ]).run(db)
      try Payment(id: 1, account: 1, tenant: 1, amount: 1).insert().run(db)
      try db.execute("CREATE INDEX hidden ON account(tenant, owed)")
      let read = try policy.statement(like: like, json: like.json())
      #expect(try read.run(db).map { $0.1?.id } == [1])
      #expect(try read.limited(by: policy).run(db).map { $0.1?.id } == [1])
    }
  }

  @Test func hiddenAndMissingNamesAreRefusedAlike() throws {
    let like = Person.read().including(Person.courses)
    let policy = StatementPolicy(.table(Person.self).readingAll(), .table(Course.self).readingAll())
    let through = #""through":{"table":"enrolment","from":"person_id","to":"course_id"}"#
    for association in [
      #"{"from":"course",\#(through)}"#,
      #"{"from":"course",\#(through),"where":{"column":"course_id","of":"enrolment"}}"#,
      #"{"from":"course",\#(through),"where":{"column":"nose","of":"enrolment"}}"#,
      #"{"from":"course",\#(through),"where":{"=":[{"column":"course_id","of":"enrolment"},"x"]}}"#,
      #"{"from":"course","referringBy":"id"}"#, #"{"from":"course","referringBy":"nose"}"#,
    ] {
      let json = Data(#"{"read":{"from":"person","including":[\#(association)]},"sqlable":1}"#.utf8)
      let error = sqlError { _ = try policy.statement(like: like, json: json) }
      #expect(error?.message == "the policy does not allow this", "\(association)")
    }
    // SQLite would refuse an aggregate in the condition or the order of rows, so the policy does.
    let counts = StatementPolicy(
      .table(Account.self).readingAll(), .table(Payment.self).readingAll(), features: [.aggregates, .windows])
    for clause in [#""where":{"function":"countRows"}"#, #""orderBy":[{"asc":{"function":"countRows"}}]"#] {
      let association = #"{"from":"payment","referringBy":"account_id","key":"id",\#(clause)}"#
      let json = Data(#"{"read":{"from":"account","including":[\#(association)]},"sqlable":1}"#.utf8)
      let owners = Account.read().including(PolicyAssociationTests.payments)
      let error = sqlError { _ = try counts.statement(like: owners, json: json) }
      #expect(error?.documentPath == "read.including[0]", "\(clause)")
    }
  }
}
