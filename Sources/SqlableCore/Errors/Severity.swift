extension SqlError {
  /// The severity of an error, for an operator. The cases are in ascending order.
  ///
  /// ```swift
  /// pool.onError(atLeast: .error) { event in alert("\(event)") }
  /// ```
  public enum Severity: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The statement was interrupted, or the handle is closed.
    case debug
    /// A constraint rejected a change.
    case info
    /// A lock or a cluster's leader was not available in time, or a deadline passed. A retry can succeed.
    case warning
    /// An error that a retry can't resolve.
    case error
    /// The file is damaged or not a database, its disk is full, or the handle can't be used any longer.
    case critical

    public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
  }

  /// The severity of the error for an operator.
  public var severity: Severity {
    switch kind {
    case .corrupt, .notADatabase, .full, .handleLost: .critical
    case .busy, .timeout, .unavailable: .warning
    case .constraint: .info
    case .interrupted, .closed: .debug
    case .readOnly, .io, .cannotOpen, .schema, .decoding, .encoding, .invalidStatement, .syntax, .tooBig,
      .notFound, .notUnique, .outOfMemory, .misuse, .wrongKey, .notAuthentic, .outcomeUnknown, .changeLog, .tenant,
      .other:
      .error
    }
  }
}

/// A flag that `==` and `hash(into:)` ignore.
struct TracedMark: Sendable, Hashable {
  var isSet = false

  static func == (left: TracedMark, right: TracedMark) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

extension Error {
  package var traced: any Error {
    guard var error = self as? SqlError else { return self }
    error.isTraced.isSet = true
    return error
  }

  /// True if a trace event reports the error, or if the error is not an ``SqlError``.
  package var needsNoEvent: Bool { (self as? SqlError)?.isTraced.isSet ?? true }
}
