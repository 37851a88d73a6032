// Writes that make no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func writes(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  try Car.delete(Car.id == 1).run(db)
  _ = Car.update(Car.name.set(to: "x"), Car.color.set(to: nil), Car.color.set(to: Car.name))
  _ = Car.insert(Car.name, Car.price, from: Car.select(Car.name, Car.price * 2))
  _ = Bicycle.insert(Bicycle.name, from: Car.select(Car.name))
  _ = Car.insert(from: Car.read())
  _ = Car.deleteAll().returning(Car.name, Car.price).first()
  _ = Car.delete().orderBy(Car.id).limit(Parameter("count"), offset: Parameter("from"))
  _ = Car.insertDefaults().returning()
  Car.insertDefaults() // warned: result of call to 'insertDefaults()' is unused
  Car.deleteAll() // warned: result of call to 'deleteAll()' is unused
  Car.delete().filter(Car.id == 1) // warned: result of call to 'filter' is unused
  car.insert() // warned: result of call to 'insert' is unused
  Car.insert(cars) // warned: result of call to 'insert' is unused
  _ = Bicycle.insert(cars) // refused: static method 'insert' requires the types 'Bicycle' and 'Car' be equivalent
  _ = Car.insert([person]) // refused: cannot convert value of type 'Person' to expected element type 'Car'
  _ = Car.insert(from: Person.read()) // refused: insert(from:) needs a query for whole rows of the same model; use read(), or list the columns
  _ = Car.insert(from: Car.select(Car.name)) // refused: insert(from:) needs a query for whole rows of the same model; use read(), or list the columns
  _ = Car.insert(Car.name, from: Person.select(Person.id)) // refused: the insert lists a column of another model, or the query's columns differ in number or type
  _ = Car.insert(Car.name, Car.price, from: Person.select(Person.name, Person.id)) // refused: the insert lists a column of another model, or the query's columns differ in number or type
  _ = Car.insert(Car.name, Car.price, from: Person.select(Person.name)) // refused: the insert lists a column of another model, or the query's columns differ in number or type
  _ = Car.insert(Car.name, from: Person.select(Person.name, Person.id)) // refused: the insert lists a column of another model, or the query's columns differ in number or type
  _ = Car.insert(Person.name, from: Person.select(Person.name)) // refused: the insert lists a column of another model, or the query's columns differ in number or type
  _ = Car.insert("x") // refused: static method 'insert' requires the types 'Car' and 'String.Element' (aka 'Character') be equivalent
  _ = Car.update(Car.name.set(to: 5)) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.update(Car.price.set(to: "x")) // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = Car.update(Car.price.set(to: Car.name)) // refused: instance method 'set(to:)' requires the types 'Double' and 'String' be equivalent
  _ = Car.update(Car.name.set(to: nil)) // refused: 'nil' is not compatible with expected argument type 'String'
  _ = Car.update(Car.name.set(to: Car.color)) // refused: instance method 'set(to:)' requires the types 'String' and 'String?' be equivalent
  _ = Car.update(Car.seats.set(to: Car.seats + 0.5)) // refused: the value has a different type than the term on the left
  _ = Car.update(Car.seats.set(to: Car.seats.max())) // refused: instance method 'set(to:)' requires the types 'Int' and 'Int?' be equivalent
  _ = Car.update(Car.name == "x") // refused: cannot convert value of type 'SqlExpression' to expected argument type 'Assignment'
  _ = Car.update(Car.name) // refused: instance member 'update' cannot be used on type 'Car'; did you mean to use a value of this type instead?
  _ = Car.update(Bicycle.name.set(to: NoValue())) // refused: instance method 'set(to:)' requires that 'NoValue' conform to 'SqlTerm'
  _ = Car.update(Car.price.set(to: Car.price.excluded + "x")) // refused: the value has a different type than the term on the left
  _ = car.update("name") // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = car.update(Car.name.set(to: "x")) // refused: static member 'update' cannot be used on instance of type 'Car'
  _ = Car.delete(Car.name) // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'Car'
  _ = car.insert().onConflict(.replac) // refused: reference to member 'replac' cannot be resolved without a contextual type
  _ = car.insert().onConflict(Car.name, update: "x") // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = car.insert().onConflict(Car.name, set: Car.name) // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'Assignment'
  _ = Car.read().returning() // refused: referencing instance method 'returning()' on 'Statement' requires the types '[Car]' and '[Int]' be equivalent
}
