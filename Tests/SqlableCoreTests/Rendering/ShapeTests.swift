import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Shapes of statements, by which the cache finds compiled statements. Statements that differ in more than values must
/// not mix.
@Suite struct ShapeTests {
  /// Conditions, each of which differs from its neighbours in one detail, such as the operator, the column or nesting.
  private static func conditions(_ x: Int, _ text: String) -> [SqlExpression] {
    let (id, name, color, owner) = (Bicycle.id, Bicycle.name, Bicycle.color, Bicycle.ownerId)
    let (a, b, c) = (id > x, name == text, owner.isNull)
    return [
      a, b, c, id >= x, id < x, id <= x, id == x, id != x, owner == x, color == text, owner.isNotNull, !c, !a,
      a && b, b && a, id > x && id > x, id >= x && id < x + 9, id > x && id < x + 9, name == text && color == text,
      a && b && id < x, a || b, a && b && c, a && (b || c), (a && b) || c, a || b || c, (a || b) && c, !(a && b),
      !a && b, id.is(x), id.isNot(x), owner.is(x), owner.isNot(x), id.between(x, and: x + 2),
      owner.between(x, and: x + 2),
      id.in([x]), id.in([x, x + 1]), id.in([x, x + 1, x + 2]), id.in([x, x + 1, x + 2, x + 4]), id.in([Int]()),
      id.in(Array(x..<x + 40)), id.notIn([x]), id.notIn([Int]()), owner.in([x]),
      name.like("%e%"), name.like("%!_%", escape: "!"), color.like("%e%"), name.like("color"),
      name.lowercase() == text, name.uppercase() == text, name.length() == x, id.abs() == x, -id < -x,
      name.collate(.nocase) == text, name.collate(.rtrim) == text, name.collate(.binary) == text,
      id + x == 4, id - x == 4, id * x == 4, id / 2 == x, id % 2 == x, id + owner == x, owner + id == x,
      id == owner, owner == id, id < owner, name == color, name < color, name.concatenated(color) == "redred",
      (id + 1) * 2 == x, id + 2 * 1 == x, id * 2 + 1 == x, (name == "red") == (color == "red"),
    ]
  }

  private func fill(_ db: SqliteDatabase) throws {
    try db.createTable(Person.self)
    try Person.insert((1...9).map { (id: Int) in Person(id: id, name: "p\(id)") }).run(db)
    try db.createTable(Bicycle.self)
    let words = ["red", "Red", "red ", "blue", "gre_en", "x"]
    try Bicycle.insert(
      (1...24).map { index in
        Bicycle(
          name: words[index % 6], color: words[index / 4 % 6], ownerId: index % 3 == 0 ? nil : index % 9 + 1)
      }
    ).run(db)
  }

  @Test func statementsThatDifferInOneDetailDoNotMix() throws {
    try withDirectory { directory in
      // One handle compiles every statement again, the other caches all.
      let cold = try SqliteDatabase(
        filepath: directory + "/bikes.sqlite", configuration: Configuration(statementCacheBytes: 0))
      try fill(cold)
      let warm = try SqliteDatabase(
        filepath: directory + "/bikes.sqlite", configuration: Configuration(statementCacheBytes: 64 << 20))
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for (x, text) in [(3, "red"), (0, "blue"), (7, "Red"), (1, "x")] {
        for condition in ShapeTests.conditions(x, text).shuffled(using: &random) {
          let read = Bicycle.read().filter(condition)
          for statement in [
            read, Bicycle.read().limit(3), read.orderBy(Bicycle.name),
            read.orderBy(Bicycle.name, .desc), read.orderBy(condition).limit(5),
            read.orderBy(Bicycle.id, .desc).limit(5), read.orderBy(Bicycle.id).limit(5, offset: 2),
            read.orderBy(Bicycle.id).offset(2), read.orderBy(Bicycle.color).orderBy(Bicycle.id, .desc),
          ] {
            let ids = try statement.run(warm).map(\.id)
            #expect(try statement.run(cold).map(\.id) == ids, "\(statement.sql) \(statement.bindings)")
          }
          for statement in [
            Bicycle.count().filter(condition), Bicycle.count().filter(condition).limit(3),
            Bicycle.count().filter(condition).orderBy(condition).limit(7, offset: 1),
            Bicycle.count().filter(condition).orderBy(Bicycle.id + x),
          ] {
            let count = try statement.run(warm)
            #expect(try statement.run(cold) == count, "\(statement.sql) \(statement.bindings)")
          }
          #expect(try Bicycle.exists().filter(condition).run(warm) == !read.run(cold).isEmpty)
          for byId in [Bicycle.byId(x), Bicycle.byId(x).filter(condition), Bicycle.byId("1"), Bicycle.byId(x + 1)] {
            let id = (try? byId.run(warm))?.id
            #expect((try? byId.run(cold))?.id == id, "\(byId.sql) \(byId.bindings)")
          }
          #expect(try read.first().run(warm)?.id == read.first().run(cold)?.id)
        }
      }
    }
  }

