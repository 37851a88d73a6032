import ArgumentParser
import Foundation
import Sqlable
import SqlableRecovery

struct SalvageCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Recovers the rows of a damaged database into a new file.",
    discussion: """
      Reads the pages of a damaged database and of its WAL, writes the rows into a new file, and prints the recovered \
      and the lost rows of each table. The damaged file and the backup are only read.

      Exit codes: 0 all rows recovered, 1 rows lost, or a file is unreadable or not writable, 2 a mistake on the \
      command line.
      """)

  @Argument(help: "The damaged database; no program should have the file open.")
  var damaged: String

  @Argument(help: "The new file, which must not exist.")
  var output: String

  @Option(
    help: ArgumentHelp(
      "An older copy of the database, which supplies lost parts of the schema and the rows of lost pages.",
      valueName: "file"))
  var backup: String?

  @Flag(help: "Put rows that were probably deleted into the table lost_and_found.")
  var keepDeleted = false

  @Flag(help: "Print the JSON of SalvageReport.")
  var json = false

  func run() throws {
    var salvage = Salvage(damaged: damaged, backup: backup)
    salvage.keepsPossiblyDeleted = keepDeleted
    let report = try ProgressLine.during { line in
      line.begin("reading the file")
      salvage.progress = { progress in
        switch progress {
        case .pages(let known, let total): line.report(known, of: total, .pages, in: "recovering")
        case .indexes: line.begin("creating indexes")
        }
      }
      return try salvage.recover(into: output)
    }
    Output.write(try json ? Output.json(report) : "\(report)\n".visible(keeping: ["\n"]), to: STDOUT_FILENO)
    if !report.isComplete { throw ExitCode.failure }
  }
}
