// The models of the snippets in this folder, for the compiler alone.

import Foundation
import Sqlable

/// Typed columns.
struct Car: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let price = column("price", Double.self)
  static let isElectric = column("is_electric", Bool.self)
  static let seats = column("seats", Int.self)
  static let soldAt = column("sold_at", Date.self)
  static let color = column("color", String?.self)
  static let ownerId = column("owner_id", Int?.self)
  static let tags = column("tags", [String].self)
  static let tableLayout = [
    id.column, name.column, price.column, isElectric.column, seats.column, soldAt.column, color.column, ownerId.column,
    tags.column,
  ]
  init(row: ReadRow) throws {}
}

/// Typed columns of another table.
struct Person: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let age = column("age", Int?.self)
  static let tableLayout = [id.column, name.column, age.column]
  init(row: ReadRow) throws {}
}

/// Untyped columns.
struct Bicycle: Sqlable {
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let price = Column("price", .real)
  static let isOld = Column("is_old", .boolean)
  static let tableLayout = [id, name, price, isOld]
  init(row: ReadRow) throws {}
}

/// Untyped columns of a third table.
struct Wheel: Sqlable {
  static let id = Column("id", .integer, PrimaryKey())
  static let bicycleId = Column("bicycle_id", .nullable(.integer))
  static let size = Column("size", .real)
  static let maker = Column("maker", .nullable(.text))
  static let tableLayout = [id, bicycleId, size, maker]
  init(row: ReadRow) throws {}
}

/// A model that is read and written by `Codable`. The property `crew` has no column.
struct Boat: SqlCodable {
  var id: Int?
  var name: String
  var length: Double
  var crew = 1
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let length = column("length", Double.self)
  static let tableLayout = [id.column, name.column, length.column]
  enum CodingKeys: CodingKey { case id, name, length }
}

/// What no column can hold.
struct NoValue {}

/// What can't be sent to another thread.
final class Counter {
  var count = 0
}
