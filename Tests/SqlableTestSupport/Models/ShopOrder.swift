import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// An order whose key has two columns.
struct ShopOrder: SqlCodable, Equatable {
  let number: Int
  let shop: String
  static let number = column("number", Int.self)
  static let shop = column("shop", String.self)
  static let tableLayout = [number.column, shop.column]
  static let tableConstraints: [any TableConstraint] = [PrimaryKeys(number, shop)]

  static let tags = toMany(
    OrderTag.self, through: TaggedOrder.self, from: [TaggedOrder.shop, TaggedOrder.order], to: [TaggedOrder.tag])

  init(_ shop: String, _ number: Int) { (self.shop, self.number) = (shop, number) }
}

extension ShopOrder {
  static let lines = toMany(OrderLine.self, by: [OrderLine.shop, OrderLine.order])
}
extension OrderLine {
  static let placed = toOne(ShopOrder.self, by: [shop, order])
}
