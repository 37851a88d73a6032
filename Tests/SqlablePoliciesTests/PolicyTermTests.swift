import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Terms and clauses of documents that need the permission of a policy.
@Suite struct PolicyTermTests {
  private enum Clauses: TableDeclaration {
    static let id = Column("id", .integer, PrimaryKey(onConflict: .replace))
    static let code = Column("code", .text, Unique(onConflict: .ignore))
    static let color = Column("color", .text)
    static let columns = [id, code, color]
  }

  @Test func columnsOfARowValueNeedThePermissionToCompare() throws {
    let policy = StatementPolicy(.table(Sample.self).reading(Sample.id).filtering(Sample.number, by: .comparison))
    let compared = Sample.select(Sample.id).filter(rowValue(Sample.number, Sample.id) < (1, 2))
    #expect(throws: SqlError.self) { _ = try policy.statement(json: compared.json()) }
  }

  @Test func aPolicyMustAllowDates() throws {
    try withStays(Stay(id: 1, at: Stay.moment, flags: 1)) { db in
      let table = TablePolicy(Stay.self).reading(Stay.id, Stay.real, Stay.flags)
        .filtering(Stay.real, Stay.flags, by: .equality, .comparison)
      for read in [
        Stay.select(Stay.id).filter(Stay.real.start(of: .month) < Stay.moment),
        Stay.select(Stay.id).filter(Stay.real.adding(1, .month) > Stay.moment),
        Stay.select(Stay.id).filter(Stay.real.adding(Stay.flags, .month) > Stay.moment),
        Stay.select(Stay.id).filter(Stay.real.days(since: Stay.moment) == 0),
      ] {
        let json = try read.json()
        #expect(try Select<DynamicRow>(json: json, rules: StatementRules(models: [Stay.self])).sql == read.sql)
        #expect(throws: SqlError.self) { _ = try StatementPolicy(table).statement(json: json) }
        let policy = StatementPolicy(table, features: [.dates, .arithmetic])
        guard case .rows(let rows) = try policy.statement(json: json).limited(by: policy).run(db) else {
          Issue.record("it reads no rows")
          continue
        }
        #expect(rows.map(\.values) == [[.integer(1)]], "\(read.sql)")
        // The policy checks the columns of a date function like others.
        let other = StatementPolicy(TablePolicy(Stay.self).reading(Stay.id), features: [.dates, .arithmetic])
        #expect(throws: SqlError.self) { _ = try other.statement(json: json) }
      }
    }
  }

  /// A replacement would let a client delete a row that it can't see.
  @Test func aPolicyLetsNoConstraintReplaceRows() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Clauses>.self)
      try Entry<Clauses>(1, "a", "red").insert().run(db)
      let table = TablePolicy(Entry<Clauses>.self).setting(Clauses.id, Clauses.code, Clauses.color)
      let policy = StatementPolicy(table, kinds: [.insert, .update])
      let inserted = try policy.statement(
        Statement<Entry<Clauses>, Int>.self, json: Entry<Clauses>(1, "b", "blue").insert().json())
      expectError(.constraint(.primaryKey)) { _ = try inserted.run(db) }
      #expect(inserted.sql.hasPrefix("INSERT OR ABORT INTO"))
      #expect(try Entry<Clauses>.read().run(db) == [Entry<Clauses>(1, "a", "red")])
    }
  }

  @Test func aPolicyRefusesOtherTables() throws {
    let policy = tenantPolicy()
    let other = Alias(Account.self, "other")
    let update = Account.update(Account.id.set(to: other[Account.id])).from(other, on: Account.id == other[Account.id])
    expectInvalidStatement { _ = try policy.statement(Statement<Account, Int>.self, json: update.json()) }
  }
}
