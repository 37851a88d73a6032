import CSqlableSQLite
import Glibc
import Synchronization

/// Interrupts a connection's statements and lock waits from another thread, from `request()` until `reset()`.
///
/// Does not use `sqlite3_interrupt`, because that call could stop the next caller's statement, or have no effect
/// between two statements.
///
/// `@unchecked Sendable` is sound for these reasons:
/// 1. The flag is atomic.
/// 2. `longStatement` has its own lock.
/// 3. Only the thread that runs the statement accesses the other properties.
package final class Interruption: @unchecked Sendable {
  private let flag = Atomic(false)
  /// The maximum time that a statement waits for another connection's lock.
  package let busyTimeout: Duration

  package init(busyTimeout: Double) { self.busyTimeout = .seconds(busyTimeout) }

  package var isRequested: Bool { flag.load(ordering: .acquiring) }

  package func request() { flag.store(true, ordering: .releasing) }

  package func reset() {
    flag.store(false, ordering: .releasing)
    let wasLong = steps >= Interruption.stepsBeforeReporting
    steps = 0
    if wasLong { longStatement.withLock { $0 = nil } }
  }

  /// The SQL of a long-running statement; nil until a statement has run for some time. Any thread can read the value.
  package let longStatement = LockedValue<String?>(nil)
  /// The number of virtual machine steps, in thousands, of the statements that the current call has run.
  @exclusivity(unchecked) fileprivate var steps = 0
  /// The number of steps, in thousands, after which `longStatement` gets the statement's SQL. SQLite runs these steps
  /// in one or two milliseconds.
  fileprivate static let stepsBeforeReporting = 64

  /// Stores the SQL of the running statement in `longStatement`. Call on the thread that runs the statement.
  fileprivate func report(_ connection: OpaquePointer) {
    var statement = sqlite3_next_stmt(connection, nil)
    while let candidate = statement, sqlite3_stmt_busy(candidate) == 0 {
      statement = sqlite3_next_stmt(connection, candidate)
    }
    guard let statement, let sql = sqlite3_sql(statement) else { return }
    let text = String(cString: sql)
    longStatement.withLock { $0 = text }
  }

  /// The number of progress callbacks that are still allowed; nil for no limit. SQLite calls back after each thousand
  /// steps.
  @exclusivity(unchecked) fileprivate var budget: Int?

  /// Calls `body` on the connection's thread. Stops the statements of `body` if they take more than 1,000 × `thousands`
  /// steps in total, or if a statement would wait for a lock. Returns true if a statement was stopped.
  package func withBudget(_ thousands: Int, _ body: () throws -> Void) rethrows -> Bool {
    beginBudget(thousands)
    do {
      try body()
      _ = endBudget()
      return false
    } catch {
      if endBudget() { return true }
      throw error
    }
  }

  /// Begins to count steps as `withBudget` does.
  package func beginBudget(_ thousands: Int) { budget = thousands }

  /// Ends the budget. Returns true if a statement was stopped.
  package func endBudget() -> Bool {
    defer { budget = nil }
    return isBudgetSpent
  }

  package var isBudgetSpent: Bool { budget.map { $0 < 0 } ?? false }

  /// The remaining steps and time of a limited run; nil outside a limited run.
  @exclusivity(unchecked) var allowance: RunAllowance?

  /// True if running statements ignore a requested interruption. The interruption still ends a wait for a lock.
  @exclusivity(unchecked) var isOff = false

  /// Counts a thousand steps, and returns true if the running statement must stop.
  fileprivate var stops: Bool {
    if isOff { return false }
    steps += 1
    if steps % Interruption.stepsBeforeReporting == 0, let connection { report(connection) }
    if allowance != nil, allowance?.takeThousand() == false { return true }
    guard let left = budget else { return isRequested }
    budget = left - 1
    return left < 1 || isRequested
  }

  /// The time when the current or latest wait for a lock began; nil before the first wait.
  @exclusivity(unchecked) fileprivate var waitingSince: ContinuousClock.Instant?

  /// The total time that the connection has waited for locks.
  @exclusivity(unchecked) package private(set) var waited = Duration.zero

  /// The part of the busy timeout that passed before SQLite was called. The next wait is shorter by this time.
  @exclusivity(unchecked) package var spent = Duration.zero

  /// The connection whose statements are interrupted; nil before `use(_:)`.
  fileprivate var connection: OpaquePointer?

  /// Pauses before SQLite retries a lock. Returns false if the busy timeout passed or the statement must stop.
  fileprivate func waits(_ attempts: Int32) -> Bool {
    if budget != nil {
      budget = -1
      return false
    }
    if attempts == 0 {
      waitingSince = .now - spent
      spent = .zero
    }
    if allowance != nil, allowance?.checkTime() == false { return false }
    guard !isRequested, let since = waitingSince, ContinuousClock.now - since < busyTimeout else { return false }
    let start = ContinuousClock.now
    BusyWait.pause(attempts)
    waited += start.duration(to: .now)
    return true
  }
}

