/// A user-defined function that computes one value from all rows of a group.
///
/// ```swift
/// let median = AggregateFunction("median", initial: [Double]()) { (values: inout [Double], value: Double) in
///   values.append(value)
/// } finish: { values in
///   values.isEmpty ? nil : values.sorted()[values.count / 2]
/// }
/// ```
///
/// Each group has its own state, which never leaves the thread that runs the statement. The rules of ``ScalarFunction``
/// apply. NULL is passed to the closure, so a parameter must be optional to accept NULL. An aggregate can't be used as
/// a window function.
public struct AggregateFunction<Output: SqlValue, each Argument: SqlValue>: Sendable {
  let function: UserFunction

  /// Creates an aggregate from closures with up to 100 parameters. Parameters and result must be types that can be
  /// stored.
  ///
  /// - Parameters:
  ///   - name: The name in SQL, not case-sensitive. The function hides a built-in function with the same name.
  ///   - isDeterministic: True if equal rows always return equal results.
  ///   - isAllowedInSchema: True if views and triggers are allowed to call the function. Anyone who can write to the
  ///     file can then cause a call with any argument.
  ///   - initial: The state before the first row, evaluated for each group.
  ///   - step: Adds a row to the state.
  ///   - finish: Computes the result. For a group without rows, the state is `initial`. SQLite can call this closure
  ///     for an aborted statement too.
  public init<State>(
    _ name: String, isDeterministic: Bool = false, isAllowedInSchema: Bool = false,
    initial: @escaping @Sendable @autoclosure () -> State,
    step: @escaping @Sendable (inout State, repeat each Argument) throws -> Void,
    finish: @escaping @Sendable (State) throws -> Output
  ) {
    var count = 0
    repeat UserArguments.count((each Argument).self, &count)
    function = UserFunction(
      name: name, argumentCount: count, isDeterministic: isDeterministic, isAllowedInSchema: isAllowedInSchema,
      body: .aggregate(TypedAggregate(name: name, initial: initial, step: step, finish: finish)))
  }

  package var name: String { function.name }
}

private struct TypedAggregate<State, Output: SqlValue, each Argument: SqlValue>: AggregateBody {
  let name: String
  let initial: @Sendable () -> State
  let step: @Sendable (inout State, repeat each Argument) throws -> Void
  let finish: @Sendable (State) throws -> Output

  func makeGroup() -> any AggregateGroup { TypedGroup(self) }
}

private final class TypedGroup<State, Output: SqlValue, each Argument: SqlValue>: AggregateGroup {
  private let aggregate: TypedAggregate<State, Output, repeat each Argument>
  private var state: State

  init(_ aggregate: TypedAggregate<State, Output, repeat each Argument>) {
    self.aggregate = aggregate
    state = aggregate.initial()
  }

  func step(_ arguments: UserArguments) throws {
    var index = 0
    try aggregate.step(&state, repeat try arguments.next(&index, as: (each Argument).self))
  }

  func finish() throws -> DatabaseValue { try UserArguments.result(aggregate.finish(state), of: aggregate.name) }
}
