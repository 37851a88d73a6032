import Synchronization

/// The traces of a handle family. Creates the tracers of the family's connections, and reports errors that no statement
/// caused. The module `SqlableTracing` has the only implementation.
package protocol TracerSource: AnyObject, Sendable {
  init()

  /// Returns a tracer, which stores measured runs until `deliver()`. The tracer calls `didMeasure` when it stores the
  /// first of these runs.
  func tracer(of db: SqliteDatabase, on connection: Connection, didMeasure: @escaping () -> Void) -> any RunTracer

  /// Reports an error that no statement caused. Call without the handle's lock.
  ///
  /// - Parameter isThrown: True if a call throws the error. If false, only traces with `errorsAtLeast` get the error.
  func report(_ error: SqlError, of db: SqliteDatabase, isThrown: Bool)
}

/// The number of traces in the process. In a process without a trace, a call checks only this number.
package enum TraceCount {
  private static let count = Atomic(0)

  package static var isPositive: Bool { count.load(ordering: .relaxed) > 0 }

  package static func add(_ difference: Int) { count.add(difference, ordering: .relaxed) }
}

/// A flag that is set while a trace receives the statements of a handle family.
package final class TraceFlag: Sendable {
  private let flag = Atomic(false)

  package init() {}

  package var isSet: Bool { flag.load(ordering: .relaxed) }

  func set(_ isTraced: Bool) { flag.store(isTraced, ordering: .relaxed) }
}

extension SqliteDatabase {
  /// Begins a public call. The events of the call's statements contain the file and line. Returns true if the call is
  /// traced: the caller must then call `endCall()`, and this thread holds the handle's lock until then.
  @usableFromInline
  package func beginCall(_ file: StaticString, _ line: UInt) throws -> Bool {
    TraceCount.isPositive ? try beginTracedCall(CallSite(file: file, line: line)) : false
  }

  @inline(never)
  private func beginTracedCall(_ site: CallSite) throws -> Bool {
    guard !site.isInLibrary else { return false }
    try enter()
    guard let tracer = connection?.tracer else {
      unlockAndDeliver()
      return false
    }
    tracer.beginCall(at: site)
    return true
  }

  @usableFromInline
  package func endCall() {
    connection?.tracer?.endCall()
    unlockAndDeliver()
  }

  /// Reports an error that belongs to no statement's event. Call with the handle's lock held, before the error is
  /// thrown.
  @usableFromInline
  func reported(_ error: any Error) -> any Error {
    guard !error.needsNoEvent, let tracer = connection?.tracer, let sqlError = error as? SqlError else { return error }
    return tracer.didFailWithoutStatement(sqlError) ? error.traced : error
  }

  /// Reports an error of a pool, or of a handle that could not be opened. Call without the handle's lock.
  package func reportedWithoutLock(_ error: any Error) -> any Error {
    guard TraceCount.isPositive, !error.needsNoEvent, let sqlError = error as? SqlError,
      let source = functions?.tracerSource
    else { return error }
    source.report(sqlError, of: self, isThrown: true)
    return error.traced
  }

  /// Reports an error that no call throws, unless the event of a statement has reported the error.
  func reportInBackground(_ error: any Error) {
    guard TraceCount.isPositive, !error.needsNoEvent, let error = error as? SqlError else { return }
    functions?.tracerSource?.report(error, of: self, isThrown: false)
  }

  package func withoutTracing<Value>(_ body: () throws -> Value) throws -> Value {
    try locked { try openConnection().withoutTracing { _ in try body() } }
  }
}