  /// The cache's key includes the conflict policy, the chosen columns and the returned terms.
  @Test func changesOfAStructThatDifferInOneDetailDoNotMix() throws {
    typealias Change = (sql: String, run: (SqliteDatabase) throws -> String)
    func change(_ statement: Statement<Bicycle, Int>) -> [Change] {
      [
        (statement.sql, { "\(try statement.run($0))" }),
        (statement.returning().sql, { "\(try statement.returning().run($0))" }),
        (
          statement.returning(Bicycle.name, Bicycle.id).sql,
          { "\(try statement.returning(Bicycle.name, Bicycle.id).run($0).map(\.values))" }
        ),
        (
          statement.returning(Bicycle.id, Bicycle.name).sql,
          { "\(try statement.returning(Bicycle.id, Bicycle.name).run($0).map(\.values))" }
        ),
      ]
    }
    try withDirectory { directory in
      let handles = try ["cold", "warm"].map { name in
        try SqliteDatabase(
          filepath: directory + "/\(name).sqlite",
          configuration: Configuration(statementCacheBytes: name == "cold" ? 0 : 64 << 20))
      }
      for db in handles { try fill(db) }
      var random = SeededGenerator(seed: SeededGenerator.seed)
      let (id, name, color, owner) = (Bicycle.id, Bicycle.name, Bicycle.color, Bicycle.ownerId)
      for (key, text) in [(3, "red"), (90, "x"), (5, "x")] {
        let bike = Bicycle(id: key, name: text, color: "blue", ownerId: 2)
        let insert = bike.insert()
        let statements = [
          insert, bike.insert(id, name), bike.insert(name, id), bike.insert(name, color), bike.save(), bike.update(),
          bike.update(name), bike.update(color, owner), bike.delete(), bike.delete().filter(color == "blue"),
          bike.update().filter(color == "blue"), bike.update(name).filter(owner == 2), insert.ignoreOnConflict(),
          insert.replaceOnConflict(), insert.onConflict(id, update: name), insert.onConflict(id, update: color),
          insert.onConflict(id, update: name, color), insert.onConflict(name, color, update: owner),
          insert.onConflict(id, update: name, where: owner == 2), insert.onConflict(id, update: name, where: id > 3),
          insert.onConflict(id, set: name.set(to: text)), insert.onConflict(id, set: owner.set(to: id.excluded)),
          insert.onConflict(id, set: owner.set(to: owner.excluded)),
        ]
        for change in (statements + statements).shuffled(using: &random).flatMap(change) {
          let results = try handles.map { db in
            var result: [String] = []
            try db.transaction { _ in
              do { result.append(try change.run(db)) } catch let error as SqlError { result.append("\(error.kind)") }
              result += try Bicycle.read().run(db).map { "\($0)" }
              return TransactionResult.rollback
            }
            return result
          }
          #expect(results[0] == results[1], "\(change.sql)")
        }
      }
    }
  }

  @Test func changesThatDifferInOneDetailDoNotMix() throws {
    try withDirectory { directory in
      let handles = try ["cold", "warm"].map { name in
        try SqliteDatabase(
          filepath: directory + "/\(name).sqlite",
          configuration: Configuration(statementCacheBytes: name == "cold" ? 0 : 64 << 20))
      }
      for db in handles { try fill(db) }
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for (x, text) in [(3, "red"), (8, "blue")] {
        for condition in ShapeTests.conditions(x, text).shuffled(using: &random) {
          let update = Bicycle.updateAll(Bicycle.name.set(to: text))
          for statement in [
            update.filter(condition), Bicycle.update(Bicycle.color.set(to: text)).filter(condition),
            Bicycle.update(Bicycle.name.set(to: Bicycle.color)).filter(condition),
            Bicycle.update(Bicycle.name.set(to: text), Bicycle.ownerId.set(to: nil)).filter(condition),
            Bicycle.update(Bicycle.id.set(to: Bicycle.id + 1)).filter(condition).ignoreOnConflict(),
            Bicycle.update(Bicycle.id.set(to: Bicycle.id + 1)).filter(condition).replaceOnConflict(),
            update.filter(condition).orderBy(Bicycle.id, .desc).limit(2),
            update.filter(condition).orderBy(Bicycle.id).limit(2, offset: 1),
            Bicycle.delete(condition), Bicycle.delete(condition).orderBy(Bicycle.id, .desc).limit(2),
            Bicycle.delete(condition).orderBy(Bicycle.name.length() + x),
          ] {
            let results = try handles.map { db in
              var result: [String] = []
              try db.transaction { _ in
                // If one handle violates the unique names and colors, the other must too.
                do { result.append("\(try statement.run(db))") } catch let error as SqlError {
                  result.append("\(error.kind)")
                }
                result += try Bicycle.read().run(db).map { "\($0)" }
                return TransactionResult.rollback
              }
              return result
            }
            #expect(results[0] == results[1], "\(statement.sql) \(statement.bindings)")
          }
        }
      }
    }
  }
}
