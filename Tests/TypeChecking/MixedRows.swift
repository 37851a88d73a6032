// Rows of models, columns and terms, for the compiler alone.

import Foundation
import Sqlable

// swift-format-ignore
func rows(db: SqliteDatabase, boss: Alias<Person>) throws {
  let _: Select<(Car, Double?)> = Car.select(Car.self, Car.price.sum())
  let _: Select<(Double?, Car)> = Car.select(Car.price.sum(), Car.self)
  let _: Select<(Car, Person?, Int)> = Car.leftJoin(Person.self, on: Car.ownerId == Person.id).select(Car.self, ModelRow(Person?.self), countAll())
  let _: Select<(Car, Int, Person)> = Car.join(Person.self, on: Car.ownerId == Person.id).select(Car.self, countAll(), ModelRow(Person.self))
  let _: Select<(String, Person, Double)> = Car.join(boss, on: Car.ownerId == boss[Person.id]).select(Car.name, boss, Car.price * 2)
  let _: Select<(String, Person?)> = Car.leftJoin(boss, on: Car.ownerId == boss[Person.id]).select(Car.name, boss.optional)
  let _: Select<(Car, String, Double, Int, Int, Int)> = Car.select(ModelRow(Car.self), Car.name, Car.price * 2 - 1, Car.seats % 2, countAll(), Car.seats + 1)
  let _: Select<(Car, Person, Double?, Int, Int, Int)> = Car.join(Person.self, on: Car.ownerId == Person.id).select(ModelRow(Car.self), ModelRow(Person.self), Car.price.sum(), Car.seats % 2, countAll(), Car.seats + 1)
  let _: Select<(Int, Int, Int, Int, Car)> = Car.select(countAll(), countAll(), countAll(), countAll(), ModelRow(Car.self))
  let _: Select<Person> = Car.join(Person.self, on: Car.ownerId == Person.id).select(Person.self)
  _ = Car.select(Car.self, Int.self) // refused: type 'Int.Type' cannot conform to 'Selectable'
  _ = Car.select(Int.self) // refused: type 'Int.Type' cannot conform to 'Selectable'
  _ = Car.select(Car.self, "x") // refused: type 'Car.Type' cannot conform to 'Selectable'
  _ = Car.select(Car.self, Bicycle.name) // refused: static method 'select' requires that 'Column' conform to 'Selectable'
  _ = try Car.select(Car.self, Car.price.sum()).groupBy(Car.id).first(db)?.1
  _ = try Car.select(Car.self, Car.price.sum()).groupBy(Car.id).first(db)?.0
  let c = values([("a", 1)]).named("c"); _ = c.columns.0 == "a"
  _ = try Car.select(Car.name, Car.name, Car.name, Car.name, Car.name, Car.name).first(db)?.1
  let q = Car.select(Car.name, Car.price, Car.seats, Car.soldAt, Car.color, Car.ownerId).named("c"); let _: Select<(String, Double, Int, Date, String?, Int?, Person?)> = q.read().leftJoin(Person.self, on: q.columns.5 == Person.id)
  let q = Car.select(Car.name, Car.price, Car.seats, Car.soldAt, Car.color, Car.ownerId).named("c"); let _: Select<(String, Double, Int, Date, String?, Int?, Person?)> = q.read().leftJoin(Person.self, on: Person.id == q.columns.5)
  _ = values([(1, "a"), (2, 3)]) // refused: the rows of values(_:) must have equal types, and each type must conform to SqlValue
  _ = values([(1, "a"), (2, "b")])
  _ = Car.read().filter(2 * Car.price > 3)
  _ = Car.name * 2 // refused: the value has a different type than the term on the left
  _ = Car.name + Car.price // refused: use concatenated(_:) to concatenate text
  _ = Car.read().filter(Car.price * Car.seats > 3) // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
  _ = Car.read().filter(Car.price - Car.name == 3) // refused: operator function '-' requires the types 'Double' and 'String' be equivalent
  _ = Car.read().filter(Car.soldAt - Car.soldAt > 3) // refused: referencing operator function '-' on 'TypedTerm' requires that 'Date' conform to 'SqlNumber'
  _ = Car.read().filter(Car.name.round() == 3) // refused: referencing instance method 'round' on 'TypedTerm' requires that 'String' conform to 'BinaryFloatingPoint'
  _ = Car.name.sum() // refused: only numbers have a sum
  _ = Bicycle.name.sum().over(partitionBy: Car.name)
}
