/// Work whose statements are known as trees. Plans, index advice, the checks of a policy and live results look into all
/// kinds of work through it.
protocol StatementTrees: Runnable {
  /// The statements in the order in which they run. Throws what running them would throw if they depend on values that
  /// do not fit.
  func statements() throws -> [TreeStatement]
}

/// One statement of some work.
struct TreeStatement {
  let tree: StatementTree
  /// Returns the SQL with the values of a run on a handle. A ``Parameter`` has none.
  let withValues: () throws -> StatementWithValues
}

extension TreeStatement {
  init(_ query: SelectQuery) { self.init(tree: .select(query)) { try query.withValues() } }
}

extension Statement: StatementTrees {
  func statements() -> [TreeStatement] { [TreeStatement(tree: tree) { try withValues() }] }
}

extension Select: StatementTrees {
  func statements() -> [TreeStatement] { [TreeStatement(query)] }
}

extension Including: StatementTrees {
  func statements() throws -> [TreeStatement] { try queries().map { TreeStatement($0) } }
}

extension Returning: StatementTrees {
  func statements() -> [TreeStatement] { change.statements() }
}

extension FirstReturned: StatementTrees {
  func statements() -> [TreeStatement] { all.statements() }
}
