import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Files named by statements on an in-memory database: ATTACH and VACUUM INTO write to disk.
@Suite struct InMemoryFilesTests {
  private func people(_ path: String) throws -> [String] {
    let db = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true))
    defer { try? db.close() }
    return try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  private func filled() throws -> SqliteDatabase {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Person.self)
    try Person.insert([Person(id: nil, name: "Ann"), Person(id: nil, name: "Ben")]).run(db)
    return db
  }

  @Test(
    .needsPlainFiles("a database in memory is not encrypted"), .needs(36, "a child of a database in memory"),
    arguments: [true, false])
  func vacuumIntoWritesAFile(isChild: Bool) throws {
    try withDirectory { directory in
      let parent = try filled()
      let db = isChild ? try parent.createChild() : parent
      let path = directory + "/it's a copy.sqlite"
      try db.execute("VACUUM INTO \(path)")
      #expect(try people(path) == ["Ann", "Ben"])
      // VACUUM INTO refuses an existing file.
      expectError(.other) { try db.execute("VACUUM INTO \(path)") }
      #expect(try Person.count().run(parent) == 2)
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted"))
  func vacuumIntoAcceptsALiteralName() throws {
    try withDirectory { directory in
      let db = try filled()
      try db.execute(SQL(verbatim: "VACUUM main INTO '\(directory)/literal.sqlite'"))
      #expect(try people(directory + "/literal.sqlite") == ["Ann", "Ben"])
      try db.query(SQL(verbatim: "VACUUM INTO '\(directory)/queried.sqlite'")) { _ in }
      #expect(try people(directory + "/queried.sqlite") == ["Ann", "Ben"])
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted")) func anAttachedFileIsWrittenToDisk() throws {
    try withDirectory { directory in
      let db = try filled()
      let path = directory + "/other.sqlite"
      try db.execute("ATTACH \(path) AS other")
      try db.execute("CREATE TABLE other.person AS SELECT * FROM main.person")
      try db.transaction { db in
        try db.execute("INSERT INTO other.person SELECT id + 10, 'Cid' FROM main.person LIMIT 1")
      }
      expectError(.constraint(.notNull)) {
        try db.transaction { db in
          try db.execute("INSERT INTO other.person VALUES (20, 'undone')")
          try db.execute("INSERT INTO main.person(name) VALUES (NULL)")
        }
      }
      #expect(try people(path) == ["Ann", "Ben", "Cid"])
      try db.execute("DETACH other")
      #expect(files(in: directory) == ["other.sqlite"])
      // The attached file shows the changes of another handle.
      let other = try SqliteDatabase(filepath: path)
      try other.execute("UPDATE person SET name = 'Dora' WHERE id = 1")
      try db.execute("ATTACH \("file:" + path + "?mode=ro") AS other")
      #expect(try db.query("SELECT name FROM other.person WHERE id = 1", as: String.self) == ["Dora"])
      expectError(.readOnly) { try db.execute("DELETE FROM other.person") }
    }
  }

  @Test func aPathInAMissingDirectoryThrows() throws {
    try withDirectory { directory in
      let db = try filled()
      expectError(.cannotOpen) { try db.execute("ATTACH \(directory + "/missing/a.sqlite") AS other") }
      expectError(.cannotOpen) { try db.execute("VACUUM INTO \(directory + "/missing/a.sqlite")") }
    }
  }

  @Test func attachingMemoryCreatesNoFile() throws {
    try withDirectory { directory in
      let db = try filled()
      try db.execute("ATTACH ':memory:' AS other")
      try db.execute("CREATE TABLE other.t AS SELECT * FROM person")
      try db.execute("CREATE TEMP TABLE big AS SELECT randomblob(1000) AS b FROM person")
      try db.execute("VACUUM")
      #expect(try db.query("SELECT count(*) FROM other.t", as: Int.self) == [2])
      #expect(files(in: directory).isEmpty)
    }
  }
}
