import Foundation
import SqlableCodable
import SqlableCore

/// A lot of an auction: a decimal price, an optional weight, and dates in two formats.
struct Lot: SqlCodable, Equatable {
  var id: Int
  var price: Decimal
  var weight: Double?
  var soldAt: Date?
  var checkedAt = Date(timeIntervalSince1970: 0)
  var buyer: Int?

  static let id = column("id", Int.self, PrimaryKey())
  static let price = column("price", Decimal.self, as: .decimal(scale: 2))
  static let weight = column("weight", Double?.self)
  static let soldAt = column("sold_at", Date?.self, as: .date(.iso8601))
  static let checkedAt = column("checked_at", Date.self, as: .date(.unixSeconds))
  static let buyer = column("buyer", Int?.self)
  static let tableLayout = [
    id.column, price.column, weight.column, soldAt.column, checkedAt.column, buyer.column,
  ]
}
