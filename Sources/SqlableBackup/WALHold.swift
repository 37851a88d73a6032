import Glibc
import SqlableCore

/// A read transaction that prevents a reset of the WAL, so that a ``WALReader`` can read the commits in the WAL.
///
/// SQLite resets the WAL when a checkpoint has copied all frames to the database file and no reader uses the WAL. If
/// the hold's snapshot uses frames of the WAL, SQLite can't reset the WAL.
///
/// If the snapshot uses only the database file, SQLite can reset the WAL once. The hold then prevents checkpoints, so a
/// second reset can't follow. After the first reset, all frames of the WAL are newer than the snapshot.
///
/// Safe as `@unchecked Sendable`: only one thread at a time uses the hold.
package final class WALHold: @unchecked Sendable {
  private let db: SqliteDatabase
  package private(set) var isHeld = false

  package init(_ root: SqliteDatabase) throws { db = try root.createChild(isReadOnly: true) }

  deinit { close() }

  package func close() {
    end()
    try? db.close()
  }

  package func begin() throws {
    try db.beginTransaction(.deferred)
    isHeld = true
    do {
      // The first read takes the snapshot.
      try db.locked { _ = try db.openConnection().pragma("SELECT count(*) FROM sqlite_schema") }
    } catch {
      end()
      throw error
    }
  }

  package func end() {
    guard isHeld else { return }
    try? db.rollbackTransaction()
    isHeld = false
  }

  /// See ``Connection/logEnd``.
  package func logEnd() throws -> (frames: Int, salts: UInt64)? { try db.locked { try db.openConnection().logEnd } }

  package func pageSize() throws -> Int { try db.locked { try db.openConnection().pageSize(ofDatabase: "main") } }

  package func isInWALMode() throws -> Bool {
    try db.locked { try db.openConnection().journalMode(ofDatabase: "main") == "wal" }
  }

  /// Copies the database of the snapshot to a new file.
  package func copy(to path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    defer { Glibc.close(descriptor) }
    try db.locked {
      let copy = try PageCopy(
        of: "main", on: db.openConnection(), to: Connection.unjournaled(path, label: db.configuration.label, nil))
      while try !copy.step(1_024) {}
    }
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }
}
