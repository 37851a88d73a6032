import SqlableCore

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