/// The remaining steps and time of a limited run.
package struct RunAllowance {
  package enum Excess {
    case time, steps
  }

  /// The remaining steps of SQLite's virtual machine, in thousands; nil for no limit.
  private var steps: Int?
  /// The steps taken so far, in thousands.
  private var taken = 0
  private var end: ContinuousClock.Instant?
  private(set) var excess: Excess?

  package init(steps: Int?, time: Duration?) {
    self.steps = steps.map { max(1, $0 / 1_000 + ($0 % 1_000 > 0 ? 1 : 0)) }
    end = time.map { .now + $0 }
  }

  /// Returns this allowance, with each limit lowered to the limit of `other` if that limit is lower.
  fileprivate func atMost(_ other: RunAllowance?) -> RunAllowance {
    guard let other else { return self }
    var least = self
    least.steps = [steps, other.steps].compactMap(\.self).min()
    least.end = [end, other.end].compactMap(\.self).min()
    return least
  }

  /// Returns this allowance minus the steps that a nested run with the allowance `inner` has taken.
  fileprivate func without(_ inner: RunAllowance?) -> RunAllowance {
    guard let inner else { return self }
    var rest = self
    rest.taken += inner.taken
    rest.steps = steps.map { $0 - inner.taken }
    return rest
  }

  /// Counts a thousand steps; returns false if the run has exceeded a limit.
  fileprivate mutating func takeThousand() -> Bool {
    taken += 1
    if let left = steps {
      steps = left - 1
      if left < 1 { excess = excess ?? .steps }
    }
    return checkTime() && excess == nil
  }

  fileprivate mutating func checkTime() -> Bool {
    if let end, ContinuousClock.now >= end { excess = excess ?? .time }
    return excess == nil
  }
}

extension Connection {
  /// Throws if an interruption is requested. SQLite itself checks only after a thousand steps, too late for small
  /// statements.
  @inline(__always)
  package func checkInterruption() throws {
    guard let interruption = unretainedInterruption, interruption._withUnsafeGuaranteedRef({ $0.isRequested }) else {
      return
    }
    throw error(SQLITE_INTERRUPT, sql: nil)
  }

  /// Calls `body`, and stops its statements when they exceed the allowance. Also returns the exceeded limit, if any.
  package func limited<Value>(
    to allowance: RunAllowance, busyTimeout: Double, _ body: () throws -> Value
  ) -> (result: Result<Value, any Error>, excess: RunAllowance.Excess?) {
    let existing = interruption
    let used = existing ?? Interruption(busyTimeout: busyTimeout)
    if existing == nil { use(used) }
    // A nested run must stay within its own allowance and within the outer run's allowance.
    let outer = used.allowance
    used.allowance = allowance.atMost(outer)
    let result = Result { try body() }
    let excess = used.allowance?.excess
    used.allowance = outer?.without(used.allowance)
    if existing == nil { stopUsingInterruption(busyTimeout: busyTimeout) }
    return (result, excess)
  }

  package func stopUsingInterruption(busyTimeout: Double) {
    interruption = nil
    sqlite3_progress_handler(handle, 0, nil, nil)
    setBusyTimeout(milliseconds: Int32(busyTimeout * 1_000))
  }

  /// Sets the interruption that stops this connection's running statements and lock waits.
  package func use(_ interruption: Interruption) {
    self.interruption = interruption
    interruption.connection = handle
    let context = Unmanaged.passUnretained(interruption).toOpaque()
    // A run of fewer than 1,000 steps can also call the handler, because SQLite adds up the steps of all runs of a
    // compiled statement.
    sqlite3_progress_handler(
      handle, 1_000,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Interruption>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.stops } ? 1 : 0
      }, context)
    sqlite3_busy_handler(
      handle,
      { context, attempts in
        guard let context else { return 0 }
        return Unmanaged<Interruption>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.waits(attempts) } ? 1 : 0
      }, context)
  }
}
