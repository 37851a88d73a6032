/// Work that consists of statement trees, for query plans, index advice, policy checks and live results.
package protocol StatementTrees: Runnable {
  /// Returns the statements in the order in which they run. If a value does not fit, throws the same error as a run.
  func statements() throws -> [TreeStatement]
}

package struct TreeStatement {
  package let tree: StatementTree
  /// Returns the SQL and the values that a run on a handle binds, except the values of ``Parameter``s.
  package let withValues: () throws -> StatementWithValues
}

extension TreeStatement {
  package init(_ query: SelectQuery) { self.init(tree: .select(query)) { try query.withValues() } }
}

extension Statement: StatementTrees {
  package func statements() -> [TreeStatement] { [TreeStatement(tree: tree) { try withValues() }] }
}

extension Select: StatementTrees {
  package func statements() -> [TreeStatement] { [TreeStatement(query)] }
}

extension ScalarQuery: StatementTrees {
  package func statements() -> [TreeStatement] { select.statements() }
}

extension Returning: StatementTrees {
  package func statements() -> [TreeStatement] { change.statements() }
}
