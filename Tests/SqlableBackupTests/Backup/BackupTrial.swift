import Foundation
import Glibc
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// A database whose rows prove that they belong to one commit.
enum BackupTrial {
  /// Creates accounts with a total of 0, and the table of transfers.
  static func prepare(_ db: SqliteDatabase, accounts: Int = 50, padding: Int = 100) throws {
    try db.transaction { db in
      try db.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, padding BLOB)")
      try db.execute("CREATE TABLE transfer (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
      try db.execute("CREATE INDEX account_balance ON account (balance)")
      try db.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(accounts))
        INSERT INTO account SELECT i, 0, randomblob(\(padding)) FROM n
        """)
      try db.execute("INSERT INTO transfer VALUES (0, 0)")
    }
  }

  /// Moves an amount between two accounts, in the transaction of the caller.
  static func transfer(_ db: SqliteDatabase, _ number: Int, accounts: Int = 50) throws {
    let (from, to) = (number % accounts + 1, (number * 7 + 3) % accounts + 1)
    try db.execute("UPDATE account SET balance = balance - \(number) WHERE id = \(from)")
    try db.execute("INSERT INTO transfer (amount) VALUES (\(number))")
    try db.execute("UPDATE account SET balance = balance + \(number) WHERE id = \(to)")
  }

  /// Expects the rows to belong to one commit and returns the number of transfers.
  @discardableResult
  static func expectOneCommit(_ db: SqliteDatabase) throws -> Int {
    #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    let transfers = try db.query("SELECT amount FROM transfer WHERE id > 0 ORDER BY id", as: Int.self)
    var balances: [Int: Int] = [:]
    for number in transfers {
      balances[number % 50 + 1, default: 0] -= number
      balances[(number * 7 + 3) % 50 + 1, default: 0] += number
    }
    let found = try db.query("SELECT id, balance FROM account ORDER BY id") { row in
      (try row.get(at: 0, as: Int.self), try row.get(at: 1, as: Int.self))
    }
    #expect(found.allSatisfy { $0.1 == balances[$0.0, default: 0] })
    return transfers.count
  }

  /// Returns the contents of all tables as text.
  static func contents(of path: String) throws -> [String] {
    try contents(SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true)))
  }

  static func contents(_ db: SqliteDatabase) throws -> [String] {
    let tables = try db.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", as: String.self)
    return try tables.flatMap { table -> [String] in
      let rows = try db.query(SQL(verbatim: "SELECT * FROM \"\(table)\" ORDER BY rowid")) { row -> String in
        let count = try row.columnNames.count
        return try (0..<count).map { try row.get(at: $0, as: AnyText.self).text }.joined(separator: "|")
      }
      return [table] + rows
    }
  }

  /// Returns the bytes of a file, or nil without a file.
  static func bytes(_ path: String) -> Data? { try? Data(contentsOf: URL(fileURLWithPath: path)) }
}

/// Any value as text.
private struct AnyText: SqlValue {
  let text: String
  static let columnType = ColumnType.nullable(.text)
  var databaseValue: DatabaseValue { .text(text) }
  init(databaseValue: DatabaseValue) throws { text = "\(databaseValue)" }
}
