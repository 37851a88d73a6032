/// Work whose statements are known as trees. Plans, index advice, the checks of a policy and live results look into all
/// kinds of work through it.
package protocol StatementTrees: Runnable {
  /// The statements in the order in which they run. Throws what running them would throw if they depend on values that
  /// do not fit.
  func statements() throws -> [TreeStatement]
}

/// One statement of some work.
package struct TreeStatement {
  package let tree: StatementTree
  /// Returns the SQL with the values of a run on a handle. A ``Parameter`` has none.
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

extension Returning: StatementTrees {
  package func statements() -> [TreeStatement] { change.statements() }
}

extension FirstReturnedQuery: StatementTrees {
  package func statements() -> [TreeStatement] { all.statements() }
}
