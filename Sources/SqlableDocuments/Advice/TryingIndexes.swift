import SqlableCore
import SqlableSchema

extension SchemaCopy {
  /// The plan of a statement with further indexes, and the names of the indexes that it uses.
  func plan(
    of statement: StatementWithValues, with indexes: [(name: String, sql: String)]
  ) throws -> (QueryPlan, used: [String]) {
    var created: [String] = []
    for index in indexes {
      // An index of that name may exist already.
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
