/// A user-defined function that statements call once per row.
///
/// ```swift
/// let distance = ScalarFunction("distance", isDeterministic: true) { (a: Double, b: Double) in abs(a - b) }
/// try db.register(distance)
/// Reading.read().filter(distance(Reading.first, Reading.second) > 30)     // "distance"("first", "second") > ?
/// ```
///
/// The closure is called on the thread that runs the statement, with the handle's lock held. If it is not
/// deterministic, it may read on the handle that calls it; writing there, and beginning or ending a transaction, throws
/// `.misuse`. If the closure throws, the statement throws the same error and is rolled back.
///
/// An argument whose storage class differs from the parameter's, or NULL for a parameter that is not optional, throws
/// `.decoding`.
public struct ScalarFunction<Output: SqlValue, each Argument: SqlValue>: Sendable {
  let function: UserFunction

  /// Creates a function from a closure whose parameters and result can be stored; up to 100 parameters.
  ///
  /// - Parameters:
  ///   - name: The name in SQL; not case-sensitive. It hides a function of SQLite's own with this name.
  ///   - isDeterministic: Whether equal arguments always give equal results, so that SQLite can call it once for many
  ///     rows. Indexes, generated columns and checks require it.
  ///   - isAllowedInSchema: Whether views, triggers, checks, generated columns and indexes may call it. Then anyone who
  ///     can write to the file can have it called with any argument.
  ///   - body: Computes the result. An error that it throws is rethrown by the statement.
  public init(
    _ name: String, isDeterministic: Bool = false, isAllowedInSchema: Bool = false,
    _ body: @escaping @Sendable (repeat each Argument) throws -> Output
  ) {
    var count = 0
    repeat UserArguments.count((each Argument).self, &count)
    function = UserFunction(
      name: name, argumentCount: count, isDeterministic: isDeterministic, isAllowedInSchema: isAllowedInSchema,
      body: .scalar(TypedScalar(body: body)))
  }

  /// Its name in SQL.
  public var name: String { function.name }
}

private struct TypedScalar<Output: SqlValue, each Argument: SqlValue>: ScalarBody {
  let body: @Sendable (repeat each Argument) throws -> Output

  func call(_ arguments: UserArguments) throws -> DatabaseValue {
    var index = 0
    let value = try body(repeat try arguments.next(&index, as: (each Argument).self))
    return try arguments.result(value)
  }
}

extension UserArguments {
  static func count<Value>(_ type: Value.Type, _ count: inout Int) { count += 1 }

  /// Returns the argument at `index`, and increments `index`. The error names the function and the argument, never the
  /// value.
  func next<Value: SqlValue>(_ index: inout Int, as type: Value.Type) throws -> Value {
    index += 1
    do {
      return try Value(databaseValue: try self[index - 1])
    } catch {
      throw refusal(error, location: "argument \(index) of function \(function)", expected: "\(Value.columnType)")
    }
  }

  /// Returns the result of a function as SQLite stores it.
  func result(_ value: some SqlValue) throws -> DatabaseValue { try UserArguments.result(value, of: function) }

  static func result<Value: SqlValue>(_ value: Value, of function: String) throws -> DatabaseValue {
    do {
      return try value.databaseValue.checked()
    } catch {
      var refused = SqlError.encoding(expected: "\(Value.self)", found: "a value that SQLite can't store")
      if case .encoding(let mismatch) = (error as? SqlError)?.kind { refused.kind = .encoding(mismatch) }
      refused.message = "function \(function) returned a value that SQLite can't store"
      throw RefusedCall(error: refused)
    }
  }

  private func refusal(_ error: any Error, location: String, expected: String) -> RefusedCall {
    // A conversion that the program defines may put anything into its error, even the value.
    var mismatch = SqlError.Mismatch(expected: expected, found: "another value")
    if case .decoding(let original) = (error as? SqlError)?.kind { mismatch = original }
    return RefusedCall(
      error: SqlError(
        .decoding(mismatch), message: "\(location) takes \(mismatch.expected), but was given \(mismatch.found)"))
  }
}
