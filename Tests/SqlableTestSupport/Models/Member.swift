import SqlableCore

/// A plain row: an integer key and a text.
struct Member: Sqlable, Equatable {
  var id: Int
  var name: String
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id.column, name.column]

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }

  init(row: ReadRow) throws {
    id = try row.get(Member.id)
    name = try row.get(Member.name)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Member.id, id)
    row.set(Member.name, name)
  }
}
