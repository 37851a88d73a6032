// Pools, transactions, live results and observers with a mistake. `Tests/Checks` describes how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func transactions(db: SqliteDatabase, pool: SqlitePool, car: Car, counter: Counter) throws {
  let _: Int = try db.transaction { db in try car.insert().run(db) }
  db.transaction { db in try car.insert().run(db) } // refused: call can throw but is not marked with 'try'
  try db.transaction { try car.insert().run($1) } // refused: contextual closure type '(SqliteDatabase) throws -> Int' expects 1 argument, but 2 were used in closure body
  try db.transaction { try car.insert().run(db) } // refused: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
  try db.transaction { db in car.insert().run(db) } // refused: call can throw, but it is not marked with 'try' and the error is not handled
  try db.transaction { db in try car.insert() } // warned: no calls to throwing functions occur within 'try' expression
  try db.transaction(.write) { db in try car.insert().run(db) } // refused: type 'TransactionKind' has no member 'write'
  try db.transaction { db in return .abort } // refused: cannot infer contextual base in reference to member 'abort'
  _ = try db.read { db in await Car.count().run(pool) } // refused: cannot pass function of type '(SqliteDatabase) async -> Int' to parameter expecting synchronous function type
  _ = try SqliteDatabase(path: "a.sqlite") // refused: no exact matches in call to initializer 
  _ = try SqliteDatabase("a.sqlite") // refused: missing argument label 'filepath:' in call
  _ = SqliteDatabase(filepath: "a.sqlite") // refused: call can throw but is not marked with 'try'
  _ = try SqliteDatabase.inMemory // warned: no calls to throwing functions occur within 'try' expression
  _ = try SqliteDatabase(filepath: "a.sqlite", configuration: .init(readOnly: true)) // refused: incorrect argument label in call (have 'readOnly:', expected 'isReadOnly:')
  _ = try SqliteDatabase(filepath: URL(filePath: "/a.sqlite")) // refused: cannot convert value of type 'URL' to expected argument type 'String'
  _ = try SqlitePool(filepath: "a.sqlite", readers: "4") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = try SqlitePool(filepath: "a.sqlite", maximumReaders: 4) // refused: incorrect argument label in call (have 'filepath:maximumReaders:', expected 'filepath:readers:')
  _ = try SqlitePool(filepath: "a.sqlite", configuration: Configuration()) // refused: cannot convert value of type 'Configuration' to expected argument type 'PoolConfiguration'
  let configuration = Configuration(); configuration.label = "main" // refused: cannot assign to property: 'configuration' is a 'let' constant
  _ = try db.query("SELECT 1") // refused: missing argument for parameter 'as' in call
  _ = try db.query("SELECT ?", 1, as: Int.self) // refused: no exact matches in call to instance method 'query'
  _ = try db.query("SELECT \(car)", as: Int.self) // warned: 'appendInterpolation' is deprecated: SQLite can't store this value; running the SQL throws
  _ = try db.query("SELECT 1", as: Int) // refused: expected member name or initializer call after type name
  _ = try db.query("SELECT name, price FROM car", as: (String, Double).self) // refused: no exact matches in call to instance method 'query'
  try db.execute("DELETE FROM car WHERE id = ?", 1) // refused: no exact matches in call to instance method 'execute'
  _ = try db.prepare("SELECT 1", as: Int.self).run(db) // refused: instance method 'run' requires that 'SqliteDatabase' conform to 'SqlValue'
  _ = try db.prepare(Car.read).run() // refused: function produces expected type 'Statement<Car, [Car]>'; did you mean to call it with '()'?
  _ = try db.prepare(Car.read().filter(Car.name == Parameter("x"))).run(x: "a") // refused: extraneous argument label 'x:' in call
  _ = try db.prepare(Car.read().filter(Car.name == Parameter(x))).run("a") // refused: cannot find 'x' in scope
}

