import Glibc
import SqlableCore

/// A file that becomes a backup, under a temporary name until the file is complete.
///
/// The temporary name is the target's with a suffix. A lock shows that the file's owner lives: the kernel releases the
/// lock with the process. So a killed process leaves one such file at most, and the next backup takes that file over.
///
/// Sound as `Sendable`: everything is immutable but `isKept`, which only the backup's own thread uses.
package final class PartialFile: @unchecked Sendable {
  package let path: String
  package let descriptor: Int32
  private var isKept = false

  static func name(beside target: String) -> String { target + ".sqlable-partial" }

  /// The directory of temporary files that belong to no target: `TMPDIR`, or else `/tmp`.
  static var temporaryDirectory: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

  /// Creates the temporary file of a target. Throws `.busy` if another backup to the same target is running.
  package static func make(beside target: String, mode: mode_t) throws -> PartialFile {
    guard let file = try PartialFile(at: name(beside: target), mode) else {
      throw SqlError(.busy, message: "another backup to the same path is running: \(target)")
    }
    return file
  }

  /// Creates the first file of a numbered series that no other backup uses.
  static func makeNumbered(beside path: String) throws -> PartialFile {
    var number = 1
    while true {
      if let file = try PartialFile(at: name(beside: path) + "-\(number)", 0o600) { return file }
      number += 1
    }
  }

  /// Returns nil if another backup uses the file.
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
      // The owner may have renamed or removed the file after it was opened here.
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
    // Removed while the lock is held: after that, the file may be another backup's.
    if !isKept {
      try? removeJournals()
      unlink(path)
    }
    close(descriptor)
  }

  /// Removes the journal, WAL and shared-memory files that a killed `VACUUM INTO` left.
  private func removeJournals() throws {
    for suffix in ["-journal", "-wal", "-shm"] where unlink(path + suffix) != 0 && errno != ENOENT {
      throw SqlError.system("remove", path + suffix, errno)
    }
  }

  /// Removes the header's demand for WAL mode, which SQLite copies with the first page. A file with that demand can't
  /// be opened where nothing can be written beside the file.
  package func removeNeedForWAL(_ cipher: Cipher? = nil) throws {
    // Only SQLite can change the header of an encrypted file.
    if let cipher { return try Connection.closeWAL(ofFileAt: path, label: nil, cipher) }
    var versions: [UInt8] = [0, 0]
    guard pread(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("read", path, errno) }
    guard versions != [1, 1] else { return }
    versions = [1, 1]
    guard pwrite(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("write", path, errno) }
  }

  /// Gives the file the permissions and, if possible, the owner of the source.
  func takePermissions(of source: stat) throws {
    // Only an administrator can change the owner, so a failure is ignored. The owner is set before the mode, because
    // `fchown` would reset some bits of the mode.
    _ = fchown(descriptor, source.st_uid, source.st_gid)
    guard fchmod(descriptor, source.st_mode & 0o777) == 0 else {
      throw SqlError.system("set the permissions of", path, errno)
    }
  }

  package func sync() throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  /// Renames the file to its target in one step: an older file stays at the target until then.
  package func rename(to target: BackupTarget) throws {
    guard Glibc.rename(path, target.path) == 0 else {
      throw SqlError.system("rename the backup to", target.path, errno)
    }
    isKept = true
    try syncDirectory(target.directory)
  }

  /// Removes the name of the file. The contents stay until the file is released.
  func removeName() {
    unlink(path)
    isKept = true
  }
}
