import Foundation
import Sqlable

/// `sqlable plan`: shows a plan that a program has stored, and whether a database can take it.
struct PlanCommand: Subcommand {
  static let name = "plan"
  static let summary = "shows a stored plan of schema changes, and whether it fits a database"
  static let usage = """
    Usage: sqlable plan PLAN --database PATH

    Prints the steps of a plan with their SQL, and says whether the database has the schema for which it was made.
    A program stores a plan with JSONEncoder().encode(try schema.plan(db)). Nothing is changed; see sqlable migrate.

      PLAN                         the file with the plan, or - for the standard input
      --database PATH              the database

    Exit codes: 0 the plan can be applied, 1 it can't be, or a file can't be read, 2 a mistake on the command line.
    """
  static let options: Set<String> = ["--database"]
  static let flags: Set<String> = []

  private let plan: String
  private let database: String

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 1 else {
      throw UsageError(description: "plan takes one plan, not \(arguments.words.count)")
    }
    guard let database = try arguments.value("--database") else {
      throw UsageError(description: "plan needs --database")
    }
    (plan, self.database) = (arguments.words[0], database)
  }

  func run() throws -> Int32 {
    let plan = try decoded(SchemaPlan.self, from: self.plan, "plan")
    Output.write(plan.description.visible(keeping: ["\t", "\n"]) + "\n", to: STDOUT_FILENO)
    try withReadOnlyDatabase(database) { db in try plan.check(db) }
    if let question = plan.questions.first { throw FileProblem(description: "the plan has a question: \(question)") }
    return 0
  }
}
