// Calls as GRDB, Fluent and others spell them: the error says what to write. `Tests/Checks` describes how the lines are
// read.

import Foundation
import Sqlable

// swift-format-ignore
func foreign(db: SqliteDatabase, pool: SqlitePool, car: Car, cars: [Car]) throws {
  _ = try Car.fetchAll(db) // refused: 'fetchAll' is unavailable: use read().run(db)
  _ = try Car.fetchOne(db) // refused: 'fetchOne(_:key:)' is unavailable: use byId(key).run(db), or read().first(db) for the first row
  _ = try Car.fetchOne(db, key: 1) // refused: 'fetchOne(_:key:)' is unavailable: use byId(key).run(db), or read().first(db) for the first row
  _ = try Car.fetchCount(db) // refused: 'fetchCount' is unavailable: use count().run(db)
  _ = try Car.filter(Car.price > 5).run(db) // refused: 'filter' has been renamed to 'read(_:)'
  _ = try Car.read().fetchAll(db) // refused: 'fetchAll' has been renamed to 'run(_:)'
  _ = try Car.read().filter(Car.price > 5).fetchOne(db) // refused: 'fetchOne' has been renamed to 'first(_:)'
  _ = try Car.read().filter(Car.price > 5).fetchCount(db) // refused: 'fetchCount' has been renamed to 'count(_:)'
  _ = try Car.select(Car.name, Car.price).fetchAll(db) // refused: 'fetchAll' has been renamed to 'run(_:)'
  _ = Car.read().where(Car.price > 5) // refused: 'where' has been renamed to 'filter(_:)'
  _ = Car.select(Car.name).where(Car.price > 5) // refused: 'where' has been renamed to 'filter(_:)'
  _ = Car.update(Car.price.set(to: 5)).where(Car.id == 1) // refused: 'where' has been renamed to 'filter(_:)'
  _ = Car.delete().where(Car.id == 1) // refused: 'where' has been renamed to 'filter(_:)'
  _ = Car.read().order(Car.price.desc, Car.name) // refused: 'order' has been renamed to 'orderBy(_:)'
  _ = try Car.read().order(Car.price).run(db) // refused: 'order' has been renamed to 'orderBy(_:)'
  try car.insert(db) // refused: 'insert' is unavailable: use insert().run(db)
  let id = try car.insert(db); print(id) // refused: 'insert' is unavailable: use insert().run(db)
  try car.update(db) // refused: 'update' is unavailable: use update().run(db)
  try car.save(db) // refused: 'save' is unavailable: use save().run(db)
  try car.delete(db) // refused: 'delete' is unavailable: use delete().run(db)
  try pool.write { db in try car.insert().run(db) } // refused: 'write' has been renamed to 'transaction(_:)'
  try db.write { db in try car.insert().run(db) } // refused: 'write' has been renamed to 'transaction(_:)'
  for car in cars { try car.insert(db) } // refused: 'insert' is unavailable: use insert().run(db)
  _ = try Car.all().run(db) // refused: type 'Car' has no member 'all'
  _ = try Car.find(1).run(db) // refused: type 'Car' has no member 'find'
  _ = try Car.find(db, key: 1) // refused: type 'Car' has no member 'find'
  _ = try Car.query(on: db).all() // refused: type 'Car' has no member 'query'
  _ = try Car.read().all(db) // refused: value of type 'Statement<Car, [Car]>' has no member 'all'
  _ = try Car.read().sort(Car.price) // refused: value of type 'Statement<Car, [Car]>' has no member 'sort'
  _ = try Car.select("name").run(db) // refused: static method 'select' requires that 'String' conform to 'Selectable'
  _ = try Car.read().group(Car.name) // refused: value of type 'Statement<Car, [Car]>' has no member 'group'
  _ = try db.inTransaction { .commit } // refused among others: value of type 'SqliteDatabase' has no member 'inTransaction'
  _ = try db.execute(sql: "DELETE FROM car") // refused: extraneous argument label 'sql:' in call
  try db.create(table: "car") { _ in } // refused: no exact matches in call to instance method 'create'
  _ = try car.insert().returning().run(db).id // refused among others: value of type '[Car]' has no member 'id'
}

// swift-format-ignore
func foreignAsync(pool: SqlitePool, car: Car) async throws {
  try await pool.write { db in try car.insert().run(db) } // refused: 'write' has been renamed to 'transaction(_:)'
  _ = try await Car.read().where(Car.price > 5).run(pool) // refused: 'where' has been renamed to 'filter(_:)'
  _ = try await Car.read().updates(pool) // refused: missing argument label 'in:' in call
  _ = try await Car.read().observe(in: pool) // refused: value of type 'Statement<Car, [Car]>' has no member 'observe'
}

