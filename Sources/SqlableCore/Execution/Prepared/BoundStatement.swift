/// A statement with values for its parameters. A bound statement runs wherever the statement itself runs: on handles,
/// pools, transports and clusters.
///
/// ```swift
/// let byColor = Bicycle.read().filter(Bicycle.color == Parameter("color"))
/// let reds = try await byColor.binding(["color": "red"]).run(pool)     // … WHERE "color" = ?
/// ```
///
/// Each value is checked against the column that the value is compared with or stored in. A value that does not fit
/// throws `.encoding`. A nil binds NULL, for which only IS and IS NOT can be true. A missing, unknown or duplicate name
/// throws `.misuse`, and nothing is changed. The compiled statement is cached like that of any other statement.
public struct BoundStatement<Base: Runnable>: Runnable, WrappingWork {
  package let base: Base
  let values: KeyValuePairs<String, any SqlValue>

  package var wrapped: Base { base }

  public func requests() throws -> [SqlRequest] {
    try checked { try base.requests() }
  }

  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Base.Output {
    // A wrong name must be detected before the change runs, because a completed change can't be undone.
    if !isReadOnly { _ = try requests() }
    return try checked { try base.run(db) }
  }

  public func run(over transport: some SqlTransport) async throws -> Base.Output {
    if !isReadOnly { _ = try requests() }
    let given = try GivenValues(values)
    let output = try await GivenParameters.$current.withValue(given) { try await base.run(over: transport) }
    try given.checkUse()
    return output
  }

  /// Calls `body` while the values are set for the current task. Throws `.misuse` if the statement has no parameter
  /// with the name of a value.
  package func checked<Value>(_ body: () throws -> Value) throws -> Value {
    let given = try GivenValues(values)
    let value = try GivenParameters.$current.withValue(given, operation: body)
    try given.checkUse()
    return value
  }
}

extension BoundStatement: StatementTrees where Base: StatementTrees {
  package func statements() throws -> [TreeStatement] {
    // Check all statements together, because a single statement need not use every value.
    try checked {
      try base.statements().map { statement in
        let written = try statement.withValues()
        return TreeStatement(tree: statement.tree) { written }
      }
    }
  }
}

extension Runnable {
  /// Binds values to the statement's parameters by name.
  ///
  /// ```swift
  /// let paint = Bicycle.update(Bicycle.color.set(to: Parameter("to"))).filter(Bicycle.color == Parameter("from"))
  /// try await paint.binding(["from": "red", "to": "black"]).run(cluster)
  /// // UPDATE "bicycle" SET "color" = ? WHERE "color" = ?
  /// ```
  ///
  /// The values are checked when the bound statement runs; see ``BoundStatement``.
  public func binding(_ values: KeyValuePairs<String, any SqlValue>) -> BoundStatement<Self> {
    BoundStatement(base: self, values: values)
  }
}

/// The values of one run, with a record of the values that the statement uses.
private final class GivenValues: ParameterValues {
  private let values: [String: any SqlValue]
  private let used = LockedValue<Set<String>>([])

  init(_ values: KeyValuePairs<String, any SqlValue>) throws {
    var valuesByName: [String: any SqlValue] = [:]
    for (name, value) in values {
      guard valuesByName.updateValue(value, forKey: name) == nil else {
        throw SqlError.misuse("parameter \(name) has two values")
      }
    }
    self.values = valuesByName
  }

  func value(for placeholder: Placeholder, in parameters: ParameterBuffer) throws -> BoundValue? {
    guard let value = values[placeholder.name] else {
      throw SqlError.misuse("parameter \(placeholder.name) has no value")
    }
    _ = used.withLock { $0.insert(placeholder.name) }
    return try parameters.value(
      value, for: placeholder.column as? ColumnDefinition, isStored: placeholder.isStored, placeholder.side)
  }

  func checkUse() throws {
    let used = used.withLock { $0 }
    guard let unknown = values.keys.sorted().first(where: { !used.contains($0) }) else { return }
    throw SqlError.misuse("the statement has no parameter \(unknown)")
  }
}
