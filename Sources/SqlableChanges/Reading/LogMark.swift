import SqlableCore

/// The state of a remote change log, by which a client detects changes of the log.
package struct LogMark: Sendable, Hashable {
  /// The schema version, the id of the log's history, the number of the last trimmed change, and the number and time of
  /// the last change.
  private let log: [DatabaseValue]
  /// The owners of the consumers and the claims of their leases.
  private let owners: DatabaseValue

  package init(of remote: some AsyncSqlExecutor) async throws {
    let rows = try await remote.query(
      """
      SELECT (SELECT group_concat(quote("name") || quote("owner") || quote("claimed"))
      FROM main."sqlable_change_consumers") AS owners,
      v."schema_version", h."id", h."trimmed", l."seq", l."at"
      FROM pragma_schema_version AS v JOIN main."sqlable_change_history" AS h
      LEFT JOIN (SELECT "seq", "at" FROM main."sqlable_changes" ORDER BY "seq" DESC LIMIT 1) AS l
      """, as: DynamicRow.self)
    let values = rows.first?.values ?? []
    (owners, log) = (values.first ?? .null, Array(values.dropFirst()))
  }

  package static var logTable: String { ChangeTables.log }

  private init() { (log, owners) = ([], .null) }

  /// The mark of a database without a log.
  package static var missing: LogMark { LogMark() }

  /// Returns the tables of the log that have changed since an earlier mark; all of these tables without such a mark.
  package func changedTables(since mark: LogMark?) -> [String] {
    guard let mark, mark.log.first == log.first else { return [ChangeTables.log, ChangeTables.consumers] }
    return (mark.log == log ? [] : [ChangeTables.log]) + (mark.owners == owners ? [] : [ChangeTables.consumers])
  }
}
