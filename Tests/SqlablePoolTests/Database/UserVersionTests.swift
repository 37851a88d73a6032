import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

@Suite struct UserVersionTests {
  @Test func userVersionIsStoredAndTransactional() throws {
    try withDatabase { db in
      #expect(try db.userVersion() == 0)
      try db.setUserVersion(3)
      let child = try db.createChild()
      #expect(try child.userVersion() == 3)
      try db.transaction { db -> TransactionResult in
        try db.setUserVersion(-4)
        #expect(try db.userVersion() == -4)
        return .rollback
      }
      #expect(try db.userVersion() == 3)
      for version in [Int(Int32.max) + 1, Int(Int32.min) - 1, .max, .min] {
        expectMisuse { try db.setUserVersion(version) }
      }
      #expect(try db.userVersion() == 3)
      for version in [Int(Int32.max), Int(Int32.min)] {
        try db.setUserVersion(version)
        #expect(try db.userVersion() == version)
      }
      let reader = try SqliteDatabase(filepath: db.filepath, configuration: .init(isReadOnly: true))
      expectError(.readOnly) { try reader.setUserVersion(1) }
      #expect(try reader.userVersion() == Int(Int32.min))
    }
  }

  @Test func aTableNamedLikeThePragmaDoesNotHideUserVersion() throws {
    try withDatabase { db in
      try db.setUserVersion(3)
      try db.execute("CREATE TABLE pragma_user_version (user_version); INSERT INTO pragma_user_version VALUES (99)")
      #expect(try db.userVersion() == 3)
      // The pool does not reopen its reader.
      let pool = try SqlitePool(filepath: db.filepath)
      for _ in 0..<3 { #expect(try pool.read { try $0.userVersion() } == 3) }
      #expect(pool.statistics.openReaders == 1)
      try pool.close()
    }
  }
}
