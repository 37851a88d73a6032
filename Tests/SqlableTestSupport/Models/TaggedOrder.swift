import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A row of the join table of orders and tags, without a key.
struct TaggedOrder: SqlCodable {
  let shop: String
  let order: Int
  let tag: String
  static let shop = column("shop", String.self)
  static let order = column("order", Int.self)
  static let tag = column("tag", String.self, ForeignKey<OrderTag>())
  static let tableLayout = [shop.column, order.column, tag.column]
  static let tableConstraints: [any TableConstraint] = [
    ForeignKeys([order, shop], to: ShopOrder.self, [ShopOrder.number, ShopOrder.shop])
  ]

  init(_ shop: String, _ order: Int, _ tag: String) { (self.shop, self.order, self.tag) = (shop, order, tag) }
}
