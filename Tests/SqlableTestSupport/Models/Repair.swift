import SqlableCore
import SqlableQueries
import SqlableSchema

/// A repair of a bicycle, for associations over two tables.
struct Repair: Sqlable, Equatable {
  let id: Int
  let bicycleId: Int
  let cost: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let bicycleId = column("bicycle_id", Int.self, ForeignKey<Bicycle>())
  static let cost = column("cost", Int.self)
  static let bicycle = toOne(Bicycle.self, by: bicycleId)
  static let tableLayout = [id.column, bicycleId.column, cost.column]

  init(id: Int, bicycleId: Int, cost: Int) { (self.id, self.bicycleId, self.cost) = (id, bicycleId, cost) }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Repair.id), bicycleId: try row.get(Repair.bicycleId), cost: try row.get(Repair.cost))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Repair.id, id)
    row.set(Repair.bicycleId, bicycleId)
    row.set(Repair.cost, cost)
  }
}
