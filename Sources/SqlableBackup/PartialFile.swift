import Glibc
import SqlableCore

/// A temporary file that becomes a backup when complete.
///
/// The temporary name is the target's name with a suffix. A lock on the file shows that its owner is alive, because the
/// kernel releases the lock when the process ends. The next backup to the target removes the file of a killed process.
///
/// `PartialFile` is safe as `@unchecked Sendable`: only `isKept` is mutable, and only the backup's thread uses it.
package final class PartialFile: @unchecked Sendable {
  package let path: String
  package let descriptor: Int32
  private var isKept = false

  static func name(beside target: String) -> String { target + ".sqlable-partial" }

  /// The directory for temporary files without a target: `TMPDIR`, or `/tmp`.
  static var temporaryDirectory: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

  /// Creates the temporary file of a target. Throws `.busy` if another backup to the same target is running.
  package static func make(beside target: String, mode: mode_t) throws -> PartialFile {
    guard let file = try PartialFile(at: name(beside: target), mode) else {
      throw SqlError(.busy, message: "another backup to the same path is running: \(target)")
    }
    return file
  }

  /// Creates the first file in a numbered series that no other backup uses.
  static func makeNumbered(beside path: String) throws -> PartialFile {
    var number = 1
    while true {
      if let file = try PartialFile(at: name(beside: path) + "-\(number)", 0o600) { return file }
      number += 1
    }
  }

  /// Opens or creates the file; nil if another backup uses the file.
  private init?(at path: String, _ mode: mode_t) throws {
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode)
      guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
      var info = stat()
      guard fstat(descriptor, &info) == 0, info.isRegular, info.st_nlink <= 1 else {
        close(descriptor)
        throw SqlError.misuse("can't create the temporary file of the backup: another file has the name: \(path)")
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK || code == EINTR else { throw SqlError.system("lock", path, code) }
        return nil
      }
      // The owner might have renamed or removed the file after this method opened it.
      guard FileIdentity.linkInfo(path).map({ FileIdentity($0) }) == FileIdentity(info) else {
        close(descriptor)
        continue
      }
      // A killed process left the file, or the file belongs to another user, who could read the backup.
      guard info.st_size == 0, info.st_uid == geteuid() else {
        let code = unlink(path) == 0 ? 0 : errno
        close(descriptor)
        guard code == 0 else { throw SqlError.system("remove", path, code) }
        continue
      }
      (self.path, self.descriptor) = (path, descriptor)
      try removeJournals()
      return
    }
  }

  deinit {
    // Remove the file while holding the lock. Without the lock, the file might belong to another backup.
    if !isKept {
      try? removeJournals()
      unlink(path)
    }
    close(descriptor)
  }

  /// Removes the journal, WAL and shared-memory files left by a killed `VACUUM INTO`.
  private func removeJournals() throws {
    for suffix in ["-journal", "-wal", "-shm"] where unlink(path + suffix) != 0 && errno != ENOENT {
      throw SqlError.system("remove", path + suffix, errno)
    }
  }

  /// Changes the header so that the file does not require WAL mode, which SQLite has copied with the first page. A file
  /// in WAL mode can't be opened in a read-only directory.
  package func removeNeedForWAL(_ cipher: Cipher? = nil) throws {
    // Only SQLite can change the header of an encrypted file.
    if let cipher { return try Connection.closeWAL(ofFileAt: path, label: nil, cipher) }
    var versions: [UInt8] = [0, 0]
    guard pread(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("read", path, errno) }
    guard versions != [1, 1] else { return }
    versions = [1, 1]
    guard pwrite(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("write", path, errno) }
  }

  /// Gives the file the source's permissions and, if possible, the source's owner.
  func takePermissions(of source: stat) throws {
    // Only an administrator can change the owner, so a failure is ignored. Set the owner before the mode, because
    // `fchown` would reset some bits of the mode.
    _ = fchown(descriptor, source.st_uid, source.st_gid)
    guard fchmod(descriptor, source.st_mode & 0o777) == 0 else {
      throw SqlError.system("set the permissions of", path, errno)
    }
  }

  package func sync() throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  /// Renames the file to its target in one step; until then, an older file stays at the target.
  package func rename(to target: BackupTarget) throws {
    guard Glibc.rename(path, target.path) == 0 else {
      throw SqlError.system("rename the backup to", target.path, errno)
    }
    isKept = true
    try syncDirectory(target.directory)
  }

  /// Removes the file's name. The contents stay until the object is released.
  func removeName() {
    unlink(path)
    isKept = true
  }
}
