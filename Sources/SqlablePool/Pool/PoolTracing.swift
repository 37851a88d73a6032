import SqlableCore
import SqlableTracing

extension SqlitePool: LocalDatabase {
  public var registrations: Registrations { root.registrations }

  /// Ends a trace.
  public func removeTrace(_ token: TraceToken) {
    root.removeTrace(token)
    events.remove(token)
  }
}
