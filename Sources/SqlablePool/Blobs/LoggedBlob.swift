import FoundationEssentials
import SqlableCore

/// The change log's record of a blob that is written in parts. Such a write calls no trigger, so `writeBlob` itself
/// logs an update of the row.
///
/// This type does not depend on the module SqlableChanges, because a program that does not link this module must log
/// its writes, too.
package struct LoggedBlob {
  /// The time of a change in milliseconds since 1970, as SQL. The time is the same for all rows of a statement.
  /// `julianday()` without an argument saves SQLite from parsing the text 'now' for each row.
  package static let time = "CAST((julianday() - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"

  /// The id of the table's entry in the log.
  private let entry: String
  /// The columns whose values the log keeps.
  private let images: [String]
  /// The position of the blob's column in `images`; nil if the log does not keep the column.
  private let position: Int?
  private let size: Int?
  /// The SQL of the table, with the condition that selects the row.
  private let source: String
  private let id: Int64

  private static let candidates = "main.\"sqlable_change_candidates\""

  /// Nil if the table is not logged.
  ///
  /// - Parameters:
  ///   - size: The size of the new blob of zeros; nil if the blob was not replaced.
  ///   - rowid: A name of the rowid of the table.
  init?(
    _ column: String, of table: String, size: Int?, rowid: String, id: Int64, on connection: Connection
  ) throws {
    let tables = "sqlable_change_tables"
    guard
      try !connection.rows("SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = '\(tables)'").isEmpty,
      let row = try connection.rows(
        "SELECT \"id\", \"columns\", \"isLogged\" FROM main.\"\(tables)\" "
          + "WHERE \"name\" = \(table.quotedText) COLLATE NOCASE ORDER BY \"id\" DESC LIMIT 1"
      ).first, row[2] != "0"
    else { return nil }
    let names = try connection.rows("PRAGMA main.table_xinfo(\(table.quotedName))").map { $0[1] }
    let images = try? JSONDecoder().decode([String].self, from: Data(row[1].utf8))
    // Each column in the log's entry must be a column of the table, or the rowid.
    guard let images, images.allSatisfy({ image in names.contains(where: image.isSameName) || image == rowid }) else {
      let message =
        "table \(table) has other columns than its change log; run ChangeLog(…).create(db) again before you write "
        + "a part of a blob"
      throw SqlError(.schema(.mismatch(message)), message: message, table: table)
    }
    (entry, self.images, self.size, self.id) = (row[0], images, size, id)
    position = images.firstIndex(where: column.isSameName)
    source = "main.\(table.quotedName) AS t WHERE t.\(rowid.quotedName) = \(id)"
  }

  /// Keeps the present blob for the log. Call this method before the blob is written.
  func keepOldValue(in db: SqliteDatabase) throws {
    guard let position, size == nil else { return }
    // The log's triggers ignore this row, because its `table` is NULL.
    try db.execute(
      SQL(
        verbatim: "INSERT INTO \(LoggedBlob.candidates) (\"row\", \"v\(position)\") "
          + "SELECT \(id), t.\(images[position].quotedName) FROM \(source)"))
  }

  /// Logs an update of the row. Call this method after the blob was written, in the same transaction.
  func logUpdate(in db: SqliteDatabase) throws {
    let new = images.map { "t.\($0.quotedName)" }
    var old = new
    let kept = "FROM \(LoggedBlob.candidates) WHERE \"table\" IS NULL"
    if let position {
      old[position] = size.map { "zeroblob(\($0))" } ?? "(SELECT \"v\(position)\" \(kept) AND \"row\" = \(id))"
    }
    let columns = images.indices.map { "\"v\($0)\"" } + images.indices.map { "\"o\($0)\"" }
    try db.execute(
      SQL(
        verbatim: "INSERT INTO main.\"sqlable_changes\" (\"table\", \"kind\", \"at\", "
          + "\(columns.joined(separator: ", "))) SELECT \(entry), 3, \(LoggedBlob.time), "
          + "\((new + old).joined(separator: ", ")) FROM \(source)"))
    if position != nil, size == nil { try db.execute(SQL(verbatim: "DELETE \(kept)")) }
  }
}
