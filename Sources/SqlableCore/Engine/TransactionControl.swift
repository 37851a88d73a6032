import CSqlableSQLite

extension Connection {
  package enum Control: Int, CaseIterable {
    case beginDeferred, beginImmediate, beginExclusive, commit, rollback, savepoint, release, rollbackTo

    // SQLite resolves a name to the innermost savepoint with that name, so all levels can share one name.
    var sql: StaticString {
      switch self {
      case .beginDeferred: "BEGIN DEFERRED"
      case .beginImmediate: "BEGIN IMMEDIATE"
      case .beginExclusive: "BEGIN EXCLUSIVE"
      case .commit: "COMMIT"
      case .rollback: "ROLLBACK"
      case .savepoint: "SAVEPOINT sqlable"
      case .release: "RELEASE sqlable"
      case .rollbackTo: "ROLLBACK TO sqlable"
      }
    }

    /// The statements that end the transaction or savepoint that this statement begins.
    fileprivate var ends: [Control] {
      switch self {
      case .beginDeferred, .beginImmediate, .beginExclusive: [.commit, .rollback]
      case .savepoint: [.release, .rollbackTo]
      case .commit, .rollback, .release, .rollbackTo: []
      }
    }
  }

  package func run(_ kind: Control) throws {
    // SQLite calls the progress handler even after a statement has taken effect. An interruption would then report a
    // successful BEGIN or COMMIT as failed.
    interruption?.isOff = true
    defer { interruption?.isOff = false }
    let statement = try statement(of: kind)
    defer { statement.reset() }
    _ = try statement.step()
  }

  /// Returns the compiled statement. For BEGIN and SAVEPOINT, first compiles the statements that end them, because
  /// memory might run out later.
  private func statement(of kind: Control) throws -> PreparedStatement {
    if !control.isEmpty, let statement = control[kind.rawValue] { return statement }
    if control.isEmpty { control = Array(repeating: nil, count: Control.allCases.count) }
    for end in kind.ends where control[end.rawValue] == nil { control[end.rawValue] = try compile(end) }
    let statement = try compile(kind)
    control[kind.rawValue] = statement
    return statement
  }

  /// Compiles a control statement, untraced. No schema is read, so locks and damage can't cause an error.
  private func compile(_ kind: Control) throws -> PreparedStatement {
    var statement: OpaquePointer?
    var used = 0
    let code = prepare(kind.sql.utf8Start, Int32(kind.sql.utf8CodeUnitCount), &statement, &used)
    guard code == SQLITE_OK, let statement else { throw error(code, sql: "\(kind.sql)") }
    return PreparedStatement(handle: statement, connection: self)
  }
}
