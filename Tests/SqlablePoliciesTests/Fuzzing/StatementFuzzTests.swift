import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Damaged documents: a document that still decodes must do only what its type states, and only to its own table.
///
/// `SQLABLE_FUZZ=300000 swift test --filter StatementFuzzTests` tries more documents than a normal run;
/// `SQLABLE_SEED` selects other documents.
@Suite struct StatementFuzzTests {
  private static let count =
    ProcessInfo.processInfo.environment["SQLABLE_FUZZ"].flatMap(Int.init) ?? times(3_000)

  @Test func aDamagedDocumentIsRefusedOrMatchesItsType() throws {
    let seed = SeededGenerator.seed
    var fuzz = StatementFuzz(seed: seed)
    try withDatabase { db in
      let world = try FuzzWorld(db)
      for index in 0..<Self.count {
        let (document, base) = fuzz.next()
        let problem = try world.check(document, base, fuzz.random.chance(25), &fuzz.random)
        #expect(problem == nil, "seed \(seed), document \(index): \(problem ?? "")\n\(document.prefix(2_000))")
        if problem != nil { return }
      }
      print(
        "\(Self.count) documents, \(world.decoded) decoded and run, \(world.changes) of them changes,", world.errors)
      #expect(world.decoded > Self.count / 20)
      #expect(world.changes > Self.count / 100)
    }
  }
}

/// The types that a document is decoded as.
enum FuzzType: CaseIterable {
  case rows, first, exists, number, ids, returning, returningFirst
}

/// Three tables with the same layout; a statement may use only one of them.
private final class FuzzWorld {
  private let db: SqliteDatabase
  private let plain = JSONDecoder()
  private let ruled = JSONDecoder()
  private(set) var decoded = 0
  private(set) var changes = 0
  private(set) var errors: [String: Int] = [:]

  init(_ db: SqliteDatabase) throws {
    self.db = db
    for name in ["fuzz_item", "archive", "secret"] {
      try db.createTable(FuzzItem.self, named: name)
      try FuzzItem.insert(
        (1...4).map { FuzzItem(id: $0, name: "\(name) \($0)", price: Double($0) / 2, amount: 3 - $0) }
      )
      .in(name).run(db)
    }
    ruled.userInfo[.statementRules] = StatementRules(kinds: StatementKind.reads.union([.update]), tables: ["archive"])
  }

  private func contents(_ table: String) throws -> String {
    try db.query(
      "SELECT group_concat(quote(id) || quote(name) || quote(price) || quote(amount)) FROM \(table: table)",
      as: String?.self
    ).first.flatMap { $0 } ?? ""
  }

  /// Returns the problem that a document causes, or nil.
  func check(_ document: String, _ base: FuzzType, _ isRuled: Bool, _ random: inout SeededGenerator) throws -> String? {
    let decoder = isRuled ? ruled : plain
    let data = Data(document.utf8)
    do {
      switch random.chance(70) ? base : random.pick(FuzzType.allCases) {
      case .rows:
        return try run(try decoder.decode(Statement<FuzzItem, [FuzzItem]>.self, from: data), [.read], isRuled) {
          _ = try $0.run($1)
        }
      case .first:
        return try run(try decoder.decode(Statement<FuzzItem, FuzzItem?>.self, from: data), [.first], isRuled) {
          _ = try $0.run($1)
        }
      case .exists:
        return try run(try decoder.decode(Statement<FuzzItem, Bool>.self, from: data), [.exists], isRuled) {
          _ = try $0.run($1)
        }
      case .number:
        let kinds: Set<StatementKind> =
          isRuled ? [.count, .update] : [.count, .insert, .save, .update, .delete, .updateAll, .deleteAll]
        return try run(try decoder.decode(Statement<FuzzItem, Int>.self, from: data), kinds, isRuled) {
          _ = try $0.run($1)
        }
      case .ids:
        return try run(
          try decoder.decode(Statement<FuzzItem, [Int]>.self, from: data), isRuled ? [] : [.insert], isRuled
        ) {
          _ = try $0.run($1)
        }
      case .returning:
        let kinds: Set<StatementKind> =
          isRuled ? [.update] : [.insert, .save, .update, .delete, .updateAll, .deleteAll]
        let statement = try decoder.decode(ReturningStatement<FuzzItem, [FuzzItem]>.self, from: data).statement
        return try run(statement, kinds, isRuled) { _ = try $0.run($1) }
      case .returningFirst:
        let kinds: Set<StatementKind> =
          isRuled ? [.update] : [.insert, .save, .update, .delete, .updateAll, .deleteAll]
        let statement = try decoder.decode(ReturningStatement<FuzzItem, FuzzItem?>.self, from: data).statement
        return try run(statement, kinds, isRuled) { _ = try $0.run($1) }
      }
    } catch is DecodingError { return nil } catch let error as SqlError {
      switch error.kind {
      // misuse: an update of a struct without a key.
      case .invalidStatement, .schema, .encoding, .misuse: return nil
      default: return "decoding threw \(error)"
      }
    }
  }

