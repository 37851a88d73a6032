// Writes, JSON, dates and values of other types with a mistake. `Tests/Checks` describes how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func upserts(db: SqliteDatabase, car: Car, cars: [Car], bike: Bicycle) throws {
  _ = car.insert().onConflict(Car.id, set: Car.price.set(to: Car.price + Car.price.excluded))
  _ = car.insert().onConflict(Car.name, update: Car.price, where: Car.price > Car.price.excluded)
  _ = car.insert().onConflict("name") // refused: cannot convert value of type 'String' to expected argument type 'ConflictPolicy'
  _ = car.insert().onConflict(Car.name, updates: Car.price) // refused: incorrect argument label in call (have '_:updates:', expected '_:update:')
  _ = car.insert().onConflict(Car.name, update: Car.price.set(to: 5)) // refused: argument type 'Assignment' does not conform to expected type 'ColumnConvertible'
  _ = car.insert().onConflict(Car.name, set: Car.price == 5) // refused: cannot convert value of type 'SqlExpression' to expected argument type 'Assignment'
  _ = car.insert().onConflict(Car.name, set: Car.price = 5) // refused among others: cannot assign to property: 'price' is a 'let' constant
  _ = car.insert().onConflict(Car.name, set: Car.price.set(to: excluded.price)) // refused: cannot find 'excluded' in scope
  _ = car.insert().onConflict(Car.name, set: Car.price.set(to: "x")) // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = car.insert().onConflict(Car.name, update: Car.price, where: "price > 5") // refused: argument type 'String' does not conform to expected type 'SqlCondition'
  _ = car.insert().onConflict(.ignored) // refused: reference to member 'ignored' cannot be resolved without a contextual type
  _ = car.insert().orIgnore() // refused: value of type 'Statement<Car, Int>' has no member 'orIgnore'
  _ = car.insert(or: .replace) // refused among others: argument passed to call that takes no arguments
  _ = car.upsert() // refused: value of type 'Car' has no member 'upsert'
  _ = Car.insert(cars).returning(Car.nam) // refused: type 'Car' has no member 'nam'
  _ = try Car.insert(cars).run() // refused: missing argument for parameter #1 in call
  _ = try cars.insert().run(db) // refused among others: cannot use mutating member on immutable value: 'cars' is a 'let' constant
  _ = car.insert("name") // refused: no exact matches in call to instance method 'insert'
  _ = car.save(Car.name) // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'SqliteDatabase'
  _ = car.update(Car.name, "price") // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = car.update(Person.nam) // refused: type 'Person' has no member 'nam'
  _ = Car.update(Car.price = 5) // refused among others: cannot assign to property: 'price' is a 'let' constant
  _ = Car.update(Car.price: 5) // refused among others: instance member 'update' cannot be used on type 'Car'; did you mean to use a value of this type instead?
  _ = Car.update(["price": 5]) // refused: no exact matches in call to instance method 'update'
  _ = Car.update(Car.price += 1) // refused among others: cannot convert value of type 'TypedColumn<Car, Double>' to expected argument type 'Int'
  _ = Car.update(Car.price.set(5)) // refused: missing argument label 'to:' in call
  _ = Car.update(Car.price.set(to: 5, Car.name.set(to: "x"))) // refused: extra argument in call
  _ = Car.update(Car.price.set(to: nil)).filter(Car.id == 1) // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.update(Car.price.set(to: Car.seats)).filter(Car.id == 1) // refused: instance method 'set(to:)' requires the types 'Double' and 'Int' be equivalent
  _ = Car.update(Car.price.set(to: Car.price + "1")).filter(Car.id == 1 && Car.name == "x" || Car.price > 5) // refused: '+' is unavailable: the value has a different type than the term on the left
  _ = Car.update(Car.price.set(to: Car.price * 2)).filter(Car.name == 1 && Car.name == "x" || Car.price > 5) // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = Car.update(Car.name, from: bike) // refused: cannot convert value of type 'Bicycle' to expected argument type 'Car'
  _ = Car.update(Car.name.set(to: Person.name)).from(Person.self) // refused: missing argument for parameter 'on' in call
  _ = Car.update(Car.name.set(to: Person.name)).from(Person.self, on: Car.ownerId == Person.name) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, Int?>' and 'TypedColumn<Person, String>'
  _ = Car.delete(1) // refused: cannot convert value of type 'Int' to expected argument type 'Car'
  _ = Car.delete(id: 1) // refused: no exact matches in call to instance method 'delete'
  _ = Car.delete(where: Car.id == 1) // refused: extraneous argument label 'where:' in call
  _ = Car.byId() // refused: missing argument for parameter #1 in call
  _ = Car.byId(NoValue()) // refused: static method 'byId' requires that 'NoValue' conform to 'SqlValue'
  _ = Car.byId(id: 1) // refused: extraneous argument label 'id:' in call
  _ = try Car.exists(1).run(db) // refused: static method 'exists' requires that 'Int' conform to 'SqlCondition'
  _ = Car.count(Car.name) // refused: referencing static method 'count' on 'TypedColumn' requires that 'String' conform to 'SqlBoolean'
  _ = Car.read(only: "name") // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = Car.read().page(1, limit: 50) // refused among others: missing argument label 'after:' in call
}

