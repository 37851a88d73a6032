import ArgumentParser
import Foundation
import Sqlable
import SqlableBackup

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Replaces the contents of a database with those of a backup, while programs have it open.",
    discussion: """
      Checks a backup, and replaces the contents of a database with those of the backup, in one transaction. Programs \
      may have the database open: they read the old contents or the new ones, and writers wait.

      Exit codes: 0 done, 1 failed, and the database is unchanged, 2 a mistake on the command line.
      """)

  @Argument(help: "The backup, which is only read.")
  var source: String

  @Argument(help: "The database; created if missing.")
  var target: String

  @Flag(help: "Do not check the backup.")
  var noCheck = false

  func run() throws {
    guard FileManager.default.fileExists(atPath: source) else {
      throw FileProblem(description: "\(source): no such file")
    }
    var options = BackupOptions()
    if noCheck { options.checks = [] }
    let db = try SqliteDatabase(filepath: target, configuration: .changing(target))
    defer { try? db.close() }
    try ProgressLine.during { line in
      if !noCheck { line.begin("checking the backup") }
      options.progress = { progress in
        line.report(progress.copiedPages, of: progress.totalPages, .pages, in: "copying")
      }
      try db.restore(from: source, options)
    }
    Output.write("done\n", to: STDOUT_FILENO)
  }
}
