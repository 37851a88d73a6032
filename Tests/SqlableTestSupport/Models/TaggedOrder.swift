import SqlableCore
import SqlableQueries
import SqlableSchema

/// A row of the join table of orders and tags, without a key.
struct TaggedOrder: Sqlable {
  let (shop, order, tag): (String, Int, String)
  static let shop = column("shop", String.self)
  static let order = column("order", Int.self)
  static let tag = column("tag", String.self, ForeignKey<OrderTag>())
  static let tableLayout = [shop.column, order.column, tag.column]
  static let tableConstraints: [any TableConstraint] = [
    ForeignKeys([order, shop], to: ShopOrder.self, [ShopOrder.number, ShopOrder.shop])
  ]

  init(_ shop: String, _ order: Int, _ tag: String) { (self.shop, self.order, self.tag) = (shop, order, tag) }
  init(row: ReadRow) throws {
    self.init(try row.get(TaggedOrder.shop), try row.get(TaggedOrder.order), try row.get(TaggedOrder.tag))
  }
  func write(to row: inout RowWriter) throws {
    row.set(TaggedOrder.shop, shop)
    row.set(TaggedOrder.order, order)
    row.set(TaggedOrder.tag, tag)
  }
}
