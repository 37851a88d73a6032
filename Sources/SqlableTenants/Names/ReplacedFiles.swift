import Glibc
import SqlableCore

// The replacement of a tenant's file by a restored one, in one step.
//
//   acme.sqlite                the tenant
//   acme.sqlite-replaced       a second name of the old file, until the replacement has ended
//   acme.sqlite-replaced-wal   the WAL of a damaged old file; also -journal and -shm
//
// SQLite would apply the WAL or journal of the old file to the new one. Closing the old file has removed them, but a
// damaged file can't be closed. Its logs therefore get other names before the new file gets its name. If the process is
// killed in between, the next call on the tenant gives the logs their names back. Their commits might be needed, for
// example if only the key was wrong. Without hard links, the logs keep their other names.

extension TenantDirectory {
  private static let logs = endings.filter { $0 != "-gate" }

  /// Gives a complete file the name of a tenant that exists, in one step. After an error, the old file has the name, or
  /// `checkIsSynced` throws. Call with the lock.
  ///
  /// - Parameter hasLogs: True for a damaged tenant, whose WAL or journal must not be applied to the new file.
  func replace(_ name: TenantName, by new: String, hasLogs: Bool = false) throws {
    let (path, old) = (file(of: name), replacedFile(of: name))
    let oldFile = FileIdentity(path)
    // A power failure might have left the logs of an earlier replacement.
    removeLogs(ofFileAt: old)
    do {
      if hasLogs {
        // Each step is synced before the next one, because a power failure can keep a later step without an earlier.
        try syncing([name]) {
          try linkIfPossible(path, old)
        } undo: {
        }
        try syncing([name]) {
          try moveLogs(from: path, to: old)
        } undo: {
        }
      } else {
        try linkIfPossible(path, old)
      }
      try syncing([name]) {
        guard rename(new, path) == 0 else { throw SqlError.system("rename", new, errno) }
      } undo: {
        guard link(old, new) == 0, rename(new, path) == 0 else { throw SqlError.system("rename", old, errno) }
      }
    } catch {
      // If this fails, too, the next call on the tenant tries again.
      try? endReplacement(of: name, oldFile)
      throw error
    }
    removeReplacedFiles(of: name)
  }

  /// Gives a file a second name. Some file systems have no hard links.
  private func linkIfPossible(_ path: String, _ newPath: String) throws {
    guard link(path, newPath) == 0 || [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else {
      throw SqlError.system("create", newPath, errno)
    }
  }

  private func replacedFile(of name: TenantName) -> String { file(of: name) + "-replaced" }

  /// True if a replacement has not ended: a call has the lock, or was killed.
  func isBeingReplaced(_ name: TenantName) -> Bool { FileIdentity.linkInfo(replacedFile(of: name)) != nil }

  /// Ends a replacement that was interrupted. The tenant is then the new file, or the old file with its logs. Call with
  /// the lock.
  ///
  /// - Parameter oldFile: The old file; nil if a killed process has replaced it. Then its second name tells.
  func endReplacement(of name: TenantName, _ oldFile: FileIdentity? = nil) throws {
    let (path, old) = (file(of: name), replacedFile(of: name))
    if let file = FileIdentity(path), file == oldFile ?? FileIdentity(old) { try moveLogs(from: old, to: path) }
    try syncAgain(name)
    removeReplacedFiles(of: name)
  }

  /// Deletes the files of a replacement that has ended. Call with the lock.
  func removeReplacedFiles(of name: TenantName) {
    let old = replacedFile(of: name)
    removeLogs(ofFileAt: old)
    unlink(old)
  }

  private func moveLogs(from path: String, to newPath: String) throws {
    for ending in TenantDirectory.logs {
      guard rename(path + ending, newPath + ending) == 0 || errno == ENOENT else {
        throw SqlError.system("rename", path + ending, errno)
      }
    }
  }

  private func removeLogs(ofFileAt path: String) {
    for ending in TenantDirectory.logs { unlink(path + ending) }
  }
}
