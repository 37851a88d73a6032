import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Statements on the tables of attached files.
@Suite struct AttachedDatabaseTests {
  @Test func aFileIsNotAttachedToItself() throws {
    try withDirectory { directory in
      let path = directory + "/test.sqlite"
      try FileManager.default.createSymbolicLink(atPath: directory + "/link.sqlite", withDestinationPath: path)
      for (attached, name) in [
        (["copy": path], "main"),
        (["copy": directory + "/link.sqlite"], "main"),
        (["a": directory + "/other.sqlite", "b": directory + "/./other.sqlite"], "a"),
      ] {
        let error = sqlError { _ = try SqliteDatabase(filepath: path, configuration: .init(attached: attached)) }
        #expect(
          error?.message.contains("the attached file is already open as database \(name)") == true,
          "\(String(describing: error))")
      }
    }
  }

  /// Calls `body` with a handle that has one bicycle, and another one in the attached file `archive`.
  private func withArchive(_ body: (SqliteDatabase, _ directory: String) throws -> Void) throws {
    try withDirectory { directory in
      let archive = try SqliteDatabase(filepath: directory + "/archive.sqlite")
      try archive.createTables(Person.self, Bicycle.self, Story.self)
      try Bicycle(name: "Old", color: "grey").insert().run(archive)
      try archive.close()
      let db = try SqliteDatabase(
        filepath: directory + "/test.sqlite",
        configuration: Configuration(attached: ["archive": directory + "/archive.sqlite"]))
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "New", color: "red").insert().run(db)
      try body(db, directory)
    }
  }

  @Test func aFileIsAttachedReadOnlyForAllHandles() throws {
    try withArchive { db, directory in
      try db.close()
      let path = directory + "/archive.sqlite"
      let configuration = Configuration(attached: ["archive": path], attachedReadOnly: ["archive"])
      for open in [
        { try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: configuration) },
        { try SqliteDatabase(filepath: directory + "/file:new.sqlite", configuration: configuration) },
        { try SqliteDatabase.inMemory(configuration: configuration) },
      ] {
        let db = try open()
        for handle in [db, try db.createChild()] {
          #expect(try Bicycle.read().in(database: "archive").run(handle).map(\.name) == ["Old"])
          let error = sqlError { try Bicycle.deleteAll().in(database: "archive").run(handle) }
          #expect(error?.kind == .readOnly)
          #expect(
            error?.message == "can't run DELETE: the attached database archive is read-only; write to the file with a "
              + "separate handle")
          try handle.execute("PRAGMA query_only = ON")
          let queryOnly = sqlError { try handle.execute("CREATE TABLE main.t (x)") }
          #expect(queryOnly?.message == "attempt to write a readonly database")
          try handle.close()
        }
      }
      #expect(FileManager.default.fileExists(atPath: directory + "/file:new.sqlite"))
      #expect(SqliteDatabase.canOpen(at: directory + "/test.sqlite", configuration: configuration))
      try DatabaseFiles(of: path).remove()
      #expect(!SqliteDatabase.canOpen(at: directory + "/test.sqlite", configuration: configuration))
      let error = sqlError {
        _ = try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: configuration)
      }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.message == "the attached database archive: no such file: \(path)")
      #expect(DatabaseFiles(of: path).paths.isEmpty)
    }
  }

  @Test func statementsOfAModelRunOnTheTableOfAnAttachedFile() throws {
    try withArchive { db, _ in
      let old = Bicycle.read().in(database: "archive")
      #expect(try old.run(db) == [Bicycle(id: 1, name: "Old", color: "grey")])
      #expect(try Bicycle.read().run(db) == [Bicycle(id: 1, name: "New", color: "red")])
      #expect(try Bicycle.read().in(database: "main").run(db).map(\.name) == ["New"])

      try Bicycle(id: 5, name: "Five", color: "blue").insert().in(database: "archive").run(db)
      try Bicycle.update(Bicycle.color.set(to: "green")).filter(Bicycle.id == 1).in(database: "archive").run(db)
      try Bicycle(id: 5, name: "Fifth", color: "blue").save().in(database: "archive").run(db)
      #expect(try Bicycle.count().in(database: "archive").filter(Bicycle.color == "green").run(db) == 1)
      #expect(try Bicycle.byId(5).in(database: "archive").run(db)?.name == "Fifth")
      #expect(try Bicycle.delete().filter(Bicycle.id == 5).in(database: "archive").run(db) == 1)
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func associationsReadFromTheFileOfTheirRows() throws {
    try withArchive { db, _ in
      for database in ["main", "archive"] {
        try Person(id: 1, name: "Anna").insert().in(database: database).run(db)
        try Bicycle.update(Bicycle.ownerId.set(to: 1)).in(database: database).filter(Bicycle.id == 1).run(db)
      }
      let old = try Person.read().in(database: "archive").including(Person.bikes.including(Bicycle.owner)).run(db)
      #expect(old.map { $0.1.map(\.0.name) } == [["Old"]])
      #expect(try Person.read().including(Person.bikes).run(db).map { $0.1.map(\.name) } == [["New"]])
      let one = try Person.read().in(database: "archive").including(Person.bikes.in(database: "main")).run(db)
      #expect(one.map { $0.1.map(\.name) } == [["New"]])
      let grey = Person.bikes.filter(Bicycle.color == "grey")
      #expect(try Person.count().in(database: "archive").whereAny(grey.in(database: "archive")).run(db) == 1)
      #expect(try Person.count().whereAny(grey).run(db) == 0)
    }
  }

  @Test func rowsMoveBetweenFilesInOneTransaction() throws {
    try withArchive { db, _ in
      try db.transaction { db in
        try Bicycle(name: "Second", color: "red").insert().run(db)
        let copied = try Bicycle.insert(from: Bicycle.read().filter(Bicycle.name == "Second")).in(database: "archive")
          .run(db)
        #expect(copied == 1)
        try Bicycle.delete().filter(Bicycle.name == "Second").run(db)
      }
      #expect(try Bicycle.read().in(database: "archive").run(db).map(\.name) == ["Old", "Second"])
      struct Failure: Error {}
      #expect(throws: Failure.self) {
        try db.transaction { db in
          try Bicycle.deleteAll().in(database: "archive").run(db)
          throw Failure()
        }
      }
      #expect(try Bicycle.count().in(database: "archive").run(db) == 2)
    }
  }

  @Test func aJoinOfBothFilesNeedsAnAlias() throws {
    try withArchive { db, _ in
      let old = Alias(Bicycle.self, "old", database: "archive")
      let pairs = Bicycle.join(old, on: Bicycle.id == old[Bicycle.id])
      let pair = try pairs.run(db)
      #expect(pair.count == 1)
      #expect(pair.first?.0.name == "New")
      #expect(pair.first?.1.name == "Old")
      #expect(
        pairs.sql.hasSuffix(
          #"FROM "bicycle" JOIN "archive"."bicycle" AS "old" ON "bicycle"."id" = "old"."id""#))
      let selected = Bicycle.select(Bicycle.name).in(database: "archive").in("bicycle")
      #expect(selected.sql == #"SELECT "name" FROM "archive"."bicycle""#)
    }
  }

  @Test func untypedTablesReadAttachedFiles() throws {
    try withArchive { db, _ in
      let bicycles = Table("bicycle", "id", "name")
      #expect(try bicycles.select(bicycles["name"].typed(as: String.self)).in(database: "archive").run(db) == ["Old"])
      try bicycles.insert(["name": "Third"]).in(database: "archive").run(db)
      #expect(try bicycles.count().in(database: "archive").run(db) == 2)
      #expect(try bicycles.count().run(db) == 1)
    }
  }

  @Test func searchUsesTheFullTextIndexOfTheSameFile() throws {
    try withArchive { db, _ in
      try db.createTable(Story.self)
      try Story(1, "the red bicycle").insert().run(db)
      try Story(1, "the grey bicycle").insert().in(database: "archive").run(db)
      #expect(try Story.search(.words("grey")).run(db) == [])
      let found = Story.search(.words("grey")).in(database: "archive")
      #expect(try found.run(db) == [Story(1, "the grey bicycle")])
      #expect(try Story.count().filter(Story.matches(.words("bicycle"))).in(database: "archive").run(db) == 1)
    }
  }

  @Test func childrenAndPoolsAttachTheSameFiles() throws {
    try withArchive { db, directory in
      let child = try db.createChild()
      #expect(try Bicycle.read().in(database: "archive").run(child).map(\.name) == ["Old"])
      let pool = try SqlitePool(filepath: directory + "/test.sqlite", configuration: .init(handles: db.configuration))
      let read = try pool.read { try Bicycle.read().in(database: "archive").run($0) }
      #expect(read.map(\.name) == ["Old"])
      let id = try pool.transaction {
        try Bicycle(name: "Pooled", color: "red").insert().in(database: "archive").run($0)
      }
      #expect(try Bicycle.byId(id).in(database: "archive").run(db)?.name == "Pooled")
    }
  }

  @Test func aRelativePathIsResolvedOnOpening() throws {
    try withDirectory { directory in
      let name = "sqlable-\(UUID().uuidString).sqlite"
      defer { try? SqliteDatabase.deleteDatabase(at: name) }
      let db = try SqliteDatabase(
        filepath: directory + "/a.sqlite", configuration: Configuration(attached: ["other": name]))
      #expect(db.configuration.attached["other"] == FileManager.default.currentDirectoryPath + "/" + name)
      #expect(FileManager.default.fileExists(atPath: name))
    }
  }

  @Test func settingsApplyToAttachedFiles() throws {
    try withDirectory { directory in
      let path = directory + "/it's new/\"b\".sqlite"
      let db = try SqliteDatabase(
        filepath: directory + "/a.sqlite",
        configuration: Configuration(synchronous: .full, attached: [#"or"der"#: path]))
      #expect(FileManager.default.fileExists(atPath: path))
      #expect(try db.query(#"PRAGMA "or""der".journal_mode"#, as: String.self) == ["wal"])
      #expect(try db.query(#"PRAGMA "or""der".synchronous"#, as: Int.self) == [2])
      let other = try SqliteDatabase(filepath: path)
      try other.createTables(Person.self, Bicycle.self)
      #expect(try Bicycle.count().in(database: #"or"der"#).run(db) == 0)
    }
  }

  @Test func onlyTheHandlesOwnFileIsObserved() throws {
    try withArchive { db, _ in
      let log = EventLog()
      log.listenToAll(of: db)
      try Bicycle(id: 70, name: "There", color: "red").insert().in(database: "archive").run(db)
      try Bicycle(id: 71, name: "Here", color: "red").insert().run(db)
      #expect(log.take() == ["insert bicycle 71"])
    }
  }

  @Test func aTableMissingInTheAttachedFileThrows() throws {
    try withArchive { db, directory in
      let unknown = sqlError { _ = try Bicycle.read().in(database: "nosuch").run(db) }
      #expect(unknown?.kind == .schema(.missingTable("nosuch.bicycle")))
      let missing = sqlError { _ = try Bicycle.read().in("car").in(database: "archive").run(db) }
      #expect(missing?.kind == .schema(.missingTable("archive.car")))
      let hostile = sqlError { _ = try Bicycle.read().in(database: #"a"; DROP TABLE bicycle; --"#).run(db) }
      #expect(hostile?.kind == .schema(.missingTable(#"a"; DROP TABLE bicycle; --.bicycle"#)))
    }
  }

  @Test func invalidAttachmentsAreRefusedBeforeOpening() throws {
    try withDirectory { directory in
      for attached in [
        ["main": "/a"],
        ["TEMP": "/a"],
        ["": "/a"],
        ["a\0": "/a"],
        ["a": ""],
        ["a": ":memory:"],
        ["a": "/\0"],
        ["a": "/a", "A": "/b"],
      ] {
        expectMisuse {
          _ = try SqliteDatabase(filepath: directory + "/x.sqlite", configuration: .init(attached: attached))
        }
      }
      #expect(!FileManager.default.fileExists(atPath: directory + "/x.sqlite"))
      let error = sqlError {
        _ = try SqliteDatabase(filepath: directory + "/y.sqlite", configuration: .init(attached: ["b": directory]))
      }
      #expect(error?.kind == .cannotOpen)
      try Data("no database, but a text that is long enough to be one".utf8).write(
        to: URL(fileURLWithPath: directory + "/text"))
      let format = sqlError {
        _ = try SqliteDatabase(
          filepath: directory + "/z.sqlite", configuration: .init(attached: ["b": directory + "/text"]))
      }
      #expect(format?.kind == noDatabase)
      #expect(format?.message.hasPrefix("the attached database b: ") == true)
    }
  }

  @Test func aReadOnlyHandleNeitherCreatesNorWritesTheOtherFile() throws {
    try withArchive { db, directory in
      let missing = Configuration(isReadOnly: true, attached: ["b": directory + "/b.sqlite"])
      expectError(.cannotOpen) { _ = try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: missing) }
      let configuration = Configuration(isReadOnly: true, attached: db.configuration.attached)
      let reader = try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: configuration)
      #expect(try Bicycle.count().in(database: "archive").run(reader) == 1)
      expectError(.readOnly) { try Bicycle.deleteAll().in(database: "archive").run(reader) }
    }
  }

  @Test func statementsOnAnAttachedFileCannotBeEncoded() throws {
    let statements: [any Encodable] = [
      Bicycle.read().in(database: "archive"),
      Bicycle.deleteAll().in(database: "archive"),
      Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id == 1).in(database: "archive"),
      Bicycle.join(Alias(Bicycle.self, "old", database: "archive"), on: Bicycle.id == 1),
    ]
    for statement in statements {
      let error = sqlError { _ = try JSONEncoder().encode(statement) }
      #expect(error?.message == "a statement on a table of the attached database archive can't be encoded")
    }
    #expect(Bicycle.read().in(database: "a") == Bicycle.read().in(database: "a"))
    #expect(Bicycle.read().in(database: "a") != Bicycle.read().in(database: "b"))
    expectInvalidStatement { _ = try Bicycle.read().in(database: "a").evaluate(over: [Bicycle]()) }
  }

  @Test func aFileIsNotAttachedToItselfBySQL() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Bicycle.self)
      for (name, file) in [("again", path), ("link", directory + "/./a.sqlite")] {
        let error = expectMisuse { try db.execute("ATTACH \(file) AS \(table: name)") }
        #expect(error?.message.contains("the attached file is already open as database main") == true)
      }
      let names = try db.query("SELECT name FROM pragma_database_list", as: String.self)
      #expect(names == ["main"])
      try db.execute("ATTACH \(directory + "/b.sqlite") AS b")
      expectMisuse { try db.execute("ATTACH \(directory + "/b.sqlite") AS c") }
      #expect(try db.query("SELECT name FROM pragma_database_list", as: String.self) == ["main", "b"])
    }
  }
}
