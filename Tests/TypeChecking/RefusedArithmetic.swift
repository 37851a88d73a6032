// Arithmetic that makes no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func arithmeticOperands(number: Int, real: Double, decimal: Decimal) throws {
  _ = Car.read().filter((Car.price - 3) / 2 > 5 && Car.seats * Car.seats * 2 < 9 && Bicycle.price * 2 < Bicycle.id)
  _ = (Car.price - "3") / 2 // refused: the value has a different type than the term on the left
  _ = Car.price * "1.19" < 20_000 // refused: the value has a different type than the term on the left
  _ = Car.price * 1.19 < "20000" // refused: the value has a different type than the term on the left
  _ = Car.price * 1.19 < Car.name // refused: binary operator '<' cannot be applied to operands of type 'TypedExpression<Double>' and 'TypedColumn<Car, String>'
  _ = Car.seats * Car.price // refused: operator function '*' requires the types 'Int' and 'Double' be equivalent
  _ = Car.seats * Car.price > 5 // refused: operator function '*' requires the types 'Int' and 'Double' be equivalent
  _ = Car.seats * Car.price * 1.19 // refused: operator function '*' requires the types 'Int' and 'Double' be equivalent
  _ = Car.price * Car.seats * 1.19 > 5 // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
  _ = Car.price * Car.seats.cast(to: Double.self) * 1.19 > 5
  _ = Car.price * Car.name * 2 + 1 // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.price + Car.price * Car.name - 2 // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.price * Car.pric * 1.19 // refused: type 'Car' has no member 'pric'
  _ = Car.price * Car.pric > 5 // refused: type 'Car' has no member 'pric'
  _ = Car.price.rond(2) * 3 > 1 // refused: value of type 'TypedColumn<Car, Double>' has no member 'rond'
  _ = Car.price * 2 + Car.name.lenth() // refused: value of type 'TypedColumn<Car, String>' has no member 'lenth'
  _ = Car.price * 2 + Car.name.length() // refused: operator function '+' requires the types 'Double' and 'Int' be equivalent
  _ = Bicycle.price * Bicycle.pric + 1 > 3 // refused: type 'Bicycle' has no member 'pric'
  _ = Bicycle.price.sqr() * 2 // refused: value of type 'Column' has no member 'sqr'
  _ = Car.price * nil > 5 // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.price + nil - 2 // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Bicycle.price * nil > 3 // refused: 'nil' is not compatible with expected argument type 'any SqlValue'
  _ = Car.price * Car.color // refused: operator function '*' requires the types 'Double' and 'String?' be equivalent
  _ = Car.seats + Car.ownerId > 5 // refused: operator function '+' requires the types 'Int' and 'Int?' be equivalent
  _ = Car.seats + Car.ownerId.ifNull(0) > 5
  _ = Car.seats - Car.ownerId.ifNull(0.5) > 1 // refused: cannot convert value of type 'Double' to expected argument type 'Int'
  _ = Car.seats - Car.ownerId.ifNull("0") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = "3" * Car.price > 2 // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = real * Car.seats + 1.5 // refused: cannot convert value of type 'TypedColumn<Car, Int>' to expected argument type 'Double'
  _ = 1.19 * Car.seats * Car.price // refused: cannot convert value of type 'TypedColumn<Car, Int>' to expected argument type 'Double'
  _ = Car.price * number + 1 // refused: the value has a different type than the term on the left
  _ = Car.price * Double(number) + 1
  _ = Car.price * decimal + 2 // refused: the value has a different type than the term on the left
  _ = Car.seats * 1.19 + 1 // refused: the value has a different type than the term on the left
  _ = Car.seats / 2.5 - 1 // refused: the value has a different type than the term on the left
  _ = Car.price % Car.seats == 0 // refused: operator function '%' requires the types 'Double' and 'Int' be equivalent
  _ = Car.seats % 2.5 == 0 // refused: the value has a different type than the term on the left
  _ = Car.seats % 2 == "0" // refused: the value has a different type than the term on the left
  _ = Car.seats % 2 == 0.5 // refused: the value has a different type than the term on the left
  _ = Car.price / Car.price + Car.price // refused: operator function '+' requires the types 'Double?' and 'Double' be equivalent
  _ = Car.price / Car.price * 100 > 50
  _ = -Car.price * Car.name // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = -Car.price + "x" // refused: the value has a different type than the term on the left
  _ = -(Car.price * Car.name) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.tags + 1 // refused: the value has a different type than the term on the left
  _ = Bicycle.price * NoValue() > 3 // refused: operator function '*' requires that 'NoValue' conform to 'SqlTerm'
  _ = Bicycle.price * Car.price > 5 // refused: operator function '*' requires that 'TypedColumn<Car, Double>' conform to 'SqlTerm'
  let _: TypedExpression<Int> = Car.price * Car.price + 1 // refused: cannot assign value of type 'TypedExpression<Double>' to type 'TypedExpression<Int>'
  let _: Double = Car.price * 2 // refused: cannot convert value of type 'TypedExpression<Double>' to specified type 'Double'
}

