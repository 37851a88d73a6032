import ArgumentParser
import Foundation
import Sqlable
import SqlableBackup

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Backs a database up into a file, while programs read and write it.",
    discussion: """
      Copies a snapshot of a database into a single file. The copy is created under a temporary name, checked, synced \
      and renamed: the target is always the earlier file or the complete new one.

      Exit codes: 0 done, 1 failed, and the target is unchanged, 2 a mistake on the command line.
      """)

  @Argument(help: "The database, which is only read.")
  var source: String

  @Argument(help: "The backup; replaces an earlier backup.")
  var target: String

  @Flag(help: "Leave free pages out; takes longer.")
  var vacuum = false

  @Option(
    help: ArgumentHelp("Copy at most this many megabytes per second.", valueName: "megabytes"),
    transform: number(1...1_000_000))
  var rate: Int?

  @Flag(help: "Do not check the copy, for example to copy what is left of a damaged database.")
  var noCheck = false

  func run() throws {
    var options = BackupOptions()
    options.method = vacuum ? .vacuumed : .copied
    if noCheck { options.checks = [] }
    options.bytesPerSecond = rate.map { $0 * 1_000_000 }
    try ProgressLine.during { line in
      line.begin("copying")
      options.progress = { [noCheck] progress in
        line.report(progress.copiedPages, of: progress.totalPages, .pages, in: "copying")
        if progress.copiedPages == progress.totalPages, !noCheck { line.begin("checking the copy") }
      }
      try withReadOnlyDatabase(source) { db in try db.backup(to: target, options) }
    }
    Output.write("done\n", to: STDOUT_FILENO)
  }
}
