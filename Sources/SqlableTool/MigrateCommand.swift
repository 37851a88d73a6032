import Foundation
import Sqlable

/// `sqlable migrate`: applies a stored plan, or migrations that are files of SQL.
struct MigrateCommand: Subcommand {
  static let name = "migrate"
  static let summary = "applies a stored plan, or a directory of SQL migrations, to a database; or tries to"
  static let usage = """
    Usage: sqlable migrate PATH CHANGES [--dry-run] [--allow-data-loss]

    Changes a database. Programs may have it open; writers wait.

      PATH                         the database; a file that is not there is created for migrations
      CHANGES                      a directory with migrations, one a file whose name ends with .sql, in the order of
                                   their names: each runs once, in a transaction with its record. Or the file of a
                                   plan that a program has stored, with a name that ends with .json
      --dry-run                    do everything in one transaction, and undo it. Says what would fail, also because of
                                   rows; takes as long, and as much space, as doing it
      --allow-data-loss            let a plan drop columns with their values

    Exit codes: 0 done, or could be done; 1 it can't be done, and all or the last migration is undone; 2 a mistake on
    the command line.
    """
  static let options: Set<String> = []
  static let flags: Set<String> = ["--dry-run", "--allow-data-loss"]

  private let database: String
  private let changes: String
  private let isDry: Bool
  private let permission: SchemaPermission

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 2 else { throw UsageError(description: "migrate takes a database and its changes") }
    (database, changes) = (arguments.words[0], arguments.words[1])
    isDry = arguments.has("--dry-run")
    permission = arguments.has("--allow-data-loss") ? .dataLoss : []
  }

  func run() throws -> Int32 {
    if changes.hasSuffix(".json") {
      let plan = try decoded(SchemaPlan.self, from: changes, "plan")
      guard FileManager.default.fileExists(atPath: database) else {
        throw FileProblem(description: "\(database): no such file")
      }
      try change { db in
        try plan.apply(db, allowing: permission) { progress in
          if progress.rows == 0 { report(plan.steps[progress.step].description) }
        }
      }
    } else {
      let migrations = try Migrations(directory: changes)
      guard !migrations.all.isEmpty else {
        throw FileProblem(description: "\(changes): has no file whose name ends with .sql")
      }
      try change { db in
        _ = try migrations.apply(db) { progress in if progress.batch == 0 { report(progress.name) } }
      }
    }
    report(isDry ? "could be done" : "done")
    return 0
  }

  private func report(_ line: String) {
    Output.write(line.visible(keeping: ["\t"]) + "\n", to: STDOUT_FILENO)
  }

  private func change(_ body: (SqliteDatabase) throws -> Void) throws {
    guard isDry, !FileManager.default.fileExists(atPath: database) else {
      let db = try SqliteDatabase(filepath: database, configuration: .changing(database))
      defer { try? db.close() }
      guard isDry else { return try body(db) }
      _ = try db.transaction { db -> TransactionResult in
        try body(db)
        return .rollback
      }
      return
    }
    // Nothing is made where nothing is.
    let db = try SqliteDatabase.inMemory()
    defer { try? db.close() }
    try body(db)
  }
}
