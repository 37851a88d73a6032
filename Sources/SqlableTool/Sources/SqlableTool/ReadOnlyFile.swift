import Foundation
import Sqlable

/// Calls `body` with a read-only handle of a database file.
///
/// Reading a database in WAL mode creates two files next to the database, and a read-only connection can't delete these
/// files. If no other program has opened the database, the file is therefore opened as immutable. If the file changes
/// during the call, `body` is called again with an ordinary read-only handle.
func withReadOnlyDatabase<Value>(_ path: String, _ body: (SqliteDatabase) throws -> Value) throws -> Value {
  guard FileManager.default.fileExists(atPath: path) else { throw FileProblem(description: "\(path): no such file") }
  var configuration = Configuration(label: path, isReadOnly: true)
  // Resolve symbolic links, because the WAL is next to the target of a link.
  let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  let before = FileState(path)
  if before.isQuietWAL {
    configuration.isImmutable = true
    let result = Result { try open(path, configuration, body) }
    if FileState(path) == before { return try result.get() }
    configuration.isImmutable = false
  }
  return try open(path, configuration, body)
}

private func open<Value>(
  _ path: String, _ configuration: Configuration, _ body: (SqliteDatabase) throws -> Value
) throws -> Value {
  let db = try SqliteDatabase(filepath: path, configuration: configuration)
  defer { try? db.close() }
  return try body(db)
}

/// Returns the version of the file format that a reader must support: 1 for a rollback journal, 2 for a WAL; nil if the
/// file has no header.
func journalVersion(ofFileAt path: String) -> UInt8? {
  var info = stat()
  // Don't open a pipe, because opening it would wait for a writer.
  guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
  let header = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 20)
  return header?.count == 20 ? header?.last : nil
}

/// The state of a database file, which changes when another program writes to the database.
private struct FileState: Equatable {
  private var size: off_t = -1
  private var changed = (seconds: 0, nanoseconds: 0)
  private var inode: ino_t = 0
  private let hasWAL: Bool
  private let isWAL: Bool

  init(_ path: String) {
    var info = stat()
    if stat(path, &info) == 0 {
      (size, inode) = (info.st_size, info.st_ino)
      changed = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
    }
    hasWAL = FileManager.default.fileExists(atPath: path + "-wal")
    isWAL = journalVersion(ofFileAt: path) == 2
  }

  /// True if the database is in WAL mode, and no connection is open.
  var isQuietWAL: Bool { isWAL && !hasWAL }

  static func == (left: FileState, right: FileState) -> Bool {
    left.size == right.size && left.changed == right.changed && left.inode == right.inode
      && left.hasWAL == right.hasWAL
  }
}
