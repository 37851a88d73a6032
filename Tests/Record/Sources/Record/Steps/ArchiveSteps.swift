import Foundation
import Glibc
import Sqlable
import SqlableRecovery

/// An archive of every commit. Without the database, a restore returns a state that the database once had.
struct ArchiveSteps: SteppedWork {
  private let directory: String
  private var path: String { directory + "/pool.sqlite" }
  private var archive: String { directory + "/archive" }

  init(_ directory: String) { self.directory = directory }

  func prepare() throws {}

  func work() throws {
    let pool = try SqlitePool(
      filepath: path, configuration: PoolConfiguration(handles: Configuration(busyTimeout: 60), readers: 1))
    try pool.transaction { db in try VersionedTable.create(db) }
    let archive: PoolArchive = try pool.archive(to: archive)
    for version in 1...60 {
      try pool.transaction { db in try VersionedTable.write(version, db) }
      Teller.tell("+ 1 \(version)")
      usleep(1_000)
    }
    try archive.stop()
    try pool.close()
  }

  func check(_ round: Round, turn: Int) throws {
    let restored = directory + "/restored.sqlite"
    defer {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
        try? FileManager.default.removeItem(atPath: directory + "/" + name)
      }
    }
    do {
      try DatabaseArchive(at: archive).restore(to: restored)
    } catch {
      // The process was killed before the archive had a copy of the database.
      return round.log("no restore: \(error)")
    }
    if round.flaw != nil { truncate(restored, 8_192) }
    let db = try VersionedTable.open(restored)
    let isEmpty = try !db.tableExists("item") || db.query("SELECT count(*) FROM item", as: Int.self) == [0]
    try db.close()
    if !isEmpty { _ = VersionedTable.version(restored, "the restored file", round, isReadOnly: false) }
  }
}
