import SqlableCore
import SqlableSchema

/// A worker in a tree of bosses, for self-joins.
struct Worker: Sqlable, Equatable {
  let id: Int
  let name: String
  let bossId: Int?
  let salary: Double
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bossId = column("boss_id", Int?.self)
  static let salary = column("salary", Double.self)
  static let tableLayout = [id.column, name.column, bossId.column, salary.column]

  init(id: Int, name: String, bossId: Int?, salary: Double) {
    self.id = id
    self.name = name
    self.bossId = bossId
    self.salary = salary
  }

  init(row: ReadRow) throws {
    // The order of reads differs from the layout.
    salary = try row.get(Worker.salary)
    name = try row.get(Worker.name)
    id = try row.get(Worker.id)
    bossId = try row.get(Worker.bossId)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Worker.id, id)
    row.set(Worker.name, name)
    row.set(Worker.bossId, bossId)
    row.set(Worker.salary, salary)
  }

  static let all = [
    Worker(id: 1, name: "Ada", bossId: nil, salary: 10),
    Worker(id: 2, name: "Ben", bossId: 1, salary: 5),
    Worker(id: 3, name: "Cleo", bossId: 1, salary: 7),
    Worker(id: 4, name: "Dan", bossId: 2, salary: 5),
  ]
}
