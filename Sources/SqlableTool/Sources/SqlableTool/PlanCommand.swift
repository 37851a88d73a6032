import ArgumentParser
import Foundation
import Sqlable

struct PlanCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Shows a stored plan of schema changes, and whether it fits a database.",
    discussion: """
      Prints the steps of a plan with their SQL, and whether the plan fits the schema of the database. A program \
      stores a plan with JSONEncoder().encode(try schema.plan(db)). Nothing is changed; see sqlable migrate.

      Exit codes: 0 the plan can be applied, 1 it can't, or a file is unreadable, 2 a mistake on the command line.
      """)

  @Argument(help: "The file with the plan, or - for the standard input.")
  var plan: String

  @Option(help: ArgumentHelp("The database.", valueName: "path"))
  var database: String

  func run() throws {
    let plan = try decoded(SchemaPlan.self, from: self.plan, "plan")
    Output.write(plan.description.visible(keeping: ["\t", "\n"]) + "\n", to: STDOUT_FILENO)
    try withReadOnlyDatabase(database) { db in try plan.check(db) }
    if let question = plan.questions.first {
      throw FileProblem(description: "the plan needs renamed: or notRenamed: to answer the question: \(question)")
    }
  }
}
