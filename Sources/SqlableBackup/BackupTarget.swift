import Glibc
import SqlableCore

package struct BackupTarget {
  /// The absolute path without symbolic links.
  package let path: String
  let directory: String

  package init(_ path: String) throws {
    try BackupTarget.check(path)
    let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    let parent = String(decoding: path.utf8.dropLast(name.utf8.count), as: UTF8.self)
    guard !["", ".", ".."].contains(name) else { throw BackupTarget.directory(path) }
    // If the path is a symbolic link, the link stays and its target is replaced.
    if FileIdentity.linkInfo(path)?.isLink == true {
      self.path = try BackupTarget.resolved(path)
    } else {
      let directory = try BackupTarget.resolved(parent.isEmpty ? "." : parent)
      self.path = directory == "/" ? "/" + name : directory + "/" + name
    }
    let end = self.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? self.path.startIndex
    directory = end == self.path.startIndex ? "/" : String(self.path[..<end])
    if let info = FileIdentity.info(self.path), !info.isRegular { throw BackupTarget.directory(path) }
  }

  static func check(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a backup can't be empty or contain a NUL byte")
    }
    guard !path.begins(with: "file:"), path != ":memory:" else {
      throw SqlError.misuse("the path of a backup must be a file path, not a URI or :memory:")
    }
  }

  private static func directory(_ path: String) -> SqlError {
    SqlError(.cannotOpen, message: "the path of the backup is not a regular file: \(path)")
  }

  private static func resolved(_ path: String) throws -> String {
    guard let resolved = realpath(path, nil) else { throw SqlError.system("find", path, errno) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static let suffixes = ["", "-wal", "-shm", "-journal", "-gate"]

  /// Throws `.misuse` if the target is a file of the database at `source`, because the backup would destroy this
  /// database.
  func check(against source: String) throws {
    guard !source.isEmpty else { return }
    for name in [path, PartialFile.name(beside: path)] {
      let identity = FileIdentity(name)
      for suffix in BackupTarget.suffixes {
        guard name == source + suffix || (identity != nil && identity == FileIdentity(source + suffix)) else {
          continue
        }
        throw SqlError.misuse(
          "the target of the backup is the database itself, or its WAL, journal or lock file: \(path)")
      }
    }
  }

  /// True if the keys of the file and of the database might differ, or if only one of the two is encrypted.
  private func mayHaveOtherKey(_ db: SqliteDatabase) -> Bool {
    guard let file = try? RawFile(path: path) else { return false }
    return db.cipher == nil ? file.looksEncrypted : file.isPlain || file.looksEncrypted
  }

  private func otherKey(_ db: SqliteDatabase) -> SqlError {
    let isPlain = (try? RawFile(path: path))?.isPlain == true
    let difference =
      isPlain ? "is not encrypted" : db.cipher == nil ? "is encrypted" : "has another key than the database"
    return SqlError(
      .wrongKey,
      message:
        "the target of the backup \(difference); use replacesOtherKeys to replace the target: \(path)")
  }

  /// Checks that the target can be replaced: the target is empty or a database, and has no leftover WAL that SQLite
  /// would apply to the copy.
  ///
  /// A WAL does not contain the name of its database file. If an old WAL stays beside the new file, the next connection
  /// reads pages from the old WAL, and the copy is damaged. In WAL mode, the WAL exists until the last connection
  /// closes, so a file without a WAL is not open in WAL mode. This method applies a leftover WAL to the target and
  /// deletes the WAL, or throws `.busy` if another connection uses the WAL. In other journal modes, a connection has a
  /// journal only while writing. SQLite refuses to start a journal after the connection's file was replaced.
  ///
  /// - Parameter replacesOtherKeys: True if the target is allowed to be a database that the handle's key does not open.
  func prepareForReplacing(_ db: SqliteDatabase, replacesOtherKeys: Bool) throws {
    let label = db.configuration.label
    let logs = ["-wal", "-journal"].map { path + $0 }
    let hasWAL = { logs.contains { FileIdentity.linkInfo($0) != nil } }
    guard let info = FileIdentity.info(path), info.st_size > 0 else {
      guard !hasWAL() else {
        throw SqlError.misuse(
          "a WAL or journal is left at the target of the backup, and would damage the backup; delete the WAL or "
            + "journal: "
            + "\(path)-wal or -journal"
        )
      }
      return
    }
    // Roll back a hot journal first, because the file can look encrypted or damaged before the rollback. The rollback
    // also works if the file has another key.
    if RawFile.hasHotJournal(path) { try? Connection.closeWAL(ofFileAt: path, label: label, db.cipher) }
    var hasOtherKey = false
    do {
      try db.openFile(at: path, isImmutable: true).close()
    } catch let error as SqlError where [.notADatabase, .wrongKey].contains(error.kind) && mayHaveOtherKey(db) {
      guard replacesOtherKeys else { throw otherKey(db) }
      hasOtherKey = true
    } catch let error as SqlError where error.kind == .notADatabase {
      throw SqlError(
        .notADatabase, message: "the target of the backup was not replaced, because the file is not a database: \(path)"
      )
    } catch let error as SqlError where error.kind == .wrongKey {
      throw SqlError(
        .wrongKey, message: "the target of the backup has another key than the database, or is damaged: \(path)")
    } catch let error as SqlError where error.kind == .corrupt || error.isFailedRead {
      // The target can be an earlier backup that was damaged after it was made.
    }
    guard hasWAL() else { return }
    guard !hasOtherKey else {
      throw SqlError(
        .cannotOpen,
        message:
          "can't replace the target of the backup: the target's WAL or journal needs another key than the database: "
          + "\(path)"
      )
    }
    do { try Connection.closeWAL(ofFileAt: path, label: label, db.cipher) } catch let error as SqlError {
      throw SqlError(
        error.kind == .busy ? .busy : .cannotOpen,
        message: "the target of the backup is open, or its WAL or journal can't be closed (\(error.message)): \(path)")
    }
    guard !hasWAL() else {
      throw SqlError(.busy, message: "the target of the backup is open: \(path)")
    }
  }
}
