import CSqlableSQLite
import FoundationEssentials
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema

extension Salvage {
  /// Quarantines the files of a damaged database, and returns their new path. The program can then continue with a new
  /// database at the old path.
  ///
  /// ```swift
  /// let aside = try Salvage.putAside("bikes.sqlite")     // bikes.sqlite.damaged-2026-11-25T02-30-00Z
  /// let db = try SqliteDatabase(filepath: "bikes.sqlite")
  /// try db.createTables(of: schema)
  /// let merged = try Salvage(damaged: aside).merge(into: db)     // later
  /// ```
  ///
  /// Call `putAside` inside `withClosed` of the pool or handle, or close all handles and pools in every process first.
  /// The WAL and the rollback journal move together with the file, even if the process is killed meanwhile. If the path
  /// is a symbolic link, the link stays and its target is moved. Throws `.io` if the file is missing, is not a regular
  /// file, or can't be renamed.
  public static func putAside(_ path: String) throws -> String {
    guard let path = FileIdentity.resolved(path) else { throw notMoved(path, errno) }
    guard FileIdentity.info(path)?.isRegular == true else { throw notMoved(path, EISDIR) }
    let time = Date().formatted(.iso8601).replacing(":", with: "-")
    var (aside, number) = ("\(path).damaged-\(time)", 1)
    let logs = ["-wal", "-journal"]
    while ([""] + logs).contains(where: { FileIdentity.linkInfo(aside + $0) != nil }) {
      number += 1
      aside = "\(path).damaged-\(time)-\(number)"
    }
    // Even if the process is killed, the file must have its WAL and journal beside it, at the old or the new path. So
    // the WAL and the journal first get the new name as hard links, and lose the old name last. Without hard links, the
    // WAL and the journal are renamed.
    var moved: [String] = []
    do {
      for log in logs where FileIdentity.linkInfo(path + log) != nil {
        guard link(path + log, aside + log) == 0 || rename(path + log, aside + log) == 0 else {
          throw notMoved(path + log, errno)
        }
        moved.append(log)
      }
      guard sqlable_rename_to_new(path, aside) == 0 else { throw notMoved(path, errno) }
    } catch {
      for log in moved where sqlable_rename_to_new(aside + log, path + log) != 0 { unlink(aside + log) }
      throw error
    }
    for log in logs + ["-shm"] { unlink(path + log) }
    if let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
      try? syncDirectory(end == path.startIndex ? "/" : String(path[..<end]))
    }
    return aside
  }

  private static func notMoved(_ path: String, _ code: Int32) -> SqlError {
    SqlError(.io, message: "can't quarantine the damaged file \(path): \(String(cString: strerror(code)))")
  }

  /// The result of ``merge(into:)`` for one table.
  public struct Merged: Sendable, Hashable, Codable {
    public var table: String
    /// The number of added rows.
    public var added = 0
    /// The number of rows that were skipped because their key exists in the database, or because they violate another
    /// constraint. The database keeps its existing rows.
    public var conflicts = 0
    /// The number of skipped rows whose parent row is neither salvaged nor in the database.
    public var withoutParent = 0
  }

  /// Recovers the rows of the damaged file, and adds the rows with unused keys to a database.
  ///
  /// ```swift
  /// for table in try Salvage(damaged: aside).merge(into: db) { print(table.table, table.added, table.conflicts) }
  /// // INSERT OR IGNORE INTO "bicycle"("id", "name") SELECT "id", "name" FROM …
  /// ```
  ///
  /// Existing rows of the database are not changed. The merge runs in one transaction, and notifies observers like any
  /// other write. Tables and columns that the database does not have are skipped. Rows of virtual tables are skipped
  /// too: add these rows with the triggers of their content tables, or by `rebuild`. In tables without an integer key,
  /// rows get new ids.
  ///
  /// Before the merge, give new rows of the database only ids that are not in the damaged file, because a row with an
  /// existing id is a conflict. Throws `.misuse` inside a transaction.
  public func merge(into db: SqliteDatabase) throws -> [Merged] {
    guard db.transactionLevel == 0 else { throw SqlError.misuse("can't merge rows inside a transaction") }
    return try recovering(TextEncoding(of: db)) { try add($0, $1, to: db) }
  }

  /// Recovers the rows of the damaged file, and adds the rows with unused keys to a pool's database.
  ///
  /// The rules are the same as for a handle. Other writes wait only while the pool's writer adds the recovered rows.
  /// Throws `.misuse` inside a transaction of the pool. Blocks the thread. In `async` code, use the overload with
  /// `await`.
  public func merge(
    into pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Merged] {
    try recovering(TextEncoding(of: pool.root)) { report, path in
      try pool.withWriter(file: file, line: line) { db in try add(report, path, to: db) }
    }
  }

  /// Recovers the rows of the damaged file on a separate thread, and adds the rows with unused keys to a pool's
  /// database.
  ///
  /// Throws `CancellationError` if the task is cancelled before the commit; the database then stays unchanged. The
  /// recovery itself is not interrupted.
  public func merge(
    into pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Merged] {
    let recovered = temporaryPath
    defer { try? SqliteDatabase.deleteDatabase(at: recovered) }
    let report = try await onOwnThread { try recover(into: recovered, encoding: TextEncoding(of: pool.root)) }
    return try await pool.withWriter(file: file, line: line) { db in try add(report, recovered, to: db) }
  }

  private var temporaryPath: String { "\(damaged)-salvaged-\(UUID().uuidString)" }

  /// Recovers the rows into a temporary file, which is deleted after `body`.
  private func recovering(
    _ encoding: TextEncoding, _ body: (SalvageReport, _ path: String) throws -> [Merged]
  ) throws -> [Merged] {
    let recovered = temporaryPath
    defer { try? SqliteDatabase.deleteDatabase(at: recovered) }
    return try body(recover(into: recovered, encoding: encoding), recovered)
  }

  private func add(_ report: SalvageReport, _ recovered: String, to db: SqliteDatabase) throws -> [Merged] {
    try db.running { try $0.attach(recovered, as: "sqlable_salvaged", nil) }
    defer { try? db.execute("DETACH sqlable_salvaged") }
    let salvaged = try db.running { try $0.columns(of: report.tables.map(\.name)) }
    let schema = try db.schema()
    return try db.transaction { db in
      try db.execute("PRAGMA defer_foreign_keys = 1")
      let orphans = try OrphanedRows(in: db, schema)
      var merged: [Merged] = []
      for table in schema.tables where table.module == nil {
        guard let columns = salvaged[table.name.foldedName] else { continue }
        let common = table.columns.filter { column in
          column.generated == nil && columns.contains { $0.isSameName(as: column.name) }
        }.map(\.name)
        guard !common.isEmpty else { continue }
        merged.append(try add(common, of: table.name, to: db))
      }
      let counts = try merged.map { try count("main.\($0.table.quotedName)", db) }
      try orphans.deleteAdded(from: db)
      for (index, before) in counts.enumerated() {
        // A foreign key with ON DELETE CASCADE deletes rows, too.
        let deleted = try before - count("main.\(merged[index].table.quotedName)", db)
        merged[index].added -= deleted
        merged[index].withoutParent += deleted
      }
      return merged
    }
  }

  private func count(_ table: String, _ db: SqliteDatabase) throws -> Int {
    try db.query(SQL(verbatim: "SELECT count(*) FROM \(table)"), as: Int.self).first ?? 0
  }

  private func add(_ columns: [String], of table: String, to db: SqliteDatabase) throws -> Merged {
    let (list, name) = (columns.map(\.quotedName).joined(separator: ", "), table.quotedName)
    let before = try count("main.\(name)", db)
    let all = try count("sqlable_salvaged.\(name)", db)
    try db.execute(
      SQL(verbatim: "INSERT OR IGNORE INTO main.\(name)(\(list)) SELECT \(list) FROM sqlable_salvaged.\(name)"))
    let added = try count("main.\(name)", db) - before
    return Merged(table: table, added: added, conflicts: all - added)
  }
}

extension TextEncoding {
  fileprivate init(of db: SqliteDatabase) throws {
    let name = try db.running { try $0.pragma("PRAGMA main.encoding") }
    self = [.utf16LittleEndian, .utf16BigEndian].first { $0.name == name } ?? .utf8
  }
}

extension Connection {
  fileprivate func columns(of tables: [String]) throws -> [[UInt8]: [String]] {
    var columns: [[UInt8]: [String]] = [:]
    for table in tables {
      for row in try rows("PRAGMA sqlable_salvaged.table_xinfo(\(table.quotedName))") {
        columns[table.foldedName, default: []].append(row[1])
      }
    }
    return columns
  }
}
