import Foundation
import Glibc
import Sqlable
import SqlablePolicies
import Testing

/// Tests of `sqlable explain` as a separate process, on real files.
@Suite(.enabled(if: Program.tool.isAvailable, "the executable is not beside the tests"))
struct ExplainTests {
  private let reds = #"{"read":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}"#

  /// Calls `body` with a directory that contains a closed database.
  private func withGarage(
    _ mode: Configuration.JournalMode = .wal, named name: String = "garage.sqlite", _ body: (String) throws -> Void
  ) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/" + name, configuration: .init(journalMode: mode))
      for model: any Sqlable.Type in [Person.self, Bicycle.self, Car.self, Seat.self] { try db.createTable(model) }
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      try db.close()
      try body(directory)
    }
  }

  private func explain(
    _ document: String, _ options: [String] = [], database: String = "garage.sqlite", in directory: String
  ) throws -> Program.Run {
    try Data(document.utf8).write(to: URL(fileURLWithPath: directory + "/statement.json"))
    defer { unlink(directory + "/statement.json") }
    return try Program.tool.run(
      ["explain", "statement.json", "--database", database] + options, in: directory)
  }

  private func json(_ run: Program.Run) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run.errors)")
  }

  @Test func explainPrintsSQLPlanAndAdvice() throws {
    try withGarage { directory in
      let run = try explain(
        #"""
        {"read":{"from":"bicycle","limit":10,"orderBy":[{"asc":{"column":"owner_id"}}],
          "where":{"=":[{"column":"owner_id"},7]}},"sqlable":1}
        """#, in: directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      #expect(
        run.output == """
          Statement
            read, which reads only

          SQL
            SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" = ? ORDER BY "owner_id" LIMIT ?

          Values, as they were given
            1  INTEGER  7
            2  INTEGER  10

          Plan
            SCAN bicycle

          Indexes
            bicycle is scanned completely
            CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")
            then the plan is
              SEARCH bicycle USING INDEX bicycle_owner_id (owner_id=?)

          """)
    }
  }

  @Test func explainPrintsJSON() throws {
    try withGarage { directory in
      let statement = Bicycle.read()
        .filter(Bicycle.name == "it's" && Bicycle.ownerId.in([1, 9_007_199_254_740_993]) && Bicycle.id > 0.5)
      let run = try explain(String(decoding: statement.json(), as: UTF8.self), ["--json"], in: directory)
      let json = try json(run)
      #expect(json["sql"] as? String == statement.sql)
      #expect(json["kind"] as? String == "read")
      #expect(json["readOnly"] as? Bool == true)
      #expect(json["policy"] == nil)
      let values = try #require((json["values"] as? [[Any]])?.first)
      #expect(values.map { "\($0)" } == ["it's", "1", #"["integer": "9007199254740993"]"#, #"["real": 0.5]"#])
      let steps = try #require(json["plan"] as? [[String: Any]])
      #expect(steps.compactMap { $0["detail"] as? String }.first?.contains("bicycle") == true)
    }
  }

  /// Both tables have a column `name` of the same type.
  @Test func anIndexIsProposedForTheTableOfItsColumn() throws {
    try withGarage { directory in
      let anna = Bicycle.read().joining(Person.self, on: Bicycle.ownerId == Person.id).filter(Person.name == "Anna")
      let run = try explain(String(decoding: anna.asSelect().json(), as: UTF8.self), ["--json"], in: directory)
      let indexes = try #require(try json(run)["indexes"] as? [[String: Any]])
      #expect(indexes.compactMap { $0["sql"] as? String }.contains(#"CREATE INDEX "person_name" ON "person" ("name")"#))
    }
  }

  @Test func explainRunsNothingAndLeavesTheDatabaseUnchanged() throws {
    for mode in [Configuration.JournalMode.wal, .delete] {
      try withGarage(mode) { directory in
        let path = URL(fileURLWithPath: directory + "/garage.sqlite")
        let before = (try Data(contentsOf: path), files(in: directory))
        for document in [
          reds, #"{"delete":{"all":true,"from":"bicycle"},"sqlable":1}"#,
          #"{"insert":{"into":"person","rows":[{"name":"a"},{"name":"b"}]},"sqlable":1}"#,
          #"{"sqlable":1,"update":{"set":[{"column":"color","to":"x"}],"table":"bicycle","where":1}}"#,
        ] {
          let run = try explain(document, in: directory)
          #expect(run.exitCode == 0)
          #expect(run.errors == "")
        }
        #expect(try Data(contentsOf: path) == before.0)
        #expect(files(in: directory) == before.1)
      }
    }
  }

  /// The latest commits of the open database are in the WAL.
  @Test func aDatabaseThatAnotherProgramHasOpenIsReadWithItsLog() throws {
    try withGarage { directory in
      let db = try SqliteDatabase(filepath: directory + "/garage.sqlite")
      try db.createTable(Worker.self)
      let before = files(in: directory)
      #expect(before.contains("garage.sqlite-wal"))
      let run = try explain(#"{"count":{"from":"worker"},"sqlable":1}"#, in: directory)
      #expect(run.exitCode == 0, "\(run.errors)")
      #expect(run.output.contains(#"SELECT count(*) FROM "worker""#), "\(run.errors)")
      #expect(files(in: directory) == before)
      try Worker(id: 1, name: "Ann", bossId: nil, salary: 1).insert().run(db)
      try db.close()
    }
  }

  @Test func fileNameIsNotTreatedAsAURI() throws {
    for name in ["a?mode=rw#b%41 é.sqlite", "file:garage.sqlite"] {
      try withGarage(named: name) { directory in
        let before = files(in: directory)
        let run = try explain(reds, database: directory + "/" + name, in: directory)
        #expect(run.exitCode == 0)
        #expect(run.errors == "")
        #expect(try explain(reds, database: "./" + name, in: directory) == run)
        #expect(files(in: directory) == before)
      }
    }
  }

  @Test func anInvalidDocumentIsReportedWithItsPlace() throws {
    try withGarage { (directory: String) throws -> Void in
      func errors(_ document: String, _ options: [String] = []) throws -> String {
        let run = try explain(document, options, in: directory)
        #expect(run.exitCode == 1)
        #expect(run.output == "")
        return run.errors
      }
      #expect(
        try errors(#"{"read":{"from":"bicycle","where":{"=":[{"column":"colour"},"red"]}},"sqlable":1}"#)
          == "sqlable: statement.json: read.where.=[0].column: table bicycle has no column colour\n")
      #expect(
        try errors(#"{"read":{"from":"bike"},"sqlable":1}"#)
          == "sqlable: statement.json: read.from: unknown table; add the table's model to the rules of the decoder\n")
      #expect(
        try errors("{").hasPrefix("sqlable: statement.json: the document is not valid JSON at byte "))
      #expect(
        try errors(#"{"read":{"from":"bicycle","where":{"=":[{"column":"color"},3]}},"sqlable":1}"#)
          == "sqlable: statement.json: read.where.=: expected TEXT, found INTEGER\n")
      // Control characters, which could move the terminal's cursor, are escaped.
      #expect(
        try errors(#"{"read":{"from":"bicycle","where":{"column":"a\u001b[2J\n"}},"sqlable":1}"#)
          == "sqlable: statement.json: read.where.column: table bicycle has no column a\\u{1b}[2J\\u{a}\n")
    }
  }

  @Test func controlCharactersInValuesAreEscaped() throws {
    try withGarage { directory in
      let run = try explain(
        #"{"read":{"from":"bicycle","where":{"=":[{"column":"name"},"it's\u001b[2J\u202e\n é"]}},"sqlable":1}"#,
        in: directory)
      #expect(run.output.contains(#"1  TEXT  'it''s\u{1b}[2J\u{202e}\u{a} é'"#))
    }
  }

  @Test func documentIsReadFromTheStandardInput() throws {
    try withGarage { directory in
      let run = try Program.tool.run(["explain", "-", "--database=garage.sqlite"], in: directory, input: reds)
      #expect(run.exitCode == 0)
      #expect(run.output.contains("SELECT"))
      let wrong = try Program.tool.run(["explain", "-", "--database=garage.sqlite"], in: directory, input: "[]")
      #expect(wrong.exitCode == 1)
      #expect(wrong.errors == "sqlable: the standard input: a statement must be an object\n")
    }
  }

  /// The database does not show which numbers and texts are dates.
  @Test func aColumnOfDatesIsNamed() throws {
    try withGarage { directory in
      let years = try Car.select(Car.name).filter(Car.soldAt.year() == 2024).json()
      let document = String(decoding: years, as: UTF8.self)
      #expect(try explain(document, in: directory).exitCode == 1)
      let run = try explain(
        document, ["--column", "car.sold_at=date.unixSecondsWithFraction"], in: directory)
      #expect(run.output.contains(#"CAST(strftime('%Y', "sold_at", 'unixepoch') AS INTEGER) = ?"#), "\(run.errors)")
      for (option, error) in [
        ("car.sold=date.iso8601", "--column: table car has no column sold"),
        ("cars.sold_at=date.iso8601", "--column: no such table: cars"),
        ("car.sold_at=date", "'--column <table.column=type>': unknown type date"),
        ("sold_at=real", "'--column <table.column=type>': expected TABLE.COLUMN=TYPE"),
      ] {
        let run = try explain(document, ["--column=" + option], in: directory)
        #expect(run.exitCode == 2, "\(run.errors)")
        #expect(run.errors.contains("\(error)\n"), "\(run.errors)")
        #expect(run.errors.contains("\nUsage: sqlable explain <statement>"), "\(run.errors)")
      }
    }
  }

  // MARK: Policies

  private let policy = StatementPolicy(
    .table(Bicycle.self).readingAll().filtering(Bicycle.color, by: .equality).rows(where: Bicycle.ownerId == 7))

  @Test func allowedStatementShowsThePolicysConditions() throws {
    try withGarage { directory in
      try policy.json().write(to: URL(fileURLWithPath: directory + "/policy.json"))
      let run = try explain(reds, ["--policy", "policy.json"], in: directory)
      #expect(run.exitCode == 0)
      #expect(
        run.output.contains(
          """
          SQL
            SELECT "id", "name", "color", "owner_id" FROM "bicycle" \
          WHERE "owner_id" = ? AND "color" = ? ORDER BY "id" LIMIT ?

          Values, as they were given
            1  INTEGER  7
            2  TEXT  'red'
            3  INTEGER  100

          """))
      #expect(
        run.output.hasSuffix("\nPolicy\n  allows the statement; the SQL above includes the policy's additions\n"))
      let form = try json(try explain(reds, ["--json", "--policy", "policy.json"], in: directory))["policy"]
      #expect((form as? [String: Any])?["allows"] as? Bool == true)
    }
  }

  @Test func policyRefusesAStatement() throws {
    try withGarage { directory in
      try policy.json().write(to: URL(fileURLWithPath: directory + "/policy.json"))
      let document = #"{"read":{"from":"car"},"sqlable":1}"#
      let run = try explain(document, ["--policy", "policy.json"], in: directory)
      #expect(run.exitCode == 1)
      #expect(run.errors == "")
      #expect(
        run.output.hasSuffix("\nPolicy\n  refuses the statement: read.from: the policy does not allow this\n"))
      let json = try json(explain(document, ["--json", "--policy", "policy.json"], in: directory))
      let form = try #require(json["policy"] as? [String: Any])
      #expect(form["allows"] as? Bool == false)
      #expect(form["path"] as? String == "read.from")
      #expect(form["message"] as? String == "the policy does not allow this")
    }
  }

  @Test func aPlanThatVisitsMoreRowsThanThePolicyAllowsIsRefused() throws {
    try withGarage { directory in
      var policy = StatementPolicy(.table(Bicycle.self).readingAll().filtering(Bicycle.ownerId, by: .equality))
      let document = #"{"read":{"from":"bicycle","where":{"=":[{"column":"owner_id"},7]}},"sqlable":1}"#
      let options = ["--policy", "policy.json"]
      for (rows, code) in [(1, 0), (0, 1)] as [(Int, Int32)] {
        policy.limits.scannedRows = rows
        try policy.json().write(to: URL(fileURLWithPath: directory + "/policy.json"))
        let run = try explain(document, options, in: directory)
        #expect(run.exitCode == code)
        #expect(run.errors == "")
        #expect(run.output.contains("the statement would scan more rows than the policy allows") == (code == 1))
      }
    }
  }

  @Test func policyTakesParametersFromTheCommandLine() throws {
    try withGarage { directory in
      let text =
        #"{"policy":{"tables":{"bicycle":{"read":true,"filter":{"color":["equality"]},"rows":"#
        + #"{"=":[{"column":"owner_id"},{"parameter":"tenant"}]}}}},"sqlable":1}"#
      try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/policy.json"))
      let options = ["--policy", "policy.json"]
      let run = try explain(reds, options + ["--parameter", "tenant=7"], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.output.contains("1  INTEGER  7\n"))
      let without = try explain(reds, options, in: directory)
      #expect(without.exitCode == 1)
      #expect(
        without.errors
          == "sqlable: policy.json: policy.tables.bicycle.rows: parameter tenant of the policy has no value\n")
      let wrong = try explain(reds, options + ["--parameter", #"tenant="seven""#], in: directory)
      #expect(wrong.exitCode == 1)
      #expect(wrong.errors.contains("expected INTEGER, found TEXT"))
      let usage = try explain(reds, ["--parameter", "tenant=7"], in: directory)
      #expect(usage.exitCode == 2)
      #expect(usage.errors.hasPrefix("sqlable: --parameter needs --policy\n"))
    }
  }

  // MARK: The command line

  @Test func commandLineMistakeExitsWithCode2() throws {
    try withGarage { directory in
      for (arguments, error) in [
        (["explain"], "Missing expected argument '<statement>'"),
        (["explain", "a", "b", "--database=c"], "Unexpected argument 'b'"),
        (["explain", "a"], "Missing expected argument '--database <path>'"),
        (["explain", "a", "--database"], "Missing value for '--database <path>'"),
        (["explain", "a", "--database=b", "--databse", "b"], "Unknown option '--databse'. Did you mean '--database'?"),
        (
          ["explain", "a", "--database=b", "--policy=c", "--parameter=d=[]"],
          "The value 'd=[]' is invalid for '--parameter <name=value>': expected a value in the JSON of documents, "
            + "such as 7 or \"red\""
        ),
        (["expl"], "unknown subcommand 'expl'; did you mean 'explain'?"), ([], "a subcommand is missing"),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == 2, "\(arguments)")
        #expect(run.output == "", "\(arguments)")
        #expect(run.errors.hasPrefix("sqlable: \(error)\n"), "\(arguments): \(run.errors)")
        #expect(run.errors.contains("\nUsage: sqlable "), "\(arguments): \(run.errors)")
      }
      for arguments in [["--help"], ["-h"], ["explain", "--help"]] {
        let help = try Program.tool.run(arguments, in: directory)
        #expect(help.exitCode == 0)
        #expect(help.output.contains("\nUSAGE: sqlable "))
        #expect(help.errors == "")
      }
    }
  }

  @Test func unreadableFileExitsWithCode1() throws {
    try withGarage { directory in
      try Data("no database, and long enough for one".utf8).write(to: URL(fileURLWithPath: directory + "/text"))
      for (database, error) in [
        ("missing.sqlite", "sqlable: missing.sqlite: no such file\n"),
        ("text", "sqlable: SqlError.notADatabase [text]"),
      ] {
        let run = try explain(reds, database: database, in: directory)
        #expect(run.exitCode == 1, "\(run.errors)")
        #expect(run.output == "", "\(run.errors)")
        #expect(run.errors.hasPrefix(error), "\(run.errors)")
      }
      let run = try Program.tool.run(["explain", "missing.json", "--database", "garage.sqlite"], in: directory)
      #expect(run == Program.Run(exitCode: 1, output: "", errors: "sqlable: missing.json: can't read the file\n"))
      #expect(files(in: directory) == ["garage.sqlite", "text"])
    }
  }
}