// swift-format-ignore
func existentials(db: SqliteDatabase, models: [any Sqlable.Type], rows: [any Sqlable], row: any Sqlable) throws {
  for model in models { _ = try db.createTable(model) }
  for model in models { _ = try model.select(countAll()).first(db) }
  for model in models { _ = try model.read().run(db) } // refused: member 'read' cannot be used on value of type 'any Sqlable.Type'; consider using a generic constraint instead
  for model in models { print(try model.count().run(db)) } // refused: member 'count' cannot be used on value of type 'any Sqlable.Type'; consider using a generic constraint instead
  for row in rows { try row.insert().run(db) } // refused: 'insert()' is unavailable: a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)
  for row in rows { try row.save().run(db) } // refused: 'save()' is unavailable: a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)
  for row in rows { try row.delete().run(db) } // refused: 'delete()' is unavailable: a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)
  try row.update().run(db) // refused: 'update()' is unavailable: a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)
  _ = Schema([rows]) // refused: cannot convert value of type '[any Sqlable]' to expected element type 'any Sqlable.Type'
}

// swift-format-ignore
func positions(row: ReadRow, dynamic: DynamicRow, table: TableRow) throws {
  _ = try row.get(at: 0, as: Int.self)
  _ = try dynamic.get(at: 0, as: Int.self)
  _ = try row.get(0, as: Int.self) // refused: 'get(_:as:)' has been renamed to 'get(at:as:)'
  let _: Int = try row.get(0) // refused: 'get(_:as:)' has been renamed to 'get(at:as:)'
  _ = try dynamic.get(0, as: Int.self) // warned: 'get(_:as:)' is deprecated: renamed to 'get(at:as:)'
  _ = row.get(at: 0, as: Int.self) // refused: call can throw but is not marked with 'try'
  _ = try row.get(at: "name", as: Int.self) // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = try row.get("name") // refused among others: generic parameter 'Model' could not be inferred
  _ = try row.get(Car.name, as: Int.self) // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'String'
  let _: Int = try row.get(Car.name) // refused: cannot convert value of type 'String' to specified type 'Int'
  _ = try row["name"] // refused among others: value of type 'ReadRow' has no subscripts
  _ = try dynamic["name"] as String // refused among others: value of type 'DynamicRow' has no subscripts
  _ = try dynamic.get(Car.name) // refused: 'get' is unavailable: a DynamicRow has no model; read the column by name: get(_:as:)
  _ = try row.get(at: 0, as: NoValue.self) // refused: instance method 'get(at:as:)' requires that 'NoValue' conform to 'SqlValue'
}

// swift-format-ignore
func orders() throws {
  _ = Car.read().orderBy(Car.price.desc, Car.name)
  _ = Car.read().orderBy(Car.name, Car.price)
  _ = Car.select(Car.name).orderBy(Car.price.desc, Car.name, Bicycle.id)
  _ = Bicycle.read().orderBy(Bicycle.price.desc, Bicycle.name)
  _ = Car.select(rank().over(partitionBy: Car.name, orderBy: Car.price.desc, Car.name), Car.name.groupConcat(orderBy: Car.price))
  _ = Car.read().orderBy(Car.price.descending) // refused: value of type 'TypedColumn<Car, Double>' has no member 'descending'
  _ = Car.read().orderBy(Car.price, .descending) // refused: type 'Order' has no member 'descending'
  _ = Car.read().orderBy(Car.price, ascending: false) // refused: no exact matches in call to instance method 'orderBy'
  _ = Car.read().orderBy(desc: Car.price) // refused: extraneous argument label 'desc:' in call
  _ = Car.read().orderBy([Car.price.desc, Car.seats.asc]) // refused: instance method 'orderBy' requires that '[Ordering]' conform to 'OrderingTerm'
  _ = Car.read().orderBy(Car.price.desc, "name") // refused: instance method 'orderBy' requires that 'String' conform to 'OrderingTerm'
  _ = Car.read().orderBy(\.price) // refused among others: instance method 'orderBy' requires that 'KeyPath<Root, Value>' conform to 'OrderingTerm'
  _ = Car.read().orderBy { $0.price < $1.price } // refused among others: type '(_, _) -> Bool' cannot conform to 'OrderingTerm'
  _ = Car.read().orderBy(-Car.name) // refused: '-' is unavailable: only numbers can be negated
  _ = Car.read().orderBy(Car.price.desc.nullLast) // refused: value of type 'Ordering' has no member 'nullLast'
}
