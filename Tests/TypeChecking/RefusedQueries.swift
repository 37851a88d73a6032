// Queries that make no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func queries(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  _ = Car.select(Car.name, Car.price.sum()).groupBy(Car.name, Bicycle.name).having(Car.price.sum() > 5).orderBy(Car.name)
  _ = Car.select(Car.name).union(Person.select(Person.name))
  _ = Car.select(Car.name, Bicycle.name) // refused: static method 'select' requires that 'Column' conform to 'Selectable'
  _ = Car.select(Car.name, "x") // refused: static method 'select' requires that 'String' conform to 'Selectable'
  _ = Car.select("name") // refused: static method 'select' requires that 'String' conform to 'Selectable'
  _ = Car.select(Car.name.asc) // refused: static method 'select' requires that 'Ordering' conform to 'Selectable'
  let _: Select<Car> = Car.select(Car.self)
  _ = Car.select(Car.name).groupBy("name") // refused: instance method 'groupBy' requires that 'String' conform to 'AnyTerm'
  _ = Car.select(Car.name).groupBy(Car.name.asc) // refused: instance method 'groupBy' requires that 'Ordering' conform to 'AnyTerm'
  _ = Car.select(Car.name).having(Car.price.sum()) // refused: requires that 'Double' conform to 'SqlBoolean'
  _ = Car.select(Car.name).orderBy("name") // refused: instance method 'orderBy' requires that 'String' conform to 'OrderingTerm'
  _ = Car.select(Car.name).orderBy(Car.name, "desc") // refused: no exact matches in call to instance method 'orderBy'
  _ = Car.read().orderBy(Car.name.desc).limit(Parameter("count"), offset: Parameter("from")).offset(2)
  _ = Car.select(Car.name).limit(Parameter("count")).offset(scalar(Person.read().count()).ifNull(0))
  _ = Car.read().limit("3") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = Car.select(Car.name).limit(Car.name) // refused: a limit is an Int or a term of the type Int
  _ = Car.read().orderBy(Car.name, Car.price)
  _ = Car.select(Car.name).union(Car.select(Car.price)) // refused: the other query has different types or a different number of columns
  _ = Car.select(Car.name).union(Car.select(Car.name, Car.price)) // refused: the other query has different types or a different number of columns
  _ = Car.select(Car.name, Car.price).unionAll(Car.select(Car.price, Car.name)) // refused: the other query has different types or a different number of columns
  _ = Car.select(Car.name).except(Car.read()) // refused: the other query has different types or a different number of columns
  _ = Car.read().union(Person.read()) // refused: the other query has different types or a different number of columns
  _ = Car.read(replacing: Car.price, with: Car.name.max()) // refused: no exact matches in call to static method 'read'
  _ = Car.read(replacing: Person.age, with: Person.age.max()) // refused: cannot convert value of type 'TypedColumn<Person, Int?>' to expected argument type 'TypedColumn<Car, Int?>'
  _ = Car.read(replacing: Car.price, with: 5) // refused: no exact matches in call to static method 'read'
  _ = Car.read(replacing: [Car.price: Car.price.max(), Car.name: Car.name.uppercase(), Car.id: Car.id * 2])
  _ = Car.read().indexed(by: Index(Car.name)).filter(Car.name == "x")
  _ = Car.select(Car.name).indexed(by: "car_name").notIndexed()
  _ = Car.select(Car.name).except(Car.select(Car.name).union(Person.select(Person.name)).limit(3))
  _ = Car.select(Car.name).except(Car.select(Car.name).union(Person.select(Person.age))) // refused: the other query has different types or a different number of columns
  let _: Select<(String, Int)> = values([rowValue(TypedExpression("a"), Parameter("b")), rowValue(Parameter("c"), TypedExpression(1))])
  let _: NamedColumn<Int> = series(1...10, by: 2, as: "n")
  _ = series(1...10) // refused: missing argument for parameter 'as' in call
  _ = Car.read().indexed(by: Car.name) // refused: no exact matches in call to instance method 'indexed'
}

