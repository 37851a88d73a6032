import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A repair of a bicycle, for associations over two tables.
struct Repair: SqlCodable, Equatable {
  let id: Int
  let bicycleId: Int
  let cost: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let bicycleId = column("bicycle_id", Int.self, ForeignKey<Bicycle>())
  static let cost = column("cost", Int.self)
  static let bicycle = toOne(Bicycle.self, by: bicycleId)
  static let tableLayout = [id.column, bicycleId.column, cost.column]
}
