// Reads with associated rows, and their aggregates as terms.

import Foundation
import Sqlable
import SqlablePolicies

extension Person {
  static let cars = toMany(Car.self, by: Car.ownerId)
}

extension Car {
  static let owner = toOne(Person.self, by: ownerId)
}

// swift-format-ignore
func associations(db: SqliteDatabase, cars: [Car], car: Car, person: Person, counter: Counter) throws {
  let _: AssociatedQuery<Person, [Car], Int> = Person.read().including(Person.cars, Person.cars.filter(Car.isElectric).count())
  let _: Select<(String, Int, Double?)> = Person.select(Person.name, Person.cars.count(), Person.cars.aggregate(Car.price.sum()))
  let _: AssociatedQuery<Person, [Car], Int, Car?, [Car]> = Person.read().including(Person.cars, Person.cars.count(), Person.cars.first(), Person.cars)
  _ = TablePolicy(Car.self).rows(where: Car.isElectric)
  let _: (Person, [Car])? = try Person.byId(1).including(Person.cars).run(db)
  _ = Person.read().filter(Person.cars.count() > 2 && Person.age > 18 || Person.cars.aggregate(Car.price.max()) > 5.5).orderBy(Person.cars.count(), .desc)
  _ = Person.cars.including(Car.owner).orderBy(Car.name).limit(2)

  _ = Person.read().including(Car.owner) // refused: cannot convert value of type 'Association<Car, Person, Person?>' to expected argument type 'Association<Person, Person, Person?>'
  _ = Person.read().including(Person.cars).orderBy(Person.id) // refused: call orderBy(_:) before including(_:)
  _ = Person.read().including(Person.cars).orderBy(Person.id, .desc) // refused: call orderBy(_:_:) before including(_:)
  _ = Person.read().including(Person.cars).filter(Person.id == 1) // refused: call filter(_:) before including(_:)
  _ = Person.read().including(Person.cars).limit(3) // refused: call limit(_:) before including(_:)
  _ = Person.read().including(Person.cars).limit(3, offset: 6) // refused: call limit(_:) before including(_:)
  _ = Person.read().including(Person.cars).page(after: nil, limit: 3) // refused: call page(after:limit:) before including(_:)
  _ = Person.read().including(Person.cars).page(limit: 3) // refused: call page(limit:) before including(_:)
  _ = Person.read().including(Person.cars).page(after: person, limit: 3) // refused: call page(after:limit:) before including(_:)
  _ = Person.read().page(after: person, limit: 3).including(Person.cars)
  _ = Person.read().filter(Person.cars.count() > "x") // refused: '>' is unavailable: the value has a different type than the term on the left
  _ = Person.read().filter(Person.cars) // refused: requires that '[Car]' conform to 'SqlBoolean'
  _ = Person.read().orderBy(Person.cars) // refused among others: referencing instance method 'orderBy' on 'Array' requires that 'Car' conform to 'SqlValue'
  _ = Person.read().whereAny(Person.cars.count()) // refused: no exact matches in call to instance method 'whereAny'
  _ = Person.cars.aggregate(Car.name.sum()) // refused: only numbers have a sum
  _ = Person.cars.aggregate(Bicycle.price.max()) // refused: instance method 'aggregate' requires that 'SqlExpression' conform to 'TypedTerm'
  _ = Car.owner.aggregate(Person.age.max()) // refused: requires the types 'Person?' and '[Person]' be equivalent
  _ = Car.owner.limit(3) // refused: requires that 'Person?' conform to 'AssociatedRows'
}
