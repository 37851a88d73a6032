import SqlableCore
import SqlableQueries

extension Person {
  static let bikes = toMany(Bicycle.self, by: Bicycle.ownerId)
}
extension Bicycle {
  static let owner = toOne(Person.self, by: ownerId)
}
