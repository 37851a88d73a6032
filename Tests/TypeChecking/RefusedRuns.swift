// Statements that are not run, or read as something else. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func runs(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  let _: [(String, Double)] = try Car.select(Car.name, Car.price).run(db)
  let _: [(Car, Person?)] = try Car.leftJoin(Person.self, on: Car.ownerId == Person.id).run(db)
  let _: [String] = try Car.select(Car.name).run(db)
  let _: [(String, Int)] = try Car.select(Car.name, Car.price).run(db) // refused: cannot assign value of type '[(String, Double)]' to type '[(String, Int)]'
  let _: [String] = try Car.select(Car.name, Car.price).run(db) // refused: cannot assign value of type '[(String, Double)]' to type '[String]'
  let _: [Int] = try Car.select(Car.name).run(db) // refused: cannot assign value of type '[String]' to type '[Int]'
  let _: [String] = try Car.select(Car.color).run(db) // refused: cannot assign value of type '[String?]' to type '[String]'
  let _: String? = try Car.select(Car.price).first(db) // refused: no exact matches in call to instance method 'first'
  let _: Double? = try Car.select(Car.price.max()).first(db)
  let _: Car = try Car.byId(1).run(db) // refused: value of optional type 'Car?' must be unwrapped to a value of type 'Car'
  let _: [Car] = try Car.read().first().run(db) // refused: cannot convert value of type 'Car?' to specified type '[Car]'
  let _: [Person] = try Car.read().run(db) // refused: cannot assign value of type '[Car]' to type '[Person]'
  let _: [(Car, Person)] = try Car.leftJoin(Person.self, on: Car.ownerId == Person.id).run(db) // refused: cannot assign value of type '[(Car, Person?)]' to type '[(Car, Person)]'
  let _: Int = try Car.exists().run(db) // refused: cannot convert value of type 'Bool' to specified type 'Int'
  for (name, price, age) in try Car.select(Car.name, Car.price).run(db) { print(name, price, age) } // refused: pattern cannot match values of type '(String, Double)'
  _ = Car.read().limit("5") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = Car.read().limit(2.5) // refused: cannot convert value of type 'Double' to expected argument type 'Int'
  let _: [Car] = Car.read() // refused: cannot convert value of type 'Statement<Car, [Car]>' to specified type '[Car]'
  let _: [String] = try Car.select(Car.name) // refused: cannot convert value of type 'Select<String>' to specified type '[String]'
  let _: Int = Car.count() // refused: cannot convert value of type 'Statement<Car, Int>' to specified type 'Int'
  for car in Car.read() { print(car) } // refused: for-in loop requires 'Statement<Car, [Car]>' to conform to 'Sequence'
  try Car.read().filter(Car.id == 1).run(db) // warned: result of call to 'run(_:file:line:)' is unused
  try Car.read().run() // refused: missing argument for parameter #1 in call
  try Car.read().run("cars.db") // refused: cannot convert value of type 'String' to expected argument type 'SqliteDatabase'
  _ = Person.column("x", NoValue.self) // refused: a column can't store this type; conform the type, or the elements of an array, to SqlValue or SqlJSON
  let frozen = Car.read(); frozen.limit = 5 // refused: cannot assign to value: 'limit' is a method
  _ = try db.prepare(Car.read()).run(db) // refused: instance method 'run' requires that 'SqliteDatabase' conform to 'SqlValue'
  _ = try db.prepare(Car.read().filter(Car.name == Parameter("x"))).run(NoValue()) // refused: instance method 'run' requires that 'NoValue' conform to 'SqlValue'
  _ = try db.prepare("DELETE FROM car WHERE id = \(Parameter<Int>("id"))").run(1)
  _ = try db.query("SELECT \(NoValue())", as: Int.self) // warned: running the SQL throws
  try db.execute("DELETE FROM car WHERE id = \(NoValue())") // warned: running the SQL throws
  try db.execute("DELETE FROM car WHERE name = \("x") AND id = \("1 OR 1".dropFirst(0))") // warned: running the SQL throws
  try db.execute("DELETE FROM car WHERE name = \("x") AND id = \(5)")
  _ = try db.query("SELECT 1", as: NoValue.self) // refused: no exact matches in call to instance method 'query'
  _ = try db.query("SELECT " + "1", as: Int.self) // refused: cannot convert value of type 'String' to expected argument type 'SQL'
  let sql = "SELECT 1"; _ = try db.query(sql, as: Int.self) // refused: cannot convert value of type 'String' to expected argument type 'SQL'
  _ = try db.execute(Car.read()) // refused: cannot convert value of type 'Statement<Car, [Car]>' to expected argument type 'SQL'
  _ = ScalarFunction("f") { (a: Int) in counter.count += a; return a } // refused: capture of 'counter' with non-Sendable type 'Counter' in a '@Sendable' closure
  _ = ScalarFunction("f") { (a: Int) in NoValue() } // refused: generic struct 'ScalarFunction' requires that 'NoValue' conform to 'SqlValue'
  _ = Car.read() == Person.read() // refused: operator function '==' on 'SqlTerm' requires
  try db.transaction { db in Car.read().run(db) } // refused: call can throw, but it is not marked with 'try' and the error is not handled
  let statement = Car.read(); statement.filter(Car.id == 1) // warned: result of call to 'filter' is unused
  let f: (SqliteDatabase) throws -> Void = { db in _ = try db.transaction { db in try Car.deleteAll().run(db) } }; _ = f
}
