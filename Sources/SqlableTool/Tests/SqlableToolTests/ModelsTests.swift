import Foundation
import Sqlable
import Testing

@testable import SqlableTool

/// Creates a database with these statements and returns the command's output.
func printedModels(_ statements: [String], _ options: [String] = []) throws -> String {
  try withDirectory { directory in
    let db = try SqliteDatabase(filepath: directory + "/shop.sqlite")
    for statement in statements { try db.execute(SQL(verbatim: statement)) }
    try db.close()
    let run = try Program.tool.run(["models", "shop.sqlite"] + options, in: directory)
    try #require(run.exitCode == 0, "\(run.errors)")
    try #require(run.errors == "", "\(run.errors)")
    return run.output
  }
}

/// Tests of the output of `sqlable models` for real files.
@Suite(.enabled(if: Program.tool.isAvailable, "the executable is not beside the tests"))
struct ModelsTests {
  /// Tests/Macros compiles the printed file, and reads all rows with its models.
  @Test func modelsWithMacrosMatchTheCompiledFile() throws {
    let folder = URL(filePath: #filePath).appending(path: "../../../../../Tests/Macros/Tests/PrintedModelTests")
      .standardizedFileURL
    func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }
    try withDirectory { directory in
      let db = try SqliteDatabase(
        filepath: directory + "/printed.sqlite", configuration: Configuration(foreignKeys: false))
      for statement in try text("PrintedModels.sql").components(separatedBy: ";\n") {
        let lines = statement.split(separator: "\n").filter { !$0.hasPrefix("--") }
        if !lines.isEmpty { try db.execute(SQL(verbatim: lines.joined(separator: "\n"))) }
      }
      try db.close()
      let run = try Program.tool.run(["models", "printed.sqlite", "--macro"], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      #expect(run.output == (try text("PrintedModels.swift")))
    }
  }

  @Test func modelsWithMacrosCanBePublic() throws {
    let text = try printedModels(
      ["CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT, UNIQUE (id, b))"], ["--macro", "--public"])
    #expect(
      text.hasSuffix(
        """

        @Sqlable public struct A {
          @PrimaryKey public var id: Int?
          public var b: String?
          public static let tableConstraints: [TableConstraint] = [Unique(id, b)]
        }

        """))
  }

