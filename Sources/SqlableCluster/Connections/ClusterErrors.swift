#if Cluster
import Sqlable
import CSqlableSQLite

extension SqlError {
  /// The error for a failure that a node reports.
  init(code: Int, message: String, sql: String?, label: String?) {
    // From 1,000 on there are codes of dqlite's own, beside SQLite's extended ones, which have more than ten bits.
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
    }
  }

  /// True if the node is not the leader: nothing was done.
  var isNotLeader: Bool {
    // While a leader hands over dqlite 1.11 answers a commit with Raft's own code, 7, as if it were SQLite's.
    [10_250, 8_202].contains(extendedCode) || (extendedCode == 7 && message == "no more rows available")
  }

  /// True if the node did not get a majority for a commit. A later leader may have it nevertheless.
  var isLeadershipLost: Bool { [10_506, 8_458].contains(extendedCode) }

  /// True if the node is no longer of use, while another may be.
  var isNodeFailure: Bool {
    // ABORT: the node shuts down; it closes the databases of its connections first. A barrier fails when leadership is
    // lost.
    isNotLeader || isLeadershipLost || code == 4 || message == "barrier error" || (code == 10 && kind == .io)
      || (code == 12 && message == "no database opened")
  }

  /// The error for a call that found no leader in time.
  static func unavailable(_ reason: (any Error)?) -> SqlError {
    let reason = reason.map { ": \(SqlError.message(of: $0))" } ?? ""
    return SqlError(.unavailable, message: "the cluster had no leader before the deadline\(reason)")
  }

  /// The error for a commit that may be stored, or may not.
  static func outcomeUnknown(_ reason: any Error) -> SqlError {
    var text = SqlError.message(of: reason)
    // dqlite says that of any commit that it does not complete.
    if (reason as? SqlError)?.kind == .io { text = "the node answered \(text), and might no longer be the leader" }
    return SqlError(
      .outcomeUnknown,
      message: "the outcome of the commit is unknown: \(text); use transaction(id:) to repeat the transaction",
      transaction: .unknown)
  }

  /// The error for a write that did not get its turn, since nodes have no queue.
  static var lateForLock: SqlError { late("other clients held the write lock until the deadline") }

  static func late(_ what: String) -> SqlError { SqlError(.timeout, message: what) }
}

extension NodeConnection {
  /// Returns the response to a request. Throws the error that the node answers with, with the statement's text.
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
  /// The same error with the text of the statement, unless it has one: a value can't be sent, or a row not be read.
  func of(_ sql: String?) -> any Error {
    guard var error = self as? SqlError, error.sql == nil else { return self }
    error.sql = sql
    return error
  }
}

extension WireResponse {
  /// The response itself. Throws the error that it may be instead.
  func checked(_ sql: String?, _ label: String?) throws -> WireResponse {
    guard case .failure(let code, let message) = self else { return self }
    throw SqlError(code: code, message: message, sql: sql, label: label)
  }
}
#endif
