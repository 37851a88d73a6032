import SqlableCore
import SqlableSchema

/// Calls `body` with tables of bicycles, owners and workers.
func withCompany(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try fillCompany(db)
    try body(db)
  }
}

func fillCompany(_ db: SqliteDatabase) throws {
  try db.createTables(Person.self, Bicycle.self, Worker.self)
  try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo"), Person(id: 3, name: "Cid")]).run(db)
  try Bicycle.insert([
    Bicycle(name: "Norco", color: "red", ownerId: 1),
    Bicycle(name: "Trek", color: "blue", ownerId: 2),
    Bicycle(name: "Giant", color: "red", ownerId: 1),
    Bicycle(name: "Kona", color: "green"),
  ]).run(db)
  try Worker.insert(Worker.all).run(db)
}

/// Calls `body` with a table of three bicycles without owners, and an empty table of people.
func withBicycles(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTables(Person.self, Bicycle.self)
    try Bicycle.insert([
      Bicycle(name: "Norco", color: "red"), Bicycle(name: "Trek", color: "blue"), Bicycle(name: "Giant", color: "red"),
    ]).run(db)
    try body(db)
  }
}