// swift-format-ignore
func jsonAndDates(text: String, json: JSON, date: Date) throws {
  let _: JSON = JSON(["x": 1, "y": ["z", nil, true]])
  _ = JSON([1, 2.5, "x"])
  _ = Car.tags.jsonSet(0, to: "sale")
  _ = JSON(["x": date]) // refused: cannot convert value of type 'Date' to expected dictionary value type 'JSON'
  _ = JSON(["x": NoValue()]) // refused: cannot convert value of type 'NoValue' to expected dictionary value type 'JSON'
  _ = JSON(text) // refused: 'init(_:)' has been renamed to 'init(text:)'
  _ = try JSON(string: text) // refused: extraneous argument label 'string:' in call
  let _: String = json["name"] // refused: cannot convert value of type 'JSON?' to specified type 'String'
  let _: Int = json["a"]?[0]?.integer // refused: cannot convert value of type 'Int64?' to specified type 'Int'
  _ = json.name // refused: value of type 'JSON' has no member 'name'
  _ = Car.tags.jsonSet("x", 5) // refused: missing argument for parameter 'to' in call
  _ = Car.tags.jsonSet(0, to: NoValue()) // refused: no exact matches in call to instance method 'jsonSet'
  _ = Car.tags.jsonContain("x") // refused: value of type 'TypedColumn<Car, [String]>' has no member 'jsonContain'
  _ = Car.tags.contains("x") // refused: contains(_:) needs a text term; use jsonContains(_:)
  _ = Car.tags["x"] // refused: value of type 'TypedColumn<Car, [String]>' has no subscripts
  _ = Car.name.jsonValue("$.a") // refused among others: generic parameter 'Result' could not be inferred
  _ = Car.read().filter(Car.tags == ["x"] && Car.price > "5") // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.tags.jsonContains(5) && Car.price > 5 && Car.name == 5) // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt > "2024-01-01" && Car.price > 5) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt > 1_700_000_000 && Car.price > 5) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt.year == 2024) // refused: type '@Sendable () -> TypedExpression<Int?>' cannot conform to 'SqlTerm'
  _ = Car.read().filter(Car.soldAt.year() == "2024") // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt.hours() == 5) // refused: value of type 'TypedColumn<Car, Date>' has no member 'hours'
  _ = Car.read().filter(Car.soldAt.adding(1, .days) > date) // refused: type 'DateUnit' has no member 'days'
  _ = Car.read().filter(Car.soldAt.adding(.day, 1) > date) // refused among others: type 'Int' has no member 'day'
  _ = Car.read().filter(Car.soldAt + 1 > date) // refused: '+' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt > date.timeIntervalSince1970) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt.isNul) // refused: value of type 'TypedColumn<Car, Date>' has no member 'isNul'
  _ = Car.read().filter(Car.soldAt.between(date, date)) // refused: missing argument label 'and:' in call
  _ = Car.read().filter(Car.soldAt.start(of: .months) == date) // refused: type 'DateUnit' has no member 'months'
  _ = Car.soldAt.days(since: "2024-01-01") // refused: cannot convert value of type 'String' to expected argument type 'Date'
  _ = Car.soldAt.strftime(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
}

// swift-format-ignore
func termTypes(text: String, f: ScalarFunction<Double, Double>) throws {
  let _: TypedExpression<Double?> = Car.price.max().typed(as: Double?.self)
  let _: TypedExpression<Double> = Car.price.typed(as: Double.self)
  _ = Car.price.max().typed(as: Double.self) // refused: 'typed(as:)' is unavailable: typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)
  _ = Car.color.typed(as: String.self) // refused: 'typed(as:)' is unavailable: typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)
  _ = Car.price.typed(as: Int.self) // refused: 'typed(as:)' is unavailable: typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)
  _ = Car.price.typed(as: NoValue.self) // refused: instance method 'typed(as:)' requires that 'NoValue' conform to 'SqlValue'
  _ = Car.price.cast(Int.self) // refused: missing argument label 'to:' in call
  _ = Car.price.cast(as: Int.self) // refused: incorrect argument label in call (have 'as:', expected 'to:')
  let _: Double = Car.price // refused: cannot convert value of type 'TypedColumn<Car, Double>' to specified type 'Double'
  let _: Select<(String, Double)> = Car.select(Car.name, Car.price.sum()) // refused: cannot assign value of type 'Select<(String, Double?)>' to type 'Select<(String, Double)>'
  let _: Select<(String, Int)> = Car.select(Car.name, Car.seats.average()).groupBy(Car.name) // refused: cannot assign value of type 'Select<(String, Double?)>' to type 'Select<(String, Int)>'
  _ = Car.select(Car.name, count()) // refused: cannot find 'count' in scope
  _ = Car.select(Car.name, Car.count()) // refused: static method 'select' requires that 'Statement<Car, Int>' conform to 'Selectable'
  _ = Car.select(Car.name, countAll).groupBy(Car.name) // refused: type '@Sendable ((any SqlCondition)?) -> TypedExpression<Int>' cannot conform to 'Selectable'
  _ = Car.select(Car.name, sum(Car.price)) // refused: cannot find 'sum' in scope
  _ = Car.select(Car.name, Car.price.avg()) // refused: value of type 'TypedColumn<Car, Double>' has no member 'avg'
  _ = Car.select(Car.name, Car.price.sum).groupBy(Car.name) // refused: type '@Sendable (Bool, (any SqlCondition)?) -> TypedExpression<Double?>' cannot conform to 'Selectable'
  _ = Car.select(Car.name, Car.price.count(distinct)) // refused among others: cannot find 'distinct' in scope
  _ = Car.select(Car.name).groupBy(\.name) // refused among others: instance method 'groupBy' requires that 'KeyPath<Root, Value>' conform to 'AnyTerm'
  _ = Car.select(Car.name).groupBy(Car.name).having("count(*) > 1") // refused: instance method 'having' requires that 'String' conform to 'SqlCondition'
  _ = Car.select(Car.name, countAll()).groupBy(Car.name).having(countAll() > "1" && Car.price.sum() > 5) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.select(Car.name, countAll()).groupBy(Car.name).having(countAll() > 1 && Car.price.sum()) // refused: cannot convert value of type 'TypedExpression<Double?>' to expected argument type 'SqlExpression'
  _ = Car.select(Car.name, rank().over(partitionBy: Car.seats, orderBy: Car.price.desk)) // refused: value of type 'TypedColumn<Car, Double>' has no member 'desk'
  _ = Car.select(Car.name, rank().over(orderBy: Car.price.desc, partitionBy: Car.seats)) // refused: argument 'partitionBy' must precede argument 'orderBy'
  _ = Car.select(Car.name, rank(orderBy: Car.price)) // refused: argument passed to call that takes no arguments
  _ = Car.select(Car.name, Car.price.sum().over(partitionBy: Car.seats, frame: .rows(6, .currentRow))) // refused: cannot convert value of type 'Int' to expected argument type 'WindowFrame.Bound'
  _ = Car.select(Car.name, Car.price.sum().over(frame: .rows(preceding: 6))) // refused among others: extraneous argument label 'preceding:' in call
  _ = Car.select(Car.name, Car.price.lag(default: "x").over(orderBy: Car.soldAt)) // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = Car.select(Car.name, Case.when(Car.price > 5, "dear").else("cheap")) // refused: missing argument label 'then:' in call
  _ = Car.select(Car.name, Case.when(Car.price > 5, then: "dear").otherwise("cheap")) // refused: value of type 'CaseBuilder<String>' has no member 'otherwise'
  _ = Car.select(Car.name, Case.when(Car.price > "5", then: "dear").when(Car.price > 2, then: "fair").else("cheap")) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.select(Car.name, Case.when(Car.price > 5, then: "dear").when(Car.price > 2, then: 3).else("cheap")) // refused: 'when(_:then:)' is unavailable: this branch of the case has a different type than the first branch
  _ = Car.select(Car.name, Car.price > 5) // refused: static method 'select' requires that 'SqlExpression' conform to 'Selectable'
  _ = Car.select(Car.name, f(Car.name)) // refused: 'callAsFunction' is unavailable: the terms do not match the function's parameters
  _ = Car.select(Car.name, f(price: Car.price)) // refused: extraneous argument label 'price:' in call
  _ = Car.select(Car.name, Car.name + " " + Car.color) // refused among others: '+' is unavailable: use concatenated(_:) to concatenate text
  _ = Car.select(Car.name, "\(Car.name) x") // refused: static method 'select' requires that 'String' conform to 'Selectable'
  _ = Car.select(Car.name.upper()) // refused: value of type 'TypedColumn<Car, String>' has no member 'upper'
  _ = Car.select(Car.name.lowercased()) // refused: value of type 'TypedColumn<Car, String>' has no member 'lowercased'
  _ = Car.select(Car.price.rounded()) // refused: value of type 'TypedColumn<Car, Double>' has no member 'rounded'
  _ = Car.select(Car.price as Int) // refused among others: static method 'select' requires that 'Int' conform to 'Selectable'
  _ = Car.select(Car.name, as: String.self) // refused: extra argument 'as' in call
  _ = Car.select(Car.name).distinct(Car.name) // refused: argument passed to call that takes no arguments
  _ = Car.select(Car.name).union(Car.select(Car.name).run) // refused: type '@Sendable (SqliteDatabase, StaticString, UInt) throws -> [String]' cannot conform to 'SelectStatement'
}
