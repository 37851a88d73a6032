import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct OpeningTests {
  @Test func missingDirectoriesAreCreated() throws {
    try withDirectory { directory in
      let path = directory + "/a/b c/ü/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path)
      #expect(db.filepath == path)
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func missingDirectoriesAreNotCreatedWhenNotWanted() throws {
    try withDirectory { directory in
      let error = sqlError {
        _ = try SqliteDatabase(
          filepath: directory + "/a/bikes.sqlite", configuration: .init(label: "shop", createsDirectories: false))
      }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.label == "shop")
      #expect(!FileManager.default.fileExists(atPath: directory + "/a"))
    }
  }

  @Test(arguments: ["~", "~/bikes.sqlite", "~anna/bikes.sqlite"])
  func pathsInAHomeDirectoryAreRefused(path: String) throws {
    let rest =
      "begins with ~, which is not expanded; pass an absolute path, or write ./~ for a file whose name begins with ~"
    for opensLazily in [false, true] {
      let error = sqlError {
        _ = try SqliteDatabase(filepath: path, configuration: .init(label: "shop", opensLazily: opensLazily))
      }
      #expect(error?.kind == .misuse("the path of the database \(rest)"))
      #expect(error?.label == "shop")
      try withDirectory { directory in
        let attaching = Configuration(opensLazily: opensLazily, attached: ["archive": path])
        let error = sqlError { _ = try SqliteDatabase(filepath: directory + "/a", configuration: attaching) }
        #expect(error?.kind == .misuse("the path of attached database archive \(rest)"))
        #expect(files(in: directory) == [])
      }
    }
    #expect(!SqliteDatabase.canOpen(at: path))
    #expect(!FileManager.default.fileExists(atPath: "~"))
  }

  @Test func aDirectoryCanBeNamedLikeAHome() throws {
    try withDirectory { directory in
      let path = directory + "/~/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path)
      #expect(files(in: directory) == ["~"])
      try db.close()
    }
  }

  @Test(arguments: [
    "plain.sqlite",
    "with space.sqlite",
    "ünï©ode-自転車.sqlite",
    "what?mode=memory",
    "100%20.sqlite",
    "hash#tag",
    "file:x",
    "file:x?mode=memory",
    "quote'\"s",
    "semi;colon",
    "-dash",
    "new\nline",
    ".hidden",
    "a:b",
    ":memory: ",
    "~backup",
  ])
  func fileNamesAreUsedLiterally(name: String) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/" + name)
      try db.execute("CREATE TABLE t(x)")
      try db.execute("INSERT INTO t VALUES (1)")
      try db.close()
      #expect(files(in: directory) == [name])
      let again = try SqliteDatabase(filepath: directory + "/" + name)
      #expect(try again.query("SELECT x FROM t", as: Int.self) == [1])
      try again.close()
      try SqliteDatabase.deleteDatabase(at: directory + "/" + name)
      #expect(files(in: directory) == [])
    }
  }

  /// The working directory belongs to the whole process, so the file names are unique.
  @Test(arguments: ["", "file:", "./", "sub-"])
  func aRelativePathStartsAtTheWorkingDirectory(prefix: String) throws {
    let name = prefix + "sqlable-relative-\(UUID().uuidString).sqlite"
    let db = try SqliteDatabase(filepath: name)
    try db.execute("CREATE TABLE t(x)")
    let full = FileManager.default.currentDirectoryPath + "/" + name
    #expect(FileManager.default.fileExists(atPath: full))
    try db.close()
    try SqliteDatabase.deleteDatabase(at: name)
    #expect(!FileManager.default.fileExists(atPath: full))
  }

  @Test func aSymbolicLinkOpensItsTarget() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/real.sqlite")
      try db.execute("CREATE TABLE t(x)")
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/link.sqlite", withDestinationPath: directory + "/real.sqlite")
      let linked = try SqliteDatabase(filepath: directory + "/link.sqlite")
      try linked.execute("INSERT INTO t VALUES (7)")
      #expect(try db.query("SELECT x FROM t", as: Int.self) == [7])
    }
  }

  // MARK: Paths that can't be opened

  @Test(arguments: ["", "a\0b", "/tmp/\0"])
  func anEmptyPathOrOneWithNULIsRefused(path: String) throws {
    let error = expectMisuse { _ = try SqliteDatabase(filepath: path, configuration: .init(label: "shop")) }
    #expect(error?.label == "shop")
  }

  @Test func aDirectoryCannotBeOpened() throws {
    try withDirectory { directory in
      expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory) }
      expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + "/") }
      let readOnly = Configuration(isReadOnly: true)
      expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory, configuration: readOnly) }
      #expect(files(in: directory) == [])
    }
  }

  @Test func openingAPipeThrowsAtOnce() throws {
    try withDirectory { directory in
      #expect(mkfifo(directory + "/pipe", 0o600) == 0)
      for isReadOnly in [false, true] {
        let configuration = Configuration(isReadOnly: isReadOnly)
        expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + "/pipe", configuration: configuration) }
      }
    }
  }

  @Test func aPathBelowAFileCannotBeOpened() throws {
    try withDirectory { directory in
      try Data("text".utf8).write(to: URL(fileURLWithPath: directory + "/file"))
      for path in ["/file/db.sqlite", "/file/deeper/db.sqlite"] {
        expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + path) }
      }
      #expect(try String(contentsOfFile: directory + "/file", encoding: .utf8) == "text")
    }
    expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: "/proc/nosuch/db.sqlite") }
    expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: "/proc/db.sqlite") }
  }

  @Test(.needsPlainFiles("with a key no file is another format")) func openingANonDatabaseThrowsAndKeepsTheFile() throws
  {
    try withDirectory { directory in
      let path = directory + "/notes.txt"
      let text = String(repeating: "These are notes, not pages of SQLite. ", count: 200)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      let error = sqlError { _ = try SqliteDatabase(filepath: path, configuration: .init(label: "notes")) }
      #expect(error?.kind == .notADatabase)
      #expect(error?.label == "notes")
      #expect(error?.code == 26)
      let readOnly = Configuration(isReadOnly: true)
      expectError(.notADatabase) { _ = try SqliteDatabase(filepath: path, configuration: readOnly) }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      #expect(files(in: directory) == ["notes.txt"])
    }
  }

  @Test func openingInAnUnwritableDirectoryThrows() throws {
    try withDirectory { directory in
      let done = withUnwritable(directory) {
        expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + "/db.sqlite") }
        expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + "/sub/db.sqlite") }
      }
      if !done { print("skipped: nothing can be made unwritable here") }
    }
  }

  /// SQLite opens an unwritable file for reading without an error. Only the first write would fail.
  @Test(arguments: [Configuration.JournalMode.wal, .delete])
  func anUnwritableFileOpensOnlyForReading(mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
      try db.execute("CREATE TABLE t(x)")
      try db.execute("INSERT INTO t VALUES (5)")
      try db.close()
      let done = try withUnwritable(path) {
        expectError(.readOnly) { _ = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode)) }
        let reader = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true))
        #expect(try reader.query("SELECT x FROM t", as: Int.self) == [5])
      }
      if !done { print("skipped: nothing can be made unwritable here") }
    }
  }

  // MARK: Read-only

  @Test func aReadOnlyHandleReadsAndRefusesToWrite() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      let reader = try SqliteDatabase(filepath: db.filepath, configuration: .init(label: "reader", isReadOnly: true))
      #expect(try Person.read().run(reader).map(\.name) == ["Ann"])
      try Person(id: nil, name: "Bob").insert().run(db)
      #expect(try Person.count().run(reader) == 2)
      let writes: [(SqliteDatabase) throws -> Void] = [
        { try Person(id: nil, name: "Cid").insert().run($0) },
        { try Person.deleteAll().run($0) },
        { try Person.insert([Person(id: nil, name: "Cid"), Person(id: nil, name: "Dan")]).run($0) },
        { try $0.execute("CREATE TABLE t(x)") },
        { try $0.createTable(Bicycle.self) },
        { db in try db.transaction { db in _ = try Person.deleteAll().run(db) } },
        { try $0.createChild().execute("DELETE FROM person") },
      ]
      for write in writes {
        let error = sqlError { try write(reader) }
        #expect(error?.kind == .readOnly)
        #expect(error?.label == "reader")
      }
      #expect(reader.transactionLevel == 0)
      #expect(try Person.count().run(reader) == 2)
      #expect(try reader.transaction(.deferred) { try Person.count().run($0) } == 2)
    }
  }

  @Test func aReadOnlyHandleOfAMissingFileIsRefusedAndCreatesNothing() throws {
    try withDirectory { directory in
      for path in ["/db.sqlite", "/sub/db.sqlite"] {
        expectError(.cannotOpen) {
          _ = try SqliteDatabase(filepath: directory + path, configuration: .init(isReadOnly: true))
        }
      }
      #expect(files(in: directory) == [])
    }
  }

  @Test func anEmptyFileIsAnEmptyDatabase() throws {
    try withDirectory { directory in
      let path = directory + "/empty.sqlite"
      try Data().write(to: URL(fileURLWithPath: path))
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Person.self)
      #expect(try Person.count().run(db) == 0)
    }
  }
}
