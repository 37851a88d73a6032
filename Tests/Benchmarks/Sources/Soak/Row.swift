import Sqlable

/// What the soak stores.
struct Row: Sqlable, Sendable {
  let id: Int?
  let group: Int
  let name: String
  let value: Double
  static let id = column("id", Int?.self, PrimaryKey())
  static let group = column("group", Int.self)
  static let name = column("name", String.self)
  static let value = column("value", Double.self)
  static let tableLayout = [id.column, group.column, name.column, value.column]
  static let tableIndexes = [Index(group)]

  init(id: Int?, group: Int, name: String, value: Double) {
    (self.id, self.group, self.name, self.value) = (id, group, name, value)
  }

  init(row: ReadRow) throws {
    id = try row.get(Row.id)
    group = try row.get(Row.group)
    name = try row.get(Row.name)
    value = try row.get(Row.value)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Row.id, id)
    row.set(Row.group, group)
    row.set(Row.name, name)
    row.set(Row.value, value)
  }

  static func random() -> Row {
    Row(
      id: nil, group: Int.random(in: 0..<50), name: String(repeating: "name ", count: Int.random(in: 1...20)),
      value: Double.random(in: 0..<1_000))
  }
}
