import Foundation
import Sqlable

/// `sqlable verify`: compares the schema of a database with the one that it should have.
struct VerifyCommand: Subcommand {
  static let name = "verify"
  static let summary = "compares the schema of a database with that of another, or with one that was stored"
  static let usage = """
    Usage: sqlable verify PATH EXPECTED [--json]

    Prints how the schema of a database differs from the one that it should have. Both are only read.

      PATH                         the database
      EXPECTED                     what `sqlable schema --json` printed, in a file whose name ends with .json, or - for
                                   the standard input; or another database
      --json                       print the differences as JSON

    What the database has beside the expected schema is printed, and is no failure where programs that know only that
    do not notice it: tables, columns that may be NULL or have a default, indexes that are not unique, triggers.

    Exit codes: 0 it has the schema, 1 it has another, or a file can't be read, 2 a mistake on the command line.
    """
  static let options: Set<String> = []
  static let flags: Set<String> = ["--json"]

  private let database: String
  private let expected: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 2 else {
      throw UsageError(description: "verify takes a database and the expected schema")
    }
    (database, expected) = (arguments.words[0], arguments.words[1])
    isJSON = arguments.has("--json")
  }

  func run() throws -> Int32 {
    let expected =
      self.expected == "-" || self.expected.hasSuffix(".json")
      ? try decoded(DatabaseSchema.self, from: self.expected, "schema as sqlable schema --json prints it")
      : try withReadOnlyDatabase(self.expected) { try $0.schema() }
    let found = try withReadOnlyDatabase(database) { try $0.schema() }
    let differences = found.differences(from: expected)
    let lines = differences.map { "\($0)\($0.isHarmless ? " (harmless)" : "")\n".visible(keeping: ["\t", "\n"]) }
    Output.write(isJSON ? try Output.json(differences) : lines.joined(), to: STDOUT_FILENO)
    return differences.allSatisfy(\.isHarmless) ? 0 : 1
  }
}
