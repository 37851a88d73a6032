import SqlableCore
import SqlableQueries
import SqlableSchema

/// An order whose key has two columns.
struct ShopOrder: Sqlable, Equatable {
  let number: Int
  let shop: String
  static let number = column("number", Int.self)
  static let shop = column("shop", String.self)
  static let tableLayout = [number.column, shop.column]
  static let tableConstraints: [any TableConstraint] = [PrimaryKeys(number, shop)]

  static let tags = toMany(
    OrderTag.self, through: TaggedOrder.self, from: [TaggedOrder.shop, TaggedOrder.order], to: [TaggedOrder.tag])

  init(_ shop: String, _ number: Int) { (self.shop, self.number) = (shop, number) }
  init(row: ReadRow) throws { self.init(try row.get(ShopOrder.shop), try row.get(ShopOrder.number)) }
  func write(to row: inout RowWriter) throws {
    row.set(ShopOrder.number, number)
    row.set(ShopOrder.shop, shop)
  }
}

struct OrderLine: Sqlable, Equatable {
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
  init(row: ReadRow) throws {
    self.init(
      try row.get(OrderLine.id), try row.get(OrderLine.shop), try row.get(OrderLine.order),
      try row.get(OrderLine.price))
  }
  func write(to row: inout RowWriter) throws {
    row.set(OrderLine.id, id)
    row.set(OrderLine.shop, shop)
    row.set(OrderLine.order, order)
    row.set(OrderLine.price, price)
  }
}

extension ShopOrder {
  static let lines = toMany(OrderLine.self, by: [OrderLine.shop, OrderLine.order])
}
extension OrderLine {
  static let placed = toOne(ShopOrder.self, by: [shop, order])
}

struct OrderTag: Sqlable, Equatable {
  let name: String
  static let name = column("name", String.self, PrimaryKey())
  static let tableLayout = [name.column]

  init(_ name: String) { self.name = name }
  init(row: ReadRow) throws { self.init(try row.get(OrderTag.name)) }
  func write(to row: inout RowWriter) throws { row.set(OrderTag.name, name) }
}

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

/// Creates the tables of orders.
///
/// ```
/// shop_order         order_line              tagged_order
/// number  shop       id  shop  order  price  shop  order  tag
/// 1       north      1   north 1      10     north 1      gift
/// 2       north      2   north 1      20     north 1      large
/// 1       south      3   south 1      40     south 1      gift
///                    4   north NULL   80
///                    5   NULL  1      160
/// ```
func createOrders(_ db: SqliteDatabase) throws {
  try db.createTable(ShopOrder.self)
  try db.createTable(OrderLine.self)
  try db.createTable(OrderTag.self)
  try db.createTable(TaggedOrder.self)
  try ShopOrder.insert([ShopOrder("north", 1), ShopOrder("north", 2), ShopOrder("south", 1)]).run(db)
  try OrderLine.insert([
    OrderLine(1, "north", 1, 10), OrderLine(2, "north", 1, 20), OrderLine(3, "south", 1, 40),
    OrderLine(4, "north", nil, 80), OrderLine(5, nil, 1, 160),
  ]).run(db)
  try OrderTag.insert([OrderTag("gift"), OrderTag("large")]).run(db)
  try TaggedOrder.insert([
    TaggedOrder("north", 1, "gift"), TaggedOrder("north", 1, "large"), TaggedOrder("south", 1, "gift"),
  ]).run(db)
}
