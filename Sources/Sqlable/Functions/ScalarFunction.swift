/// A function of one's own that statements call once a row.
///
/// ```swift
/// let distance = ScalarFunction("distance", isDeterministic: true) { (a: Double, b: Double) in abs(a - b) }
/// try db.register(distance)
/// Reading.read().filter(distance(Reading.first, Reading.second) > 30)     // "distance"("first", "second") > ?
/// ```
///
/// The closure is called on the thread that runs the statement, with the handle's lock held. It may read on the handle that
/// calls it, when it is not deterministic; a write there, and all that begins or ends a transaction, throws `.misuse`. What
/// the closure throws comes out of the statement, which is undone.
///
/// An argument of another class than its parameter, and NULL for one that is no optional, throws `.decoding`.
public struct ScalarFunction<Output: SqlValue, each Argument: SqlValue>: Sendable {
  let function: UserFunction

  /// Makes a function of a closure whose parameters and result can be stored; up to 100 parameters.
  ///
  /// - Parameters:
  ///   - name: How SQL calls it; not case-sensitive. One that SQLite has itself is hidden.
  ///   - isDeterministic: Whether equal arguments always give equal values, which lets SQLite call it once for many rows.
  ///     Indexes, generated columns and checks take no other.
  ///   - isAllowedInSchema: Whether views, triggers, checks, generated columns and indexes may call it. Whoever can write
  ///     to the file can then have it called with any argument.
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

  /// How SQL calls it.
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

  /// The argument at an index, which is raised. The error names function and argument, never the value.
  func next<Value: SqlValue>(_ index: inout Int, as type: Value.Type) throws -> Value {
    index += 1
    do {
      return try Value(databaseValue: try self[index - 1])
    } catch {
      throw refusal(error, place: "argument \(index) of function \(function)", expected: "\(Value.columnType)")
    }
  }

  /// What a function gives, as SQLite stores it.
  func result(_ value: some SqlValue) throws -> DatabaseValue { try UserArguments.result(value, of: function) }

  static func result<Value: SqlValue>(_ value: Value, of function: String) throws -> DatabaseValue {
    do {
      return try value.databaseValue.checked()
    } catch {
      var refused = SqlError.encoding(expected: "\(Value.self)", found: "what SQLite can't store")
      if case .encoding(let mismatch) = (error as? SqlError)?.kind { refused.kind = .encoding(mismatch) }
      refused.message = "function \(function) gave a value that SQLite can't store"
      throw RefusedCall(error: refused)
    }
  }

  private func refusal(_ error: any Error, place: String, expected: String) -> RefusedCall {
    // A conversion of the program's own may say what it likes, the value included.
    var mismatch = SqlError.Mismatch(expected: expected, found: "another value")
    if case .decoding(let found) = (error as? SqlError)?.kind { mismatch = found }
    return RefusedCall(
      error: SqlError(
        .decoding(mismatch), message: "\(place) takes \(mismatch.expected), but was given \(mismatch.found)"))
  }
}
