import SqlableCore

extension AnyStatement {
  /// Creates a statement without its type, for code that stores or sends statements of all kinds.
  ///
  /// ```swift
  /// let job = try AnyStatement(Bicycle.delete(Bicycle.color == "red")).json()
  /// // {"delete":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}
  /// ```
  ///
  /// `work` can be a statement, a query, or a change that returns rows or terms. The statement keeps the column values
  /// of stored structs instead of the structs. Throws the errors that a run of the statement would throw before SQLite
  /// is called. Throws `.misuse` for work that can't be encoded, such as SQL text. A statement with a term of SQL text
  /// can run, but its `json()` throws.
  public init(_ work: some Runnable) throws {
    guard let work = work as? any Erasable else {
      throw SqlError.misuse("an AnyStatement needs a statement or a query, not a \(type(of: work))")
    }
    try self.init(work.erased(), DocumentDecoder([], StatementRules()))
  }
}

private protocol Erasable {
  func erased() throws -> DecodedStatement
}

extension AnyStatement: Erasable {
  fileprivate func erased() -> DecodedStatement { decoded }
}

extension Statement: Erasable {
  fileprivate func erased() throws -> DecodedStatement {
    _ = try withValues()
    return DecodedStatement(operation: DocumentOperation(kind), tree: tree, rows: try storedRows())
  }
}

extension Returning: Erasable {
  fileprivate func erased() throws -> DecodedStatement { try change.erased() }
}

extension CollectedQuery: Erasable where Source: Erasable {
  fileprivate func erased() throws -> DecodedStatement {
    guard shape.form == .first else {
      throw SqlError.misuse("an AnyStatement needs a statement or a query, not a \(type(of: self))")
    }
    return try source.erased()
  }
}

extension Select: Erasable {
  fileprivate func erased() throws -> DecodedStatement {
    _ = try query.withValues()
    return DecodedStatement(operation: .read, tree: .select(query), rows: [])
  }
}

extension ScalarQuery: Erasable {
  fileprivate func erased() throws -> DecodedStatement { try select.erased() }
}

extension DecodedStatement {
  fileprivate init(operation: DocumentOperation, tree: StatementTree, rows: [StoredRow]) {
    (self.operation, self.tree, self.rows) = (operation, tree, rows)
  }
}
