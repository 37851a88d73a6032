import FoundationEssentials
import Glibc
import SqlableCore

/// A directory with the backups of all tenants.
///
/// ```text
/// backups/e4/acme/20261130T074512.123456Z-9c1f0b62d7e3a845.sqlite    a backup, with the state of the tenant's file
/// backups/e4/acme/new.sqlite                                         an unfinished backup
/// backups/e4/acme/20261203T120000.000000Z.deleted                    the tenant no longer existed at this time
/// ```
///
/// A backup gets its name when it is complete, so every file with such a name is a complete backup. The name contains
/// everything that the next run needs to know.
struct BackupDirectory: Sendable {
  let path: String
  private static let deleted = ".deleted"

  func directory(of name: TenantName) -> String {
    "\(directory(name.directory))/\(name.fileName.dropLast(TenantName.ending.utf8.count))"
  }

  private func directory(_ index: Int) -> String {
    let digits = String(index, radix: 16)
    return path + (digits.utf8.count == 1 ? "/0" : "/") + digits
  }

  /// Returns the backups of a tenant, in ascending order of their times.
  func backups(of name: TenantName) throws -> [TenantBackup] {
    let directory = directory(of: name)
    return try BackupDirectory.names(in: directory).sorted().compactMap { TenantBackup(name: $0, in: directory) }
  }

  /// Returns the path at which to write a new backup. `finish` gives the finished backup its name.
  func newFile(of name: TenantName) throws -> String {
    let directory = directory(of: name)
    if FileIdentity.info(directory) == nil {
      for path in [self.directory(name.directory), directory] { try createDirectory(path) }
    }
    return directory + "/new.sqlite"
  }

  /// Gives an unfinished backup its name.
  func finish(_ file: String, of name: TenantName, _ time: Date, mark: String?) throws {
    let directory = directory(of: name)
    let path = directory + "/" + time.backupTime + (mark.map { "-" + $0 } ?? "") + TenantBackup.ending
    let open = try OpenDirectories([directory])
    guard rename(file, path) == 0 else { throw SqlError.system("rename", file, errno) }
    do { try open.sync() } catch {
      // Remove the backup. Its name is not synced, but the next run would treat the backup as finished.
      unlink(path)
      throw error
    }
  }

  /// Deletes old backups, but keeps those from which `start` and later times can be restored. The last backup always
  /// stays.
  func removeOld(_ backups: [TenantBackup], before start: Date?) throws {
    guard let start, let needed = backups.lastIndex(where: { $0.time <= start }) else { return }
    for backup in backups[..<needed] where unlink(backup.path) != 0 && errno != ENOENT {
      throw SqlError.system("delete", backup.path, errno)
    }
  }

  // MARK: Deleted tenants

  /// Removes the note of the time at which the tenant was first missing.
  func noteExists(_ name: TenantName) throws {
    let directory = directory(of: name)
    for name in try BackupDirectory.names(in: directory) where name.hasSuffix(BackupDirectory.deleted) {
      unlink(directory + "/" + name)
    }
  }

  /// Records the time at which a tenant was first found missing. Deletes the tenant's backups if this time is before
  /// `start`.
  func noteDeleted(_ name: TenantName, before start: Date) throws {
    let directory = directory(of: name)
    let names = try BackupDirectory.names(in: directory)
    guard let note = names.first(where: { $0.hasSuffix(BackupDirectory.deleted) }) else {
      let path = directory + "/" + Date().backupTime + BackupDirectory.deleted
      let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw SqlError.system("create", path, errno) }
      close(file)
      return
    }
    guard let time = Date(backupTime: note.dropLast(BackupDirectory.deleted.count)), time < start else { return }
    // Delete the note last, so that the next run continues an interrupted deletion.
    for name in names where name != note { unlink(directory + "/" + name) }
    unlink(directory + "/" + note)
    rmdir(directory)
  }

  /// Returns the names of the tenants that have backups in one of the directories.
  func tenants(inDirectory index: Int) throws -> [TenantName] {
    try BackupDirectory.names(in: directory(index)).compactMap { TenantName(fileName: $0 + TenantName.ending) }
      .filter { $0.directory == index }
  }

  // MARK: Files

  /// Creates the directory if it is missing, locks it, and returns the descriptor of the lock file. Unlock the
  /// descriptor before you close it, because a forked process can keep the descriptor open, and with it the lock.
  func lock() throws -> Int32 {
    try createDirectories(path)
    let file = open(path + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SqlError.system("create", path + "/lock", errno) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      throw SqlError(.busy, message: "another run is backing up tenants to \(path)")
    }
    return file
  }

  private static func names(in directory: String) throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
      guard FileIdentity.linkInfo(directory) == nil else {
        throw SqlError(.io, message: "can't read the directory \(directory)")
      }
      return []
    }
  }
}
