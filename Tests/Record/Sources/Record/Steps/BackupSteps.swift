import Foundation
import Glibc
import Sqlable
import SqlableBackup

/// A backup over an older one. The target is always the old backup or the new one.
struct BackupSteps: SteppedWork {
  private let directory: String
  private var source: String { directory + "/a.sqlite" }
  private var target: String { directory + "/out.sqlite" }

  init(_ directory: String) { self.directory = directory }

  func prepare() throws {
    let db = try VersionedTable.open(source)
    try VersionedTable.create(db)
    try VersionedTable.write(0, db)
    try db.backup(to: target)
    try db.close()
  }

  func begin(turn: Int) throws {
    let db = try VersionedTable.open(source)
    try VersionedTable.write(turn + 1, db)
    try db.close()
  }

  func work() throws {
    let db = try VersionedTable.open(source)
    // Every other version is vacuumed.
    let isEven = try db.query("SELECT version % 2 FROM item LIMIT 1", as: Int.self) == [0]
    try db.backup(to: target, isEven ? .vacuumed : BackupOptions(pagesPerStep: 3))
    try db.close()
  }

  func check(_ round: Round, turn: Int) throws {
    if round.flaw != nil { truncate(target, 8_192) }
    if let version = VersionedTable.version(target, "the backup", round), ![turn, turn + 1].contains(version) {
      round.report(.wrong, "the backup has version \(version), not \(turn) or \(turn + 1)")
    }
    let db = try VersionedTable.open(source)
    try db.backup(to: target)
    try db.close()
    let left = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.contains("partial") }
    if !left.isEmpty { round.report(.wrong, "the next backup left \(left)") }
  }
}

/// A restore into a database. The database is always as before or as the backup, also for a handle that stays open.
final class RestoreSteps: SteppedWork {
  private let directory: String
  private var path: String { directory + "/a.sqlite" }
  private var db: SqliteDatabase?

  init(_ directory: String) { self.directory = directory }

  func prepare() throws {
    let db = try VersionedTable.open(path)
    try VersionedTable.create(db)
    for version in [2, 1] {
      try VersionedTable.write(version, db)
      try db.backup(to: directory + "/backup\(version).sqlite")
    }
    self.db = db
  }

  func work() throws {
    let db = try VersionedTable.open(path)
    for version in [2, 1, 2] {
      try db.restore(from: directory + "/backup\(version).sqlite", BackupOptions(pagesPerStep: 3))
    }
    try db.close()
  }

  func check(_ round: Round, turn: Int) throws {
    if round.flaw != nil { try db?.execute("UPDATE item SET version = 3 WHERE id = 7") }
    let version = VersionedTable.version(path, "the database", round, isReadOnly: false)
    if let version, ![1, 2].contains(version) { round.report(.wrong, "the database has version \(version)") }
    let seen = try db?.query("SELECT DISTINCT version FROM item", as: Int.self)
    if let version, seen != [version] { round.report(.wrong, "an open handle reads \(seen ?? []), not \(version)") }
  }
}
