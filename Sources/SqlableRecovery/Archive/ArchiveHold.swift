import Glibc
import SqlableCore

/// A read transaction that prevents a reset of the WAL, so that the archive can read its commits.
///
/// SQLite resets the WAL when the whole WAL is in the database file and no reader needs the WAL. A reader whose
/// snapshot is in the WAL prevents the reset. A reader whose snapshot is only in the database file prevents checkpoints
/// from copying the WAL into the file. The WAL can then be reset once but not twice, and all its frames are newer than
/// the snapshot.
///
/// Safe as `@unchecked Sendable`: only one thread at a time uses the hold.
final class ArchiveHold: @unchecked Sendable {
  private let db: SqliteDatabase
  private(set) var isHeld = false

  init(_ root: SqliteDatabase) throws { db = try root.createChild(isReadOnly: true) }

  deinit { close() }

  func close() {
    end()
    try? db.close()
  }

  func begin() throws {
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

  func end() {
    guard isHeld else { return }
    try? db.rollbackTransaction()
    isHeld = false
  }

  /// See ``Connection/logEnd``.
  func logEnd() throws -> (frames: Int, salts: UInt64)? { try db.locked { try db.openConnection().logEnd } }

  /// Copies the database of the snapshot to a new file.
  func copy(to path: String) throws {
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
