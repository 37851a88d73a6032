import SqlableCore
import SqlablePool

/// The retries of a consumer whose closure throws for a change.
///
/// ```swift
/// let retries = ChangeRetries(attempts: 8, then: .quarantine)
/// try await pool.deliver("webhook", on: Bicycle.self, retries: retries) { change in try await post(change) }
/// ```
///
/// The consumer waits before each retry: `pause` before the first, and twice as long before each further retry, but not
/// longer than `longestPause`. Attempts are counted in the database, so that a restart neither shortens a pause nor
/// starts the count again. A cancellation, the closing of the pool, and a deadline that ends a transaction of `consume`
/// do not count as attempts. If the log did not keep a column that the model reads, the change is not retried: the
/// consumer ends with `.misuse`.
public struct ChangeRetries: Sendable, Hashable {
  /// The reaction to a change whose last attempt has failed.
  public enum Outcome: Sendable, Hashable {
    /// The consumer stops, and throws the closure's error. The next call tries again.
    case stop
    /// The change is put into quarantine with its error, and the consumer continues with the next change.
    case quarantine
  }

  /// The number of times that the closure runs for a change, including the first. Default: 5.
  public var attempts: Int
  /// The pause before the first retry. Default: 0.1 seconds.
  public var pause: Duration
  /// The longest pause. Default: 30 seconds.
  public var longestPause: Duration
  /// The reaction to a change whose last attempt has failed. Default: `.stop`.
  public var then: Outcome

  public init(
    attempts: Int = 5, pause: Duration = .milliseconds(100), longestPause: Duration = .seconds(30),
    then outcome: Outcome = .stop
  ) {
    (self.attempts, self.pause, self.longestPause, then) = (attempts, pause, longestPause, outcome)
  }

  func check() throws {
    guard attempts >= 1 else { throw SqlError.misuse("a consumer needs at least one attempt for each change") }
    guard pause >= .zero, longestPause >= pause, longestPause <= .seconds(86_400) else {
      throw SqlError.misuse("the pauses of a consumer must satisfy 0 <= pause <= longestPause <= 1 day")
    }
  }

  /// The pause after this number of failed attempts, in milliseconds.
  func milliseconds(after attempts: Int) -> Int {
    let doublings = min(max(attempts, 1) - 1, 40)
    return Int(min(pause / .milliseconds(1) * Double(1 << doublings), longestPause / .milliseconds(1)))
  }
}

/// A wrapper that carries an error of a consumer's closure out of the consumer's transaction.
struct FailedAttempt: Error {
  /// The change or row for which the closure ran.
  enum Subject: Sendable, Hashable {
    /// The change at a position in the log. After a restore, another change can have the same number.
    case change(ChangePosition)
    /// A row of the snapshot that a new consumer receives first.
    case row(KeptValues)

    /// The position of a change in the log; nil for a row.
    var position: ChangePosition? { if case .change(let position) = self { position } else { nil } }
  }

  /// Nil for a retry of a change that is already in quarantine.
  let subject: Subject?
  let error: any Error

  init(subject: Subject?, error: any Error) { (self.subject, self.error) = (subject, error) }

  /// Creates the failure of a closure that ran in a pool's call. Throws if the pool has stopped the call. The call then
  /// throws `CancellationError`, `.timeout` or `.closed`, even if the closure threw a different error.
  init(subject: Subject?, error: any Error, in db: SqliteDatabase) throws {
    try db.checkInterruption()
    self.init(subject: subject, error: error)
  }

  /// True for errors that end the consumer without a retry. If only a task inside the closure was cancelled, such as a
  /// request with a timeout, the `CancellationError` is retried like other errors.
  var isFinal: Bool { Task.isCancelled || (error as? SqlError)?.kind == .closed }

  /// Returns the kind and the message of an ``SqlError``. For any other error, returns only its type, because its text
  /// might contain values of rows.
  static func text(of error: any Error) -> String {
    guard let error = error as? SqlError else { return String(describing: type(of: error)) }
    return "\(error.kindName): \(error.message)"
  }
}
