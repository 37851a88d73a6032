// Terms that make no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func numbers(text: String, number: Int, date: Date) throws {
  _ = Car.price * 2 - Car.price / 3 + 1 - (-Car.price).abs()
  _ = Car.seats + Car.ownerId // refused: requires the types 'Int' and 'Int?' be equivalent
  let _: TypedExpression<Int?> = Car.seats.optional + Car.ownerId
  _ = Case.when(Car.price > 5, then: 1).when(Car.price > 6, then: 2).else(3)
  _ = Case.when(Car.price > 5, then: Car.name).else("x")
  _ = Car.price + "x" // refused: the value has a different type than the term on the left
  _ = Car.price + Car.seats // refused: requires the types 'Double' and 'Int' be equivalent
  _ = Car.seats / 2.5 // refused: the value has a different type than the term on the left
  _ = Car.isElectric + 1 // refused: the value has a different type than the term on the left
  _ = Car.seats % "x" // refused: the value has a different type than the term on the left
  _ = 2 * Car.price + 1 - Car.price / 3
  _ = 3 / Car.price + 2 * Car.price.optional
  _ = Car.read().filter(2 * Car.price > 3 && 20_000 > Car.price && "x" == Car.name)
  _ = 2.5 * Car.seats // refused: binary operator '*' cannot be applied to operands of type 'Double' and 'TypedColumn<Car, Int>'
  let _: TypedExpression<Double> = Car.price / Car.price // refused: cannot assign value of type 'TypedExpression<Double?>'
  let _: TypedExpression<Double?> = Car.price / Car.price
  let _: TypedExpression<Double?> = Car.price.optional.cast(to: Double.self)
  _ = Car.price.sqrt() + Car.seats.ln() * 2 + Car.price.power(2) - Car.price.floor().optional
  _ = Car.price.round(Car.seats)
  _ = Car.price.round(Car.price) // refused: instance method 'round' requires the types 'Double' and 'Int' be equivalent
  _ = Car.name.sqrt() // refused: 'String' conform to 'SqlNumber'
  _ = Car.seats.round() // refused: referencing instance method 'round' on 'TypedTerm' requires that 'Int' conform to 'BinaryFloatingPoint'
  _ = Car.color.ifNull(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.color.ifNull(Car.price) // refused: requires
  _ = Car.price.least("x") // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = Case.when(Car.price > 5, then: 1).else("x") // refused: this branch of the case has a different type than the first branch
  _ = Case.when(Car.price > 5, then: 1).when(Car.price > 6, then: "x").end() // refused: this branch of the case has a different type than the first branch
  _ = Case.when(Car.price, then: 1).end() // refused: enum 'Case' requires that 'Double' conform to 'SqlBoolean'
  _ = Case.when(Car.isElectric, then: 1).when(Car.price > 5, then: 2).else(0)
  let _: TypedExpression<String> = Car.price + 1 // refused: cannot assign value of type 'TypedExpression<Double>' to type 'TypedExpression<String>'
  _ = Car.name.groupConcat("+", orderBy: Car.price.desc, Car.name.asc, where: Car.seats > 2)
  _ = Car.name.jsonGroupArray(distinct: true, orderBy: Car.name.asc)
  _ = Car.name.groupConcat(orderBy: Car.price)
  _ = Car.price.sum(orderBy: Car.price.asc) // refused: extra argument 'orderBy' in call
  _ = TypedExpression(NoValue()) // refused: generic struct 'TypedExpression' requires that 'NoValue' conform to 'SqlValue'
  _ = Bicycle.name.typed(as: String.self) == 5 // refused: the value has a different type than the term on the left
  _ = Bicycle.name.typed(as: NoValue.self) // refused: instance method 'typed(as:)' requires that 'NoValue' conform to 'SqlValue'
}

