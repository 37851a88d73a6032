// Runs of statements from untrusted documents: how long they may take, what they may make, and a second check of what
// they touch.

import SqlableCore

/// A statement that runs within the limits of a policy; ``Runnable/limited(by:)-(StatementPolicy)`` makes it.
public struct Limited<Work: Runnable>: Runnable {
  let work: Work
  let limits: StatementPolicy.Limits
  /// What SQLite may touch for it; nil for anything.
  let wall: AccessWall?

  public var sql: String { work.sql }
  public var isReadOnly: Bool { work.isReadOnly }

  public func requests() throws -> [SqlRequest] { try work.requests() }

  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Work.Output {
    try db.locked {
      let allowance = RunAllowance(steps: limits.steps, time: limits.time)
      let connection = try db.openConnection()
      let (result, excess) = connection.limited(to: allowance, busyTimeout: db.configuration.busyTimeout) {
        // Within the allowance: it reads the schema and tables, and may wait for locks.
        try connection.outsideWalls { try checkPlan(db) }
        return try connection.within(wall) {
          try connection.withValues(upTo: limits.valueBytes, patternsUpTo: limits.patternBytes) { try work.run(db) }
        }
      }
      do { return try result.get() } catch let error as SqlError { throw Limited.told(error, excess) }
    }
  }

  /// Throws if its plan visits all rows of a table that has too many. Runs nothing.
  package func checkPlan(_ db: SqliteDatabase) throws {
    if let rows = limits.scannedRows { try db.locked { try db.checkPlans(of: work, visitingAtMost: rows) } }
  }

  /// The error as the author of the document may see it.
  private static func told(_ error: SqlError, _ excess: RunAllowance.Excess?) -> SqlError {
    var told = error
    // A run whose time is over while it waits for a lock ends as busy.
    if let excess, error.kind == .interrupted || error.kind == .busy {
      told.kind = .timeout
      told.message =
        switch excess {
        case .time: "the statement ran longer than the policy allows"
        case .steps: "the statement took more steps than the policy allows"
        }
    } else if error.code == AccessWall.errorCode {
      told = DocumentAccess.refusal
      (told.transaction, told.label) = (error.transaction, error.label)
    }
    return told
  }

  public func run(over transport: some SqlTransport) async throws -> Work.Output {
    throw SqlError.misuse("the limits of a policy hold for handles and pools; a remote database does not know them")
  }
}

extension Limited: StatementTrees where Work: StatementTrees {
  package func statements() throws -> [TreeStatement] { try work.statements() }
}

extension Runnable {
  /// The same statement, run within the limits of a policy: its time and steps, the size of its values, the rows that
  /// it may scan, and the tables, columns and functions that SQLite may use for it.
  ///
  /// ```swift
  /// let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
  /// let bikes = try search.limited(by: policy).run(pool)     // [Bicycle]
  /// ```
  ///
  /// Running it throws `.timeout` when it takes longer or more steps than the policy allows, `.tooBig` for a value that
  /// is too large, and `.invalidStatement` when its plan scans a table with too many rows, or uses what the policy does
  /// not allow. A write that is stopped changes nothing. It runs on handles and pools; on a remote database it throws
  /// `.misuse`.
  public func limited(by policy: StatementPolicy) -> Limited<Self> {
    Limited(work: self, limits: policy.limits, wall: policy.wall(for: self))
  }

  /// The same statement, run within limits: its time and steps, the size of its values, and the rows that it may scan.
  ///
  /// ```swift
  /// let answer = try manifest.statement(json: body).limited(by: StatementPolicy.Limits()).run(pool)
  /// ```
  ///
  /// Throws what a statement that is limited by a policy throws. The limits of documents mean nothing to it.
  public func limited(by limits: StatementPolicy.Limits) -> Limited<Self> {
    Limited(work: self, limits: limits, wall: nil)
  }
}
