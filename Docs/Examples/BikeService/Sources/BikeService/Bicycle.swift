import Hummingbird
import Sqlable

/// A row of the table, and what goes over the wire.
struct Bicycle: ResponseCodable, Equatable {
  var id: Int?
  var name: String
  var color: String
  /// In cents: an integer is exact, and sorts and compares as a number.
  var price: Int
  var owner: String?
}

extension Bicycle: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self, Unique())
  static let color = column("color", String.self)
  static let price = column("price", Int.self, Check("price >= 0"))
  static let owner = column("owner", String?.self)
  static let tableLayout = [id.column, name.column, color.column, price.column, owner.column]
  // For the list of a color, page by page, and for the searches of an owner: an index ends with the row's id of itself.
  static let tableIndexes = [Index(color.column), Index(owner.column)]

  func write(to row: inout RowWriter) throws {
    row.set(Bicycle.id, id)
    row.set(Bicycle.name, name)
    row.set(Bicycle.color, color)
    row.set(Bicycle.price, price)
    // A PUT says all of a bicycle: one without an owner has none any more. `set` would keep the one that is stored.
    row.set(Bicycle.owner, owner)
  }

  init(row: ReadRow) throws {
    id = try row.get(Bicycle.id)
    name = try row.get(Bicycle.name)
    color = try row.get(Bicycle.color)
    price = try row.get(Bicycle.price)
    owner = try row.get(Bicycle.owner)
  }
}
