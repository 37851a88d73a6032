import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Actions that run on every connection after it has opened.
@Suite struct OpenActionTests {
  /// A pragma that no other test sets, and the rows of the temporary table.
  private func pages(_ db: SqliteDatabase) throws -> [Int] {
    try db.query("PRAGMA cell_size_check", as: Int.self) + db.query("SELECT value FROM temp.mark", as: Int.self)
  }

  @Test func everyHandleRunsItsOpenActionsInOrder() throws {
    let names = Mutex<[String]>([])
    var configuration = Configuration()
    configuration.onOpen("last", order: 2) { _ in names.withLock { $0.append("last") } }
    configuration.onOpen("first", order: -1) { db in
      names.withLock { $0.append("first") }
      try db.execute("PRAGMA cell_size_check = ON; CREATE TEMP TABLE mark (value INTEGER)")
    }
    configuration.onOpen("second") { _ in names.withLock { $0.append("replaced") } }
    configuration.onOpen("third") { db in try db.execute("INSERT INTO temp.mark VALUES (7)") }
    configuration.onOpen("second") { _ in names.withLock { $0.append("second") } }
    try withDatabase(configuration) { (db: SqliteDatabase) throws -> Void in
      #expect(names.withLock { $0 } == ["first", "second", "last"])
      #expect(try pages(db) == [1, 7])
      let child = try db.createChild()
      #expect(names.withLock { $0 }.count == 6)
      #expect(try pages(child) == [1, 7])
      #expect(try pages(child.createChild()) == [1, 7])
    }
    #expect(configuration == configuration)
    #expect(configuration != Configuration())
    #expect(Set([configuration, Configuration()]).count == 2)
  }

  @Test func everyConnectionOfAPoolRunsTheOpenActions() async throws {
    try await withDirectoryAsync { directory in
      let (reading, writing) = (Mutex(0), Mutex(0))
      var handles = Configuration()
      handles.onOpen("mark") { db in
        (db.configuration.isReadOnly ? reading : writing).withLock { $0 += 1 }
        try db.execute("CREATE TEMP TABLE mark AS SELECT 7 AS value; PRAGMA cell_size_check = ON")
      }
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite", configuration: PoolConfiguration(handles: handles, readers: 2))
      for _ in 0..<3 {
        #expect(try await pool.read { db in try pages(db) } == [1, 7])
        #expect(try await pool.transaction { db in try pages(db) } == [1, 7])
      }
      #expect(reading.withLock { $0 } >= 1)
      #expect(writing.withLock { $0 } >= 2)
      try await pool.close()
    }
  }

  @Test func openingRethrowsTheErrorOfAnOpenAction() throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      func error(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) -> SqlError? {
        var configuration = Configuration(label: "main")
        configuration.onOpen("settings", body)
        return sqlError { _ = try SqliteDatabase(filepath: path, configuration: configuration) }
      }
      let missing = error { db in try db.execute("SELECT * FROM nowhere") }
      #expect(missing?.kind == .schema(.missingTable("nowhere")))
      #expect(missing?.label == "main")
      #expect(missing?.message.hasPrefix("the onOpen action settings: ") == true)
      #expect(error { db in try db.execute("BEGIN") }?.message.hasSuffix("the closure left a transaction open") == true)
      #expect(
        error { db in try db.beginTransaction() }?.message.hasSuffix("the closure left a transaction open") == true)
      struct Other: Error {}
      var configuration = Configuration()
      configuration.onOpen("other") { _ in throw Other() }
      #expect(throws: Other.self) { try SqliteDatabase(filepath: path, configuration: configuration) }
      // The failed attempts leave no connection open.
      let db = try SqliteDatabase(filepath: path)
      try db.execute("CREATE TABLE t (x)")
    }
  }

  // MARK: Extensions

  /// Compiles an extension with the function `twice`; nil without a compiler.
  private func compiled(in directory: String, _ name: String, entryPoint: String) throws -> String? {
    let source = """
      #include <sqlite3ext.h>
      SQLITE_EXTENSION_INIT1
      static void twice(sqlite3_context *context, int count, sqlite3_value **values) {
        sqlite3_result_int64(context, 2 * sqlite3_value_int64(values[0]));
      }
      int \(entryPoint)(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
        SQLITE_EXTENSION_INIT2(api);
        return sqlite3_create_function(db, "twice", 1, SQLITE_UTF8, 0, twice, 0, 0);
      }
      """
    let path = directory + "/" + name
    try Data(source.utf8).write(to: URL(filePath: path + ".c"))
    return Administrator.run("cc", "-shared", "-fPIC", "-o", path, path + ".c") ? path : nil
  }

  @Test func everyConnectionLoadsItsExtensions() async throws {
    try await withDirectoryAsync { directory in
      guard let path = try compiled(in: directory, "twice.so", entryPoint: "sqlite3_twice_init"),
        let other = try compiled(in: directory, "other.so", entryPoint: "begin_here")
      else { return }
      let configuration = Configuration(extensions: [LoadableExtension(path: path)])
      let db = try SqliteDatabase(filepath: directory + "/db.sqlite", configuration: configuration)
      for handle in [db, try db.createChild()] {
        #expect(try handle.query("SELECT twice(21)", as: Int.self) == [42])
        // SQL can't load extensions.
        expectSqlError { try handle.execute("SELECT load_extension(\(other), 'begin_here')") }
      }
      try db.close()
      let named = Configuration(extensions: [LoadableExtension(path: other, entryPoint: "begin_here")])
      let pool = try SqlitePool(
        filepath: directory + "/db.sqlite", configuration: PoolConfiguration(handles: named, readers: 2))
      #expect(try await pool.read { db in try db.query("SELECT twice(4)", as: Int.self) } == [8])
      #expect(try await pool.transaction { db in try db.query("SELECT twice(5)", as: Int.self) } == [10])
      try await pool.close()
    }
  }

  @Test func aMissingOrInvalidExtensionThrows() throws {
    try withDirectory { directory in
      func error(_ item: LoadableExtension) -> SqlError? {
        let configuration = Configuration(label: "main", extensions: [item])
        return sqlError { _ = try SqliteDatabase(filepath: directory + "/db.sqlite", configuration: configuration) }
      }
      let missing = error(LoadableExtension(path: directory + "/none.so"))
      #expect(missing?.kind == .cannotOpen)
      #expect(missing?.label == "main")
      #expect(missing?.message.hasPrefix("can't load the extension \(directory)/none.so: ") == true)
      try Data("no library".utf8).write(to: URL(filePath: directory + "/text.so"))
      #expect(error(LoadableExtension(path: directory + "/text.so"))?.kind == .cannotOpen)
      for item in [
        LoadableExtension(path: ""),
        LoadableExtension(path: "a\0"),
        LoadableExtension(path: "a", entryPoint: ""),
      ] { #expect(error(item)?.kind.isMisuse == true) }
    }
  }
}

extension SqlError.Kind {
  fileprivate var isMisuse: Bool { if case .misuse = self { true } else { false } }
}
