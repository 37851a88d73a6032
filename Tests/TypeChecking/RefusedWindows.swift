// Windows and JSON that make no sense. What is right stands beside it: `Tests/Checks` says how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func windows(text: String, number: Int, date: Date) throws {
  _ = rank().over(Window(partitionBy: Car.name, Bicycle.name, orderBy: Car.price.desc, frame: .rows(.preceding(1), .currentRow)))
  _ = Car.price.sum().over()
  _ = rowNumber().over(orderBy: Car.price.asc)
  _ = Car.price.over() // refused: value of type 'TypedColumn<Car, Double>' has no member 'over'
  _ = rank().over(partitionBy: "name") // refused: instance method 'over(partitionBy:orderBy:frame:)' requires that 'String' conform to 'AnyTerm'
  _ = rank().over(orderBy: Car.name)
  _ = rank().over(Car.name) // refused: cannot convert value of type 'TypedColumn<Car, String>' to expected argument type 'Window'
  _ = Window(orderBy: Car.name)
  _ = Window(partitionBy: Car.name.asc) // refused: initializer 'init(partitionBy:orderBy:frame:)' requires that 'Ordering' conform to 'AnyTerm'
  _ = ntile("x") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  _ = Car.price.lag("x") // refused: cannot convert value of type 'String' to expected argument type 'Int'
  let _: TypedExpression<Double> = Car.price.lag(2, default: 0).over(Window(partitionBy: Car.name).orderBy(Car.price.desc).frame(.rows(.preceding(1), .currentRow, excluding: .ties)))
  let _: TypedExpression<String?> = Car.color.nthValue(2).over()
  _ = Car.price.lag(1, default: "x") // refused: cannot convert value of type 'String' to expected argument type 'Double'
  _ = Car.price.nthValue() // refused: missing argument for parameter #1 in call
  _ = Window(partitionBy: Car.name).orderBy(Car.price)
  _ = rank().over(frame: .rows(.preceding(1), .currentRow, excluding: .others)) // refused: has no member 'others'
  let _: TypedExpression<Double> = Car.price.lag().over() // refused: cannot assign value of type 'TypedExpression<Double?>' to type 'TypedExpression<Double>'
  _ = rowNumber().over(orderBy: Car.price.desc) == "x" // refused: the value has a different type than the term on the left
}

// swift-format-ignore
func json(text: String, number: Int, date: Date) throws {
  _ = JSONEach(Car.tags, as: "tag").value(as: String.self) == "x"
  _ = Car.tags.jsonContains("x")
  _ = JSONEach(Car.tags) // refused: missing argument for parameter 'as' in call
  _ = JSONEach("[1, 2]", as: "tag") // refused: initializer 'init(_:_:as:)' requires that 'String' conform to 'AnyTerm'
  _ = JSONEach(Car.tags, as: "tag").value(as: NoValue.self) // refused: instance method 'value(as:)' requires that 'NoValue' conform to 'SqlValue'
  _ = JSONEach(Car.tags, as: "tag").value(as: String.self) == 5 // refused: the value has a different type than the term on the left
  _ = JSONEach(Car.tags, as: "tag").type == 5 // refused: the value has a different type than the term on the left
  _ = Car.tags.jsonContains(NoValue()) // refused: argument type 'NoValue' does not conform to expected type 'SqlValue'
  _ = Car.tags == "x" // refused: the value has a different type than the term on the left
  _ = Car.tags.sum() // refused: only numbers have a sum
}
