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

/// Calls `body` with tables of bicycles, owners and workers.
func withCompany(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try fillCompany(db)
    try body(db)
  }
}

func fillCompany(_ db: SqliteDatabase) throws {
  try db.createTable(Person.self)
  try db.createTable(Bicycle.self)
  try db.createTable(Worker.self)
  try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo"), Person(id: 3, name: "Cid")]).run(db)
  try Bicycle.insert([
    Bicycle(name: "Norco", color: "red", ownerId: 1),
    Bicycle(name: "Trek", color: "blue", ownerId: 2),
    Bicycle(name: "Giant", color: "red", ownerId: 1),
    Bicycle(name: "Kona", color: "green"),
  ]).run(db)
  try Worker.insert(Worker.all).run(db)
}
