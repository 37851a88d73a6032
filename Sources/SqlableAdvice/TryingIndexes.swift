import SqlableCore
import SqlableQueries
import SqlableSchema

extension SchemaCopy {
  func plan(
    of statement: StatementWithValues, with indexes: [(name: String, sql: String)]
  ) throws -> (QueryPlan, used: [String]) {
    var created: [String] = []
    for index in indexes {
      // An error is ignored, because an index with this name might already exist.
      guard case .success = Result(catching: { try connection.pragma(index.sql) }) else { continue }
      created.append(index.name)
    }
    let plan = try connection.plan(of: statement)
    let used = created.filter { name in
      plan.steps.contains {
        $0.detail.ends(with: " INDEX \(name)") || $0.detail.suffix(after: " INDEX \(name) (") != nil
      }
    }
    return (plan, used)
  }
}
