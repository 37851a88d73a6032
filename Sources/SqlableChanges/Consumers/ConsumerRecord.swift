import FoundationEssentials
import SqlableCore

/// The row of a named consumer in the database.
struct ConsumerRecord {
  /// The number of changes of other tables after which the position is stored although nothing was delivered.
  static let longestGap = 1_000

  let name: String
  /// The followed table; nil for all logged tables.
  let table: String?
  /// The position after the last acknowledged change.
  let position: ChangePosition
  /// True if the consumer has not acknowledged the snapshot with which it started.
  let isNew: Bool
  let ownership: ConsumerOwnership

  /// Reads the row of a consumer; nil if the consumer is unknown.
  init?(named name: String, in db: SqliteDatabase) throws {
    let rows = try LogState.withTables {
      try db.query(
        """
        SELECT "table", "history", "seq", "at", "isNew", "owner", "claimed" FROM main."sqlable_change_consumers"
        WHERE "name" = \(name)
        """, as: String?.self, String.self, Int.self, Int.self, Bool.self, String?.self, Int?.self)
    }
    guard let (table, history, number, time, isNew, owner, claimed) = rows.first else { return nil }
    (self.name, self.table) = (name, table)
    position = ChangePosition(history: history, number: number, time: time)
    self.isNew = isNew
    ownership = ConsumerOwnership(owner: owner, claimed: claimed)
  }

  /// Throws `.misuse` if the consumer follows another table.
  func check(follows other: String?, in db: SqliteDatabase) throws {
    guard table.map({ table in other.map(table.isSameName) ?? false }) ?? (other == nil) else {
      // Throws if another program has renamed the consumer's table.
      if let other { _ = try LogEntry.current(of: other, in: db) }
      let (followed, wanted) = (
        table.map { "table \($0)" } ?? "all tables", other.map { "table \($0)" } ?? "all tables"
      )
      throw SqlError.misuse("consumer \(name) follows \(followed); a consumer of \(wanted) needs another name")
    }
  }

  /// Returns the row of a consumer. Adds the row if the consumer is unknown.
  static func known(
    _ name: String, of tableName: String?, startingAt start: ConsumerStart, in db: SqliteDatabase
  ) throws -> ConsumerRecord {
    guard !name.isEmpty, !name.utf8.contains(0) else {
      throw SqlError.misuse("the name of a consumer can't be empty or contain a NUL byte")
    }
    let state = try LogState(db)
    if let record = try ConsumerRecord(named: name, in: db) {
      try record.check(follows: tableName, in: db)
      return record
    }
    let position = start == .log ? state.start : state.end
    try db.execute(
      """
      INSERT INTO main."sqlable_change_consumers" ("name", "table", "history", "seq", "at", "isNew", "startedAt")
      VALUES (\(name), \(tableName), \(position.history), \(position.number), \(position.time), \(start == .rows),
      \(now))
      """)
    guard let record = try ConsumerRecord(named: name, in: db) else {
      throw SqlError.misuse("consumer \(name) was removed while it started")
    }
    return record
  }

  /// The current time in milliseconds since 1970. SQLite reads the same clock for ``ChangeTables/time``.
  static var now: Int { Int(Date().timeIntervalSince1970 * 1000) }

  /// Moves the position. Throws `.changeLog(.ownerChanged)` if another loop owns the consumer or has moved the
  /// position.
  ///
  /// - Parameters:
  ///   - start: The position after which the changes were read. Meanwhile, ``skip(before:_:in:)`` might have moved the
  ///     position over changes of other tables.
  ///   - owner: The loop that owns the consumer; nil for a consumer without an owner.
  static func move(
    _ name: String, from start: ChangePosition, to end: ChangePosition, owner: String?, in db: SqliteDatabase
  ) throws {
    try LogState.withTables {
      try db.execute(
        """
        UPDATE main."sqlable_change_consumers" SET "seq" = \(end.number), "at" = \(end.time), "isNew" = 0
        WHERE "name" = \(name) AND "owner" IS \(owner) AND "history" = \(start.history)
        AND "seq" BETWEEN \(start.number) AND \(end.number)
        """)
    }
    guard try db.query("SELECT changes()", as: Int.self) == [1] else { throw ownerChanged(name) }
  }

  /// Moves consumers to the position before a change, before earlier changes are deleted: the consumers to which all
  /// deleted changes after their positions are changes of other tables. A consumer stores its position only after
  /// ``longestGap`` of such changes.
  static func skip(before first: Int, _ state: LogState, in db: SqliteDatabase) throws {
    let (start, trimmed) = (state.start, state.trimmed)
    try db.execute(
      """
      UPDATE main."sqlable_change_consumers" SET "seq" = \(first - 1), "at" = 0 WHERE "name" IN (
      SELECT c."name" FROM main."sqlable_change_consumers" AS c
      WHERE c."isNew" = 0 AND c."history" = \(start.history) AND c."seq" < \(first)
      AND ((c."seq" = \(start.number) AND c."at" = \(start.time)) OR (c."seq" > \(trimmed)
      AND EXISTS (SELECT 1 FROM main."sqlable_changes" AS l WHERE l."seq" = c."seq" AND l."at" = c."at")))
      AND NOT EXISTS (SELECT 1 FROM main."sqlable_changes" AS l WHERE l."seq" > c."seq" AND l."seq" < \(first)
      AND (c."table" IS NULL OR l."table" IN
      (SELECT t."id" FROM main."sqlable_change_tables" AS t WHERE t."name" = c."table" COLLATE NOCASE))))
      """)
  }

  static func ownerChanged(_ name: String) -> SqlError {
    SqlError(
      .changeLog(.ownerChanged),
      message: "another loop has taken over consumer \(name); unacknowledged changes are delivered there",
      table: ChangeTables.consumers)
  }
}

/// The first changes that a new consumer receives. A consumer whose position is in the database continues at this
/// position.
public enum ConsumerStart: Sendable, Hashable {
  /// A snapshot of all rows of the table, then every change after the snapshot.
  case rows
  /// All changes that the log still has.
  case log
  /// Only changes that are committed later.
  case now
}
