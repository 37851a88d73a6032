import Foundation
import Sqlable
import Testing

/// A policy holds for every row that comes with another one.
@Suite struct PolicyAssociationTests {
  private static let payments = Account.toMany(Payment.self, by: Payment.account, of: Account.id)
  private static let account = Payment.toOne(Account.self, by: Payment.account, of: Account.id)

  /// Accounts and payments of a tenant, of which every column is read.
  private func policy(
    _ tenant: Int = 1, features: Set<StatementPolicy.Feature> = [], _ others: (any PolicyTable)...
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
      try db.createTable(Account.self)
      try db.createTable(Payment.self)
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

  @Test func theConditionAndTheLimitHoldForEachRow() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let all = try policy().statement(like: like, json: like.json())
      #expect(try all.run(db).map { $0.1.map(\.id) } == [[1, 4], []])
      let sent = Account.read().orderBy(Account.name, .desc).including(
        PolicyAssociationTests.payments.filter(Payment.amount > 3).orderBy(Payment.amount, .desc))
      let rows = try policy().statement(like: like, json: sent.json()).run(db)
      #expect(rows.map(\.0.name) == ["Bo", "Anna"] && rows.map { $0.1.map(\.amount) } == [[], [7, 5]])
      // A payment of another tenant's account comes without it.
      let owners = Payment.read().including(PolicyAssociationTests.account)
      try Payment(id: 6, account: 3, tenant: 1, amount: 1).insert().run(db)
      let few = Payment.read().filter(Payment.amount < 4).including(PolicyAssociationTests.account)
      let found = try policy().statement(like: owners, json: few.json()).run(db)
      #expect(found.map(\.0.id) == [4, 6] && found.map { $0.1?.id } == [1, nil])
    }
  }

  @Test func whatAPolicyDoesNotAllowIsRefusedAtItsPlace() throws {
    let like = Account.read().including(PolicyAssociationTests.payments)
    for (payments, place) in [
      (PolicyAssociationTests.payments.filter(Payment.id == 1), "read.including[0].where"),
      (PolicyAssociationTests.payments.orderBy(Payment.id), "read.including[0].orderBy"),
      (PolicyAssociationTests.payments.limit(3), "read.including[0]"),
      (PolicyAssociationTests.payments.filter(Payment.amount + 1 > 2), "read.including[0].where"),
    ] {
      let json = try Account.read().including(payments).json()
      let error = sqlError { _ = try policy().statement(like: like, json: json) }
      #expect(error?.documentPath == place, "\(String(describing: error))")
    }
    // Without a rule for the table, or for one column of the whole rows.
    for policy in [
      StatementPolicy(.table(Account.self).readingAll()),
      StatementPolicy(.table(Account.self).readingAll(), .table(Payment.self).reading(Payment.id)),
    ] {
      expectInvalidStatement { _ = try policy.statement(like: like, json: like.json()) }
    }
    let counts = StatementPolicy(.table(Account.self).readingAll(), .table(Payment.self).readingAll(), kinds: [.count])
    expectInvalidStatement { _ = try counts.statement(like: like, json: like.json()) }
  }

  @Test func aCountNeedsAggregatesAndTheColumnThatRefers() throws {
    let like = Account.read().including(PolicyAssociationTests.payments.count())
    func policy(_ features: Set<StatementPolicy.Feature>, _ payments: TablePolicy<Payment>) -> StatementPolicy {
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

  @Test func theTableBetweenMustBeThePolicys() throws {
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
      #expect(error?.message == "the policy does not allow a scan of so many rows")
      try db.run(SQL("CREATE INDEX payments ON payment(account_id)"))
      #expect(try read.limited(by: policy).run(db).map { $0.1.map(\.id) } == [[1, 4], []])
      // The wall knows the tables of the policy only.
      let other = Account.read().including(Account.toMany(Worker.self, by: Worker.bossId, of: Account.id))
      try db.createTable(Worker.self)
      expectInvalidStatement { _ = try other.limited(by: policy).run(db) }
    }
  }
}
