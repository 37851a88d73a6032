import SqlableCore
import SqlableSchema

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A plan from one declaration to another on a table with random rows.
struct PlanTrial {
  private let db: SqliteDatabase
  private let last: any Sqlable.Type
  private let next: any Sqlable.Type
  private let filling: [String: any SqlValue]
  private(set) var wasApplied = false

  init(from last: any Sqlable.Type, to next: any Sqlable.Type, _ random: inout SeededGenerator) throws {
    (self.last, self.next) = (last, next)
    db = try SqliteDatabase.inMemory()
    try db.createTables(of: Schema(Entry<CodedParent>.self, last))
    filling = random.chance(50) ? ["whole.first": 1, "whole.second": "x"] : [:]
    try fill(&random)
  }

  private func columns() throws -> [DatabaseSchema.Column] { try db.schema()[table: "whole"]?.columns ?? [] }

  private func rows(_ columns: [String]) throws -> [[DatabaseValue]] {
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    return try db.query(SQL(verbatim: "SELECT \(names) FROM whole ORDER BY number"), as: DynamicRow.self).map(\.values)
  }

  /// Inserts random rows; rows that violate a constraint are skipped.
  private func fill(_ random: inout SeededGenerator) throws {
    let columns = try columns().filter { $0.generated == nil }
    try db.execute("INSERT INTO parent VALUES (1, '1'), (2, '2'), (3, 'x')")
    for number in 1...Int.random(in: 1...12, using: &random) {
      let values = columns.map { column in
        if column.name == "number" { return "\(number)" }
        if column.name == "id" { return "\(number * 3 - 7)" }
        return random.pick([
          "NULL", "1", "2", "3", "'x'", "'1'", "'1.5'", "'04'", "x'00'", "9007199254740993", "\(number)",
        ])
      }
      try? db.execute(SQL(verbatim: "INSERT INTO whole VALUES (\(values.joined(separator: ", ")))"))
    }
  }

  /// Applies the plan, and returns what it broke; nil if it kept every row and value and reached the declaration, or
  /// changed nothing. `planted` runs after the plan: a planted fault.
  mutating func defect(planted: SQL? = nil) throws -> String? {
    let old = try columns()
    let before = try (db.schema(), rows(old.map(\.name)))
    let refusal = sqlError {
      let notRenamed: Set = ["whole.id", "whole.key", "whole.first", "whole.second"]
      try Schema(next).plan(db, notRenamed: notRenamed, filling: filling, dropping: .indexes).apply(db)
    }
    if let planted { try db.execute(planted) }
    guard refusal == nil else {
      let isSame = try before == (db.schema(), rows(old.map(\.name)))
      return isSame ? nil : "\(last) → \(next): a refused plan changed the file"
    }
    wasApplied = true
    let new = try columns()
    // A plan drops no column silently. A generated column has other values.
    for (place, column) in old.enumerated() where column.generated == nil {
      guard let now = new.first(where: { $0.name == column.name }), now.generated == nil else {
        return "\(last) → \(next): \(column.name) is gone"
      }
      let was: [DatabaseValue] = before.1.map { $0[place] }
      let values: [DatabaseValue] = try rows([column.name]).map { $0[0] }
      let filled = try filling["whole.\(column.name)"]?.databaseValue
      let isKept = zip(was, values).allSatisfy { (old: DatabaseValue, new: DatabaseValue) -> Bool in
        if old == new || (old == .null && new == filled) { return true }
        return column.type != now.type && "\(old)".number == "\(new)".number
      }
      if was.count != values.count || !isKept { return "\(last) → \(next): \(column.name) \(was) \(values)" }
    }
    return try damage()
  }

  /// Compares the schema with that of a new database, and checks the file.
  private func damage() throws -> String? {
    let created = try SqliteDatabase.inMemory()
    try created.createTables(of: Schema(Entry<CodedParent>.self, next))
    let differences = try Schema(next).differences(db).filter { !$0.isHarmless }
    if !differences.isEmpty { return "\(last) → \(next): \(differences)" }
    let missing = try created.schema()[table: "whole"]?.columns.filter { column in
      try !columns().contains { $0.name == column.name && $0.type == column.type }
    }
    if missing?.isEmpty == false { return "\(last) → \(next): without \(missing ?? [])" }
    if try db.query("PRAGMA integrity_check", as: String.self) != ["ok"] { return "\(last) → \(next): damaged" }
    if try !db.query("PRAGMA foreign_key_check", as: DynamicRow.self).isEmpty {
      return "\(last) → \(next): a foreign key is violated"
    }
    return nil
  }
}

extension String {
  /// The number in a value's description.
  fileprivate var number: Double? {
    Double(drop { $0 != "(" }.filter { "0123456789.-e+".contains($0) })
  }
}
