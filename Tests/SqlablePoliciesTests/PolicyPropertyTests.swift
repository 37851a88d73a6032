import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Answers to random documents, which must not depend on the rows and columns that the policy hides.
@Suite struct PolicyPropertyTests {
  /// The number of rounds. Each round tries 150 documents.
  private static var rounds: Int {
    let documents = ProcessInfo.processInfo.environment["SQLABLE_POLICY_DOCUMENTS"].flatMap(Int.init)
    return documents.map { ($0 + 149) / 150 } ?? times(20)
  }

  /// Conditions for the first tenant's rows; SQLite sees a constant in some of them.
  private let tenantConditions: [@Sendable (Column) -> SqlExpression] = [
    { $0 == 1 }, { contains($0, [1]) }, { contains($0, [1, 3]) }, { $0 == 1 || $0 == 3 },
    { _ in SqlExpression(sql: "tenant = 1") },
  ]

  @Test func noAcceptedDocumentReadsOrInfersHiddenData() throws {
    let seed = SeededGenerator.seed
    var documents = PolicyDocuments(random: SeededGenerator(seed: seed))
    var (accepted, refused, rows) = (0, 0, 0)
    for _ in 0..<PolicyPropertyTests.rounds {
      try withDatabase { first in
        try withDatabase { second in
          try fill(first, second, &documents.random)
          for _ in 0..<150 {
            let features = Set(StatementPolicy.Feature.allCases.filter { _ in documents.random.chance(60) })
            var policy = tenantPolicy(features: features, rows: documents.random.pick(tenantConditions))
            policy.functions.insert("abs")
            // On a loaded machine, one of the two answers could take longer than the default limit.
            policy.limits.time = nil
            let document = documents.next()
            let statement: AnyStatement
            do { statement = try policy.statement(AnyStatement.self, json: Data(document.utf8)) } catch {
              refused += 1
              continue
            }
            accepted += 1
            let limited = statement.limited(by: policy)
            let (answer, other) = (answer(limited, first), answer(limited, second))
            #expect(answer == other, "seed \(seed): \(document)\n\(statement.sql)")
            // The authorizer must allow every document that the policy's check allows.
            #expect(answer != ["the policy does not allow this"], "seed \(seed): \(document)\n\(statement.sql)")
            rows += answer.count
          }
        }
      }
    }
    let counts = "\(accepted) accepted, \(refused) refused, \(rows)"
    #expect(accepted > PolicyPropertyTests.rounds * 15, "\(counts)")
    #expect(rows > accepted, "\(counts)")
  }

  /// Returns the answer that a document's author sees: the rows, a number, or the error.
  private func answer(_ statement: LimitedQuery<AnyStatement>, _ db: SqliteDatabase) -> [String] {
    do {
      switch try statement.run(db) {
      case .rows(let rows): return rows.map { "\($0.values)" }
      case .number(let number): return ["\(number)"]
      case .ids(let ids): return ids.map(String.init)
      case .exists(let exists): return ["\(exists)"]
      }
    } catch { return ["\((error as? SqlError)?.message ?? "")"] }
  }

  /// Fills two databases that differ only in data hidden from the first tenant.
  private func fill(_ first: SqliteDatabase, _ second: SqliteDatabase, _ random: inout SeededGenerator) throws {
    for db in [first, second] {
      try db.createTables(Account.self, Payment.self)
    }
    let names = ["a", "b", "ab", "B", "%", "x_y"]
    for id in 1...12 {
      let isOwn = random.chance(60)
      let name = random.pick(names)
      let color = random.chance(30) ? nil : random.pick(names)
      for db in [first, second] {
        try Account(
          id: id, tenant: isOwn ? 1 : 2, name: isOwn ? name : random.pick(names),
          color: isOwn ? color : random.pick(names), owed: Double(Int.random(in: 0...9, using: &random)),
          note: random.pick(["{}", "no json", nil])
        ).insert().run(db)
      }
      let amount = Int.random(in: -3...3, using: &random)
      let account = Int.random(in: 1...12, using: &random)
      for db in [first, second] {
        try Payment(
          id: id, account: isOwn ? account : Int.random(in: 1...12, using: &random), tenant: isOwn ? 1 : 2,
          amount: isOwn ? amount : Int.random(in: -3...3, using: &random)
        ).insert().run(db)
      }
    }
    // Rows in one database only, indexes that lack the tenant, and statistics.
    try second.execute("DELETE FROM account WHERE tenant = 2 AND id % 3 = 0")
    let (hasIndexes, hasStatistics) = (random.chance(50), random.chance(50))
    for db in [first, second] {
      if hasIndexes {
        try db.execute("CREATE INDEX names ON account (name, id); CREATE INDEX amounts ON payment (amount)")
      }
      if hasStatistics { try db.execute("ANALYZE") }
    }
  }
}

/// A generator of random documents over two tables. Many documents use features that no policy allows.
struct PolicyDocuments {
  var random: SeededGenerator

  mutating func next() -> String {
    let operation = random.pick(["read", "read", "read", "count", "exists", "first"])
    return #"{"sqlable":1,"\#(operation)":\#(query(2, operation == "read"))}"#
  }

