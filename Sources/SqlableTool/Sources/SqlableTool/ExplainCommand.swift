import ArgumentParser
import Foundation
import Sqlable
import SqlablePolicies

struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Shows the SQL, values, plan and index advice of a statement's document, and a policy's verdict.",
    discussion: """
      Reads a statement as JSON, checks it against the tables of a database, and prints its SQL, its values, its query \
      plan, and indexes that would help. Nothing is run, and the database is only read.

      With a policy, prints whether the policy allows the statement, and shows the statement with the additions of the \
      policy.

      The values of the document, the policy and the command line are printed unchanged.

      Exit codes: 0 the statement is valid and allowed, 1 it is not, or a file is unreadable, 2 a mistake on the \
      command line. An error in a document is reported with its place.
      """)

  @Argument(help: "The file with the document, or - for the standard input.")
  var statement: String

  @Option(help: ArgumentHelp("The database.", valueName: "path"))
  var database: String

  @Option(help: ArgumentHelp("The file with the policy, as StatementPolicy.json() writes it.", valueName: "path"))
  var policy: String?

  @Option(
    name: .customLong("parameter"),
    help: ArgumentHelp(
      #"The value of a parameter in the policy's conditions, in the JSON of documents: 7, "red", {"real":0.5}."#,
      valueName: "name=value"),
    transform: ParameterArgument.init)
  var parameters: [ParameterArgument] = []

  @Option(
    name: .customLong("column"),
    help: ArgumentHelp(
      """
      The type of a column in the model, if the database does not show the type: integer, real, text, blob, boolean, \
      date.unixSecondsWithFraction, date.unixSeconds, date.unixMilliseconds, date.iso8601, \
      date.iso8601AssumingUTC, date.sqliteText, or decimal.2 with its digits. Terms of dates need it.
      """, valueName: "table.column=type"),
    transform: ColumnArgument.init)
  var columns: [ColumnArgument] = []

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if policy == nil, !parameters.isEmpty { throw ValidationError("--parameter needs --policy") }
  }

  func run() throws {
    let document = try contents(of: statement)
    let policy = try policy.map { (path: $0, document: try contents(of: $0)) }
    let values = parameters.reduce(into: [:]) { $0[$1.name] = $1.value }
    let types = columns.reduce(into: [:]) { $0[$1.table, default: [:]][$1.name] = $1.type }
    try withReadOnlyDatabase(database) { db in
      let tables = try DeclaredTable.all(in: db, types)
      let models = DatabaseModels.models(of: tables)
      let rules = StatementRules(models: models, tables: Set(tables.map(\.name)))
      var explained = try reading(statement) { try AnyStatement(json: document, rules: rules) }
      var verdict = PolicyVerdict.none
      if let policy {
        let policy = try reading(policy.path) {
          try StatementPolicy(json: policy.document, models: models, with: values)
        }
        do {
          explained = try policy.statement(json: document)
          try explained.limited(by: policy).checkPlan(db)
          verdict = .allowed
        } catch let error as SqlError { verdict = .refused(error) }
      }
      let report = try StatementReport(explained, verdict, db)
      Output.write(try json ? report.json : report.text, to: STDOUT_FILENO)
      if !report.isAllowed { throw ExitCode.failure }
    }
  }

  private func reading<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SqlError { throw InvalidDocument(path: path, error: error) }
  }
}

/// The value of a parameter: `tenant=7`.
struct ParameterArgument {
  let name: String
  let value: DatabaseValue

  init(_ text: String) throws {
    let (name, value) = try text.assignment(of: "NAME=VALUE")
    guard let form = try? JSONDecoder().decode(ValueForm.self, from: Data(value.utf8)) else {
      throw ValidationError("expected a value in the JSON of documents, such as 7 or \"red\"")
    }
    (self.name, self.value) = (name, form.value)
  }
}

/// An argument that states the type of a column: `car.sold_at=date.unixSeconds`.
struct ColumnArgument {
  let table: String
  let name: String
  let type: ColumnType

  init(_ text: String) throws {
    let (column, type) = try text.assignment(of: "TABLE.COLUMN=TYPE")
    let names = column.split(separator: ".", maxSplits: 1).map(String.init)
    guard names.count == 2 else { throw ValidationError("expected TABLE.COLUMN=TYPE") }
    guard let type = ColumnArgument.types[type] else { throw ValidationError("unknown type \(type)") }
    (table, name, self.type) = (names[0], names[1], type)
  }

  private static let types: [String: ColumnType] = {
    let plain: [String: ColumnType] = [
      "integer": .integer, "real": .real, "text": .text, "blob": .blob, "boolean": .boolean,
    ]
    let dates = ColumnType.DateFormat.allCases.reduce(into: plain) { $0["date.\($1.rawValue)"] = .date($1) }
    return (0...18).reduce(into: dates) { $0["decimal.\($1)"] = .decimal(scale: $1) }
  }()
}

extension String {
  fileprivate func assignment(of form: String) throws -> (String, String) {
    let parts = split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else { throw ValidationError("expected \(form)") }
    return (parts[0], parts[1])
  }
}

private struct InvalidDocument: Error, CustomStringConvertible {
  let path: String
  let error: SqlError

  var description: String {
    "\(path == "-" ? "the standard input" : path): \(error.placedMessage)"
  }
}
