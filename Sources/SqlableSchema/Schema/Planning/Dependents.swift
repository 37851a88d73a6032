import CSqlableSQLite
import SqlableCore

extension SchemaCopy {
  /// Throws `.schema(.mismatch)` if a view or a trigger fails on this copy, on which the plan has run. The check
  /// ignores views and triggers that already fail in `old`, a copy of the schema before the plan.
  func checkDependents(of schema: DatabaseSchema, in old: SchemaCopy, _ changed: DatabaseSchema) throws {
    let before = try old.broken(schema)
    for (use, problem) in try broken(changed).ordered(by: { $0.key < $1.key }) where before[use] == nil {
      throw SchemaPlanner.mismatch(
        "the plan would break \(use.words): \(problem); drop the view or trigger before the plan, and create the view "
          + "or trigger again afterwards",
        use.name)
    }
  }

  /// Returns the views that can't be read and the tables whose triggers can't run, each with SQLite's error message.
  private func broken(_ schema: DatabaseSchema) throws -> [Use: String] {
    // With this flag on, SQLite would read the quoted name of a missing column as a text.
    try connection.setFlag(SQLITE_DBCONFIG_DQS_DML, false)
    var broken: [Use: String] = [:]
    func run(_ kind: Use.Kind, _ name: String, _ sql: String) {
      do {
        try connection.pragma("EXPLAIN \(sql)")
      } catch { broken[Use(name: name, kind: kind)] = (error as? SqlError)?.message ?? "" }
    }
    for view in schema.views { run(.read, view.name, "SELECT * FROM \(view.name.quotedName)") }
    let names = schema.tables.filter { !$0.triggers.isEmpty }.map(\.name)
    for name in names + schema.views.filter({ !$0.triggers.isEmpty }).map(\.name) {
      // `table_info` omits generated columns, as intended: they can't be updated.
      let columns = (try? connection.rows("PRAGMA table_info(\(name.quotedName))").map { $0[1].quotedName }) ?? []
      let assignments = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
      run(.insert, name, "INSERT INTO \(name.quotedName) DEFAULT VALUES")
      run(.update, name, "UPDATE \(name.quotedName) SET \(assignments)")
      run(.delete, name, "DELETE FROM \(name.quotedName)")
    }
    return broken
  }

  /// A read of a view, or a change that fires the triggers of a table or view.
  private struct Use: Hashable, Comparable {
    let name: String
    let kind: Kind

    enum Kind: String, Hashable {
      case read, insert, update, delete
    }

    var words: String { kind == .read ? "view \(name)" : "a trigger of \(name), on \(kind.rawValue)" }

    static func < (left: Use, right: Use) -> Bool {
      (left.name, left.kind.rawValue) < (right.name, right.kind.rawValue)
    }
  }
}