  private mutating func query(_ depth: Int, _ selects: Bool, columns: Int? = nil) -> String {
    let table = random.pick(["account", "payment"])
    let joined = random.chance(25) ? random.pick(["account", "payment"]) : nil
    var parts: [String] = []
    var tables = [(table, String?.none)]
    if let joined {
      let alias = "t\(Int.random(in: 0...999, using: &random))"
      tables = [(table, table), (joined, alias)]
      let join = random.pick(["inner", "left", "cross"])
      let on = join == "cross" ? "" : #","on":\#(condition(depth, tables))"#
      parts.append(#""from":["\#(table)",{"table":"\#(joined)","as":"\#(alias)","join":"\#(join)"\#(on)}]"#)
    } else {
      parts.append(#""from":"\#(table)""#)
    }
    let count = columns ?? Int.random(in: 1...3, using: &random)
    let isGrouped = random.chance(15)
    let groups = (0..<count).map { _ in column(tables) }
    if selects || joined != nil || columns != nil {
      let results = (0..<count).map { index in
        isGrouped && index > 0 ? aggregate(tables) : isGrouped ? groups[0] : term(depth, tables)
      }
      parts.append(#""select":[\#(results.joined(separator: ","))]"#)
    }
    if isGrouped { parts.append(#""groupBy":[\#(groups[0])]"#) }
    if random.chance(70) { parts.append(#""where":\#(condition(depth, tables))"#) }
    if random.chance(15) { parts.append(#""distinct":true"#) }
    if !isGrouped, random.chance(50) {
      parts.append(#""orderBy":[{"\#(random.pick(["asc", "desc"]))":\#(term(1, tables))}]"#)
    }
    if random.chance(40) { parts.append(#""limit":\#(Int.random(in: 0...4, using: &random))"#) }
    return "{\(parts.joined(separator: ","))}"
  }

  private mutating func column(_ tables: [(String, String?)]) -> String {
    let (table, name) = random.pick(tables)
    let isHidden = random.chance(3)
    let columns =
      table == "account"
      ? isHidden ? ["tenant", "owed", "note"] : ["id", "name", "color", "name"]
      : isHidden ? ["tenant"] : ["id", "account_id", "amount"]
    let column = random.pick(columns)
    return name.map { #"{"column":"\#(column)","of":"\#($0)"}"# } ?? #"{"column":"\#(column)"}"#
  }

  private mutating func aggregate(_ tables: [(String, String?)]) -> String {
    let function = random.pick(["count", "max", "min", "sum", "total"])
    return #"{"function":"\#(function)","arguments":[\#(column(tables))]}"#
  }

  /// Returns a term that overflows for the rows that match a condition.
  private mutating func throwing(_ tables: [(String, String?)]) -> String {
    let found = condition(0, tables)
    return #"{"function":"abs","arguments":[{"case":[[\#(found),-9223372036854775808]],"else":1}]}"#
  }

  private mutating func value() -> String {
    random.pick(["1", "2", "0", #""a""#, #""B""#, #""%""#, #"{"null":true}"#])
  }

  private mutating func term(_ depth: Int, _ tables: [(String, String?)]) -> String {
    guard depth > 0, random.chance(35) else { return random.chance(85) ? column(tables) : value() }
    switch Int.random(in: 0..<7, using: &random) {
    case 6: return throwing(tables)
    case 0: return #"{"function":"\#(random.pick(["lower", "length"]))","arguments":[\#(term(depth - 1, tables))]}"#
    case 1: return #"{"+":[\#(term(depth - 1, tables)),1]}"#
    case 2: return #"{"case":[[\#(condition(depth - 1, tables)),\#(term(depth - 1, tables))]],"else":\#(value())}"#
    case 3: return #"{"query":\#(query(depth - 1, true, columns: 1))}"#
    case 4: return #"{"->>":[\#(column(tables)),["a"]]}"#
    default: return #"{"collate":\#(term(depth - 1, tables)),"as":"NOCASE"}"#
    }
  }

  private mutating func condition(_ depth: Int, _ tables: [(String, String?)]) -> String {
    switch Int.random(in: 0..<(depth > 0 ? 12 : 5), using: &random) {
    case 0, 1: return #"{"\#(random.pick(["=", "<>", "<", ">=", "IS"]))":[\#(column(tables)),\#(value())]}"#
    case 2: return #"{"in":[\#(column(tables)),[1,2,"a"]]}"#
    case 3: return #"{"like":[\#(column(tables)),"\#(random.pick(["a%", "%b", "_"]))"]}"#
    case 4: return #"{"isNull":\#(column(tables))}"#
    case 5: return #"{"and":[\#(condition(depth - 1, tables)),\#(condition(depth - 1, tables))]}"#
    case 6: return #"{"or":[\#(condition(depth - 1, tables)),\#(condition(depth - 1, tables))]}"#
    case 7: return #"{"not":\#(condition(depth - 1, tables))}"#
    case 8: return #"{"in":[\#(column(tables)),\#(query(depth - 1, true, columns: 1))]}"#
    case 9, 10: return #"{">":[\#(throwing(tables)),0]}"#
    default: return #"{"exists":\#(query(depth - 1, true))}"#
    }
  }
}
