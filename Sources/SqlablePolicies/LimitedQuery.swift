// Runs the statements of untrusted documents with limits on time, steps, scans and values, and with the authorizer's
// check.

import SqlableCore
import SqlableDocuments

/// A statement that runs within the limits of a policy, created by ``Runnable/limited(by:)-(StatementPolicy)``.
public struct LimitedQuery<Work: Runnable>: Runnable, WrappingWork {
  let work: Work
  let limits: StatementPolicy.Limits
  /// The tables, columns and functions that SQLite can use for the statement; nil for no restriction.
  let authorizerRules: AuthorizerRules?

  package var wrapped: Work { work }

  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Work.Output {
    try db.locked {
      let allowance = RunAllowance(steps: limits.steps, time: limits.time)
      let connection = try db.openConnection()
      let (result, excess) = connection.limited(to: allowance, busyTimeout: db.configuration.busyTimeout) {
        // Limit the plan check too, because it reads the schema and tables, and might wait for locks.
        try connection.withoutRules { try checkPlan(db) }
        return try connection.within(authorizerRules) {
          try connection.withValues(upTo: limits.valueBytes, patternsUpTo: limits.patternBytes) { try work.run(db) }
        }
      }
      do { return try result.get() } catch let error as SqlError { throw LimitedQuery.redacted(error, excess) }
    }
  }

  /// Throws if the statement's plan visits all rows of a table, and the table has more rows than allowed. Does not run
  /// the statement.
  package func checkPlan(_ db: SqliteDatabase) throws {
    if let rows = limits.scannedRows { try db.locked { try db.checkPlans(of: work, visitingAtMost: rows) } }
  }

  /// Returns the error for the document's author: a timeout for an exceeded limit, a refusal for refused access.
  private static func redacted(_ error: SqlError, _ excess: RunAllowance.Excess?) -> SqlError {
    var redacted = error
    // A run whose time expires during the wait for a lock ends with `.busy`.
    if let excess, error.kind == .interrupted || error.kind == .busy {
      redacted.kind = .timeout
      redacted.message =
        switch excess {
        case .time: "the statement ran longer than the policy allows"
        case .steps: "the statement took more steps than the policy allows"
        }
    } else if error.code == AuthorizerRules.errorCode {
      redacted = DocumentAccess.refusal
      (redacted.transaction, redacted.label) = (error.transaction, error.label)
    }
    return redacted
  }

  public func run(over transport: some SqlTransport) async throws -> Work.Output {
    throw SqlError.misuse("a remote database can't enforce the limits of a policy; use a handle or pool")
  }
}

extension LimitedQuery: StatementTrees where Work: StatementTrees {
  package func statements() throws -> [TreeStatement] { try work.statements() }
}

extension Runnable {
  /// Returns the same statement with the limits of a policy. The policy limits the statement's time and steps, the size
  /// of its values, and the number of scanned rows. SQLite can use only the tables, columns and functions that the
  /// policy allows.
  ///
  /// ```swift
  /// let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
  /// let bikes = try search.limited(by: policy).run(pool)     // [Bicycle]
  /// ```
  ///
  /// A run throws `.timeout` if it exceeds the policy's time or steps, and `.tooBig` if a value is too large. A LIKE or
  /// GLOB pattern that is too long throws `.other`. A plan that scans a table with too many rows throws
  /// `.invalidStatement`, as does a part of the statement that the policy does not allow. A write that is stopped
  /// changes nothing. The statement can run on handles and pools. A run on a remote database throws `.misuse`.
  public func limited(by policy: StatementPolicy) -> LimitedQuery<Self> {
    LimitedQuery(work: self, limits: policy.limits, authorizerRules: policy.authorizerRules(for: self))
  }

  /// Returns the same statement with limits on its time and steps, the size of its values, and the number of scanned
  /// rows.
  ///
  /// ```swift
  /// let answer = try manifest.statement(json: body).limited(by: StatementPolicy.Limits()).run(pool)
  /// ```
  ///
  /// A run throws the same errors as a statement that is limited by a policy. The limits on documents, such as `bytes`
  /// and `rows`, have no effect here.
  public func limited(by limits: StatementPolicy.Limits) -> LimitedQuery<Self> {
    LimitedQuery(work: self, limits: limits, authorizerRules: nil)
  }
}
