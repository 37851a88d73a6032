import SqlableCore
import SqlableDocuments
import SqlablePolicies

// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// Returns the policy for the documents of a tenant.
func tenantPolicy(
  _ tenant: Int = 1, features: Set<StatementPolicy.Feature> = [], rows: ((Column) -> SqlExpression)? = nil
) -> StatementPolicy {
  let condition: (Column) -> SqlExpression = rows ?? { $0 == tenant }
  return StatementPolicy(
    .table(Account.self).reading(Account.id, Account.name, Account.color)
      .filtering(Account.id, Account.color, by: .equality).filtering(Account.name, by: .equality, .comparison, .pattern)
      .sorting(Account.id, Account.name).rows(where: condition(Account.tenant.column)),
    .table(Payment.self).reading(Payment.id, Payment.account, Payment.amount)
      .filtering(Payment.id, Payment.account, Payment.amount, by: .equality, .comparison)
      .sorting(Payment.id, Payment.amount).rows(where: condition(Payment.tenant.column)),
    features: features, functions: ["lower", "length"])
}
