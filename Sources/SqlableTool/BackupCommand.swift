import Foundation
import Sqlable

/// `sqlable backup`: backs a database up into a file.
struct BackupCommand: Subcommand {
  static let name = "backup"
  static let summary = "backs a database up into a file, while programs read and write it"
  static let usage = """
    Usage: sqlable backup SOURCE TARGET [--vacuum] [--rate MEGABYTES] [--no-check]

    Copies a snapshot of a database into a file that stands alone. The target is made under a temporary name, checked,
    synced and renamed: it is the earlier file or the complete new one at any moment.

      SOURCE                       the database, which is only read
      TARGET                       the backup; an earlier one is replaced
      --vacuum                     leave free pages out; takes longer
      --rate MEGABYTES             copy at most so many megabytes a second
      --no-check                   do not check the copy: saves what is left of a damaged database

    Exit codes: 0 done, 1 it can't be done, and the target is as before, 2 a mistake on the command line.
    """
  static let options: Set<String> = ["--rate"]
  static let flags: Set<String> = ["--vacuum", "--no-check"]

  private let source: String
  private let target: String
  private var backup = BackupOptions()

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 2 else { throw UsageError(description: "backup takes a database and a target") }
    (source, target) = (arguments.words[0], arguments.words[1])
    backup.method = arguments.has("--vacuum") ? .vacuumed : .copied
    if arguments.has("--no-check") { backup.checks = [] }
    if let rate = try arguments.value("--rate") {
      guard let megabytes = Int(rate), (1...1_000_000).contains(megabytes) else {
        throw UsageError(description: "--rate takes a number of megabytes from 1 to 1000000")
      }
      backup.bytesPerSecond = megabytes << 20
    }
  }

  func run() throws -> Int32 {
    try withReadOnlyDatabase(source) { db in try db.backup(to: target, backup) }
    Output.write("done\n", to: STDOUT_FILENO)
    return 0
  }
}
