#if Cluster
import Sqlable
import CSqlableSQLite

extension SqlError {
  init(code: Int, message: String, sql: String?, label: String?) {
    // Codes from 1,000 to 1,023 are dqlite's own. SQLite's extended codes never have these values.
    let isDqliteCode = 1_000..<1_024 ~= code
    let (primary, extended) = (
      isDqliteCode ? SQLITE_ERROR : Int32(truncatingIfNeeded: code & 0xFF), Int32(truncatingIfNeeded: code)
    )
    self = Connection.error(
      primary, extendedCode: extended,
      message: RunMessage.ofRemote(
        Connection.withoutAdvice(message), code: primary, extendedCode: extended, sql: sql), label: label)
    self.sql = sql
    if kind == .other, let reason = Connection.reason(ofInvalid: self.message) {
      (kind, self.message) = (.invalidStatement(reason), reason)
    }
    for missing in ["no such function: ", "no such collation sequence: ", "no such tokenizer: "]
    where self.message.hasPrefix(missing) {
      self.message += "; a cluster can't use functions, collations or tokenizers that the program registers"
      kind = .misuse(self.message)
    }
    nameConflictTarget()
  }

  /// True if the node is not the leader, and has therefore not run the request.
  var isNotLeader: Bool {
    // During a handover, dqlite 1.11 answers a commit with Raft's own code, 7, as if the code were SQLite's.
    [10_250, 8_202].contains(extendedCode) || (extendedCode == 7 && message == "no more rows available")
  }

  /// True if the node did not get a majority for a commit. A later leader might store the commit nevertheless.
  var isLeadershipLost: Bool { [10_506, 8_458].contains(extendedCode) }

  /// True if the node is unusable but another node might be usable.
  var isNodeFailure: Bool {
    // The code 4, ABORT, means that the node is shutting down and has closed the databases of its connections. A
    // barrier fails when the node loses leadership.
    isNotLeader || isLeadershipLost || code == 4 || message == "barrier error" || (code == 10 && kind == .io)
      || (code == 12 && message == "no database opened")
  }

  static func unavailable(_ reason: (any Error)?) -> SqlError {
    let reason = reason.map { ": \(SqlError.message(of: $0))" } ?? ""
    return SqlError(.unavailable, message: "the cluster had no leader before the deadline\(reason)")
  }

  static func outcomeUnknown(_ reason: any Error) -> SqlError {
    var text = SqlError.message(of: reason)
    // dqlite reports this error for any commit that it does not complete.
    if (reason as? SqlError)?.kind == .io { text = "the node answered \(text), and might no longer be the leader" }
    return SqlError(
      .outcomeUnknown,
      message: "the outcome of the commit is unknown: \(text); use transaction(id:) to repeat the transaction",
      transaction: .unknown)
  }

  /// The error of a write that did not get the write lock. Nodes have no queue for the lock.
  static var lateForLock: SqlError { late("other clients held the write lock until the deadline") }

  static func late(_ what: String) -> SqlError { SqlError(.timeout, message: what) }
}

extension NodeConnection {
  /// Sends a request, and returns the response. Throws the node's error, with the SQL text of the statement.
  func answer(
    to request: WireRequest, _ sql: String? = nil, _ label: String? = nil, inParts: Bool = false,
    before deadline: ContinuousClock.Instant
  ) async throws -> WireResponse {
    do { return try await send(request, inParts: inParts, before: deadline).checked(sql, label) } catch {
      throw error.of(sql)
    }
  }
}

extension Error {
  func of(_ sql: String?) -> any Error {
    guard var error = self as? SqlError, error.sql == nil else { return self }
    error.sql = sql
    return error
  }
}

extension WireResponse {
  func checked(_ sql: String?, _ label: String?) throws -> WireResponse {
    guard case .failure(let code, let message) = self else { return self }
    throw SqlError(code: code, message: message, sql: sql, label: label)
  }
}
#endif
