import Foundation
import Sqlable

/// `sqlable salvage`: recovers the rows of a damaged database.
struct SalvageCommand: Subcommand {
  static let name = "salvage"
  static let summary = "recovers the rows of a damaged database into a new file"
  static let usage = """
    Usage: sqlable salvage DAMAGED OUTPUT [--backup FILE] [--keep-deleted] [--json]

    Reads the pages of a damaged database and of its log, writes the rows that are there into a new file, and prints
    for each table what came back and what did not. The damaged file and the backup are only read.

      DAMAGED                      the damaged database, which no program has open
      OUTPUT                       the new file, which must not exist
      --backup FILE                an older copy: it supplies lost parts of the schema and the rows of lost pages
      --keep-deleted               puts rows that were probably deleted into the table lost_and_found
      --json                       print the JSON of SalvageReport

    Exit codes: 0 everything came back, 1 something is lost, or a file can't be read or written, 2 a mistake on the
    command line.
    """
  static let options: Set<String> = ["--backup"]
  static let flags: Set<String> = ["--keep-deleted", "--json"]

  private let damaged: String
  private let output: String
  private let backup: String?
  private let keepsDeleted: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 2 else {
      throw UsageError(description: "salvage takes a damaged database and the name of the new file")
    }
    (damaged, output) = (arguments.words[0], arguments.words[1])
    backup = try arguments.value("--backup")
    keepsDeleted = arguments.has("--keep-deleted")
    isJSON = arguments.has("--json")
  }

  func run() throws -> Int32 {
    var salvage = Salvage(damaged: damaged, backup: backup)
    salvage.keepsPossiblyDeleted = keepsDeleted
    let report = try salvage.recover(into: output)
    Output.write(try isJSON ? Output.json(report) : "\(report)\n".visible(keeping: ["\n"]), to: STDOUT_FILENO)
    return report.isComplete ? 0 : 1
  }
}
