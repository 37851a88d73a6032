import SqlableCore

/// A trim of the log. Provides the queries that apply the rules, and the statements that delete the changes that no
/// rule keeps. A handle or a cluster runs these queries and statements.
package struct LogTrim {
  private let least: Int
  private let last: Int
  private let columns: [String]
  /// The number of the first change to keep, by the rules applied so far. `rules` contains the remaining rules.
  private var first: Int
  private var rules: ArraySlice<ChangeRetention>
  /// The estimated sizes of the changes while the queries of the rule ``ChangeRetention/bytes(_:)`` run; otherwise nil.
  private var sizes: LogSizes?

  /// - Parameters:
  ///   - end: The end of the log.
  ///   - least: The number of the first change in the log.
  ///   - columns: The columns of the log that have values of changes.
  ///   - limit: The maximum number of changes to delete.
  package init(
    end: ChangePosition, first least: Int, columns: [String], _ rules: [ChangeRetention], atMost limit: Int
  ) throws {
    (self.least, last, self.columns, self.rules) = (least, end.number, columns, rules[...])
    let (bound, isTooFar) = least.addingReportingOverflow(limit)
    // The last change stays, because a position at the end of the log refers to this change.
    first = isTooFar ? last : min(last, bound)
  }

  /// Returns the next query that a rule needs; nil if all rules have decided. Call ``add(_:)`` with the query's rows.
  package mutating func nextQuery() throws -> SQL? {
    while let rule = rules.first {
      switch rule {
      case .unacknowledged:
        // The change at a consumer's position stays, because it shows that the position belongs to this history.
        return "SELECT min(\"seq\") FROM main.\"sqlable_change_consumers\""
      case .age(let age):
        guard age >= .zero else { throw SqlError.misuse("the age of the changes to keep can't be negative") }
        let milliseconds = min(age / .milliseconds(1), 1e15)
        // Find the first change that is young enough. Later changes stay even if their times are earlier, because the
        // clock might have been set back. The bound on `seq` limits the changes that one transaction of a long trim
        // reads.
        return """
          SELECT "seq" FROM main."sqlable_changes" WHERE "seq" < \(first)
          AND "at" >= \(sql: SQL(verbatim: ChangeTables.time)) - \(Int(milliseconds)) ORDER BY "seq" LIMIT 1
          """
      case .count(let count):
        guard count >= 0 else { throw SqlError.misuse("the number of the changes to keep can't be negative") }
        decided(count < last ? last - max(count, 1) + 1 : 0)
      case .bytes(let bytes):
        guard bytes >= 0 else { throw SqlError.misuse("the size of the changes to keep can't be negative") }
        let sizes = sizes ?? LogSizes(keeping: bytes, from: least, upTo: last, columns)
        self.sizes = sizes
        guard let firstKept = sizes.firstKept else { return sizes.query }
        self.sizes = nil
        decided(firstKept)
      }
    }
    return nil
  }

  package mutating func add(_ rows: [DynamicRow]) {
    guard sizes == nil else {
      sizes?.add(rows)
      return
    }
    var number: Int?
    if case .integer(let integer)? = rows.first?.values.first { number = Int(integer) }
    // The query returns no number if there is no consumer, or if all changes before `first` are older than the rule's
    // age.
    decided(number ?? (rules.first == .unacknowledged ? last : first))
  }

  private mutating func decided(_ firstKept: Int) {
    first = min(first, firstKept)
    rules.removeFirst()
  }

  /// The statements of the trim, in the order in which they must run; nil if the rules keep all changes.
  package var statements: (losses: SQL, delete: SQL, end: SQL)? {
    guard first > least else { return nil }
    // `sqlable_change_missing` stores, for each table, the number of the last change that the log lacks. The UPSERT
    // never lowers this number.
    let losses: SQL = """
      INSERT INTO main."sqlable_change_missing" AS m ("table", "seq", "at")
      SELECT "table", max("seq"), "at" FROM main."sqlable_changes"
      WHERE "seq" < \(first) AND "table" IN (SELECT "id" FROM main."sqlable_change_tables") GROUP BY "table"
      ON CONFLICT ("table") DO UPDATE SET "seq" = excluded."seq", "at" = excluded."at" WHERE excluded."seq" > m."seq"
      """
    return (
      losses, "DELETE FROM main.\"sqlable_changes\" WHERE \"seq\" < \(first)",
      "UPDATE main.\"sqlable_change_history\" SET \"trimmed\" = max(\"trimmed\", \(first - 1))"
    )
  }
}

