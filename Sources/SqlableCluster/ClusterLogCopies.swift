#if Cluster
import Sqlable
import SqlableChanges

extension ClusterTransaction {
  /// Calls a closure that changes the schema, and then brings the change log up to date.
  func updatingChangeLog<Value>(_ body: () async throws -> Value) async throws -> Value {
    if try await hasChangeLog { for sql in try await filledCopy().losses() { try await execute(sql) } }
    let value = try await body()
    if try await hasChangeLog { for sql in try await filledCopy().updates() { try await execute(sql) } }
    return value
  }

  private var hasChangeLog: Bool {
    get async throws {
      try await query("SELECT count(*) FROM sqlite_schema WHERE name = \(LogMark.logTable)", as: Int.self) == [1]
    }
  }

  /// Returns a copy of the schema that the transaction sees. The copy also contains the rows of the change log.
  func filledCopy() async throws -> LogCopy {
    let copy = try await LogCopy(of: self)
    try await copy.fill(LogPart(), from: self)
    return copy
  }
}

/// Copies of the cluster's schema, for work on the change log. Each copy is used by one caller at a time.
final class ClusterLogCopies: Sendable {
  private static let maximumCount = 4

  private let free = LockedValue<[LogCopy]>([])

  /// Calls `body` with a copy of the schema that the transaction sees.
  func withCopy<Value>(
    of tx: ClusterTransaction, _ part: LogPart, _ body: (LogCopy) async throws -> Value
  ) async throws -> Value {
    var copy: LogCopy?
    while copy == nil, let candidate = free.withLock({ $0.popLast() }) {
      if try await candidate.isCurrent(of: tx) { copy = candidate }
    }
    // Keep no new copy of a writing transaction, which might have changed the schema and might still roll back.
    let isKept = copy != nil || tx.isReadOnly
    let current: LogCopy
    if let copy { current = copy } else { current = try await LogCopy(of: tx) }
    try await current.fill(part, from: tx)
    defer { if isKept { free.withLock { if $0.count < ClusterLogCopies.maximumCount { $0.append(current) } } } }
    return try await body(current)
  }
}
#endif
