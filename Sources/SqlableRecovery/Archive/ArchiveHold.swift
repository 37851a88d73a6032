import Glibc
import SqlableCore

/// A read transaction that keeps a log from being begun anew, so that what it holds can be read.
///
/// SQLite begins a log anew when all of it is in the database file and no reader needs it. While a reader has a
/// snapshot that is in the log, that can't be. A reader whose snapshot is in the database file alone keeps others from
/// copying the log into the file: then the log can be begun anew once, and no second time, and its frames are all
/// newer than the snapshot.
///
/// Sound as `Sendable`: it is used by one thread at a time.
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

  /// Copies the database of the snapshot into a new file.
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
