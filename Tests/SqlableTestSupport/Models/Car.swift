import FoundationEssentials
import SqlableCore

/// A model of the guides with typed columns and `write(to:)`.
struct Car: Equatable {
  var id: Int?
  var name: String
  var price: Double
  var isElectric: Bool
  var soldAt: Date?
}

extension Car: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let price = column("price", Double.self)
  static let isElectric = column("is_electric", Bool.self)
  static let soldAt = column("sold_at", Date?.self)
  static let tableLayout = [id.column, name.column, price.column, isElectric.column, soldAt.column]

  func write(to row: inout RowWriter) throws {
    row.set(Car.id, id)
    row.set(Car.name, name)
    row.set(Car.price, price)
    row.set(Car.isElectric, isElectric)
    row.set(Car.soldAt, soldAt)
  }

  init(row: ReadRow) throws {
    id = try row.get(Car.id)
    name = try row.get(Car.name)
    price = try row.get(Car.price)
    isElectric = try row.get(Car.isElectric)
    soldAt = try row.get(Car.soldAt)
  }
}

extension Car {
  static let all = [
    Car(id: 1, name: "Zoe", price: 9_000, isElectric: true),
    Car(id: 2, name: "Golf", price: 15_000, isElectric: false),
    Car(id: 3, name: "Zoe", price: 30_000, isElectric: true),
  ]
}