// swift-format-ignore
func joins(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  _ = Car.join(Person.self, on: Car.ownerId == Person.id && Car.name == Bicycle.name)
  _ = Car.join(Person.self, on: Person.using(Car.name, Car.id) && Car.seats > 2)
  _ = Car.join(Person.self, on: Person.using("name")) // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = Car.join(Person.self) // refused: a join needs a condition; use join(_:on:)
  _ = Car.join(Person.self, on: Car.ownerId == Person.name) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, Int?>' and 'TypedColumn<Person, String>'
  _ = Car.join(Person.self, on: Car.ownerId) // refused: requires that 'Int' conform to 'SqlBoolean'
  _ = Car.join(Person.self, on: "car.owner_id = person.id") // refused: argument type 'String' does not conform to expected type 'SqlCondition'
  _ = Car.join(NoValue.self, on: Car.ownerId == 1) // refused: static method 'join(_:on:)' requires that 'NoValue' conform to 'Sqlable'
  let _: ScalarQuery<Bool> = Car.join(Person.self, on: Car.ownerId == Person.id).exists()
  _ = Car.read().filter(Car.read().exists()) // refused: requires that 'ScalarQuery<Bool>' conform to 'SqlCondition'
  _ = Car.read().filter(Person.read().count() > 1) // refused: referencing operator function '>' on 'SqlTerm' requires that 'ScalarQuery<Int>' conform to 'SqlTerm'
  let _: Select<(Car?, Person)> = Car.rightJoin(Person.self, on: Car.ownerId == Person.id)
  let _: Select<(Car?, Person?, Bicycle)> = Car.leftJoin(Person.self, on: Car.ownerId == Person.id).rightJoin(Bicycle.self, on: Bicycle.id == Car.id)
  let _: Select<(Car?, Person?)> = Car.read().fullJoin(Person.self, on: Car.ownerId == Person.id)
  _ = Car.fullJoin(Person.self) // refused: missing argument for parameter 'on' in call
  let _: Select<(Car, Person)> = Car.rightJoin(Person.self, on: Car.ownerId == Person.id) // refused: cannot assign value of type 'Select<(Car?, Person)>' to type 'Select<(Car, Person)>'
  _ = Car.join(person, on: Car.ownerId == Person.id) // refused: no exact matches in call to static method 'join'
  _ = Car.select(Car.name).leftJoining(Person.self, on: Car.ownerId == Person.id).crossJoining(Bicycle.self)
  _ = Car.select(Car.name).crossJoining(Person.self, on: Car.ownerId == Person.id) // refused: extra argument 'on' in call
  _ = Car.select(Car.name).leftJoining(Person.self) // refused: a join needs a condition; use leftJoining(_:on:)
  _ = Car.select(Car.name).joining(Person.self) // refused: a join needs a condition; use joining(_:on:)
}

// swift-format-ignore
func names(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  let q = Car.select(Car.price, Car.name).named("c"); _ = q.read().groupBy(q.columns.0, q.columns.1).orderBy(q.columns.0)
  let q = Car.select(Car.price, Car.name).named("c"); _ = rank().over(partitionBy: q.columns.0)
  let q = Car.select(Car.price, Car.name).named("c"); _ = Car.name.coalesce(q.columns.1) == q.columns.1
  let q = Car.select(Car.price, Car.name).named("c", materialized: false); _ = q.read()
  _ = Car.select(Car.name).named("c", materialized: "yes") // refused: cannot convert value of type 'String' to expected argument type 'Bool'
  _ = Car.read().named("c") // refused: use Alias(Model.self, name) { _ in … } to name rows of a model
  _ = Car.select(Car.name, Car.price).named("c").column // refused: value of type 'NamedQuery<String, Double>' has no member 'column'
  _ = Car.select(Car.name).named("c").column == 5 // refused: the value has a different type than the term on the left
  _ = Car.select(Car.name, Car.price).named("c") { c in Car.select(Car.name) } // refused: cannot convert value of type 'Select<String>' to closure result type 'Select<(String, Double)>'
  _ = Car.select(Car.name, Car.seats).named("c") { c in Car.select(Car.seats, Car.name) } // refused: cannot convert value of type '(NamedQuery<String, Int>) -> Select<(Int, String)>'
  _ = Alias(Car.self, "c")[Person.name] // refused: cannot convert value of type 'TypedColumn<Person, String>' to expected argument type 'TypedColumn<Car, String>'
  _ = Alias(Car.self, "c")["name"] // refused: cannot convert value of type 'String' to expected argument type 'Column'
  _ = Alias(Car.self, "c")[Car.name] == 5 // refused: the value has a different type than the term on the left
  _ = values([NoValue()]) // refused: the rows of values(_:) must have equal types, and each type must conform to SqlValue
  let (_, _, _) = Car.select(Car.name, Car.price).named("c").columns // refused: '(TypedExpression<String>, TypedExpression<Double>)' is not convertible to '(TypedExpression<String>, TypedExpression<Double>, _)', tuples have a different number of elements
  let q = Car.select(Car.price, Car.name).named("c"); _ = q.columns.1 == 5 // refused: the value has a different type than the term on the left
  let q = Car.select(Car.price, Car.name).named("c"); _ = Car.name == q.columns.0 // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'TypedExpression<Double>'
}
