import ArgumentParser
import Foundation
import Sqlable

struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Applies a stored plan, or a directory of SQL migrations, to a database.",
    discussion: """
      Changes a database. Programs may have it open; writers wait.

      Exit codes: 0 done, or the dry run succeeded; 1 failed, and the plan or the last migration is rolled back; 2 a \
      mistake on the command line.
      """)

  @Argument(help: "The database; migrations create the file if it is missing.")
  var database: String

  @Argument(
    help: """
      A directory with migrations, one per file with the extension .sql, in the order of their names. Each runs once, \
      in a transaction with its record. Or a stored plan, in a file with the extension .json.
      """)
  var changes: String

  @Flag(
    help: """
      Run everything in one transaction, and roll it back. Also reports failures that stored rows cause. Needs as much \
      time and space as a real run.
      """)
  var dryRun = false

  @Flag(help: "Allow a plan to drop columns with their values.")
  var allowDataLoss = false

  func run() throws {
    try ProgressLine.during(migrate)
    report(dryRun ? "the dry run succeeded; nothing was changed" : "done")
  }

  private func migrate(_ line: ProgressLine) throws {
    if changes.hasSuffix(".json") {
      let plan = try decoded(SchemaPlan.self, from: changes, "plan")
      guard FileManager.default.fileExists(atPath: database) else {
        throw FileProblem(description: "\(database): no such file")
      }
      try change { db in
        try plan.apply(db, allowing: allowDataLoss ? .dataLoss : []) { progress in
          let (step, name) = (plan.steps[progress.step], "step \(progress.step + 1) of \(plan.steps.count)")
          if progress.rows > 0 {
            line.report(progress.rows, of: step.rows, .rows, in: name)
          } else {
            line.clear()
            report(step.description)
            line.begin(name)
          }
        }
      }
    } else {
      let migrations = try Migrations(directory: changes)
      guard !migrations.all.isEmpty else {
        throw FileProblem(description: "\(changes): no file name ends with .sql")
      }
      try change { db in
        _ = try migrations.apply(db) { progress in
          guard progress.batch == 0 else { return }
          line.clear()
          report(progress.name)
          line.begin("migration \(progress.position + 1) of \(migrations.all.count)")
        }
      }
    }
  }

  private func report(_ line: String) {
    Output.write(line.visible(keeping: ["\t"]) + "\n", to: STDOUT_FILENO)
  }

  private func change(_ body: (SqliteDatabase) throws -> Void) throws {
    guard dryRun, !FileManager.default.fileExists(atPath: database) else {
      let db = try SqliteDatabase(filepath: database, configuration: .changing(database))
      defer { try? db.close() }
      guard dryRun else { return try body(db) }
      _ = try db.transaction { db -> TransactionResult in
        try body(db)
        return .rollback
      }
      return
    }
    // Don't create a missing file: the dry run changes an in-memory database instead.
    let db = try SqliteDatabase.inMemory()
    defer { try? db.close() }
    try body(db)
  }
}
