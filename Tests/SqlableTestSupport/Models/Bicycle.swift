import FoundationEssentials
import SqlableCore

struct Person: Equatable {
  let id: Int?
  var name: String
}

extension Person: Sqlable {
  static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
  static let name = Column("name", .text)
  static let tableLayout = [id, name]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Person.id: return id
    case Person.name: return name
    case _: return nil
    }
  }

  init(row: ReadRow) throws {
    id = try row.get(Person.id)
    name = try row.get(Person.name)
  }
}

/// A model of the guides with untyped columns.
struct Bicycle: Equatable {
  let id: Int?
  var name: String
  var color: String
  var ownerId: Int?

  init(id: Int? = nil, name: String, color: String, ownerId: Int? = nil) {
    self.id = id
    self.name = name
    self.color = color
    self.ownerId = ownerId
  }
}

extension Bicycle: Sqlable {
  static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
  static let name = Column("name", .text)
  static let color = Column("color", .text, Default("black"))
  static let ownerId = Column("owner_id", .nullable(.integer), ForeignKey<Person>(onDelete: .setNull))
  static let tableLayout = [id, name, color, ownerId]
  static let tableIndexes = [Index(color)]
  static let tableConstraints = [Unique(Bicycle.name, Bicycle.color)]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Bicycle.id: return id
    case Bicycle.name: return name
    case Bicycle.color: return color
    case Bicycle.ownerId: return ownerId
    case _: return nil
    }
  }

  init(row: ReadRow) throws {
    id = try row.get(Bicycle.id)
    name = try row.get(Bicycle.name)
    color = try row.get(Bicycle.color)
    ownerId = try row.get(Bicycle.ownerId)
  }
}

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
