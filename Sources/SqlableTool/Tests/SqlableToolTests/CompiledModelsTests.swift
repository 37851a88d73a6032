import Foundation
import Sqlable
import Testing

/// Tests that compile the output of `sqlable models` against the library and read every row.
@Suite(
  .enabled(if: Program.tool.isAvailable && SwiftCompiler.isAvailable, "there is no compiler, or no built library"))
struct CompiledModelsTests {
  /// Models of these tests. The printed models must have the same declarations as these models.
  private static let own: [any Sqlable.Type] = [
    Person.self, Bicycle.self, Car.self, Seat.self, Mark.self, Hostile.self, Story.self,
    Memo.self, Word.self, Declared.self,
  ]

  @Test func everyRowIsReadAndOwnTablesAreDeclaredAlike() throws {
    try withDirectory { directory in
      let path = directory + "/all.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(foreignKeys: false))
      let collations = ["local", "unicase"]
      for name in collations { try db.register(Collation(name) { $0.compare($1) }) }
      for model in CompiledModelsTests.own { try db.createTable(model) }
      try db.execute("INSERT INTO person (name) VALUES ('Anna'), ('Bo')")
      try db.execute("INSERT INTO bicycle (name, color) VALUES ('Norco', 'red')")
      try Story(1, "One", "two").insert().run(db)
      try Memo(1, "One", stars: 3).insert().run(db)
      try Word(1, "one").insert().run(db)
      for statement in ForeignDatabases.statements { try db.execute(SQL(verbatim: statement)) }
      try db.close()
      let models = try Program.tool.run(["models", "all.sqlite"], in: directory)
      try #require(models.exitCode == 0, "\(models.errors)")
      let types = models.output.matches(of: /\nextension (\w+): Sqlable/).map { String($0.1) }
      try #require(types.count > CompiledModelsTests.own.count)
      let names = CompiledModelsTests.own.map { "\"\($0.tableName.replacing("\"", with: "\\\""))\"" }
      let main = """
        import Foundation
        import Sqlable

        func check(_ model: (some Sqlable).Type, _ db: SqliteDatabase) {
          do {
            let rows = try model.read().run(db)
            let count = try db.query("SELECT count(*) FROM \\(table: model.tableName)", as: Int.self)[0]
            print(rows.count == count ? "read" : "lost", count, model.tableName)
            let isView = model.tableOptions.description.contains("view(")
            if isView { print("view", model.tableName) }
            if isView || [\(names.joined(separator: ", "))].contains(model.tableName) {
              print("declared", model.tableName)
              for difference in try Schema(model).differences(db) { print("differs", difference) }
            }
          } catch {
            print("failed", model.tableName, error)
          }
        }
        let db = try SqliteDatabase(filepath: CommandLine.arguments[1], configuration: Configuration(isReadOnly: true))
        for name in \(collations) { try db.register(Collation(name) { $0.compare($1) }) }
        \(types.map { "check(\($0).self, db)" }.joined(separator: "\n"))
        """
      let output = try SwiftCompiler.run([("Models", models.output), ("main", main)], [path], in: directory)
      let lines = output.split(separator: "\n").map(String.init)
      let kinds = ["read ", "declared ", "view "]
      #expect(lines.filter { line in !kinds.contains { line.hasPrefix($0) } } == [])
      #expect(lines.filter { $0.hasPrefix("view ") } == ["view named", "view totals"])
      #expect(lines.count { $0.hasPrefix("read ") } == types.count)
      #expect(lines.count { $0.hasPrefix("declared ") } == CompiledModelsTests.own.count + 2)
      #expect(lines.contains("read 3 moz_places"))
      #expect(lines.contains("read 2 select"))
    }
  }
}

/// A model with every possible declaration.
private struct Declared: Sqlable {
  static let tableName = "declared \"all\""
  static let id = column("id", Int.self, PrimaryKey(descending: true, onConflict: .ignore, name: "the key"))
  static let code = column(
    "a code", String.self, Unique(onConflict: .replace), NotNull(onConflict: .replace), Collate.rtrim,
    Default("it's \"\\(x)\"\n"))
  static let real = column("real", Double.self, Default(-0.25), Check("real < 10"))
  static let flag = column("flag", Bool.self, Default(true))
  static let data = column("data", Data?.self, Default(Data([0, 255])))
  static let empty = column("empty", String?.self, Default(Null()))
  static let zero = column("zero", String.self, Default("a\0b"))
  static let token = column("token", String.self, Default(sql: "hex(randomblob(8)) || 'it''s'"))
  static let made = column("made", String?.self, Generated("\"a code\" || 'x'", stored: true))
  static let parent = column("parent", Int?.self, ForeignKey<Declared>(onDelete: .setNull, onUpdate: .cascade))
  static let other = column("other", String?.self, ForeignKey<Declared>(column: Declared.code, deferred: true))
  static let row = column("row", Int?.self)
  static let letter = column("letter", String?.self, Collate.named("local"))
  static let tableLayout = [
    id.column, code.column, real.column, flag.column, data.column, empty.column, zero.column, token.column,
    made.column, parent.column, other.column, row.column, letter.column,
  ]
  static let tableIndexes = [
    Index(real), Index(flag, real.desc, unique: true, name: "an \"index\""), Index(code.lowercase(), row.desc),
    Index(row, unique: true, where: code.in(["a", "'"]) && real > -0.5),
  ]
  static let tableConstraints: [TableConstraint] = [
    Unique(real, flag.desc), Check("flag IN (0, 1) OR \"a code\" = '\\'"),
    ForeignKeys([row, letter], to: Seat.self, [Seat.row, Seat.letter], onDelete: .restrict),
  ]

