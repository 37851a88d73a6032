extension SqlitePool {
  /// Registers a function on all handles of the pool; see `SqliteDatabase.register(_:)`.
  ///
  /// ```swift
  /// try pool.register(ScalarFunction("distance") { (a: Double, b: Double) in abs(a - b) })
  /// ```
  ///
  /// A call that is running gets it with its next statement.
  public func register<Output, each Argument>(_ function: ScalarFunction<Output, repeat each Argument>) throws {
    try root.register(function)
  }

  /// Registers an aggregate on all handles of the pool.
  public func register<Output, each Argument>(_ function: AggregateFunction<Output, repeat each Argument>) throws {
    try root.register(function)
  }

  /// Registers a collation on all handles of the pool.
  public func register(_ collation: Collation) throws { try root.register(collation) }

  /// Registers a tokenizer on all handles of the pool.
  public func register(_ tokenizer: Tokenizer) throws { try root.register(tokenizer) }
}
