import SqlableCore

/// A table without a primary key, with columns that share names and types with other models.
struct Note: Sqlable, Equatable {
  static let id = Column("id", .integer)
  static let name = Column("name", .text)
  static let tableLayout = [id, name]
  var id: Int
  var name: String

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
  init(row: ReadRow) throws { self.init(id: try row.get(Self.id), name: try row.get(Self.name)) }
  func write(to row: inout RowWriter) throws {
    row.set(Self.id, id)
    row.set(Self.name, name)
  }
}
