import ArgumentParser
import Foundation
import Sqlable

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares the schema of a database with another database, or with a stored schema.",
    discussion: """
      Prints the differences of a database's schema from the expected schema. Both are only read.

      Harmless additions are printed, and are not a failure: tables, columns that may be NULL or have a default, \
      indexes that are not unique, triggers.

      Exit codes: 0 the schemas match, 1 they differ, or a file is unreadable, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Argument(
    help: """
      The output of sqlable schema --json, in a file with the extension .json, or - for the standard input; or another \
      database.
      """)
  var expected: String

  @Flag(help: "Print the differences as JSON.")
  var json = false

  func run() throws {
    let expected =
      self.expected == "-" || self.expected.hasSuffix(".json")
      ? try decoded(DatabaseSchema.self, from: self.expected, "schema printed by sqlable schema --json")
      : try withReadOnlyDatabase(self.expected) { try $0.schema() }
    let actual = try withReadOnlyDatabase(database) { try $0.schema() }
    let differences = actual.differences(from: expected)
    let lines = differences.map { "\($0)\($0.isHarmless ? " (harmless)" : "")\n".visible(keeping: ["\t", "\n"]) }
    Output.write(json ? try Output.json(differences) : lines.joined(), to: STDOUT_FILENO)
    if !differences.allSatisfy(\.isHarmless) { throw ExitCode.failure }
  }
}
