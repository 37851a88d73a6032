// Chains of joins, groups and associations with one mistake. `Tests/Checks` describes how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func chains(db: SqliteDatabase, boss: Alias<Bicycle>, person: Person, wheels: JSONEach) throws {
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).filter(Car.price > 5 && Person.name == "x")
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).leftJoin(boss, on: boss[Bicycle.id] == Bicycle.id).join(Person.self, on: Person.id == Bicycle.id).orderBy(Bicycle.price.desc, Person.name)
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).leftJoin(Bicycle.self, on: Bicycle.id == Person.id).filter(Car.price > "x").orderBy(Car.name) // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Car.join(Person.self, on: Car.ownerId == Person.name).join(Bicycle.self, on: Bicycle.id == Car.id).filter(Car.price > 5) // refused: binary operator '==' cannot be applied to operands of type 'TypedColumn<Car, Int?>' and 'TypedColumn<Person, String>'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).filter(Car.prise > 5) // refused: type 'Car' has no member 'prise'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.idd == Car.id).filter(Car.price > 5).select(Car.name, Person.name) // refused: type 'Bicycle' has no member 'idd'
  _ = try Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).filter(Car.price > 5 && Person.name == 3).select(Car.name, Person.name).run(db) // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = try Car.join(Person.self, on: Car.ownerId == Person.nam).leftJoin(Bicycle.self, on: Car.id == Bicycle.id).filter(Car.price > 5).select(Car.name, Person.name).orderBy(Car.price.desc).run(db) // refused: type 'Person' has no member 'nam'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Person.id == Bicycle.price).filter(Car.price > 5).orderBy(Car.naem) // refused: type 'Car' has no member 'naem'
  _ = Person.select(Person.name, Car.price.sum()).join(Car.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).groupBy(Person.name).having(Car.price.sum() > "x") // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Person.select(Person.name, Car.price.sum()).joining(Car.self, on: Car.ownerId == Person.id).joining(Bicycle.self, on: Bicycle.id == Car.id).groupBy(Person.name).having(Car.price.sum() > "x") // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Person.select(Person.name, Car.price.sum()).leftJoining(Car.self, on: Car.ownerId == Person.id).groupBy(Person.name).having(Car.price.sum()) // refused: referencing instance method 'having' on 'Optional' requires that 'Double' conform to 'SqlBoolean'
  _ = Person.join(Car.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).filter(Car.price > "x") // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Person.join(Car.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).filter(Car.price > 5).groupBy("name") // refused: instance method 'groupBy' requires that 'String' conform to 'AnyTerm'
  _ = Person.join(Car.self, on: Car.ownerId == Person.id).join(Bicycle.self, on: Bicycle.id == Car.id).join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).filter(Car.price > 5).limit("10") // refused: 'limit' is unavailable: a limit is an Int or a term of the type Int
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(boss, on: boss[Bicycle.id] == Bicycle.id).filter(Bicycle.price > NoValue()) // refused: operator function '>' requires that 'NoValue' conform to 'SqlTerm'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(boss, on: boss[Bicycle.id] == Bicycle.id).filter(Bicycle.price) // refused: instance method 'filter' requires that 'Column' conform to 'SqlCondition'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.idd).join(boss, on: boss[Bicycle.id] == Bicycle.id).filter(Bicycle.price > 5) // refused: type 'Bicycle' has no member 'idd'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).leftJoin(boss, on: boss[Bicycle.id] == Bicycle.id && Bicycle.price > 3).orderBy("x") // refused: instance method 'orderBy' requires that 'String' conform to 'OrderingTerm'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(boss, on: boss[Bicycle.id] == Bicycle.id).join(Person.self, on: Person.id == Bicycle.id).filter(Bicycle.price > 5).groupBy("x").orderBy(Bicycle.id) // refused: instance method 'groupBy' requires that 'String' conform to 'AnyTerm'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(boss, on: boss[Bicycle.nam] == Bicycle.name).filter(Bicycle.price > 5) // refused: type 'Bicycle' has no member 'nam'
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(boss, on: boss[Wheel.siz] == Bicycle.name).filter(Bicycle.price > 5) // refused: type 'Wheel' has no member 'siz'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Person.self, Car.id == Person.id) // refused: missing argument label 'on:' in call
  _ = Car.join(Person.self, Car.ownerId == Person.id).join(Bicycle.self, on: Car.id == Bicycle.id) // refused: missing argument label 'on:' in call
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self) // refused: 'join' is unavailable: a join needs a condition; use join(_:on:)
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Bicycle.self).filter(Car.price > 5) // refused: 'join' is unavailable: a join needs a condition; use join(_:on:)
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join("bicycle", on: Car.id == Bicycle.id) // refused: no exact matches in call to instance method 'join'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(person, on: Car.id == Person.id) // refused: no exact matches in call to instance method 'join'
  _ = Car.join(Person, on: Car.ownerId == Person.id).join(Bicycle.self, on: Car.id == Bicycle.id) // refused: expected member name or initializer call after type name
  _ = Car.join(Person.self, on: Car.ownerId = Person.id) // refused among others: cannot assign to property: 'ownerId' is a 'let' constant
  _ = Car.join(Car.owner) // refused: 'join' is unavailable: use read().including(_:), or join(_:on:) with a condition
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).join(Car.owner).filter(Car.price > 5) // refused: 'join' is unavailable: use read().including(_:), or join(_:on:) with a condition
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).innerJoin(Bicycle.self, on: Car.id == Bicycle.id) // refused: value of type 'Select<(Car, Person)>' has no member 'innerJoin'
  _ = Car.leftJoin(Person.self, on: Car.ownerId == Person.id).select(Car.name, Person.nme) // refused: type 'Person' has no member 'nme'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).select(Car.name, "name") // refused: instance method 'select' requires that 'String' conform to 'Selectable'
  _ = Car.join(Person.self, on: Car.ownerId == Person.id).select(Car.name, Bicycle.name) // refused: instance method 'select' requires that 'Column' conform to 'Selectable'
  for (car, owner, bike) in try Car.join(Person.self, on: Car.ownerId == Person.id).run(db) { print(car, owner, bike) } // refused: pattern cannot match values of type '(Car, Person)'
  for (car, owner) in try Car.leftJoin(Person.self, on: Car.ownerId == Person.id).run(db) { print(car, owner.tableName) } // refused among others: static member 'tableName' cannot be used on instance of type 'Person'
  let rows = try Car.join(Person.self, on: Car.ownerId == Person.id).run(db); print(rows[0].2) // refused: value of tuple type '(Car, Person)' has no member '2'
  let rows: [(Car, Person, Bicycle)] = try Car.join(Person.self, on: Car.ownerId == Person.id).leftJoin(Bicycle.self, on: Bicycle.id == Car.id).run(db); _ = rows // refused: cannot assign value of type '[(Car, Person, Bicycle?)]' to type '[(Car, Person, Bicycle)]'
}

