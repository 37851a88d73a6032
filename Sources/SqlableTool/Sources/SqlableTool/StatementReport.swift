import Foundation
import Sqlable
import SqlableAdvice

/// A report on a statement and a database: SQL, values, query plan, missing indexes and the policy's verdict.
struct StatementReport {
  private let kind: StatementKind
  private let isReadOnly: Bool
  private let sql: String
  /// The values of the statement, or of each row of a batch.
  private let values: [[DatabaseValue]]
  /// The query plan; nil for an insert without rows.
  private let plan: QueryPlan?
  private let advice: [IndexAdvice]
  private let verdict: PolicyVerdict

  init(_ statement: AnyStatement, _ verdict: PolicyVerdict, _ db: SqliteDatabase) throws {
    self.verdict = verdict
    kind = statement.kind
    isReadOnly = statement.isReadOnly
    let requests = try statement.requests()
    sql = statement.sql
    values = requests.map(\.values)
    plan = requests.isEmpty ? nil : try statement.explain(db)
    advice = requests.isEmpty ? [] : try statement.advice(db)
  }

  var isAllowed: Bool { if case .refused = verdict { false } else { true } }

  private var steps: [QueryPlan.Step] { plan?.steps ?? [] }
  private var scans: [String] { plan?.scans ?? [] }

  // MARK: Text

  var text: String {
    var sections = [
      ("Statement", ["\(kind), which \(isReadOnly ? "reads only" : "changes rows")"]),
      ("SQL", [sql] + (values.count > 1 ? ["(for each of \(values.count) rows)"] : [])),
    ]
    sections.append(("Values, as they were given", valueLines))
    sections.append(("Plan", steps.isEmpty ? ["the statement searches no rows"] : plan?.description.lines ?? []))
    var lines = scans.map { "\($0) is scanned completely" }
    if advice.isEmpty {
      lines.append(scans.isEmpty ? "no table is scanned" : "no index avoids a scan")
    } else {
      lines += advice.map(\.sql)
      lines += ["then the plan is"] + (advice.first?.plan.description.lines.map { "  " + $0 } ?? [])
    }
    sections.append(("Indexes", lines))
    switch verdict {
    case .none: break
    case .allowed:
      sections.append(("Policy", ["allows the statement; the SQL above includes the policy's additions"]))
    case .refused(let error):
      sections.append(("Policy", ["refuses the statement: " + error.placedMessage]))
    }
    return sections.map { title, lines in
      ([title] + lines.map { "  " + $0.visible }).joined(separator: "\n") + "\n"
    }.joined(separator: "\n")
  }

  private var valueLines: [String] {
    guard values.contains(where: { !$0.isEmpty }) else { return ["none"] }
    return values.enumerated().flatMap { row, values in
      let lines = values.enumerated().map { "\($0 + 1)  \($1.storageClass)  \($1.literal)" }
      return self.values.count > 1 ? ["row \(row + 1)"] + lines.map { "  " + $0 } : lines
    }
  }

  // MARK: JSON

  private struct Form: Encodable {
    struct Index: Encodable {
      let table: String
      let columns: [String]
      let sql: String
    }

    struct Step: Encodable {
      let id: Int
      let parent: Int
      let detail: String
    }

    struct Policy: Encodable {
      let allows: Bool
      let message: String?
      let path: String?
    }

    let kind: String
    let readOnly: Bool
    let sql: String
    let values: [[ValueForm]]
    let plan: [Step]
    let scans: [String]
    let indexes: [Index]
    let policy: Policy?
  }

  private var policyForm: Form.Policy? {
    switch verdict {
    case .none: nil
    case .allowed: Form.Policy(allows: true, message: nil, path: nil)
    case .refused(let error): Form.Policy(allows: false, message: error.message, path: error.documentPath)
    }
  }

  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let form = Form(
        kind: "\(kind)", readOnly: isReadOnly, sql: sql, values: values.map { $0.map(ValueForm.init) },
        plan: steps.map { Form.Step(id: $0.id, parent: $0.parent, detail: $0.detail) }, scans: scans,
        indexes: advice.map { Form.Index(table: $0.table, columns: $0.columns, sql: $0.sql) }, policy: policyForm)
      return String(decoding: try encoder.encode(form), as: UTF8.self) + "\n"
    }
  }
}

enum PolicyVerdict {
  case none
  case allowed
  case refused(SqlError)
}

extension SqlError {
  /// The message, preceded by the location in the document, on one line.
  var placedMessage: String { [documentPath, message].compactMap(\.self).joined(separator: ": ").visible }
}

extension String {
  fileprivate var lines: [String] { split(separator: "\n").map(String.init) }
}