  init(row: ReadRow) throws { throw SqlError(.misuse("not read"), message: "not read") }
}

/// Tables in the style of other programs.
private enum ForeignDatabases {
  static let statements = firefox + anki + odd + fullText

  private static let firefox = [
    """
    CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
      visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL,
      frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT,
      foreign_count INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL,
      origin_id INTEGER REFERENCES moz_origins(id))
    """,
    """
    CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL,
      frecency INTEGER NOT NULL, UNIQUE (prefix, host))
    """,
    "CREATE TABLE moz_meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    "CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places (guid)",
    "CREATE INDEX moz_places_lastvisitdateindex ON moz_places (last_visit_date)",
    """
    INSERT INTO moz_places (url, visit_count, hidden, last_visit_date, guid, url_hash) VALUES
      ('https://a/', 1, 0, 1700000000000000, 'a', 47357795150914), ('https://b/', NULL, 1, NULL, 'b', 1),
      ('https://c/', 3, 0, 1700000000000001, 'c', 125508604019384)
    """,
    "INSERT INTO moz_meta VALUES ('sync/key', 'text'), ('count', 3), ('part', 0.5)",
  ]

  private static let anki = [
    """
    CREATE TABLE cards (id integer PRIMARY KEY, nid integer NOT NULL, mod integer NOT NULL, type integer NOT NULL,
      queue integer NOT NULL, ivl integer NOT NULL, factor integer NOT NULL, data text NOT NULL)
    """,
    """
    CREATE TABLE tags (tag text NOT NULL PRIMARY KEY COLLATE unicase, usn integer NOT NULL, config blob NULL)
      WITHOUT ROWID
    """,
    "CREATE TABLE graves (usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL)",
    "CREATE TABLE col (id integer PRIMARY KEY, crt integer NOT NULL, conf text NOT NULL, \"decks\" text NOT NULL)",
    "CREATE INDEX ix_cards_usn ON cards (queue, mod)",
    """
    INSERT INTO cards VALUES (1700000000000, 1, 1, 0, -1, -60, 2500, '{}'),
      (1700000000001, 1, 1, 2, 2, 'soon', 1, '')
    """,
    "INSERT INTO graves VALUES (0, 1, 0), (0, 2, 1)", "INSERT INTO col VALUES (1, 1, '{}', '{}')",
  ]