// swift-format-ignore
func texts(text: String, number: Int, date: Date) throws {
  _ = Car.name.concatenated("x").concatenated(Car.name).lowercase().trim("-").substr(1, 2)
  _ = Car.name.coalesce(Car.name, Person.name).instr(Car.name.uppercase())
  _ = Car.name + "x" // refused: use concatenated(_:) to concatenate text
  _ = Car.name + Car.name // refused: use concatenated(_:) to concatenate text
  _ = Car.name - 1 // refused: the value has a different type than the term on the left
  _ = Car.name * 2 // refused: the value has a different type than the term on the left
  _ = -Car.name // refused: only numbers can be negated
  _ = Car.price * Car.name // refused: requires the types 'Double' and 'String' be equivalent
  _ = Car.name.abs() // refused: referencing instance method 'abs()' on 'TypedColumn' requires that 'String' conform to 'SqlNumber'
  _ = Car.name.round() // refused: referencing instance method 'round' on 'TypedTerm' requires that 'String' conform to 'BinaryFloatingPoint'
  _ = Car.price.lowercase() // refused: lowercase() needs a text term
  _ = Car.price.like("%x%") // refused: like(_:escape:) needs a text term
  _ = Car.seats.length() // refused: no exact matches in call to instance method 'length'
  _ = Car.seats.concatenated("x") // refused: only text can be concatenated, with values of the same type
  _ = Car.name.concatenated(5) // refused: only text can be concatenated, with values of the same type
  _ = Car.name.concatenated(Car.price) // refused: only text can be concatenated, with terms of the same type
  _ = Car.name.instr(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.name.instr(Car.price) // refused: instance method 'instr' requires the types 'Double' and 'String' be equivalent
  _ = Car.seats.hasPrefix("x") // refused: referencing instance method 'hasPrefix' on 'TypedColumn' requires that 'Int' conform to 'SqlText'
  _ = Car.seats.trim() // refused: referencing instance method 'trim' on 'TypedColumn' requires that 'Int' conform to 'SqlText'
  _ = Car.read().filter(Car.name.regexp("^a") && Car.color.regexp(Car.name))
  _ = Car.seats.regexp("x") // refused: referencing instance method 'regexp' on 'TypedColumn' requires that 'Int' conform to 'SqlText'
  _ = Car.name.regexp(/x/) // refused: instance method 'regexp' requires that 'Regex<Substring>' conform to 'TextTerm'
  _ = Car.seats.glob("x") // refused: referencing instance method 'glob' on 'TypedColumn' requires that 'Int' conform to 'SqlText'
  _ = Car.name.like(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.name.ifNull("x") // refused: ifNull(_:) needs a term that can be NULL; after an outer join use optional.ifNull(_:)
  _ = Car.name.ifNull(Person.name) // refused: ifNull(_:) needs a term that can be NULL
  _ = Car.name.optional.ifNull("x")
  _ = Boat.name.ifNull("x") // refused: ifNull(_:) needs a term that can be NULL
  _ = Boat.length.ifNull(0) // refused: ifNull(_:) needs a term that can be NULL
  _ = Boat.name.sum() // refused: only numbers have a sum; a type that is stored as a number can conform to SqlNumber
  _ = Boat.name.average() // refused: only numbers have an average
  _ = Boat.length.like("x%") // refused: like(_:escape:) needs a text term
  _ = Boat.length.contains("x") // refused: contains(_:) needs a text term
  _ = Boat.length.lowercase() // refused: lowercase() needs a text term; conform a type stored as text to SqlText, or use TextTerm in generic code
  _ = Boat.length.uppercase() // refused: uppercase() needs a text term
  _ = Car.name.coalesce(Car.price) // refused: instance method 'coalesce' requires the types 'String' and 'Double' be equivalent
  _ = Car.name.nullIf(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.price.greatest(Car.name) // refused: instance method 'greatest' requires the types 'Double' and 'String' be equivalent
  _ = Case.when(Car.price > 5, then: Car.name).else(Car.price) // refused: this branch of the case has a different type than the first branch
  _ = Car.name.cast(to: NoValue.self) // refused: instance method 'cast(to:)' requires that 'NoValue' conform to 'SqlValue'
  let _: TypedExpression<Int> = Car.color.length() // refused: cannot assign value of type 'TypedExpression<Optional<String>.Count>' (aka 'TypedExpression<Optional<Int>>') to type 'TypedExpression<Int>'
  _ = Car.name & 1 // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'Int'
  _ = Car.name << 2 // refused: binary operator '<<' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'Int'
  _ = Car.name.typed(as: Int.self) // refused: typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)
  _ = Car.name.typed(as: Int?.self) // refused: typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)
  _ = Car.name.collate("nocase") // refused: cannot convert value of type 'String' to expected argument type 'Collate'
  _ = Car.name.substr("x") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = Car.isElectric.lowercase() // refused: lowercase() needs a text term
}

// swift-format-ignore
func generic(term: some TypedTerm<String>, text: some TextTerm) throws {
  _ = text.lowercase()
  _ = term.lowercase() // refused: or use TextTerm in generic code
  _ = term.uppercase() // refused: or use TextTerm in generic code
  _ = term.like("%x%")
}

// swift-format-ignore
func dates(text: String, number: Int, date: Date) throws {
  _ = Car.soldAt.adding(1, .day).year() == 2026 && Car.soldAt.strftime("%Y") == "2026"
  _ = Car.soldAt + 60 // refused: the value has a different type than the term on the left
  _ = Car.soldAt - Car.soldAt // refused: referencing operator function '-' on 'TypedTerm' requires that 'Date' conform to 'SqlNumber'
  _ = Car.name.year() // refused: referencing instance method 'year()' on 'TypedColumn' requires that 'String' conform to 'SqlDate'
  _ = Car.seats.month() // refused: referencing instance method 'month()' on 'TypedColumn' requires that 'Int' conform to 'SqlDate'
  _ = Car.price.strftime("%Y") // refused: referencing instance method 'strftime' on 'TypedColumn' requires that 'Double' conform to 'SqlDate'
  _ = Car.name.adding(1, .day) // refused: referencing instance method 'adding' on 'TypedColumn' requires that 'String' conform to 'SqlDate'
  _ = Car.soldAt.adding(1, .quarter) // refused: type 'DateUnit' has no member 'quarter'
  _ = Car.soldAt.adding(Car.seats, .week) > Car.soldAt.start(of: .month) && Car.soldAt.days(since: date) > 3
  _ = Car.soldAt.adding(Car.price, .day) // refused: cannot convert value of type 'TypedColumn<Car, Double>' to expected argument type 'Int'
  _ = Car.soldAt.start(of: 1) // refused: cannot convert value of type 'Int' to expected argument type 'DateUnit'
  _ = Car.price.start(of: .day) // refused: referencing instance method 'start(of:)' on 'TypedColumn' requires that 'Double' conform to 'SqlDate'
  _ = Car.soldAt.seconds(since: Car.soldAt) < 60 && Car.soldAt.days(since: Car.soldAt.adding(1, .month)) < 31
  _ = Car.soldAt.seconds(since: Car.price) // refused: cannot convert value of type 'TypedColumn<Car, Double>' to expected argument type 'Date'
  _ = Car.soldAt.seconds(since: 5) // refused: cannot convert value of type 'Int' to expected argument type 'Date'
  _ = Car.soldAt.adding(1.5, .day) // refused: cannot convert value of type 'Double' to expected argument type 'Int'
  _ = Car.soldAt.lowercase() // refused: lowercase() needs a text term
}

// swift-format-ignore
func fragments(text: String, number: Int, values: [String], fragment: SqlFragment) throws {
  _ = Car.read().filter(SqlExpression(sql: "\(Car.price) % \(number) = \(text) OR \(Car.name) IN (\(values))"))
  _ = TypedExpression<Int>(sql: "\(Car.seats) & \(1)") == 3 && Car.price > TypedExpression<Double>(sql: fragment)
  _ = TypedExpression<Int>(sql: "\(exists(Person.read())) + \(scalar(Car.select(Car.price.max())))")
  _ = SqlExpression(sql: text) // refused: cannot convert value of type 'String' to expected argument type 'SqlFragment'
  _ = TypedExpression(sql: "1") // refused: generic parameter 'Value' could not be inferred
  _ = TypedExpression<NoValue>(sql: "1") // refused: type 'NoValue' does not conform to protocol 'SqlValue'
  _ = TypedExpression<Int>(sql: "1") == "x" // refused: the value has a different type than the term on the left
  _ = SqlExpression(sql: "\(NoValue()) = 1") // refused: no exact matches in call to instance method 'appendInterpolation'
  _ = SqlExpression(sql: "1 IN (\(Car.select(Car.seats)))") // refused: a term can't contain a query; use scalar(_:), exists(_:) or in(_:)
  _ = Car.read().filter(TypedExpression<Bool>(sql: "1"))
}

// swift-format-ignore
func optionals(f: ScalarFunction<Int, String?>, g: ScalarFunction<Int, String?, Double>, h: AggregateFunction<Int, Double?>) throws {
  _ = Car.select(f(Car.name), f(Car.color), f(Car.name.optional), f(Bicycle.name))
  _ = Car.read().filter(f(Car.name) > 3 && f(Parameter("name")) == 5)
  _ = h(Car.price, distinct: true)
  _ = g(Car.name.optional, Car.price)
  _ = g(Car.name, Car.price) // refused: the terms do not match the function's parameters; for an optional parameter, use term.optional
  _ = f(Car.price) // refused: the terms do not match the function's parameters
}

// swift-format-ignore
func functions(f: ScalarFunction<Double, Double, Double>, g: AggregateFunction<Double?, Double>) throws {
  _ = f(Car.price, Car.price * 2)
  _ = f(Bicycle.price, Bicycle.price) > 5
  _ = g(Car.price, distinct: true, where: Car.name == "x")
  _ = f(Car.price) // refused: the terms do not match the function's parameters
  _ = f(Car.price, Car.name) // refused: the terms do not match the function's parameters
  _ = f(Car.price, Car.price, Car.price) // refused: the terms do not match the function's parameters
  _ = f(Car.price, Bicycle.price) // refused: the terms do not match the function's parameters
  _ = f(1, 2) // refused: instance method 'callAsFunction' requires that 'Int' conform to 'TypedTerm'
  _ = g(Car.name) // refused: the terms do not match the function's parameters
  _ = g(Car.price, Car.price) // refused: the terms do not match the function's parameters
  let _: TypedExpression<String> = f(Car.price, Car.price) // refused: cannot assign value of type 'TypedExpression<Double>' to type 'TypedExpression<String>'
}

// swift-format-ignore
func aggregates(text: String, number: Int, date: Date) throws {
  _ = Car.price.sum(where: Car.isElectric == true)
  _ = scalar(Car.select(Car.price.max())) == 5
  _ = countAll(where: Car.price > 5) > 3
  _ = Car.name.sum() // refused: only numbers have a sum
  _ = Car.name.average() // refused: only numbers have an average
  _ = Car.name.total() // refused: referencing instance method 'total(distinct:where:)' on 'TypedTerm' requires that 'String' conform to 'SqlNumber'
  _ = Car.soldAt.sum() // refused: only numbers have a sum
  _ = Car.isElectric.average() // refused: only numbers have an average
  let _: TypedExpression<Double> = Car.price.sum() // refused: cannot assign value of type 'TypedExpression<Double?>' to type 'TypedExpression<Double>'
  let _: TypedExpression<Int> = Car.ownerId.max() // refused: cannot assign value of type 'TypedExpression<Int?>' to type 'TypedExpression<Int>'
  _ = countAll(where: Car.isElectric)
  _ = countAll(where: Car.price) // refused: requires that 'Double' conform to 'SqlBoolean'
  _ = Car.price.sum(where: true) // refused: argument type 'Bool' does not conform to expected type 'SqlCondition'
  _ = Car.name.groupConcat(5) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.name.count() == "x" // refused: the value has a different type than the term on the left
  _ = scalar(Car.select(Car.price)) == "x" // refused: the value has a different type than the term on the left
  _ = scalar(Car.select(Car.price, Car.name)) // refused: only a query with a single column can be used as a value
  _ = scalar(Car.read()) // refused: only a query with a single column can be used as a value
  _ = Car.color.ifNull(Car.color.count()) // refused: requires
}
