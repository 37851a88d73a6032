import FoundationEssentials
import Glibc

extension Salvage {
  /// Moves the files of a damaged database aside, so that the program can go on with a new one at its path, and returns
  /// where they are.
  ///
  /// ```swift
  /// let aside = try Salvage.putAside("bikes.sqlite")     // bikes.sqlite.damaged-2026-11-25T02-30-00Z
  /// let db = try SqliteDatabase(filepath: "bikes.sqlite")
  /// try db.createTables(of: schema)
  /// let merged = try Salvage(damaged: aside).merge(into: db)     // later
  /// ```
  ///
  /// Call it inside `withClosed` of the pool or handle, or close all handles and pools first, in every process. The log
  /// and the rollback journal move with the file. Throws `.io` if the file is not there or can't be renamed.
  public static func putAside(_ path: String) throws -> String {
    let time = Date().formatted(.iso8601).replacing(":", with: "-")
    var (aside, number) = ("\(path).damaged-\(time)", 1)
    while FileManager.default.fileExists(atPath: aside) {
      number += 1
      aside = "\(path).damaged-\(time)-\(number)"
    }
    // The log first: a file without its log would be an older state.
    for suffix in ["-wal", "-journal", ""] where suffix.isEmpty || FileManager.default.fileExists(atPath: path + suffix)
    {
      guard rename(path + suffix, aside + suffix) == 0 else {
        throw SqlError(.io, message: "can't rename the damaged file \(path + suffix)")
      }
    }
    unlink(path + "-shm")
    return aside
  }

  /// What ``merge(into:)`` did with the rows of a table.
  public struct Merged: Sendable, Hashable, Codable {
    public var table: String
    /// The rows that were added.
    public var added = 0
    /// The rows that the database has already under the same key, or that break another of its constraints. It keeps
    /// its own.
    public var conflicts = 0
    /// The rows that were left out because what they refer to is neither salvaged nor there.
    public var withoutParent = 0
  }

  /// Recovers the rows of the damaged file, and adds those to a database whose keys are free there.
  ///
  /// ```swift
  /// for table in try Salvage(damaged: aside).merge(into: db) { print(table.table, table.added, table.conflicts) }
  /// // INSERT OR IGNORE INTO "bicycle"("id", "name") SELECT "id", "name" FROM …
  /// ```
  ///
  /// Nothing that the database has is changed. It runs in one transaction, and observers are notified as of any other
  /// write. Tables and columns that the database does not have are left out, and so are the rows of virtual tables; add
  /// those with their content tables' triggers, or by `rebuild`. Rows of a table without an integer key get new ids.
  ///
  /// Let the new file begin with ids that the damaged one can't have: a row with the id of another is a conflict.
  /// Throws `.misuse` inside a transaction.
  public func merge(into db: SqliteDatabase) throws -> [Merged] {
    guard db.transactionLevel == 0 else { throw SqlError.misuse("rows can't be merged inside a transaction") }
    return try recovering { try add($0, $1, to: db) }
  }

  /// Recovers the rows of the damaged file, and adds those to a pool's database whose keys are free there.
  ///
  /// As for a handle. The pool's writer is used once the rows are recovered, and only then do other writes wait. Blocks
  /// the thread. Throws `.misuse` inside a transaction of the pool.
  public func merge(
    into pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Merged] {
    try recovering { report, path in
      try pool.withWriter(file: file, line: line) { db in try add(report, path, to: db) }
    }
  }

  /// Recovers the rows into a file of its own, which is deleted after `body`.
  private func recovering(_ body: (SalvageReport, _ path: String) throws -> [Merged]) throws -> [Merged] {
    let recovered = "\(damaged)-salvaged-\(UUID().uuidString)"
    defer { try? SqliteDatabase.deleteDatabase(at: recovered) }
    return try body(try recover(into: recovered), recovered)
  }

  private func add(_ report: SalvageReport, _ recovered: String, to db: SqliteDatabase) throws -> [Merged] {
    try db.running { try $0.attach(recovered, as: "sqlable_salvaged", nil) }
    defer { try? db.execute("DETACH sqlable_salvaged") }
    let salvaged = try db.running { try $0.columns(of: report.tables.map(\.name)) }
    let schema = try db.schema()
    return try db.transaction { db in
      try db.execute("PRAGMA defer_foreign_keys = 1")
      var merged: [Merged] = []
      for table in schema.tables where table.module == nil {
        guard let columns = salvaged[table.name.foldedName] else { continue }
        let common = table.columns.filter { column in
          column.generated == nil && columns.contains { $0.isSameName(as: column.name) }
        }.map(\.name)
        guard !common.isEmpty else { continue }
        merged.append(try add(common, of: table.name, to: db))
      }
      try removeOrphans(of: &merged, from: db)
      return merged
    }
  }

  private func add(_ columns: [String], of table: String, to db: SqliteDatabase) throws -> Merged {
    let (list, name) = (columns.map(\.quotedName).joined(separator: ", "), table.quotedName)
    func count(_ table: String) throws -> Int {
      try db.query(SQL(verbatim: "SELECT count(*) FROM \(table)"), as: Int.self).first ?? 0
    }
    let before = try count("main.\(name)")
    let all = try count("sqlable_salvaged.\(name)")
    try db.execute(
      SQL(verbatim: "INSERT OR IGNORE INTO main.\(name)(\(list)) SELECT \(list) FROM sqlable_salvaged.\(name)"))
    let added = try count("main.\(name)") - before
    return Merged(table: table, added: added, conflicts: all - added)
  }

  /// Removes added rows that refer to rows that are lost, and then those that refer to them.
  private func removeOrphans(of merged: inout [Merged], from db: SqliteDatabase) throws {
    while true {
      var removed = 0
      for place in merged.indices {
        let table = merged[place].table
        let rows = try db.query(SQL(verbatim: "PRAGMA main.foreign_key_check(\(table.quotedName))")) { row in
          try row.get(at: 1, as: Int?.self)
        }
        for case let rowid? in Set(rows) {
          let changes = try db.executeCounting("DELETE FROM main.\(table.quotedName) WHERE rowid = \(rowid)")
          merged[place].added -= changes
          merged[place].withoutParent += changes
          removed += changes
        }
      }
      if removed == 0 { return }
    }
  }
}

extension Connection {
  /// The names of the columns of salvaged tables, by the folded names of these.
  fileprivate func columns(of tables: [String]) throws -> [[UInt8]: [String]] {
    var columns: [[UInt8]: [String]] = [:]
    for table in tables {
      try eachRow("PRAGMA sqlable_salvaged.table_xinfo(\(table.quotedName))") { row in
        columns[table.foldedName, default: []].append(row[1])
      }
    }
    return columns
  }
}

extension SqliteDatabase {
  /// Runs a statement, and returns how many rows it changed itself.
  fileprivate func executeCounting(_ sql: String) throws -> Int {
    try execute(SQL(verbatim: sql))
    return try running { $0.changes }
  }
}
