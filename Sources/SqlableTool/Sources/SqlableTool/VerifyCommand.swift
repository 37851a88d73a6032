import ArgumentParser
import Foundation
import Sqlable

/// `sqlable verify`: compares the schema of a database with the one that it should have.
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares the schema of a database with that of another, or with one that was stored.",
    discussion: """
      Prints how the schema of a database differs from the one that it should have. Both are only read.

      What the database has beside the expected schema is printed, and is no failure where programs that know only \
      that do not notice it: tables, columns that may be NULL or have a default, indexes that are not unique, triggers.

      Exit codes: 0 it has the schema, 1 it has another, or a file can't be read, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Argument(
    help: """
      What sqlable schema --json printed, in a file whose name ends with .json, or - for the standard input; or \
      another database.
      """)
  var expected: String

  @Flag(help: "Print the differences as JSON.")
  var json = false

  func run() throws {
    let expected =
      self.expected == "-" || self.expected.hasSuffix(".json")
      ? try decoded(DatabaseSchema.self, from: self.expected, "schema as sqlable schema --json prints it")
      : try withReadOnlyDatabase(self.expected) { try $0.schema() }
    let actual = try withReadOnlyDatabase(database) { try $0.schema() }
    let differences = actual.differences(from: expected)
    let lines = differences.map { "\($0)\($0.isHarmless ? " (harmless)" : "")\n".visible(keeping: ["\t", "\n"]) }
    Output.write(json ? try Output.json(differences) : lines.joined(), to: STDOUT_FILENO)
    if !differences.allSatisfy(\.isHarmless) { throw ExitCode.failure }
  }
}
