import Foundation
import Sqlable

extension Subject {
  /// Work on a statement: built, rendered, first run and repeated run.
  private static func statement<Statement: Runnable>(
    _ name: String, _ base: Int, runs: Bool = true, _ build: @escaping (Int) -> Statement
  ) -> [Subject] {
    var subjects = [
      Subject("\(name): build", base, prepare: { $0 }, measure: { _ = build($0) }),
      Subject("\(name): sql", base, prepare: { build($0) }, measure: { _ = $0.sql }),
    ]
    guard runs else { return subjects }
    subjects += [
      Subject("\(name): first run", base, prepare: { (try Item.database(), build($0)) }, measure: { try $1.run($0) }),
      Subject(
        "\(name): repeated run", base,
        prepare: { count -> (SqliteDatabase, Statement) in
          let (db, statement) = (try Item.database(), build(count))
          try statement.run(db)
          return (db, statement)
        }, measure: { (db, statement) in try statement.run(db) }),
    ]
    return subjects
  }

  static func statements() throws -> [Subject] {
    let (id, name, price) = (Item.id, Item.name, Item.price)
    let boxed = Boxed()
    return scripts()
      + statement("&& in a loop", 250) { count in
        (1..<count).reduce(id > 0) { $0 && id > $1 }.read
      }
      + statement("|| in a loop", 250) { count in
        (1..<count).reduce(id == 0) { $0 || id == $1 }.read
      }
      + statement("filter in a loop", 250) { count in
        (0..<count).reduce(Item.read()) { $0.filter(price > $1) }
      }
      + statement("orderBy in a loop", 100) { count in
        (0..<count).reduce(Item.read()) { read, number in read.orderBy(price + number) }
      }
      + [
        Subject(
          "orderBy in a loop on a property: build", 250, prepare: { $0 },
          measure: { count in
            boxed.read = Item.read()
            for number in 0..<count { boxed.read = boxed.read.orderBy(price + number) }
          }),
        Subject(
          "unionAll in a loop on a property: build", 60, prepare: { $0 },
          measure: { count in
            boxed.select = Item.select(id)
            for number in 0..<count { boxed.select = boxed.select.unionAll(Item.select(id).filter(id == number)) }
          }),
        Subject(
          "unionAll in a loop on a property: build, long", 1_000, prepare: { $0 },
          measure: { count in
            boxed.select = Item.select(id)
            for number in 0..<count { boxed.select = boxed.select.unionAll(Item.select(id).filter(id == number)) }
          }),
      ]
      + statement("unionAll in a loop", 60) { count in
        (1..<count).reduce(Item.select(id)) { $0.unionAll(Item.select(id).filter(id == $1)) }
      }
      + statement("unionAll of models in a loop", 60) { count in
        (1..<count).reduce(Item.read().asSelect()) { $0.unionAll(Item.read().filter(id == $1)) }
      }
      + statement("unionAll from the right", 60) { count in
        (1..<count).reduce(Item.select(id)) { Item.select(id).filter(id == $1).unionAll($0) }
      }
      + statement("CASE in a loop", 250) { count in
        let builder = (1..<count).reduce(Case.when(id == 0, then: 0)) { $0.when(id == $1, then: $1) }
        return Item.select(builder.else(0))
      }
      + statement("in(list)", 1_000) { count in Item.read().filter(id.in(Array(0..<count))) }
      + statement("notIn(texts)", 1_000) { count in
        Item.read().filter(name.notIn((0..<count).map { "text \($0)" }))
      }
      + statement("joins", 7) { count in
        (1..<count).reduce(Item.read().asSelect()) { query, number in
          let other = Alias(Item.self, "i\(number)")
          return query.joining(other, on: other[id] == id)
        }
      }
      + statement("named queries", 7) { count in
        (0..<count).reduce(Item.read().asSelect()) { query, number in
          let other = Item.select(id).filter(price > number).named("q\(number)")
          return query.joining(other, on: other.column == id)
        }
      }
      + statement("values(rows)", 500) { count in values((0..<count).map { ($0, "text") }).select() }
      + hashing() + rows()
  }