// swift-format-ignore
func observers(db: SqliteDatabase, pool: SqlitePool, counter: Counter) throws {
  db.observe(.insert, on: Car.self) { id in print(id) }
  db.observe(.inserted, on: Car.self) { id in print(id) } // refused: type 'Change?' has no member 'inserted'
  db.observe(.insert, Car.self) { id in print(id) } // refused among others: generic parameter 'Model' could not be inferred
  db.observe(.insert, on: "car") { id in print(id) } // refused among others: generic parameter 'Model' could not be inferred
  db.observe(.insert, on: Car.self) { print("x") } // refused: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
  db.observe(.insert, on: Car.self) { (id: String) in print(id) } // refused: cannot convert value of type '@Sendable (String) -> ()' to expected argument type '@Sendable (Int) throws -> Void'
  db.observe(.insert, on: Car.self, id: NoValue()) { id in print(id) } // refused: argument type 'NoValue' does not conform to expected type 'SqlValue'
  db.observe(.insert, on: Car.self) { car in print(car.name) } // refused: value of type 'Int' has no member 'name'
  db.removeObserver() // refused: missing argument for parameter #1 in call
  pool.observe(.insert, on: Car.self) { id in counter.count += 1 } // refused: capture of 'counter' with non-Sendable type 'Counter' in a '@Sendable' closure
}

// swift-format-ignore
func asyncPools(pool: SqlitePool, car: Car, cars: [Car], counter: Counter) async throws {
  let _: [Car] = try await Car.read().filter(Car.price > 5).run(pool)
  let _: (Int, Car?) = try await pool.read { db in (try Car.count().run(db), try Car.read().first().run(db)) }
  let _: [Car] = try Car.read().run(pool) // refused: expression is 'async' but is not marked with 'await'
  let _: [Car] = await Car.read().run(pool) // refused: call can throw but is not marked with 'try'
  let _: Car = try await Car.byId(1).run(pool) // refused: value of optional type 'Car?' must be unwrapped to a value of type 'Car'
  let _: [Car] = try await Car.read().first().run(pool) // refused: cannot convert value of type 'Car?' to specified type '[Car]'
  _ = try await pool.read { Car.count().run($0) } // refused: call can throw, but it is not marked with 'try' and the error is not handled
  _ = try await pool.read { db in try await Car.count().run(pool) } // refused: cannot pass function of type '@Sendable (SqliteDatabase) async throws -> Int' to parameter expecting synchronous function type
  _ = try await pool.read { db in counter.count += 1 } // refused: capture of 'counter' with non-Sendable type 'Counter' in a '@Sendable' closure
  _ = try await pool.transaction { db in try cars.insert().run(db) } // refused among others: cannot use mutating member on immutable value: 'cars' is a 'let' constant
  _ = try await pool.transaction { try car.insert().run(db) } // refused among others: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
  _ = try await pool.run(car.insert) // refused: type '@Sendable (any ColumnConvertible...) -> Statement<Car, Int>' cannot conform to 'Runnable'
  _ = try await car.insert().run() // refused: missing argument for parameter #1 in call
  _ = try await car.insert().run(pool).name // refused among others: value of type 'Int' has no member 'name'
  _ = try await Car.insert(car).run(pool) // refused: static method 'insert' requires that 'Car' conform to 'Sequence'
  _ = try await pool.close(within: 5) // refused: cannot convert value of type 'Int' to expected argument type 'Duration'
  _ = try await withDeadline(2) { try await Car.count().run(pool) } // refused: cannot convert value of type 'Int' to expected argument type 'Duration'
  for try await cars in Car.read().updates(pool) { print(cars) } // refused: missing argument label 'in:' in call
  for await cars in Car.read().updates(in: pool) { print(cars) } // refused: call can throw, but the error is not handled
  for cars in Car.read().updates(in: pool) { print(cars) } // refused: for-in loop requires 'LiveQuery<[Car]>' to conform to 'Sequence'
  for try await cars in Car.read().updates(in: pool, onlyChange: true) { print(cars) } // refused: incorrect argument label in call (have 'in:onlyChange:', expected 'in:onlyChanges:')
  for try await cars in Car.read().run(pool).updates { print(cars) } // refused: value of type '[Car]' has no member 'updates'
  for try await car in Car.read().updates(in: pool) { print(car.name) } // refused: value of type '[Car]' has no member 'name'
  for await change in pool.changes(on: "car") { print(change) } // refused among others: generic parameter 'Model' could not be inferred
  for await change in pool.changes(of: Car.self) { print(change) } // refused: incorrect argument label in call (have 'of:', expected 'on:')
  for await change in pool.changes(on: Car.self, .updates) { print(change) } // refused: type 'Change?' has no member 'updates'
  for await change in pool.changes(on: Car.self) { print(change.id) } // refused: value of type 'ChangeEvent<RowChange>' has no member 'id'
  for await change in pool.modelChanges(on: Car.self) { print(change.old) } // refused: value of type 'ChangeEvent<ModelChange<Car>>' has no member 'old'
}