// swift-format-ignore
func arithmeticWithDates(date: Date) throws {
  _ = Car.read().filter(Car.soldAt.adding(3600, .second) > date && Car.soldAt.seconds(since: date) / 60 > 3)
  _ = Car.soldAt + 3600 > date // refused: the value has a different type than the term on the left
  _ = Car.soldAt - 3600 < date // refused: the value has a different type than the term on the left
  _ = Car.soldAt - date // refused: the value has a different type than the term on the left
  _ = date - Car.soldAt > 60 // refused: referencing operator function '-' on 'TypedTerm' requires that 'Date' conform to 'SqlNumber'
  _ = (Car.soldAt - Car.soldAt) / 60 // refused: referencing operator function '-' on 'TypedTerm' requires that 'Date' conform to 'SqlNumber'
  _ = Car.soldAt + Duration.seconds(60) // refused: binary operator '+' cannot be applied to operands of type 'TypedColumn<Car, Date>' and 'Duration'
  _ = Car.soldAt + Car.price > date // refused: binary operator '+' cannot be applied to operands of type 'TypedColumn<Car, Date>' and 'TypedColumn<Car, Double>'
}

// swift-format-ignore
func arithmeticInConditions() throws {
  _ = Car.read().filter(Car.price * 1.19 < 20_000 && Car.isElectric == true).orderBy(Car.price)
  _ = Car.read().filter(Car.price * 1.19 < "20000" && Car.isElectric == true).orderBy(Car.price) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.price * "1.19" < 20_000 && Car.isElectric == true).orderBy(Car.price) // refused: the value has a different type than the term on the left
  _ = Car.read().filter(Car.price * Car.name < 20_000 && Car.isElectric == true).orderBy(Car.price) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.read().filter(Car.price * Car.seats < 20_000 && Car.isElectric == true).orderBy(Car.price) // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
  _ = Car.read().filter(Car.pric * 1.19 < 20_000 && Car.isElectric == true).orderBy(Car.price) // refused: type 'Car' has no member 'pric'
  _ = Car.read().filter(Car.price * nil < 20_000 && Car.isElectric == true).orderBy(Car.price) // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.read().filter(Car.price * 2 ∈ ["x", "y"]) // refused: the values have a different type than the term on the left
  _ = Car.read().filter((Car.price * 2).between(1, and: "x")) // refused: the values have a different type than the term
  _ = Car.read().filter(Car.price * Parameter("factor") > Car.name) // refused: binary operator '>' cannot be applied to operands of type 'TypedExpression<Double>' and 'TypedColumn<Car, String>'
  _ = Bicycle.read().filter(Bicycle.pric * 2 < 20_000 && Bicycle.isOld == true) // refused: type 'Bicycle' has no member 'pric'
  _ = Bicycle.read().filter(Bicycle.price * NoValue() < 20_000 && Bicycle.isOld == true) // refused: operator function '*' requires that 'NoValue' conform to 'SqlTerm'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id * "2") // refused: the value has a different type than the term on the left
  _ = Car.join(Person.self, on: Car.price * Person.age > 5) // refused: operator function '*' requires the types 'Double' and 'Int?' be equivalent
  _ = Check(Car.price * Car.name > 0) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Check(Car.price * 2 > "0") // refused: the value has a different type than the term on the left
}

// swift-format-ignore
func arithmeticInAssignments() throws {
  _ = Car.update(Car.price.set(to: Car.price * 0.9), Car.seats.set(to: Car.seats + 1)).filter(Car.id == 1)
  _ = Car.update(Car.price.set(to: Car.price * Car.name)) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.update(Car.price.set(to: Car.price * "0.9")).filter(Car.id == 1) // refused: the value has a different type than the term on the left
  _ = Car.update(Car.price.set(to: Car.price * nil)).filter(Car.id == 1) // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.update(Car.price.set(to: Car.price * 0.9)).filter(Car.id == "x") // refused: the value has a different type than the term on the left
  _ = Car.update(Car.price.set(to: Car.price + Car.pric)) // refused: type 'Car' has no member 'pric'
  _ = Car.update(Car.price.set(to: Car.price / Car.price)) // refused: instance method 'set(to:)' requires the types 'Double' and 'Double?' be equivalent
  _ = Car.update(Car.price.set(to: Car.seats * 2)) // refused: instance method 'set(to:)' requires the types 'Double' and 'Int' be equivalent
  _ = Car.update(Car.price.set(to: Bicycle.price * 2)) // refused: instance method 'set(to:)' requires that 'SqlExpression' conform to 'TypedTerm'
  _ = Car.update(Car.name.set(to: Car.name + "x")) // refused: use concatenated(_:) to concatenate text
  _ = Car.update(Car.name.set(to: Car.price * 0.9)).filter(Car.id == 1) // refused: instance method 'set(to:)' requires the types 'String' and 'Double' be equivalent
  _ = Car.update(Car.seats.set(to: Car.seats * 0.9)).filter(Car.id == 1) // refused: the value has a different type than the term on the left
  _ = Car.update(Car.seats.set(to: Car.seats + Car.ownerId)) // refused: operator function '+' requires the types 'Int' and 'Int?' be equivalent
  _ = Car.update(Car.seats.set(to: Car.ownerId + 1)) // refused: instance method 'set(to:)' requires the types 'Int' and 'Int?' be equivalent
  _ = Car.update(Car.soldAt.set(to: Car.soldAt + 3600)) // refused: the value has a different type than the term on the left
  _ = Bicycle.update(Bicycle.price.set(to: Bicycle.price * NoValue())) // refused: operator function '*' requires that 'NoValue' conform to 'SqlTerm'
  _ = Generated(Car.price * Car.seats) // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
}

