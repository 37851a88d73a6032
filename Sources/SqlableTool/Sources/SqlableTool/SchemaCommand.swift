import ArgumentParser
import Foundation
import Sqlable

struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Prints the tables, views, indexes and triggers of a database, as SQL or JSON.",
    discussion: """
      Prints the CREATE statements of the tables, views, indexes and triggers of a database, in an order in which they \
      can run. SQLite's own tables and shadow tables are left out. The database is only read.

      Exit codes: 0 done, 1 the file is unreadable, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Flag(help: "Print the JSON of DatabaseSchema, which a program can decode and compare.")
  var json = false

  func run() throws {
    let schema = try withReadOnlyDatabase(database) { db in try db.schema() }
    Output.write(try json ? Output.json(schema) : text(schema), to: STDOUT_FILENO)
  }

  private func text(_ schema: DatabaseSchema) -> String {
    schema.statements.map { $0.replacing("\r\n", with: "\n").visible(keeping: ["\t", "\n"]) + ";\n" }.joined()
  }
}
