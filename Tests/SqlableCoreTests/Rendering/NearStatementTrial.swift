import Foundation
import SqlableCore
import SqlableSchema

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// Pairs of statements that differ in one part, on a handle with a statement cache and on a handle without a cache.
struct NearStatementTrial {
  let warm: SqliteDatabase
  let cold: SqliteDatabase
  private(set) var nested = 0
  private(set) var changed = 0
  private(set) var failed = 0

  init(_ directory: String) throws {
    warm = try NearStatementTrial.open(directory, "warm", cache: 256 << 10)
    cold = try NearStatementTrial.open(directory, "cold", cache: 0)
  }

  /// Opens a handle on new files, with an attached file, each with the tables of both models and a copy.
  private static func open(_ directory: String, _ name: String, cache: Int) throws -> SqliteDatabase {
    func fill(_ path: String, from start: Int) throws -> String {
      let db = try SqliteDatabase(filepath: path)
      for (number, table) in ["left_twin", "right_twin", "twin_copy"].enumerated() {
        try db.createTable(LeftTwin.self, named: table)
        let texts = ["red", "blue", "Red", "green", "x", nil]
        let rows = (0..<10).map { index in
          let seed = index + start + number
          let mixed: [DatabaseValue] = [
            .real(1), .real(1.5), .real(-2), .null, .real(3), .real(5), .real(5.5),
          ]
          return LeftTwin(values: [
            .integer(Int64(index)), seed % 4 == 0 ? .null : .integer(Int64((seed * 3) % 10 + (seed / 10) * 10)),
            texts[seed % 6].map { .text($0) } ?? .null, mixed[seed % 7],
          ])
        }
        try LeftTwin.insert(rows).in(table).run(db)
      }
      try db.close()
      return path
    }
    let main = try fill("\(directory)/\(name).sqlite", from: 0)
    let other = try fill("\(directory)/\(name)-other.sqlite", from: 5)
    let configuration = Configuration(synchronous: .off, statementCacheBytes: cache, attached: ["other": other])
    return try SqliteDatabase(filepath: main, configuration: configuration)
  }

  /// All rows that a change can reach, as one text.
  private static let content: SQL = {
    let tables = ["main", "other"].flatMap { name in ["left_twin", "right_twin", "twin_copy"].map { "\(name).\($0)" } }
    let rows = tables.map { "SELECT '\($0)' AS t, * FROM \($0)" }.joined(separator: " UNION ALL ")
    return SQL(
      verbatim: """
        SELECT group_concat(t || id || quote(a) || quote(b) || quote(c) || typeof(c))
        FROM (SELECT * FROM (\(rows)) ORDER BY t, id)
        """)
  }()

  /// Runs a statement. Returns its result or the kind of its error, and for a change all rows afterwards. Changes are
  /// rolled back.
  private func result(_ statement: NearStatement, _ db: SqliteDatabase) throws -> [String] {
    func attempt() -> [String] {
      do { return try statement.run(db) } catch { return ["error \((error as? SqlError)?.kind as Any)"] }
    }
    guard statement.form.isChange else { return attempt() }
    var result: [String] = []
    do {
      try db.transaction { db in
        result = attempt()
        result += try db.query(NearStatementTrial.content, as: String.self)
        return TransactionResult.rollback
      }
    } catch {
      // The policy ROLLBACK ends the transaction.
      result.append("\((error as? SqlError)?.kind as Any)")
    }
    return result
  }

  /// Runs a pair several times. Returns the first difference, or nil. `running` replaces the second statement where it
  /// runs with the cache: a planted fault.
  mutating func defect(
    _ first: NearStatement, _ second: NearStatement, running planted: NearStatement? = nil
  ) throws -> String? {
    let expected = (try result(first, cold), try result(second, cold))
    for _ in 0..<2 {
      if try result(first, warm) != expected.0 { return "\(first)" }
      if try result(planted ?? second, warm) != expected.1 { return "\(first) and \(second)" }
    }
    if first.form.isChange { changed += 1 }
    if expected.0.first?.hasPrefix("error") == true { failed += 1 }
    // The second statement runs while the first is in use, and the first inside its own loop.
    guard !first.form.isChange, !second.form.isChange else { return nil }
    var (rows, defect) = (0, String?.none)
    let failure = sqlError {
      try first.forEach(warm) {
        rows += 1
        guard rows <= 2 else { return }
        if try result(second, warm) != expected.1 { defect = "inside: \(first) and \(second)" }
        if try result(first, warm) != expected.0 { defect = "inside itself: \(first)" }
      }
    }
    if failure == nil, rows > 0 { nested += 1 }
    if try result(first, warm) != expected.0 { defect = "afterwards: \(first)" }
    return defect
  }
}
