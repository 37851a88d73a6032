import Foundation
import Sqlable
import SqlablePolicies

extension StatementPolicy {
  /// The policy with limits that no document of this program exceeds.
  var withoutLimits: StatementPolicy {
    var policy = self
    (policy.limits.bytes, policy.limits.nodes, policy.limits.list) = (.max, .max, .max)
    return policy
  }
}

extension Subject {
  static func documents() throws -> [Subject] {
    coding("terms", 250) { count in
      (0..<count).reduce(Item.read()) { $0.filter(Item.price > $1) }
    }
      + coding("alternatives", 250) { count in
        Item.read().filter(.any((0..<count).map { Item.price == $0 }))
      }
      + coding("list", 1_000) { count in Item.read().filter(Item.id.in(Array(0..<count))) }
      + coding("texts", 1_000) { count in Item.read().filter(Item.name.in((0..<count).map { "text \($0)" })) }
      + coding("order", 250) { count in
        (0..<count).reduce(Item.read()) { $0.orderBy(Item.price + $1) }
      }
      + compounds() + inserts() + rules()
  }

  private static var policy: StatementPolicy {
    StatementPolicy(
      TablePolicy(Item.self).readingAll().filtering(Item.id, Item.name, Item.price, by: .equality, .comparison)
        .sorting(Item.id, Item.name, Item.price),
      features: Set(StatementPolicy.Feature.allCases)
    ).withoutLimits
  }

  private static func coding(
    _ name: String, _ base: Int, _ build: @escaping (Int) -> Statement<Item, [Item]>
  ) -> [Subject] {
    let policy = policy
    return [
      Subject("documents, \(name): json()", base, prepare: { build($0) }, measure: { _ = try $0.json() }),
      Subject(
        "documents, \(name): decode", base, prepare: { try build($0).json() },
        measure: {
          _ = try Statement<Item, [Item]>(json: $0)
        }),
      Subject(
        "documents, \(name): Codable", base, prepare: { build($0) },
        measure: {
          _ = try JSONDecoder().decode(Statement<Item, [Item]>.self, from: JSONEncoder().encode($0))
        }),
      Subject(
        "documents, \(name): policy", base, prepare: { try build($0).json() },
        measure: {
          do { _ = try policy.statement(Statement<Item, [Item]>.self, json: $0) } catch { print(error) }
        }),
    ]
  }

  private static func compounds() -> [Subject] {
    func compound(_ count: Int) -> Select<Int?> {
      (1..<count).reduce(Item.select(Item.price)) { $0.unionAll(Item.select(Item.price).filter(Item.id == $1)) }
    }
    return [
      Subject("documents, compounds: json()", 60, prepare: { compound($0) }, measure: { _ = try $0.json() }),
      Subject(
        "documents, compounds: decode", 60, prepare: { try compound($0).json() },
        measure: {
          _ = try Select<Int?>(json: $0, rules: StatementRules(models: [Item.self]))
        }),
    ]
  }

  private static func inserts() -> [Subject] {
    func insert(_ count: Int) -> Statement<Item, [Int]> { Item.insert((0..<count).map { Item(name: "n \($0)") }) }
    return [
      Subject("documents, rows: json()", 500, prepare: { insert($0) }, measure: { _ = try $0.json() }),
      Subject(
        "documents, rows: decode", 500, prepare: { try insert($0).json() },
        measure: {
          _ = try Statement<Item, [Int]>(json: $0)
        }),
    ]
  }

  /// Policies of many tables, and documents of many tables.
  private static func rules() -> [Subject] {
    [
      Subject(
        "rules of many names: decode", 500,
        prepare: { count in
          let names = Set((0..<count).map { "Table_\($0)" })
          return (StatementRules(tables: names), try (0..<count).map { try Item.read().in("table_\($0)").json() })
        },
        measure: { rules, documents in
          for json in documents { _ = try Statement<Item, [Item]>(json: json, rules: rules) }
        }),
      Subject(
        "conditions of a policy in a loop", 250, prepare: { $0 },
        measure: { count in
          let rules = (0..<count).reduce(TablePolicy(Item.self).readingAll()) { $0.rows(where: Item.price > $1) }
          _ = StatementPolicy(rules)
        }),
    ]
  }
}
