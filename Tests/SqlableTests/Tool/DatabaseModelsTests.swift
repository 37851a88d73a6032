import Foundation
import Sqlable
import Testing

@testable import SqlableTool

/// The tables of a database in place of the models that made them.
@Suite struct DatabaseModelsTests {
  private static let dates = ColumnType.DateFormat.allCases.map { ColumnType.date($0) }

  // The only test of this process that makes models of tables: what a model declares is read once per process.
  @Test func everyStatementHasTheSameSQLAsWithItsModels() throws {
    try withDatabase(.init(recursiveTriggers: true)) { db in
      var types: DeclaredTable.Types = [:]
      for model in StatementCorpus.models {
        try db.createTable(model)
        for column in model.tableLayout {
          let type = DatabaseModelsTests.dates.first { column.type == $0 || column.type == .nullable($0) }
          if let type { types[model.tableName, default: [:]][column.name] = type }
        }
      }
      types["memo"] = ["stars": .integer]
      try db.createTable(Bicycle.self, named: "archive")
      let tables = try DeclaredTable.all(in: db, types)
      let rules = StatementRules(models: DatabaseModels.models(of: tables), tables: Set(tables.map(\.name)))
      for document in try StatementCorpus.all() {
        let statement = try AnyStatement(json: document.json, rules: rules)
        #expect(statement.sql == document.sql, "\(document.name)")
        #expect(try statement.json() == document.json, "\(document.name)")
        #expect(try statement.requests().first?.values.count == document.erased.requests().first?.values.count)
      }
    }
  }

  @Test func theTypesAreThoseOfSQLitesAffinities() throws {
    try withDatabase { db in
      try db.execute(
        #"""
        CREATE TABLE "a ""b""" (i INT, c VARCHAR(3), x, b BLOB, r FLOAT NOT NULL, n DECIMAL(9, 2), d DATETIME,
          g TEXT GENERATED ALWAYS AS (c || 'x'), PRIMARY KEY (c, i));
        CREATE TABLE own (id TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, t TEXT);
        CREATE VIEW names AS SELECT c AS name FROM "a ""b""";
        """#)
      let tables = try DeclaredTable.all(in: db, ["own": ["id": .date(.iso8601)]])
      #expect(tables.map(\.name) == [#"a "b""#, "own", "descending", "names"])
      #expect(
        tables[0].columns.map(\.type) == [
          .integer, .text, .nullable(.blob), .nullable(.blob), .real, .nullable(.real), .nullable(.text),
          .nullable(.text),
        ])
      #expect(tables[0].key.map(\.name) == ["c", "i"] && tables[0].options.isEmpty)
      #expect(tables[1].columns.map(\.type) == [.date(.iso8601)] && tables[1].options == [.withoutRowid])
      #expect(tables[3].columns.map(\.name) == ["name"])
    }
  }

  @Test func namesThatUnicodeEquatesAreTwoTables() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE \"caf\u{E9}\" (a INTEGER); CREATE TABLE \"cafe\u{301}\" (b TEXT)")
      let tables = try DeclaredTable.all(in: db, [:])
      #expect(tables.map { $0.columns.map(\.name) } == [["a"], ["b"]])
    }
  }

  // MARK: Reading a file only

  @Test(.needsPlainFiles("the command reads the header")) func aQuietFileIsReadAgainIfAnotherProgramChangesItMeanwhile()
    throws
  {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let first = try SqliteDatabase(filepath: path)
      try first.createTable(Person.self)
      try first.close()
      var counts: [Int] = []
      let count = try withReadOnlyDatabase(path) { db -> Int in
        let other = try SqliteDatabase(filepath: path)
        if counts.isEmpty { try Person(id: nil, name: "Ann").insert().run(other) }
        counts.append(try Person.count().run(db))
        try other.close()
        return counts.last ?? -1
      }
      #expect(count == 1 && counts.count == 2)
    }
  }

  @Test(.needsPlainFiles("the command reads the header")) func aDatabaseThatIsOnlyReadIsNotWritten() throws {
    for mode in [Configuration.JournalMode.wal, .delete] {
      try withDirectory { directory in
        let path = directory + "/db.sqlite"
        let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
        try db.createTable(Person.self)
        try db.close()
        try withReadOnlyDatabase(path) { (db: SqliteDatabase) throws -> Void in
          expectError(.readOnly) { try Person(id: nil, name: "Ann").insert().run(db) }
          #expect(try Person.count().run(db) == 0)
        }
        #expect(files(in: directory) == ["db.sqlite"])
      }
    }
  }
}