  private func run<Output>(
    _ statement: Statement<FuzzItem, Output>, _ kinds: Set<StatementKind>, _ isRuled: Bool,
    _ body: (Statement<FuzzItem, Output>, SqliteDatabase) throws -> Void
  ) throws -> String? {
    decoded += 1
    guard kinds.contains(statement.kind) else { return "it is of the kind \(statement.kind)" }
    let isRead = StatementKind.reads.contains(statement.kind)
    if !isRead { changes += 1 }
    let sql = statement.sql
    if sql.hasPrefix("-- there are no rows") { return nil }
    let start: [StatementKind: String] = [
      .update: "UPDATE ", .updateAll: "UPDATE ", .delete: "DELETE ", .deleteAll: "DELETE ", .insert: "INSERT ",
      .save: "INSERT ",
    ]
    guard sql.hasPrefix(start[statement.kind] ?? "SELECT "), !sql.contains(";") else { return "it is \(sql)" }
    // Unquoted names are only those of the library's functions.
    let names = sql.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
    let known = ["fuzz_item", "id", "name", "price", "amount"] + (isRuled ? ["archive"] : [])
    let inside = ["other", "element", "value", "json_each", "c1", ""]
    guard names.allSatisfy({ known.contains(String($0.element)) || inside.contains(String($0.element)) }) else {
      return "it names others: \(sql)"
    }
    let table = sql.contains("\"archive\"") ? "archive" : "fuzz_item"
    guard names.contains(where: { $0.element == table }) else { return "it names no table: \(sql)" }
    let others = ["fuzz_item", "archive", "secret"].filter { isRead || $0 != table }
    let before = try others.map(contents)
    var problem: String?
    try db.transaction { db in
      do { try body(statement, db) } catch let error as SqlError {
        errors["\(error.kind)".prefix { $0 != "(" } + (error.code == 1 ? " \(error.message)" : ""), default: 0] += 1
        switch error.kind {
        case .invalidStatement, .schema: problem = "running it threw \(error)"
        default: if error.message.contains("syntax") { problem = "SQLite does not follow it: \(error)" }
        }
      }
      if try others.map(contents) != before { problem = "it changed another table: \(sql)" }
      return .rollback
    }
    return problem
  }
}

struct FuzzItem: Sqlable, Equatable {
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text, Unique())
  static let price = Column("price", .nullable(.real))
  static let amount = Column("amount", .nullable(.integer), Default(7))
  static let tableName = "fuzz_item"
  static let tableLayout = [id, name, price, amount]
  var id: Int?
  var name: String
  var price: Double?
  var amount: Int?

  init(id: Int? = nil, name: String, price: Double? = nil, amount: Int? = nil) {
    (self.id, self.name, self.price, self.amount) = (id, name, price, amount)
  }

  init(row: ReadRow) throws {
    self.init(
      id: try row.get(Self.id), name: try row.get(Self.name), price: try row.get(Self.price),
      amount: try row.get(Self.amount))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Self.id, id)
    row.set(Self.name, name)
    row.set(Self.price, price)
    row.set(Self.amount, amount)
  }
}
