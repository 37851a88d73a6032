import ArgumentParser
import Foundation
import Sqlable

struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Shows the processes, table sizes, settings and problems of a database.",
    discussion: """
      Prints the processes that have a database open and the locks that they hold, the pages of each table and index, \
      unusual settings, and problems: damage, orphaned rows, tables without statistics, foreign keys and indexes that \
      cost time, and a WAL that does not shrink. The database is only read, also while programs write to it.

      Exit codes: 0 no problems, 1 problems, or an unreadable file, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Option(
    name: .customLong("statement"),
    help: ArgumentHelp(
      "The document of a statement that the program runs; repeatable. Indexes that no document uses are listed.",
      valueName: "file"))
  var statements: [String] = []

  @Flag(help: "Skip the checks of integrity and foreign keys, which read the whole database.")
  var noCheck = false

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    // Start the report before this process opens the database, so that the report shows only other users of the file.
    var report = DoctorReport(path: database)
    try withReadOnlyDatabase(database) { db in
      report.examine(db)
      if !noCheck { report.check(db) }
      if !statements.isEmpty { try report.findUnusedIndexes(db, used: indexesUsed(by: statements, db)) }
    }
    report.explainLog()
    Output.write(json ? try Output.json(report) : report.text.visible(keeping: ["\t", "\n"]), to: STDOUT_FILENO)
    if !report.problems.isEmpty { throw ExitCode.failure }
  }

  private func indexesUsed(by paths: [String], _ db: SqliteDatabase) throws -> Set<String> {
    let tables = try DeclaredTable.all(in: db, [:])
    let rules = StatementRules(models: DatabaseModels.models(of: tables), tables: Set(tables.map(\.name)))
    var used: Set<String> = []
    for path in paths {
      let statement: AnyStatement
      do { statement = try AnyStatement(json: contents(of: path), rules: rules) } catch let error as SqlError {
        throw FileProblem(description: "\(path): \(error.placedMessage)")
      }
      for step in try statement.explain(db).steps {
        // For example: SEARCH bicycle USING COVERING INDEX bicycle_name (name=?)
        guard let start = step.detail.range(of: " INDEX ") else { continue }
        let name = step.detail[start.upperBound...]
        used.insert(String(name.range(of: " (").map { name[..<$0.lowerBound] } ?? name))
      }
    }
    return used
  }
}
