extension SqlError {
  /// The weight of an error for an operator, from the least to the greatest.
  ///
  /// ```swift
  /// pool.trace { event in if let severity = event.severity, severity >= .error { alert("\(event)") } }
  /// pool.didFail = { error in log((error as? SqlError)?.severity ?? .error, error) }
  /// ```
  public enum Severity: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The statement was interrupted, or its handle is closed.
    case debug
    /// A constraint refused a change.
    case info
    /// A lock or a leader was not there in time: a retry may succeed.
    case warning
    /// A retry does not mend it.
    case error
    /// The file is damaged, or the handle can't be used any more.
    case critical

    public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
  }

  /// The weight of the error for an operator.
  public var severity: Severity {
    switch kind {
    case .corrupt, .notADatabase, .handleLost: .critical
    case .busy, .timeout, .unavailable: .warning
    case .constraint: .info
    case .interrupted, .closed: .debug
    case .readOnly, .full, .io, .cannotOpen, .schema, .decoding, .encoding, .invalidStatement, .syntax, .tooBig,
      .notFound, .notUnique, .outOfMemory, .misuse, .wrongKey, .notAuthentic, .outcomeUnknown, .other:
      .error
    }
  }
}

/// A flag that makes no difference where errors are compared.
struct TracedMark: Sendable, Hashable {
  var isSet = false

  static func == (left: TracedMark, right: TracedMark) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

extension Error {
  /// The same error, which an event of a trace has.
  var traced: any Error {
    guard var error = self as? SqlError else { return self }
    error.isTraced.isSet = true
    return error
  }

  /// True if an event of a trace has it, or it is none of the library's.
  var needsNoEvent: Bool { (self as? SqlError)?.isTraced.isSet ?? true }
}
