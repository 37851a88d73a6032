/// A tracer that measures the runs of one connection. The module `SqlableTracing` has the only implementation.
///
/// A connection has a tracer only while a trace exists.
///
/// All methods except `deliver()` must be called with the handle's lock held.
package protocol RunTracer: AnyObject {
  /// True while the library runs internal queries about other statements. These queries are not measured.
  var isPaused: Bool { get set }

  /// Ends the measurement of runs.
  func remove()

  /// Passes the measured runs to the traces. Call without the handle's lock.
  func deliver()

  /// Records that a call of the handle begins at `site`. Call `endCall()` when the call of the handle ends.
  func beginCall(at site: CallSite)

  func endCall()

  /// Sets the call site of a statement's next run, unless the call site is inside the library.
  func setCallSite(_ site: CallSite, of statement: TracedStatement)

  func didCompile(_ statement: TracedStatement, since begin: ContinuousClock.Instant)

  func didFailToCompile(_ text: String, since begin: ContinuousClock.Instant, _ error: SqlError)

  /// Records the first step of a statement's run. Also called, with the same statement, each time that the running
  /// statement fires a trigger.
  func didBegin(_ statement: TracedStatement)

  func didReadRow(_ statement: TracedStatement)

  /// Records that a statement's run has ended, after the last row or by a reset.
  func didEnd(_ statement: TracedStatement)

  /// Records that the running statement begins to commit.
  func willCommit()

  /// Records the error of a failed statement. Call after the statement's end was measured.
  func didFail(_ error: SqlError)

  /// Records that a value of the current row can't be read. A model can catch this error, so the statement has failed
  /// only if no further row is read. Returns true if an event will report the error.
  func didFailToRead(_ statement: TracedStatement, _ error: SqlError) -> Bool

  /// Records that the row was read successfully despite an earlier `didFailToRead`.
  func didRead(_ statement: TracedStatement)

  /// Records an error that no statement caused. Call before the error is thrown. Returns true if an event reports the
  /// error.
  func didFailWithoutStatement(_ error: SqlError) -> Bool
}

extension Connection {
  package func withoutTracing<Value>(_ body: (Connection) throws -> Value) rethrows -> Value {
    let (tracer, wasPaused) = (tracer, tracer?.isPaused)
    tracer?.isPaused = true
    defer { tracer?.isPaused = wasPaused ?? false }
    return try body(self)
  }
}
