import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A tag, whose only column is its text key.
struct OrderTag: SqlCodable, Equatable {
  let name: String
  static let name = column("name", String.self, PrimaryKey())
  static let tableLayout = [name.column]

  init(_ name: String) { self.name = name }
}