// swift-format-ignore
func arithmeticInResults() throws {
  _ = Car.select(Car.color, countAll().cast(to: Double.self) * 100 / Car.price.sum().ifNull(1)).groupBy(Car.color)
  _ = Car.select(Car.name, Car.price * Car.name) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.select(Car.name, Car.price * "2") // refused: the value has a different type than the term on the left
  _ = Car.select(Car.name, Car.price * nil) // refused: 'nil' is not compatible with expected argument type 'Double'
  _ = Car.select(Car.name, Car.pric * 2) // refused: type 'Car' has no member 'pric'
  _ = Car.select(Car.name, Car.price * 2 + Car.name) // refused: operator function '+' requires the types 'Double' and 'String' be equivalent
  _ = Car.select(Car.name, Car.price * 2, Car.seats + 1.5) // refused: the value has a different type than the term on the left
  _ = Car.select(Car.name, 2 * Car.seats * Car.price) // refused: operator function '*' requires the types 'Int' and 'Double' be equivalent
  _ = Car.select(Car.color, (Car.price * Car.seats).sum()).groupBy(Car.color) // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
  _ = Car.select(Car.color, (Car.price * 2).summ()).groupBy(Car.color) // refused: value of type 'TypedExpression<Double>' has no member 'summ'
  _ = Car.select(Car.color, Car.price.sum() / countAll()).groupBy(Car.color) // refused: operator function '/' requires the types 'Int' and 'Double?' be equivalent
  _ = Car.select(Car.color, countAll() * 1.5).groupBy(Car.color) // refused: the value has a different type than the term on the left
  _ = Car.select(Car.color).groupBy(Car.color).having(countAll() * 2 > "x") // refused: the value has a different type than the term on the left
  _ = Car.select(Car.color).groupBy(Car.color).having(Car.price.sum() * Car.name > 3) // refused: operator function '*' requires the types 'Double?' and 'String' be equivalent
  _ = Car.select(Car.color).groupBy(Car.color).having(Car.price.max() - Car.price > 3) // refused: operator function '-' requires the types 'Double?' and 'Double' be equivalent
  _ = Car.select(Car.color).groupBy(Car.price * Car.name) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.select(Car.price - Car.price.lag().over(orderBy: Car.id.asc)) // refused: operator function '-' requires the types 'Double' and 'Double?' be equivalent
  _ = Car.select(rowNumber().over(orderBy: Car.id.asc) * 2.5) // refused: the value has a different type than the term on the left
  _ = Car.select(scalar(Car.select(Car.price.average())) * Car.name) // refused: operator function '*' requires the types 'Double?' and 'String' be equivalent
  _ = Car.select(Case.when(Car.price * Car.name > 5, then: 1).else(2)) // refused: operator function '*' requires the types 'Double' and 'String' be equivalent
  _ = Car.read().orderBy((Car.price * Car.seats).desc, Car.name.asc) // refused: operator function '*' requires the types 'Double' and 'Int' be equivalent
  _ = Car.read().orderBy((Car.price * 2).descending) // refused: value of type 'TypedExpression<Double>' has no member 'descending'
  _ = Car.read().orderBy(Car.pric * 2) // refused: type 'Car' has no member 'pric'
  _ = Car.read().orderBy(-Car.name) // refused: only numbers can be negated
}

// What is too slow: a wrong operand among three or more operators and literals. Swift 6.3 tries all overloads of the
// standard library's operators. Two structs with two overloads for each operator, without Sqlable, are as slow.
// 7.5 s: _ = Car.price * 1.19 + Car.seats * 2 > 5
// not checked after 11 s: _ = (Car.price - 3) * 2 + (Car.price - 1) * Car.seats
