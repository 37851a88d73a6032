import SqlableCore
import SqlableQueries
import SqlableSchema

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
  try db.createTables(ShopOrder.self, OrderLine.self, OrderTag.self, TaggedOrder.self)
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
