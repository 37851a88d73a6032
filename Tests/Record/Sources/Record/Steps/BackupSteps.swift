import Foundation
import Glibc
import Sqlable

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
    try db.backup(to: target, BackupOptions(pagesPerStep: 3))
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

/// A restore into a database. The database is always as before or as the backup.
struct RestoreSteps: SteppedWork {
  private let directory: String
  private var path: String { directory + "/a.sqlite" }

  init(_ directory: String) { self.directory = directory }

  func prepare() throws {
    let db = try VersionedTable.open(path)
    try VersionedTable.create(db)
    for version in [2, 1] {
      try VersionedTable.write(version, db)
      try db.backup(to: directory + "/backup\(version).sqlite")
    }
    try db.close()
  }

  func work() throws {
    let db = try VersionedTable.open(path)
    for version in [2, 1, 2] {
      try db.restore(from: directory + "/backup\(version).sqlite", BackupOptions(pagesPerStep: 3))
    }
    try db.close()
  }

  func check(_ round: Round, turn: Int) throws {
    if round.flaw != nil { truncate(path, 8_192) }
    if let version = VersionedTable.version(path, "the database", round, isReadOnly: false), ![1, 2].contains(version) {
      round.report(.wrong, "the database has version \(version)")
    }
  }
}
