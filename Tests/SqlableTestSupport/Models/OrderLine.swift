import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A line of an order, with a foreign key of two columns that may be NULL.
struct OrderLine: SqlCodable, Equatable {
  let id: Int
  let shop: String?
  let order: Int?
  let price: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let shop = column("shop", String?.self)
  static let order = column("order", Int?.self)
  static let price = column("price", Int.self)
  static let tableLayout = [id.column, shop.column, order.column, price.column]
  static let tableConstraints: [any TableConstraint] = [
    ForeignKeys([shop, order], to: ShopOrder.self, [ShopOrder.shop, ShopOrder.number])
  ]
  static let tableIndexes = [Index(order, shop)]

  init(_ id: Int, _ shop: String?, _ order: Int?, _ price: Int) {
    (self.id, self.shop, self.order, self.price) = (id, shop, order, price)
  }
}
