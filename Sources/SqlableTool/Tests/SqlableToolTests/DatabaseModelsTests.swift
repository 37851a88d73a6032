import Foundation
import Sqlable
import Testing

@testable import SqlableTool

/// Tests that decode statements with a database's tables instead of models.
@Suite struct DatabaseModelsTests {
  private static let dates = ColumnType.DateFormat.allCases.map { ColumnType.date($0) }

  /// The models of the statements that the library's tests store as documents with SQL.
  private static let models: [any Sqlable.Type] = [
    Person.self, Bicycle.self, Car.self, Seat.self, Worker.self, Story.self, Memo.self,
  ]

  // The library reads a model's declarations once per process, so no other test in this process can create models of
  // tables.
  @Test func everyStatementHasTheSameSQLAsWithItsModels() throws {
    let tests = URL(filePath: #filePath).appending(path: "../../../../../Tests").standardizedFileURL
    let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
    let documents = (files ?? []).filter { $0.pathExtension == "json" && $0.path.contains("/Golden/v1/") }
    #expect(documents.count >= 100)
    try withDatabase(.init(recursiveTriggers: true)) { db in
      var types: DeclaredTable.Types = [:]
      for model in DatabaseModelsTests.models {
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
      for document in documents {
        let json = try Data(contentsOf: document)
        // A read with associated rows can be decoded only with its type.
        if String(decoding: json, as: UTF8.self).contains(#""including""#) { continue }
        let sql = try String(
          contentsOf: document.deletingPathExtension().appendingPathExtension("sql"), encoding: .utf8)
        let statement = try AnyStatement(json: json, rules: rules)
        // The file lists the values in comments after the SQL.
        #expect(sql.hasPrefix(statement.sql + "\n"), "\(document.lastPathComponent)")
        #expect(try statement.json() == json, "\(document.lastPathComponent)")
      }
    }
  }

  @Test func typesFollowSQLitesAffinities() throws {
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
      #expect(tables[0].key.map(\.name) == ["c", "i"])
      #expect(tables[0].options.isEmpty)
      #expect(tables[1].columns.map(\.type) == [.date(.iso8601)])
      #expect(tables[1].options == [.withoutRowid])
      #expect(tables[3].columns.map(\.name) == ["name"])
    }
  }

  @Test func canonicallyEqualNamesAreTwoTables() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE \"caf\u{E9}\" (a INTEGER); CREATE TABLE \"cafe\u{301}\" (b TEXT)")
      let tables = try DeclaredTable.all(in: db, [:])
      #expect(tables.map { $0.columns.map(\.name) } == [["a"], ["b"]])
    }
  }

  // MARK: Reading a file only

  @Test func aQuietFileIsReadAgainIfAnotherProgramChangesItMeanwhile() throws {
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
      #expect(count == 1)
      #expect(counts.count == 2)
    }
  }

  @Test func aDatabaseThatIsOnlyReadIsNotWritten() throws {
    for mode in [Configuration.JournalMode.wal, .delete] {
      try withDirectory { directory in
        let path = directory + "/db.sqlite"
        let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
        try db.createTable(Person.self)
        try db.close()
        try withReadOnlyDatabase(path) { (db: SqliteDatabase) throws -> Void in
          #expect(sqlError { try Person(id: nil, name: "Ann").insert().run(db) }?.kind == .readOnly)
          #expect(try Person.count().run(db) == 0)
        }
        #expect(files(in: directory) == ["db.sqlite"])
      }
    }
  }
}
