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
/// Each group has a state of its own, which never leaves the thread that runs the statement. The rules of
/// ``ScalarFunction`` apply. NULL is an argument like any other: a parameter must be optional to take it. It can't be
/// used as a window function.
public struct AggregateFunction<Output: SqlValue, each Argument: SqlValue>: Sendable {
  let function: UserFunction

  /// Creates an aggregate from closures whose parameters and result can be stored; up to 100 parameters.
  ///
  /// - Parameters:
  ///   - name: The name in SQL; not case-sensitive. It hides a function of SQLite's own with this name.
  ///   - isDeterministic: Whether equal rows always give equal results.
  ///   - isAllowedInSchema: Whether views and triggers may call it. Then anyone who can write to the file can have it
  ///     called with any argument.
  ///   - initial: The state before the first row, created anew for each group.
  ///   - step: Adds a row to the state.
  ///   - finish: Computes the result; for a group without rows, from the initial state. It can be called for an aborted
  ///     statement too.
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

  /// Its name in SQL.
  public var name: String { function.name }
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
