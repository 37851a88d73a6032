// Rows of models, columns and terms, for the compiler alone.

import Foundation
import Sqlable

// swift-format-ignore
func rows(db: SqliteDatabase, boss: Alias<Person>) throws {
  let _: Select<(Car, Double?)> = Car.select(Car.self, Car.price.sum())
  let _: Select<(Double?, Car)> = Car.select(Car.price.sum(), Car.self)
  let _: Select<(Car, Person?, Int)> = Car.leftJoin(Person.self, on: Car.ownerId == Person.id).select(Car.self, Person?.self, countAll())
  let _: Select<(Car, Int, Person)> = Car.join(Person.self, on: Car.ownerId == Person.id).select(Car.self, countAll(), Person.self)
  let _: Select<(String, Person, Double)> = Car.join(boss, on: Car.ownerId == boss[Person.id]).select(Car.name, boss, Car.price * 2)
  let _: Select<(String, Person?)> = Car.leftJoin(boss, on: Car.ownerId == boss[Person.id]).select(Car.name, boss.optional)
  let _: Select<(Car, String, Double, Int, Int, Int)> = Car.select(Car.self, Car.name, Car.price * 2 - 1, Car.seats % 2, countAll(), Car.seats + 1)
  let _: Select<(Car, Person, Double?, Int, Int, Int)> = Car.join(Person.self, on: Car.ownerId == Person.id).select(Car.self, Person.self, Car.price.sum(), Car.seats % 2, countAll(), Car.seats + 1)
  let _: Select<(Int, Int, Int, Int, Car)> = Car.select(countAll(), countAll(), countAll(), countAll(), ModelRow(Car.self))
  let _: Select<Person> = Car.join(Person.self, on: Car.ownerId == Person.id).select(Person.self)
  _ = Car.select(Car.self, Int.self)
  _ = Car.select(Int.self)
  _ = Car.select(Car.self, "x")
  _ = Car.select(Car.self, Bicycle.name)
  _ = try Car.select(Car.self, Car.price.sum()).groupBy(Car.id).first(db)?.1
  _ = try Car.select(Car.self, Car.price.sum()).groupBy(Car.id).first(db)?.0.hashValue
  _ = try Car.select(Car.name, Car.name, Car.name, Car.name, Car.name, Car.name, Car.name).first(db)?.1
  let q = Car.select(Car.name, Car.price, Car.seats, Car.soldAt, Car.color, Car.ownerId).named("c"); let _: Select<(String, Double, Int, Date, String?, Int?, Person?)> = q.read().leftJoin(Person.self, on: q.columns.5 == Person.id)
  let q = Car.select(Car.name, Car.price, Car.seats, Car.soldAt, Car.color, Car.ownerId).named("c"); let _: Select<(String, Double, Int, Date, String?, Int?, Person?)> = q.read().leftJoin(Person.self, on: Person.id == q.columns.5)
  _ = values([(1, "a"), (2, 3)])
  _ = values([(1, "a"), (2, "b")])
  _ = Car.read().filter(2 * Car.price > 3)
  _ = Car.read().filter(Car.name * 2 > 3)
  _ = Car.read().filter(Car.name + Car.price > 3)
  _ = Car.read().filter(Car.price * Car.seats > 3)
  _ = Car.read().filter(Car.price - Car.name == 3)
  _ = Car.read().filter(Car.soldAt - Car.soldAt > 3)
  _ = Car.read().filter(Car.name.round() == 3)
  _ = Car.name.sum()
  _ = Bicycle.name.sum().over(partitionBy: Car.name)
  _ = Car.select(Car.name, Car.price * 2, Car.seats + "1", Car.price / 3 - 1, Car.name.lowercase().concatenated("x"), Car.name.length(), Car.price.round("2"), Car.color.ifNull("none"), Car.soldAt.year(), Car.soldAt.adding(1, .month), Car.isElectric, Car.ownerId, Car.price.cast(to: Int.self), Car.name.substr(1, 3), Car.seats % 2)
  _ = Car.select(Car.name, Car.price * 2, Car.seats + 1, Car.price / 3 - 1, Car.name.lowercase().concatenated(5), Car.name.length(), Car.price.round(2), Car.color.ifNull(7))
}