extension [ChangeRetention] {
  package func check() throws {
    guard !isEmpty else {
      throw SqlError.misuse("trim(_:keeping:) needs at least one rule that says which changes to keep")
    }
  }
}

extension ChangeLog {
  /// Returns the trim of a remote database's log. All queries must belong to one transaction.
  package static func trim(
    _ remote: some AsyncSqlExecutor, _ copy: LogCopy, _ rules: [ChangeRetention], atMost limit: Int
  ) async throws -> LogTrim {
    try await copy.fill(LogPart(), from: remote)
    let end = try LogState(copy.db).end
    let first = try await LogState.firstQuery.rows(as: Int.self).run(remote)
    var trim = try LogTrim(
      end: end, first: max(first[0], 1), columns: copy.db.running { try $0.valueColumns() }, rules, atMost: limit)
    while let query = try trim.nextQuery() { trim.add(try await query.rows(as: DynamicRow.self).run(remote)) }
    return trim
  }
}

/// An estimate of the bytes that the log's rows need in the file.
///
/// For an exact number, each writer would have to store another column, or `trim` would have to read the whole log.
/// SQLite's table `dbstat` also reads the whole log, and is missing in many builds.
private struct LogSizes {
  /// The log is divided into this many blocks.
  private static let blocks = 64
  /// In each block, the lengths of this many rows are read. In a short log, the lengths of all rows are read.
  private static let sample = 16

  private let first: Int
  private let last: Int
  private let lengths: SQL
  /// The bytes of a row with empty values: its number, its first three columns, and a byte for the type of each column.
  private let emptyLength: Double
  /// The number of changes in a block.
  private let length: Int
  private var rest: Double
  /// The number of the last change of the next block.
  private var end: Int
  /// The number of the first change to keep within the limit of bytes; 0 to keep all changes; nil until enough blocks
  /// were read.
  private(set) var firstKept: Int?

  init(keeping bytes: Int, from first: Int, upTo last: Int, _ columns: [String]) {
    (self.first, self.last, end, rest) = (first, last, last, Double(bytes))
    length = max(last - first, 0) / LogSizes.blocks + 1
    // `typeof` and the length of a blob need no read of the value. SQLite stores an integer in up to eight bytes; four
    // are assumed.
    let totals = columns.map { column in
      let name = column.quotedName
      return "total(CASE typeof(\(name)) WHEN 'null' THEN 0 WHEN 'blob' THEN length(\(name)) "
        + "WHEN 'text' THEN length(CAST(\(name) AS BLOB)) WHEN 'integer' THEN 4 ELSE 8 END)"
    }
    lengths = SQL(verbatim: totals.map { ", \($0)" }.joined())
    emptyLength = Double(20 + columns.count)
    if last < first { firstKept = last }
  }

  private var begin: Int { max(end - length + 1, first) }

  /// The query for the mean length of the rows in the next block.
  var query: SQL {
    """
    SELECT count(*)\(sql: lengths) FROM (SELECT * FROM main."sqlable_changes"
    WHERE "seq" BETWEEN \(begin) AND \(end) ORDER BY "seq" LIMIT \(LogSizes.sample))
    """
  }

  mutating func add(_ rows: [DynamicRow]) {
    var row = 0.0
    if let values = rows.first?.values, case .integer(let count)? = values.first, count > 0 {
      let bytes = values.reduce(0.0) { sum, value in if case .real(let total) = value { sum + total } else { sum } }
      row = emptyLength + bytes / Double(count)
    }
    let count = end - begin + 1
    // Keep at least the log's last change, even if this change alone exceeds the limit.
    if row * Double(count) > rest {
      firstKept = end - max(Int(rest / row), end == last ? 1 : 0) + 1
      return
    }
    rest -= row * Double(count)
    end = begin - 1
    if end < first { firstKept = 0 }
  }
}
