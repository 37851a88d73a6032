import SqlableCore

/// A payment of an account.
struct Payment: Sqlable, Equatable {
  static let id = column("id", Int.self, PrimaryKey())
  static let account = column("account_id", Int.self)
  static let tenant = column("tenant", Int.self)
  static let amount = column("amount", Int.self)
  static let tableLayout = [id.column, account.column, tenant.column, amount.column]
  var id: Int
  var account: Int
  var tenant: Int
  var amount: Int
}

extension Payment {
  init(row: ReadRow) throws {
    id = try row.get(Payment.id)
    account = try row.get(Payment.account)
    tenant = try row.get(Payment.tenant)
    amount = try row.get(Payment.amount)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Payment.id, id)
    row.set(Payment.account, account)
    row.set(Payment.tenant, tenant)
    row.set(Payment.amount, amount)
  }
}
