import CSqlableSQLite
import FoundationEssentials

struct UserFunction: Sendable {
  enum Body: Sendable {
    case scalar(any ScalarBody)
    case aggregate(any AggregateBody)
  }

  let name: String
  let argumentCount: Int
  let isDeterministic: Bool
  /// True if views, triggers, checks, generated columns and indexes are allowed to call the function.
  let isAllowedInSchema: Bool
  let body: Body

  fileprivate var flags: Int32 {
    SQLITE_UTF8 | (isDeterministic ? SQLITE_DETERMINISTIC : 0)
      | (isAllowedInSchema ? SQLITE_INNOCUOUS : SQLITE_DIRECTONLY)
  }
}

protocol ScalarBody: Sendable {
  func call(_ arguments: UserArguments) throws -> DatabaseValue
}

protocol AggregateBody: Sendable {
  func makeGroup() -> any AggregateGroup
}

/// The state of an aggregate for one group of rows.
protocol AggregateGroup: AnyObject {
  func step(_ arguments: UserArguments) throws
  func finish() throws -> DatabaseValue
}

/// The arguments of one call, which are valid only during the call.
struct UserArguments {
  let function: String
  private let values: UnsafeMutablePointer<OpaquePointer?>?
  private let count: Int

  fileprivate init(_ function: String, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    self.function = function
    self.values = values
    self.count = Int(count)
  }

  /// A copy of an argument. Throws for TEXT that is not valid UTF-8.
  subscript(index: Int) -> DatabaseValue {
    get throws {
      guard index < count, let value = values?[index] else { return .null }
      return try SqliteValue(value).storage()
    }
  }
}

extension Connection {
  /// Registers or replaces a function. Returns SQLITE_BUSY if a function would be replaced while a statement runs.
  func register(_ function: UserFunction) -> Int32 {
    // SQLite releases the context when the function is replaced, when the connection closes, and when this call fails.
    let context = Unmanaged.passRetained(FunctionContext(function, userCode)).toOpaque()
    let count = Int32(truncatingIfNeeded: function.argumentCount)
    switch function.body {
    case .scalar:
      return sqlite3_create_function_v2(
        handle, function.name, count, function.flags, context,
        { FunctionContext.of($0)?.call($0, $1, $2) }, nil, nil, FunctionContext.release)
    case .aggregate:
      return sqlite3_create_function_v2(
        handle, function.name, count, function.flags, context, nil,
        { FunctionContext.of($0)?.step($0, $1, $2) }, { FunctionContext.of($0)?.finish($0) }, FunctionContext.release)
    }
  }
}

private final class FunctionContext {
  private let function: UserFunction
  private let userCode: UserCode

  init(_ function: UserFunction, _ userCode: UserCode) {
    self.function = function
    self.userCode = userCode
  }

  static func of(_ context: OpaquePointer?) -> FunctionContext? {
    sqlite3_user_data(context).map { Unmanaged<FunctionContext>.fromOpaque($0).takeUnretainedValue() }
  }

  static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
    if let context { Unmanaged<FunctionContext>.fromOpaque(context).release() }
  }

  func call(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard case .scalar(let body) = function.body else { return }
    answer(context) { try body.call(UserArguments(function.name, count, values)) }
  }

  func step(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard case .aggregate(let body) = function.body, let slot = slot(context, create: true) else {
      return sqlite3_result_error_nomem(context)
    }
    answer(context) {
      let state = slot.pointee?.takeUnretainedValue() ?? GroupState(body.makeGroup())
      if slot.pointee == nil { slot.pointee = Unmanaged.passRetained(state) }
      do { try state.group.step(UserArguments(function.name, count, values)) } catch {
        state.hasFailed = true
        throw error
      }
      return nil
    }
  }

  func finish(_ context: OpaquePointer?) {
    guard case .aggregate(let body) = function.body else { return }
    let slot = slot(context, create: false)
    let state = slot?.pointee?.takeRetainedValue()
    slot?.pointee = nil
    // SQLite also calls this function after a failed statement, to free the memory of its groups.
    guard state?.hasFailed != true else { return }
    // If the group has no rows, SQLite has not called `step`, so the group does not exist yet.
    answer(context) { try (state?.group ?? body.makeGroup()).finish() }
  }

  private final class GroupState {
    let group: any AggregateGroup
    var hasFailed = false

    init(_ group: any AggregateGroup) { self.group = group }
  }

  /// Returns the slot in which SQLite stores the current group's state. The slot is initially empty.
  private func slot(_ context: OpaquePointer?, create: Bool) -> UnsafeMutablePointer<Unmanaged<GroupState>?>? {
    sqlite3_aggregate_context(context, create ? Int32(MemoryLayout<Unmanaged<GroupState>?>.size) : 0)?
      .assumingMemoryBound(to: Unmanaged<GroupState>?.self)
  }

  private func answer(_ context: OpaquePointer?, _ body: () throws -> DatabaseValue?) {
    userCode.enter()
    defer { userCode.leave() }
    do {
      guard let value = try body() else { return }
      _ = value.give(to: ResultTarget(context: context))
    } catch {
      sqlite3_result_error(context, userCode.keep(error), -1)
    }
  }
}
