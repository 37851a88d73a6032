// Filters that make no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func values(text: String, number: Int, date: Date) throws {
  _ = Car.read().filter(Car.name == text && Car.seats > number || Car.soldAt < date)
  _ = Car.read().filter(Car.color == nil && Car.ownerId == Person.id)
  _ = Car.read().filter(Bicycle.name == Car.name && Car.price > 2)
  _ = Car.read().filter(Car.name == 5) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.name == number) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.price == "x") // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.price == text) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.isElectric == 1) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.isElectric == "yes") // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt == 0) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt < "2026-11-21") // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.seats == 2.5) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.seats < date) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.color == 5) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.name == nil) // refused: 'nil' is not compatible with expected argument type 'String'
  _ = Car.read().filter(Car.name != nil) // refused: 'nil' is not compatible with expected argument type 'String'
  _ = Car.read().filter(Car.price > nil) // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.read().filter(5 == Car.name) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.read().filter("x" == Car.name)
  _ = Car.read().filter(Car.name == NoValue()) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'NoValue'
  _ = Car.read().filter(Bicycle.name == NoValue()) // refused: operator function '==' requires that 'NoValue' conform to 'SqlTerm'
  _ = Car.read().filter(Car.name == Car.price) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'TypedColumn<Car, Double>'
  _ = Car.read().filter(Car.price == Car.seats && Car.ownerId <= Car.price && Car.seats.optional < Car.price.optional)
  _ = Car.read().filter(Car.seats > scalar(Car.select(Car.seats.average())) && Car.name == "x" && Car.price > 2.5)
  _ = Car.read().filter(Car.seats == 2.5) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.soldAt < Car.seats) // refused: binary operator '<' cannot be applied to operands of type 'TypedColumn<Car, Date>' and 'TypedColumn<Car, Int>'
  _ = Car.read().filter(Car.ownerId == Person.name) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, Int?>' and 'TypedColumn<Person, String>'
  _ = Car.read().filter(Car.name == Person.age) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'TypedColumn<Person, Int?>'
  _ = Car.read().filter(Car.isElectric == Car.seats) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, Bool>' and 'TypedColumn<Car, Int>'
  _ = Car.read().filter(Car.name) // refused: requires that 'String' conform to 'SqlBoolean'
  _ = Car.read().filter(Car.isElectric).filter(.any([Car.price > 5]))
  _ = Car.count(Car.isElectric)
  _ = Car.delete(Car.isElectric)
  _ = Car.select(Car.price.typed(as: Double?.self)).filter(TypedExpression<Bool?>(sql: "1"))
  _ = Car.read().filter(rowValue(Car.price, Car.name) < (5, "x") && rowValue(Car.id, Car.seats).in([(1, 2)]))
  _ = Car.read().filter(rowValue(Car.price, Car.name) < ("x", 5)) // refused: cannot convert value of type '(String, Int)' to expected argument type 'TermRow<Double, String>'
  _ = Car.read().filter(rowValue(Car.price, Car.name) < 5) // refused: '<'
  _ = Car.read().filter(Car.isElectric.isTrue || Car.price > 5 && !Car.isElectric)
  _ = Car.name.isTrue // refused: 'String' conform to 'SqlBoolean'
  _ = Car.read().filter(true) // refused: requires that 'Bool' conform to 'SqlCondition'
  _ = Car.read().filter("price > 5") // refused: requires that 'String' conform to 'SqlCondition'
  _ = Car.read().filter(Car.price > 5 && Car.isElectric) // refused: cannot convert value of type 'TypedColumn<Car, Bool>' to expected argument type 'SqlExpression'
  _ = Car.read().filter(Car.price > 5 && true) // refused: cannot convert value of type 'Bool' to expected argument type 'SqlExpression'
  _ = Car.read().filter(Car.price > 5 || "x") // refused: cannot convert value of type 'String' to expected argument type 'SqlExpression'
  _ = Car.read().filter(Car.prise == 5) // refused: type 'Car' has no member 'prise'
  _ = Car.read().where(Car.price > 5) // refused: 'where' has been renamed to 'filter(_:)'
  _ = Car.read().filter { (_: Car) in true } // refused: cannot conform to 'SqlCondition'
  _ = Car.read().filter(Car.name == Parameter<Int>("x")) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, String>' and 'Parameter<Int>'
  _ = Car.read().filter(Car.price > Parameter<String>("x")) // refused: binary operator '>' cannot be applied to operands of type 'TypedColumn<Car, Double>' and 'Parameter<String>'
  _ = Car.read().filter(Car.color ?? "red" == "red") // refused: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter(Car.color! == "red") // refused: cannot force unwrap value of non-optional type 'TypedColumn<Car, String?>'
}

// swift-format-ignore
func lists(text: String, number: Int, date: Date) throws {
  _ = Car.read().filter(Car.name ∈ ["a"] && Car.color.in(["b"]) && Car.seats.notIn([1, 2]))
  _ = Car.read().filter(Car.name.in(Person.select(Person.name)) && Car.ownerId.in(Person.select(Person.id)))
  _ = Car.read().filter(Car.name.in(Car.select(Car.color)) && Car.color.notIn(Person.select(Person.name)))
  _ = Car.read().filter(Car.price.between(1, and: 2) && Car.name.isDistinct(from: Car.color))
  _ = Car.read().filter(Car.price.between(Car.price, and: 2) && Car.price.between(1, and: Car.price * 2))
  _ = Car.read().filter(Car.price.between(Car.name, and: Car.name)) // refused: the terms have different types
  _ = Car.read().filter(Car.price.between(1, and: "x")) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.name.between(1, and: 2)) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.name ∈ [1, 2]) // refused: the values have a different type than the term on the left
  _ = Car.read().filter(Car.name.in([1, 2])) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.seats.notIn(["a"])) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.seats.in(["a", "b"])) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.color.in([1, 2])) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.seats.in(5)) // refused: no exact matches in call to instance method 'in'
  _ = Car.read().filter(Car.name.in(Person.select(Person.id))) // refused: the query has a different type than the term, or more than one column
  _ = Car.read().filter(Car.name.notIn(Person.select(Person.id))) // refused: the query has a different type than the term, or more than one column
  _ = Car.read().filter(Car.name.in(Person.select(Person.name, Person.id))) // refused: the query has a different type than the term, or more than one column
  _ = Car.read().filter(Car.name.in(Person.read())) // refused: the query has a different type than the term, or more than one column
  _ = Car.read().filter(Car.name.is(5)) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.read().filter(Car.name.isNot(5)) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.read().filter(Car.name.isDistinct(from: 5)) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  _ = Car.read().filter(Car.name.isDistinct(from: Car.price)) // refused: the terms have different types
  _ = Car.read().filter(Car.name.isNotDistinct(from: Car.price)) // refused: the terms have different types
}
