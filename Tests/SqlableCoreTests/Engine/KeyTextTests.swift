import Foundation
import SqlableCore
import Testing

@testable import SqlableTestSupport

@Suite struct KeyTextTests {
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

  @Test(arguments: [
    "ATTACH 'b.sqlite' AS b KEY 'secret'", "attach database 'b.sqlite' as b key x'736563726574'",
    "; /* a */ ATTACH ? AS b KEY \"secret\"", "EXPLAIN ATTACH 'b.sqlite' AS b KEY secret",
    "ATTACH 'b.sqlite' AS b KEY 'secret' || ?", "ATTACH 'b.sqlite' AS b KEY ? || 'secret'",
    "SELECT 1; ATTACH 'b.sqlite' AS b KEY ('secret')", "ATTACH 'b.sqlite' AS b KEY 'secret",
  ])
  func aKeyInTheTextOfAttachIsRefusedAndNoErrorHasTheKey(text: String) throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
    let error = sqlError { try db.execute(SQL(verbatim: text)) }
    #expect(error?.message.contains("bind the key as a value") == true, "\(error as Any)")
    #expect(!"\(error as Any) \(String(reflecting: error))".contains("secret"))
    #expect(!"\(error as Any)".contains("736563726574"))
  }

  @Test func otherKeysOfAttachAreNotRefused() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(key: .unencrypted))
      // Without SQLCipher, SQLite ignores the key.
      for (index, key) in ["KEY ''", "KEY NULL;", "key null", ""].enumerated() {
        try db.execute("ATTACH \(directory + "/\(index)") AS \(table: "b\(index)") \(sql: SQL(verbatim: key))")
      }
      try db.execute("ATTACH ':memory:' AS key; CREATE TABLE key.key (key TEXT); INSERT INTO key.key VALUES ('key')")
      #expect(try db.query("SELECT key FROM key.key", as: String.self) == ["key"])
    }
  }

  @Test func otherPragmasAndNamesAreNotRefused() throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(key: .unencrypted))
    try db.execute("CREATE TABLE key(key TEXT, rekey TEXT); INSERT INTO key VALUES ('PRAGMA key', 'rekey')")
    try db.execute("PRAGMA table_info(key); PRAGMA foreign_keys = 1; EXPLAIN SELECT key FROM key")
    #expect(try db.query("SELECT key FROM key", as: String.self) == ["PRAGMA key"])
  }
}
