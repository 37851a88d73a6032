import Foundation
import Sqlable

/// `sqlable restore`: replaces the contents of a database with those of a backup.
struct RestoreCommand: Subcommand {
  static let name = "restore"
  static let summary = "replaces the contents of a database with those of a backup, while programs have it open"
  static let usage = """
    Usage: sqlable restore SOURCE TARGET [--no-check]

    Checks a backup, and makes its contents those of a database, in one transaction. Programs may have the database
    open: they read the old contents or the new ones, and writers wait.

      SOURCE                       the backup, which is only read
      TARGET                       the database; a file that is not there is created
      --no-check                   do not check the backup

    Exit codes: 0 done, 1 it can't be done, and the database is as before, 2 a mistake on the command line.
    """
  static let options: Set<String> = []
  static let flags: Set<String> = ["--no-check"]

  private let source: String
  private let target: String
  private var restore = BackupOptions()

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 2 else { throw UsageError(description: "restore takes a backup and a database") }
    (source, target) = (arguments.words[0], arguments.words[1])
    if arguments.has("--no-check") { restore.checks = [] }
  }

  func run() throws -> Int32 {
    guard FileManager.default.fileExists(atPath: source) else {
      throw FileProblem(description: "\(source): no such file")
    }
    let db = try SqliteDatabase(filepath: target, configuration: .changing(target))
    defer { try? db.close() }
    try db.restore(from: source, restore)
    Output.write("done\n", to: STDOUT_FILENO)
    return 0
  }
}