  @Test func aTableIsPrintedAsAModel() throws {
    let text = try printedModels([
      "CREATE TABLE customer (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE UNIQUE)",
      """
      CREATE TABLE order_item (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id)
        ON DELETE CASCADE, price REAL NOT NULL DEFAULT 0.5 CHECK (price >= 0), total REAL AS (price * 2) STORED)
      """,
      "CREATE INDEX order_item_customer_id_price_desc ON order_item (customer_id, price DESC)",
    ])
    #expect(
      text == """
        // Models of the tables in shop.sqlite, written by: sqlable models

        import Sqlable

        struct Customer {
          var id: Int?
          var name: String
        }

        extension Customer: Sqlable {
          static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
          static let name = column("name", String.self, Collate.nocase, Unique())
          static let tableLayout = [id.column, name.column]

          init(row: ReadRow) throws {
            id = try row.get(Customer.id)
            name = try row.get(Customer.name)
          }

          func write(to row: inout RowWriter) throws {
            row.set(Customer.id, id)
            row.set(Customer.name, name)
          }
        }

        struct OrderItem {
          var id: Int?
          var customerId: Int
          var price: Double
          var total: Double?
        }

        extension OrderItem: Sqlable {
          static let id = column("id", Int.self, PrimaryKey())
          static let customerId = column("customer_id", Int.self, ForeignKey<Customer>(onDelete: .cascade))
          static let price = column("price", Double.self, Default(0.5))
          static let total = column("total", Double?.self, Generated("price * 2", stored: true))
          static let tableLayout = [id.column, customerId.column, price.column, total.column]
          static let tableIndexes = [Index(customerId, price.desc)]
          static let tableConstraints: [TableConstraint] = [Check("price >= 0")]

          init(row: ReadRow) throws {
            id = try row.get(OrderItem.id)
            customerId = try row.get(OrderItem.customerId)
            price = try row.get(OrderItem.price)
            total = try row.get(OrderItem.total)
          }

          func write(to row: inout RowWriter) throws {
            row.set(OrderItem.id, id)
            row.set(OrderItem.customerId, customerId)
            row.set(OrderItem.price, price)
          }
        }

        """)
  }

  @Test func namesBecomeSwiftNames() {
    var types = SwiftNames(reserving: SwiftNames.reservedTypes)
    let tables = [
      "order_item", "OrderItem", "HTTPServer", "USERS", "order \"x\"", "größe", "🚲", "2fa", "index", "Type", "",
      "a.b-c",
    ]
    #expect(
      tables.map { types.type(for: $0) } == [
        "OrderItem", "OrderItem2", "HTTPServer", "Users", "OrderX", "Größe", "Table", "_2fa", "IndexRow", "TypeRow",
        "Table2", "ABC",
      ])
    var properties = SwiftNames(reserving: SwiftNames.reservedProperties)
    let columns = [
      "unit_price", "unitPrice", "URL", "userID", "HTTPStatus", "default", "self", "table_name", "1st", "日本", "a b",
      "a_b", "!", "ID", "\u{202e}evil",
    ]
    #expect(
      columns.map { properties.property(for: $0) } == [
        "unitPrice", "unitPrice2", "url", "userID", "httpStatus", "`default`", "selfValue", "tableNameValue", "_1st",
        "日本", "aB", "aB2", "value", "id", "evil",
      ])
  }

  @Test func undeclarablePartsBecomeComments() throws {
    let text = try printedModels([
      "CREATE TABLE t (a TEXT, b INT REFERENCES gone (x), c INT NOT NULL ON CONFLICT FAIL REFERENCES t (b), "
        + "UNIQUE (a) ON CONFLICT ROLLBACK, PRIMARY KEY (a COLLATE NOCASE))",
      "CREATE TRIGGER hook AFTER INSERT ON t BEGIN SELECT 1; END",
      "CREATE VIEW lost AS SELECT * FROM nowhere", "CREATE TABLE empty (\"\" TEXT)",
    ])
    #expect(
      text.hasPrefix(
        """
        // Models of the tables in shop.sqlite, written by: sqlable models
        // empty has no model: the table has an empty name or no column with a name
        // lost can't be read: no such table: main.nowhere

        import Sqlable

        // The table allows NULL in the key.
        // Parts of the table that the model does not declare:
        //   c NOT NULL ON CONFLICT FAIL
        //   PRIMARY KEY (a COLLATE NOCASE)
        //   UNIQUE (a) ON CONFLICT ROLLBACK
        //   FOREIGN KEY (b) REFERENCES gone (x)
        //   FOREIGN KEY (c) REFERENCES t (b)
        //   CREATE TRIGGER hook AFTER INSERT ON t BEGIN SELECT 1; END
        struct T {
        """))
  }

  @Test func namesConflictsAndIndexesOfTermsAreDeclared() throws {
    let text = try printedModels([
      "CREATE TABLE p (id INTEGER CONSTRAINT k PRIMARY KEY ON CONFLICT REPLACE, code TEXT UNIQUE)",
      """
      CREATE TABLE t (a TEXT NOT NULL ON CONFLICT IGNORE CONSTRAINT one UNIQUE ON CONFLICT REPLACE, \
      b INTEGER CONSTRAINT up REFERENCES p (code), c TEXT CONSTRAINT full NOT NULL, CONSTRAINT one CHECK (b > 0), \
      CONSTRAINT "it's" CHECK (b < 9), \
      CONSTRAINT pk PRIMARY KEY (a, b) ON CONFLICT IGNORE)
      """,
      "CREATE UNIQUE INDEX part ON t (a DESC) WHERE b > 0", "CREATE INDEX expression ON t (lower(a), b + 1 DESC)",
      "CREATE INDEX collated ON t (a COLLATE NOCASE)",
    ])
    for line in [
      #"static let id = column("id", Int.self, PrimaryKey(onConflict: .replace, name: "k"))"#,
      #"NotNull(onConflict: .ignore), Unique(onConflict: .replace, name: "one")"#,
      #"ForeignKey<P>(column: P.code, name: "up")"#,
      #"static let c = column("c", String.self, NotNull(name: "full"))"#,
      #"PrimaryKeys(a, b, onConflict: .ignore, name: "pk")"#, #"Check("b > 0")"#, #"Check("b < 9", name: "it's")"#,
      #"Index(IndexColumn(sql: "a COLLATE NOCASE"), name: "collated")"#,
      #"Index(IndexColumn(sql: "lower(a)"), IndexColumn(sql: "b + 1", descending: true), name: "expression")"#,
      #"Index(a.desc, unique: true, where: "b > 0", name: "part")"#,
    ] { #expect(text.contains(line), "\(line) in \(text)") }
    #expect(!text.contains("does not declare"))
  }

  @Test func commandLineOptionsAreApplied() throws {
    let tables = [
      "CREATE TABLE a (x INTEGER, note TEXT NOT NULL)", "INSERT INTO a VALUES (1, ''), (2, ''), ('three', '')",
      "CREATE TABLE b (a_id INTEGER REFERENCES a (x))", "CREATE VIEW c AS SELECT x FROM a",
    ]
    let one = try printedModels(tables, ["--table", "B", "--public"])
    #expect(
      one.contains(
        "public struct B {\n  public var aId: Int?\n\n  public init(aId: Int? = nil) {\n    self.aId = aId\n"))
    #expect(one.contains("public static let tableLayout"))
    #expect(one.contains("public init(row: ReadRow) throws {"))
    #expect(one.contains("//   FOREIGN KEY (a_id) REFERENCES a (x)"))
    #expect(!one.contains("struct A"))
    let sample = try printedModels(tables, ["--table=a", "--table=c", "--sample=2"])
    #expect(sample.contains("// The property types fit the first 2 rows of each table.\n"))
    #expect(sample.contains(#"static let x = column("x", Int?.self)"#))
    #expect(sample.contains("struct C {"))
    #expect(try printedModels(tables, ["--table=a"]).contains("struct StoredValue: SqlValue {"))
  }

  @Test func commandLineMistakeExitsWithCode2() throws {
    try withDirectory { directory in
      try SqliteDatabase(filepath: directory + "/a").close()
      for (arguments, error) in [
        (["models"], "Missing expected argument '<database>'"), (["schema", "a", "b"], "Unexpected argument 'b'"),
        (
          ["models", "a", "--sample=0"], "The value '0' is invalid for '--sample <count>': expected a number from 1 to "
        ),
        (["models", "a", "--sample", "few"], "The value 'few' is invalid for '--sample <count>': expected a number "),
        (["models", "a", "--table=x"], "--table: no such table or view: x\n"),
        (["schema", "a", "--table=x"], "Unknown option '--table'"),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == 2, "\(arguments)")
        #expect(run.output == "", "\(arguments)")
        #expect(run.errors.hasPrefix("sqlable: \(error)"), "\(arguments): \(run.errors)")
        #expect(run.errors.contains("\nUsage: sqlable \(arguments[0]) <database>"), "\(arguments): \(run.errors)")
      }
      for subcommand in ["models", "schema"] {
        let help = try Program.tool.run([subcommand, "--help"], in: directory)
        #expect(help.exitCode == 0)
        #expect(help.output.contains("\nUSAGE: sqlable \(subcommand) <database> "))
        let missing = try Program.tool.run([subcommand, "missing"], in: directory)
        #expect(missing == Program.Run(exitCode: 1, output: "", errors: "sqlable: missing: no such file\n"))
      }
    }
  }

  @Test func aDatabaseInUseIsReadAndStaysAsItIs() throws {
    for mode in [Configuration.JournalMode.wal, .delete] {
      try withDirectory { directory in
        let path = directory + "/shop.sqlite"
        let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
        try db.createTable(Seat.self)
        try db.beginTransaction()
        try db.execute("CREATE TABLE uncommitted (a)")
        let before = (try Data(contentsOf: URL(fileURLWithPath: path)), files(in: directory))
        for subcommand in ["models", "schema"] {
          let run = try Program.tool.run([subcommand, "shop.sqlite"], in: directory)
          #expect(run.exitCode == 0)
          #expect(run.errors == "")
          #expect(run.output.lowercased().contains("seat"))
          #expect(!run.output.contains("uncommitted"))
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before.0)
        #expect(files(in: directory) == before.1)
        try db.rollbackTransaction()
      }
    }
  }

  // MARK: The schema

  @Test func printedSQLCreatesTheSameSchema() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/shop.sqlite")
      for model: any Sqlable.Type in [Person.self, Bicycle.self, Seat.self, Story.self, Memo.self] {
        try db.createTable(model)
      }
      try db.execute("CREATE VIEW old AS SELECT id,\r\n\tname FROM bicycle -- a comment\n WHERE name <> ';'")
      try db.execute("CREATE TRIGGER hook INSTEAD OF DELETE ON old BEGIN DELETE FROM bicycle WHERE id = old.id; END")
      let run = try Program.tool.run(["schema", "shop.sqlite"], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      let copy = try SqliteDatabase(filepath: directory + "/copy.sqlite")
      try copy.execute(run.output)
      #expect(try copy.schema() == db.schema())
      #expect(try db.schema().tables.count == 6)
      let json = try Program.tool.run(["schema", "shop.sqlite", "--json"], in: directory)
      #expect(try JSONDecoder().decode(DatabaseSchema.self, from: Data(json.output.utf8)) == db.schema())
    }
  }
}
