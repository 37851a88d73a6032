import Foundation
import Sqlable
import SqlablePolicies

extension Suite {
  /// Statements as data: a read of twenty terms and queries, from JSON and to JSON. Without C; the ratio is to
  /// Foundation's decoder, which makes a tree of the same document and checks nothing.
  var statementsAsData: [Workload] {
    [
      workload(
        "S9", "statements of 20 nodes from JSON, checked; ratio to Foundation's decoder",
        operations: fixture.scaled(20_000)
      ) { try codedStatements(fixture.scaled(20_000)) },
      workload("S10", "rows by key within a policy's limits", operations: fixture.scaled(20_000)) {
        try limited(fixture.scaled(20_000))
      },
    ]
  }

  private func limited(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, fixture.keys(count))
    let policy = StatementPolicy(.table(Typed.self).readingAll().filtering(Typed.id, by: .equality))
    func digest(_ run: (Statement<Typed, [Typed]>) throws -> [Typed]) throws -> UInt64 {
      try keys.reduce(0) { sum, key in
        sum &+ (try run(Typed.read().filter(Typed.id == key)).first?.digest ?? 0)
      }
    }
    return [
      .init("without limits") { try digest { try $0.run(db) } },
      .init(Name.sqlable + " limits") { try digest { try $0.limited(by: policy.limits).run(db) } },
      .init(Name.sqlable + " policy") { try digest { try $0.limited(by: policy).run(db) } },
    ]
  }

  private func codedStatements(_ count: Int) throws -> [Workload.Contender] {
    let statement = CodedStatement.statement
    let data = try statement.json()
    let decoder = JSONDecoder()
    let policy = CodedStatement.policy
    /// The number of statements whose limit was found.
    func each(_ body: () throws -> Bool) throws -> UInt64 {
      var found: UInt64 = 0
      for _ in 0..<count where try body() { found += 1 }
      return found
    }
    return [
      .init(Name.swift) { try each { try decoder.decode(CodedTree.self, from: data)["read"]?["limit"] != nil } },
      .init(Name.typed) { try each { try Statement<Typed, [Typed]>(json: data).kind == .read } },
      .init(Name.sqlable + " policy") {
        try each { try policy.statement(Statement<Typed, [Typed]>.self, json: data).kind == .read }
      },
      .init(Name.sqlable + " encode") { try each { try statement.json().count == data.count } },
    ]
  }
}

private enum CodedStatement {
  /// The query, and nineteen terms: operators, columns and values.
  static var statement: Statement<Typed, [Typed]> {
    Typed.read().filter(
      Typed.id > 100 && Typed.price <= 99.5 && Typed.name != "name" && Typed.bio.like("a%") && Typed.nick != "nick"
        && Typed.id.in([1, 2, 3])
    ).orderBy(Typed.name).limit(20)
  }

  /// The same statement is allowed, and gets a condition.
  static var policy: StatementPolicy {
    StatementPolicy(
      .table(Typed.self).readingAll()
        .filtering(Typed.id, Typed.price, Typed.name, Typed.bio, Typed.nick, by: .equality, .comparison, .pattern)
        .sorting(Typed.name).rows(where: Typed.active == true))
  }
}

/// Any JSON, as `Codable` reads it.
private enum CodedTree: Decodable {
  case object([String: CodedTree])
  case list([CodedTree])
  case text(String)
  case integer(Int)
  case real(Double)
  case flag(Bool)

  subscript(key: String) -> CodedTree? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let members = try? container.decode([String: CodedTree].self) {
      self = .object(members)
    } else if let elements = try? container.decode([CodedTree].self) {
      self = .list(elements)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let integer = try? container.decode(Int.self) {
      self = .integer(integer)
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else {
      self = .real(try container.decode(Double.self))
    }
  }
}
