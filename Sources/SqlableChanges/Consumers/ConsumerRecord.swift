import FoundationEssentials
import SqlableCore

/// The row of a named consumer in the database.
struct ConsumerRecord {
  /// A consumer that finds only changes of other tables stores its position after this number of changes.
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
    // The table must have a log. Otherwise the consumer would miss the changes before the log is created.
    if let tableName { _ = try LogEntry.current(of: tableName, in: db) }
    let position = start == .log ? try state.start(of: tableName, in: db) : state.end
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

  /// Moves the consumer's position, and removes the records of failed attempts up to the new position. Only the
  /// consumer's owner moves the position; `trim` never does.
  ///
  /// Throws `.changeLog(.ownerChanged)` if another loop owns the consumer. Throws `.changeLog(.otherHistory)` if a
  /// restore has changed the position, or has undone the changes up to `end`. Throws `.changeLog(.trimmed)` if later
  /// changes were deleted; see ``LogState/checkEnd(_:_:last:of:in:)``.
  ///
  /// - Parameters:
  ///   - start: The position after which the changes were read.
  ///   - origin: The source of `end`, which decides how `end` is checked; see ``PositionOrigin``.
  ///   - last: The last change of the followed table up to `end` that the loop has received; nil for none.
  ///   - owner: The loop that owns the consumer; nil for a consumer without an owner.
  static func move(
    _ name: String, from start: ChangePosition, to end: ChangePosition, _ origin: PositionOrigin = .caller,
    last: ChangePosition? = nil, owner: String?, in db: SqliteDatabase
  ) throws {
    guard let record = try ConsumerRecord(named: name, in: db), record.ownership.isOwned(by: owner) else {
      throw ownerChanged(name)
    }
    // An earlier call can have stored the end and nevertheless thrown, for example at a deadline.
    guard record.position == start || record.position == end else { throw LogState.otherHistory }
    // If `end` is the stored position already, `end` was checked when it was stored.
    let origin = record.position == end ? .consumer : origin
    try LogState(db).checkEnd(end, origin, last: last, of: record.table, in: db)
    try db.execute(
      """
      UPDATE main."sqlable_change_consumers" SET "seq" = \(end.number), "at" = \(end.time), "isNew" = 0
      WHERE "name" = \(name)
      """)
    try QuarantineRecord.removeTried(of: name, upTo: end.number, in: db)
  }

  static func ownerChanged(_ name: String) -> SqlError {
    SqlError(
      .changeLog(.ownerChanged),
      message: "another loop has taken over consumer \(name); that loop receives the unacknowledged changes",
      table: ChangeTables.consumers)
  }
}

/// The first changes that a new consumer receives. A consumer whose position is in the database continues at this
/// position.
public enum ConsumerStart: Sendable, Hashable {
  /// A snapshot of all rows of the table, then every change after the snapshot.
  case rows
  /// All changes that the log still has. If the log has lost changes of the table, all changes after this loss.
  case log
  /// Only changes that are committed later.
  case now
}
