import SqlableCore

/// A person with a key that SQLite assigns. The owner of bicycles.
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
