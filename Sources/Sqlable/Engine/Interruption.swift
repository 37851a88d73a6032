import CSqlableSQLite
import Glibc
import Synchronization

/// Stops what a connection runs or waits for, from another thread, for as long as it is pulled.
///
/// Not `sqlite3_interrupt`, which stops whatever runs when it arrives: that may be the next caller's, or nothing.
///
/// Sound as `Sendable`: the flag is atomic, and the rest is touched by the thread that runs the statement only.
final class Interruption: @unchecked Sendable {
  private let flag = Atomic(false)
  /// How long a statement waits for another connection's lock.
  let busyTimeout: Duration

  init(busyTimeout: Double) { self.busyTimeout = .seconds(busyTimeout) }

  var isRequested: Bool { flag.load(ordering: .acquiring) }

  func request() { flag.store(true, ordering: .releasing) }

  func reset() {
    flag.store(false, ordering: .releasing)
    let wasLong = steps >= Interruption.stepsBeforeTelling
    steps = 0
    if wasLong { longStatement.withLock { $0 = nil } }
  }

  /// The SQL of a statement that has run for long, for others to know.
  let longStatement = Guarded<String?>(nil)
  /// How many thousand steps the call's statements have taken.
  @exclusivity(unchecked) fileprivate var steps = 0
  /// So many thousand are told: a millisecond or two.
  fileprivate static let stepsBeforeTelling = 64

  /// To be called on the thread that runs the statement.
  fileprivate func tell(_ connection: OpaquePointer) {
    var statement = sqlite3_next_stmt(connection, nil)
    while let candidate = statement, sqlite3_stmt_busy(candidate) == 0 {
      statement = sqlite3_next_stmt(connection, candidate)
    }
    guard let statement, let sql = sqlite3_sql(statement) else { return }
    let text = String(cString: sql)
    longStatement.withLock { $0 = text }
  }

  /// How often the progress handler may still be called; nil for as long as it takes.
  @exclusivity(unchecked) fileprivate var budget: Int?

  /// Calls `body` on the thread that has the connection, with its statements stopped when they take more than so many
  /// thousand steps together, or have to wait for a lock. Tells whether they were.
  func withBudget(_ thousands: Int, _ body: () throws -> Void) rethrows -> Bool {
    budget = thousands
    defer { budget = nil }
    do {
      try body()
      return false
    } catch {
      if let left = budget, left < 0 { return true }
      throw error
    }
  }

  /// Whether running statements are not stopped, though those are that wait for a lock.
  @exclusivity(unchecked) var isOff = false

  /// Whether a statement is to be stopped that has taken another thousand steps.
  fileprivate var stops: Bool {
    if isOff { return false }
    steps += 1
    if steps % Interruption.stepsBeforeTelling == 0, let connection { tell(connection) }
    guard let left = budget else { return isRequested }
    budget = left - 1
    return left < 1 || isRequested
  }

  /// When the connection began to wait for a lock.
  @exclusivity(unchecked) fileprivate var waitingSince: ContinuousClock.Instant?

  /// How much of the busy timeout was spent before SQLite was asked; the next wait for a lock begins with that.
  @exclusivity(unchecked) var spent = Duration.zero

  /// The connection that it stops.
  fileprivate var connection: OpaquePointer?

  /// Waits for a lock a little longer, unless that was long enough.
  fileprivate func waits(_ attempts: Int32) -> Bool {
    if budget != nil {
      budget = -1
      return false
    }
    if attempts == 0 {
      waitingSince = .now - spent
      spent = .zero
    }
    guard !isRequested, let since = waitingSince, ContinuousClock.now - since < busyTimeout else { return false }
    // Of random length, or those who wait would meet again.
    let pause = min(500 << UInt32(min(attempts, 7)), 25_000)
    usleep(UInt32.random(in: UInt32(pause) / 2...UInt32(pause)))
    return true
  }
}

extension Connection {
  /// Throws when what runs is to be stopped. SQLite looks every thousand steps of one statement: many small ones never
  /// get there.
  func checkBrake() throws {
    guard interruption?.isRequested == true else { return }
    throw error(SQLITE_INTERRUPT, sql: nil)
  }

  /// Has statements stopped by a interruption, while they run and while they wait for another connection's lock.
  func use(_ interruption: Interruption) {
    self.interruption = interruption
    interruption.connection = handle
    let context = Unmanaged.passUnretained(interruption).toOpaque()
    // Every so many steps of a statement's program, of all its runs together.
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
