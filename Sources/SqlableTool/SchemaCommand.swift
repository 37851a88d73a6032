import Foundation
import Sqlable

/// `sqlable schema`: prints the schema of a database.
struct SchemaCommand: Subcommand {
  static let name = "schema"
  static let summary = "prints the tables, views, indexes and triggers of a database, as SQL or JSON"
  static let usage = """
    Usage: sqlable schema PATH [--json]

    Prints the statements that made the tables, views, indexes and triggers of a database, in an order in which they can
    run. SQLite's own tables, and those in which virtual tables keep their rows, are left out. The database is only
    read.

      PATH                         the database
      --json                       print the JSON of DatabaseSchema, which a program can decode and compare

    Exit codes: 0 done, 1 the file can't be read, 2 a mistake on the command line.
    """
  static let options: Set<String> = []
  static let flags: Set<String> = ["--json"]

  private let database: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    database = try arguments.database(of: SchemaCommand.name)
    isJSON = arguments.has("--json")
  }

  func run() throws -> Int32 {
    let schema = try withReadOnlyDatabase(database) { db in try db.schema() }
    Output.write(try isJSON ? Output.json(schema) : text(schema), to: STDOUT_FILENO)
    return 0
  }

  private func text(_ schema: DatabaseSchema) -> String {
    schema.statements.map { $0.replacing("\r\n", with: "\n").visible(keeping: ["\t", "\n"]) + ";\n" }.joined()
  }
}
