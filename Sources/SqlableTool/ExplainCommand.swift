import Foundation
import Sqlable

/// `sqlable explain`: shows what a statement's document does on a database, without running it.
struct ExplainCommand: Subcommand {
  static let name = "explain"
  static let summary = "shows the SQL, values, plan and index advice of a statement's document, and a policy's verdict"
  static let usage = """
    Usage: sqlable explain STATEMENT --database PATH [--policy PATH [--parameter NAME=VALUE]…]
                           [--column TABLE.COLUMN=TYPE]… [--json]

    Reads a statement as JSON, checks it against the tables of a database, and prints its SQL, its values, the plan by
    which SQLite would find its rows, and indexes that would help. Nothing is run, and the database is only read.

    With a policy it says whether the policy allows the statement, and shows it with all that the policy adds.

    The values are printed as they are: they are those of the document, the policy and the command line.

      STATEMENT                    the file with the document, or - for the standard input
      --database PATH              the database
      --policy PATH                the file with the policy, as StatementPolicy.json() writes it
      --parameter NAME=VALUE       the value of a parameter in the policy's conditions, in the JSON of documents: 7,
                                   "red", {"real":0.5}
      --column TABLE.COLUMN=TYPE   how the model declares a column, where the database does not say it: integer, real,
                                   text, blob, boolean, date.unixSecondsWithFraction, date.unixSeconds,
                                   date.unixMilliseconds or date.iso8601. Terms of dates need it
      --json                       print JSON

    Exit codes: 0 the statement is valid and allowed, 1 it is not, or a file can't be read, 2 a mistake on the command
    line. What is wrong with a document is reported with the place in it.
    """
  static let options: Set<String> = ["--database", "--policy", "--parameter", "--column"]
  static let flags: Set<String> = ["--json"]

  private let statement: String
  private let database: String
  private let policy: String?
  private let parameters: [String: DatabaseValue]
  private let types: DeclaredTable.Types
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    guard arguments.words.count == 1 else {
      throw UsageError(description: "explain takes one statement, not \(arguments.words.count)")
    }
    guard let database = try arguments.value("--database") else {
      throw UsageError(description: "explain needs --database")
    }
    self.database = database
    statement = arguments.words[0]
    policy = try arguments.value("--policy")
    parameters = try arguments.all("--parameter").reduce(into: [:]) { parameters, text in
      let (name, value) = try text.assignment(of: "--parameter", "NAME=VALUE")
      guard let form = try? JSONDecoder().decode(ValueForm.self, from: Data(value.utf8)) else {
        throw UsageError(description: "--parameter: \(value) is no value of a document")
      }
      parameters[name] = form.value
    }
    guard policy != nil || parameters.isEmpty else { throw UsageError(description: "--parameter needs --policy") }
    types = try arguments.all("--column").reduce(into: [:]) { types, text in
      let column = try ColumnArgument(text)
      types[column.table, default: [:]][column.name] = column.type
    }
    isJSON = arguments.has("--json")
  }

  func run() throws -> Int32 {
    let document = try contents(of: statement)
    let policy = try policy.map { (path: $0, document: try contents(of: $0)) }
    return try withReadOnlyDatabase(database) { db in
      let tables = try DeclaredTable.all(in: db, types)
      let models = DatabaseModels.models(of: tables)
      let rules = StatementRules(models: models, tables: Set(tables.map(\.name)))
      var explained = try reading(statement) { try AnyStatement(json: document, rules: rules) }
      var verdict = PolicyVerdict.none
      if let policy {
        let policy = try reading(policy.path) {
          try StatementPolicy(json: policy.document, models: models, with: parameters)
        }
        do {
          explained = try policy.statement(json: document)
          try explained.limited(by: policy).checkPlan(db)
          verdict = .allowed
        } catch let error as SqlError { verdict = .refused(error) }
      }
      let report = try StatementReport(explained, verdict, db)
      Output.write(try isJSON ? report.json : report.text, to: STDOUT_FILENO)
      return report.isAllowed ? 0 : 1
    }
  }

  /// Adds the name of a document to its errors.
  private func reading<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SqlError { throw InvalidDocument(path: path, error: error) }
  }
}

/// `car.sold_at=date.unixSeconds`
private struct ColumnArgument {
  let table: String
  let name: String
  let type: ColumnType

  init(_ text: String) throws {
    let (column, type) = try text.assignment(of: "--column", "TABLE.COLUMN=TYPE")
    let names = column.split(separator: ".", maxSplits: 1).map(String.init)
    guard names.count == 2 else { throw UsageError(description: "--column takes TABLE.COLUMN=TYPE, not \(text)") }
    guard let type = ColumnArgument.types[type] else {
      throw UsageError(description: "--column: there is no type \(type)")
    }
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
  /// The two sides of a value such as `tenant=7`.
  fileprivate func assignment(of option: String, _ form: String) throws -> (String, String) {
    let parts = split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw UsageError(description: "\(option) takes \(form), not \(self)")
    }
    return (parts[0], parts[1])
  }
}

/// A document that is wrong, as a message to the user.
private struct InvalidDocument: Error, CustomStringConvertible {
  let path: String
  let error: SqlError

  var description: String {
    "\(path == "-" ? "the standard input" : path): \(error.placedMessage)"
  }
}