// swift-format-ignore
func nullOperators(db: SqliteDatabase, name: String?) throws {
  _ = Car.read().filter(Car.name == name ?? "x" && Car.price > 5)
  _ = Car.read().filter(Car.color.ifNull("red") == "red" && Car.price > 5 && Car.ownerId.ifNull(0) > 3)
  _ = Car.read().filter(Car.color ?? "red" == "red") // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter((Car.color ?? "red") == "red" && Car.price > 5 && Car.seats == 3) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter((Car.ownerId ?? 0) > 3 && Car.price > 5 && Car.seats == 3 || Car.name == "x") // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && Car.color ?? "red" == "red" && Car.price > 2.5 || Car.id < 7 && Car.name.like("%x%") && Car.isElectric == true && Car.price * 2 > 3.0) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter(Car.id == 3 && Car.name == "x" && (Car.name ?? "red") == "red" && Car.price > 2.5 || Car.id < 7 && Car.isElectric == true && Car.price * 2 > 3.0) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Bicycle.read().filter((Wheel.maker ?? "x") == "x" && Bicycle.name == "x" && Bicycle.price > 3 || Bicycle.isOld == true) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Bicycle.join(Wheel.self, on: Wheel.bicycleId == Bicycle.id).join(Person.self, on: Wheel.bicycleId == Person.id).filter((Wheel.size ?? 3) > 5 && Bicycle.name == "x" && Bicycle.price > 3) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.select(Car.name, Car.color ?? "red", Car.price) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.select(Car.color ?? Car.name) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.update(Car.color.set(to: Car.color ?? "red")) // refused: '??' is unavailable: ?? is for Swift's optionals; use ifNull(_:) for a term
  _ = Car.read().filter(Car.color? == "red") // refused: cannot use optional chaining on non-optional value of type 'TypedColumn<Car, String?>'
  _ = Car.read().filter(Car.name == name && Car.price > 5 || Car.seats == 3) // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = Car.read().filter(Car.color is nil) // refused among others: instance method 'filter' requires that 'Bool' conform to 'SqlCondition'
  _ = Car.read().filter(Car.color === nil) // refused among others: instance method 'filter' requires that 'Bool' conform to 'SqlCondition'
  _ = Car.read().filter(Car.price > 5 & Car.seats == 3) // refused among others: adjacent operators are in non-associative precedence group 'ComparisonPrecedence'
  _ = Car.read().filter(Car.price > 5, Car.seats == 3) // refused: extra argument in call
  _ = Car.read().filter(Car.price > 5 and Car.seats == 3) // refused among others: cannot find 'and' in scope
  _ = Car.read().filter(5 < Car.price < 10) // refused: adjacent operators are in non-associative precedence group 'ComparisonPrecedence'
  _ = Car.read().filter(Car.seats == 1...5) // refused: cannot convert value of type 'ClosedRange<Int>' to expected argument type 'Int'
  _ = Car.read().filter([1, 2].contains(Car.seats)) // refused among others: instance method 'filter' requires that 'Bool' conform to 'SqlCondition'
  _ = Car.read().filter(Car.name.isEmpty) // refused: value of type 'TypedColumn<Car, String>' has no member 'isEmpty'
  _ = Car.read().filter(\.price > 5) // refused among others: cannot convert value of type 'KeyPath<Root, Value>' to expected argument type 'TermRow<Int>'
  _ = Car.read().filter(car.price > 5) // refused: cannot find 'car' in scope
  _ = Car.read().filter { $0.price > 5 } // refused among others: type '(_) -> Bool' cannot conform to 'SqlCondition'
  _ = Car.read().filter(price > 5) // refused: cannot find 'price' in scope
}