  /// A statement in a property, whose old value lives while the new one is built.
  private final class Boxed {
    var read = Item.read()
    var select = Item.select(Item.id)
  }

  // MARK: Scripts

  private static func scripts() -> [Subject] {
    func script(_ count: Int) -> String {
      (0..<count).map { "INSERT INTO item (name, price) VALUES ('item \($0)', \($0));" }.joined(separator: "\n")
    }
    return [
      Subject(
        "script of inserts", 500, prepare: { (try Item.database(), script($0)) },
        measure: { db, text in
          try db.execute(text)
        }),
      Subject(
        "script of inserts in a transaction", 500,
        prepare: { (try Item.database(), "BEGIN;\n" + script($0) + "COMMIT") },
        measure: { db, text in
          try db.execute(text)
        }),
      Subject(
        "script with values", 500,
        prepare: { count in
          let db = try Item.database()
          var text = SQL(verbatim: "")
          for number in 0..<count { text = "\(sql: text) INSERT INTO item (name) VALUES (\("item \(number)"));" }
          return (db, text)
        }, measure: { db, text in try db.execute(text) }),
      Subject(
        "SQL by interpolation in a loop", 500, prepare: { $0 },
        measure: { count in
          var text: SQL = "SELECT 0"
          for number in 0..<count { text = "\(sql: text), \(number)" }
        }),
      Subject(
        "script of comments and blanks", 5_000,
        prepare: { (try Item.database(), String(repeating: "-- a comment\n ;\n", count: $0)) },
        measure: { db, text in
          try db.execute(text)
        }),
      Subject(
        "query with many columns", 200,
        prepare: { count in
          (
            try Item.database(),
            SQL(verbatim: "SELECT " + (0..<count).map { "\($0) AS c\($0)" }.joined(separator: ", "))
          )
        }, measure: { db, text in _ = try db.query(text, as: DynamicRow.self) }),
    ]
  }

  // MARK: Equality and rows

  private static func hashing() -> [Subject] {
    func long(_ count: Int) -> Statement<Item, [Item]> {
      (0..<count).reduce(Item.read()) { $0.filter(Item.price > $1) }.filter(Item.id.in(Array(0..<count)))
    }
    func compound(_ count: Int) -> Select<Int?> {
      (1..<count).reduce(Item.select(Item.price)) { $0.unionAll(Item.select(Item.price).filter(Item.id == $1)) }
    }
    return [
      Subject("== of long filters", 500, prepare: { (long($0), long($0)) }, measure: { precondition($0 == $1) }),
      Subject("hash of a long filter", 500, prepare: { long($0) }, measure: { _ = $0.hashValue }),
      Subject(
        "== of long compounds", 60, prepare: { (compound($0), compound($0)) }, measure: { precondition($0 == $1) }),
      Subject("hash of a long compound", 60, prepare: { compound($0) }, measure: { _ = $0.hashValue }),
    ]
  }

  private static func rows() -> [Subject] {
    [
      Subject(
        "batch of inserts", 1_000,
        prepare: { count in (try Item.database(), (0..<count).map { Item(name: "item \($0)") }) },
        measure: { db, items in try Item.insert(items).run(db) }),
      Subject("read of rows", 2_000, prepare: { try Item.database($0) }, measure: { _ = try Item.read().run($0) }),
      Subject(
        "rows over a transport", 2_000, prepare: { Loopback(db: try Item.database($0)) },
        measure: { _ = try await Item.read().run($0) }),
      Subject(
        "inserts over a transport", 500,
        prepare: { count in (Loopback(db: try Item.database()), (0..<count).map { Item(name: "item \($0)") }) },
        measure: { db, items in try await Item.insert(items).run(db) }),
    ]
  }
}

/// A transport to a database in the same process.
struct Loopback: SqlTransport {
  let db: SqliteDatabase

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { try db.answers(to: requests) }
}

extension SqlCondition {
  fileprivate var read: Statement<Item, [Item]> { Item.read().filter(self) }
}
