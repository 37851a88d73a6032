/// A user-defined function that SQLite calls once for each row.
///
/// ```swift
/// let distance = ScalarFunction("distance", isDeterministic: true) { (a: Double, b: Double) in abs(a - b) }
/// try db.register(distance)
/// Reading.read().filter(distance(Reading.first, Reading.second) > 30)     // "distance"("first", "second") > ?
/// ```
///
/// The closure is called on the thread that runs the statement, while the handle's lock is held. A function that is not
/// deterministic is allowed to read on the calling handle. Writing, and starting or ending a transaction, throws
/// `.misuse`. If the closure throws, the statement throws the same error and is rolled back.
///
/// The statement throws `.decoding` if an argument does not fit the parameter's type, and for NULL if the parameter is
/// not optional.
public struct ScalarFunction<Output: SqlValue, each Argument: SqlValue>: Sendable {
  let function: UserFunction

  /// Creates a function from a closure with up to 100 parameters. Parameters and result must be types that can be
  /// stored.
  ///
  /// - Parameters:
  ///   - name: The name in SQL, not case-sensitive. The function hides a built-in function with the same name.
  ///   - isDeterministic: True if equal arguments always return equal results. SQLite can then call the function once
  ///     for many rows. Indexes, generated columns and checks require a deterministic function.
  ///   - isAllowedInSchema: True if views, triggers, checks, generated columns and indexes are allowed to call the
  ///     function. Anyone who can write to the file can then cause a call with any argument.
  ///   - body: Computes the result. The statement rethrows the closure's errors.
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

  package var name: String { function.name }
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

  /// Returns the argument at `index`, and increments `index`. Errors name the function and the argument, but not the
  /// value.
  func next<Value: SqlValue>(_ index: inout Int, as type: Value.Type) throws -> Value {
    index += 1
    do {
      return try Value(databaseValue: try self[index - 1])
    } catch {
      throw refusal(error, location: "argument \(index) of function \(function)", expected: "\(Value.columnType)")
    }
  }

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
    // An error of the program's own conversion can contain the value in its message, so this message is not used.
    var mismatch = SqlError.Mismatch(expected: expected, found: "another value")
    if case .decoding(let original) = (error as? SqlError)?.kind { mismatch = original }
    return RefusedCall(
      error: SqlError(
        .decoding(mismatch), message: "\(location) takes \(mismatch.expected), but was given \(mismatch.found)"))
  }
}
