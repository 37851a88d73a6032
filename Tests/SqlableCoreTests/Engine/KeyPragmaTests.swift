import Foundation
import SqlableCore
import Testing

@testable import SqlableTestSupport

@Suite struct KeyPragmaTests {
  @Test(arguments: [
    "PRAGMA key = 'secret'",
    "pragma rekey('secret')",
    "PRAGMA main.hexkey = 'secret'",
    "PRAGMA \"hexrekey\"='secret'",
    ";; /* a */ PRAGMA -- b\n [main] . [textkey] = 'secret'",
    "EXPLAIN PRAGMA rekey = 'secret'",
    "EXPLAIN QUERY PLAN PRAGMA `rekey` = 'secret'",
    "SELECT 1; PRAGMA 'key' = 'secret'",
    "\u{FEFF}PRAGMA textrekey = 'secret'",
  ])
  func aPragmaThatTakesAKeyIsRefusedAndNoErrorHasTheKey(text: String) throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
    let sql = SQL(verbatim: text)
    for error in [
      sqlError { try db.execute(sql) },
      text.hasPrefix("SELECT") ? nil : sqlError { _ = try db.query(sql, as: String.self) },
    ].compactMap(\.self) {
      #expect(error.kindIsMisuse, "\(error)")
      #expect(error.message.contains("key:") == !text.contains("rekey"), "\(error)")
      #expect(error.message.contains("rekey(to:)") == text.contains("rekey"))
      #expect(!"\(error) \(String(reflecting: error))".contains("secret"))
    }
    #expect(sqlError { try db.execute(sql) } != nil)
  }

  @Test func otherPragmasAndNamesAreNotRefused() throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
    try db.execute("CREATE TABLE key(key TEXT, rekey TEXT); INSERT INTO key VALUES ('PRAGMA key', 'rekey')")
    try db.execute("PRAGMA table_info(key); PRAGMA foreign_keys = 1; EXPLAIN SELECT key FROM key")
    #expect(try db.query("SELECT key FROM key", as: String.self) == ["PRAGMA key"])
  }
}