  private static let odd = [
    """
    CREATE TABLE "select" ("from" TEXT, "a b" INT, a_b INT, row TEXT, self TEXT, "init" TEXT, "quote""s" TEXT,
      "日本" REAL, "table_name" TEXT, "count" INTEGER, "read" TEXT, "delete" TEXT, "insert" INT, "update" INT,
      "column" TEXT, write INT, "any" INT, await TEXT, "" TEXT, "Type" TEXT, description TEXT,
      "search" TEXT, "exists" INT, "select" TEXT, protocol TEXT, "\\(evil)" TEXT, "tab\tnew\nline" TEXT, \
      PRIMARY KEY ("from", "a b" DESC))
    """,
    "INSERT INTO \"select\" (\"from\", \"a b\", a_b, \"日本\") VALUES ('x', 1, 'text', 5), (NULL, 2, 3, 0.5)",
    "CREATE TABLE \"select 2\" (a INTEGER, PRIMARY KEY (a DESC))",
    "CREATE TABLE \"select-2\" (a INTEGER PRIMARY KEY DESC, b DATETIME DEFAULT CURRENT_TIMESTAMP)",
    "INSERT INTO \"select-2\" (a) VALUES (1), (NULL), (NULL)",
    "CREATE TABLE \"index\" (x UNIQUE, y TEXT UNIQUE ON CONFLICT REPLACE, z REAL CHECK (z < 'a\"b\\c'))",
    "INSERT INTO \"index\" VALUES (CAST(x'ff' AS TEXT), 'a', 1), ('b', x'00', 2.5)",
    // Columns that reference each other.
    "CREATE TABLE left_side (a INT UNIQUE REFERENCES right_side (b), b INT UNIQUE REFERENCES left_side (a))",
    "CREATE TABLE right_side (b INT UNIQUE REFERENCES left_side (b), c, d, FOREIGN KEY (c, d) REFERENCES \"select\")",
    // Types and properties with the same name.
    "CREATE TABLE \"日本\" (\"日本\" INTEGER PRIMARY KEY, \"_1\" TEXT)", "INSERT INTO \"日本\" VALUES (1, 'x')",
    "CREATE TABLE \"1\" (a INT, \"1\" TEXT, \"日本\" INT REFERENCES \"日本\")", "INSERT INTO \"1\" VALUES (1, 'x', 1)",
    "CREATE TABLE String (a INT)", "CREATE TABLE date (data BLOB)", "CREATE TABLE stored_value (x)",
    "CREATE TABLE sets (a DATE, b DATETIME, c TIMESTAMP, d BOOLEAN, e TEXT, f DECIMAL)",
    "INSERT INTO sets VALUES (1700000000, 1700000000123, 1.5e9, 1, '2024-05-06 07:08:09', 9007199254740993)",
    "CREATE VIEW totals AS SELECT count(*) AS n, 'x' || a AS \"x a\", a FROM left_side GROUP BY a",
    "CREATE VIEW \"named\" (\"first one\", second) AS /* of the left */ SELECT a, 'it''s \\' FROM left_side -- all",
    "INSERT INTO left_side VALUES (1, 1), (2, NULL)",
  ]

  private static let fullText = [
    "CREATE VIRTUAL TABLE mail USING fts5(subject, body, sent UNINDEXED, tokenize = 'porter ascii', prefix='2 3')",
    "INSERT INTO mail VALUES ('Hello', 'World', 5), (NULL, 7, '2024')",
    "CREATE TABLE page (id INTEGER PRIMARY KEY, words TEXT)", "INSERT INTO page VALUES (1, 'one two')",
    "CREATE VIRTUAL TABLE page_words USING fts5(words, content=page, content_rowid=id, detail=none)",
    "INSERT INTO page_words (page_words) VALUES ('rebuild')",
  ]
}

/// The compiler that built the tests.
enum SwiftCompiler {
  /// The directory of the library's objects and modules.
  private static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  private static let path: String? =
    ((ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { $0 + "/swiftc" }).first { FileManager.default.isExecutableFile(atPath: $0) }

  static let isAvailable =
    path != nil && FileManager.default.fileExists(atPath: products + "/Modules/Sqlable.swiftmodule")

  /// Compiles sources with the library, runs the program and returns its output.
  static func run(_ sources: [(name: String, text: String)], _ arguments: [String], in directory: String) throws
    -> String
  {
    for source in sources {
      try Data(source.text.utf8).write(to: URL(fileURLWithPath: directory + "/\(source.name).swift"))
    }
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path
    // The library's modules. Other directories whose names start with `Sqlable` contain programs.
    let modules = try FileManager.default.contentsOfDirectory(atPath: root)
      .filter { $0.hasPrefix("Sqlable") && $0 != "SqlableTool" && $0 != "SqlableMacros" }
    let objects = try modules.flatMap { module in
      // The build directory can contain objects of deleted or moved sources.
      let files = FileManager.default.enumerator(atPath: root + "/" + module)?.compactMap { $0 as? String } ?? []
      let names = Set(files.map { ($0 as NSString).lastPathComponent + ".o" })
      let folder = products + "/\(module).build/"
      return try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0.hasSuffix(".swift.o") && names.contains($0) }.map { folder + $0 }
    }
    var words = ["-swift-version", "6", "-warnings-as-errors", "-I", products + "/Modules"]
    for module in ["CSqlableSystemSQLite", "CSqlableSQLCipher"] {
      words += ["-Xcc", "-fmodule-map-file=\(root)/\(module)/module.modulemap"]
    }
    words += sources.map { directory + "/\($0.name).swift" }
    // The library's objects refer to the SQLite to link, which .ci/sqlcipher installs in /usr/local/lib.
    words += objects + ["-L/usr/local/lib", "-o", directory + "/program"]
    let compiler = try ChildProcess(
      #require(path), words,
      errors: .withOutput)
    let said = String(decoding: compiler.output.readDataToEndOfFile(), as: UTF8.self)
    try #require(compiler.waitUntilExit(), "\(said)")
    let program = try ChildProcess(directory + "/program", arguments, errors: .withOutput)
    defer { program.waitUntilExit() }
    return String(decoding: program.output.readDataToEndOfFile(), as: UTF8.self)
  }
}
