import SqlableCore
import SqlableQueries
import SqlableSchema

/// A tag, whose only column is its text key.
struct OrderTag: Sqlable, Equatable {
  let name: String
  static let name = column("name", String.self, PrimaryKey())
  static let tableLayout = [name.column]

  init(_ name: String) { self.name = name }
  init(row: ReadRow) throws { self.init(try row.get(OrderTag.name)) }
  func write(to row: inout RowWriter) throws { row.set(OrderTag.name, name) }
}
