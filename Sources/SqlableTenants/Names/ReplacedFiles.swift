import Glibc
import SqlableCore

// The replacement of a tenant's file by a restored one, in one step.
//
//   acme.sqlite                the tenant
//   acme.sqlite-replaced       a second name of the old file, if the file system has hard links
//   acme.sqlite-replaced-wal   the WAL of a damaged old file; also -journal
//   acme.sqlite-restored       the new file of a damaged tenant, until it gets the tenant's name
//
// SQLite would apply the WAL or journal of the old file to the new file. Closing an intact file removes its WAL and
// journal, but a damaged file can't be closed. The WAL and journal of a damaged file are therefore renamed before the
// new file gets the tenant's name.
//
// As long as acme.sqlite-restored exists, the tenant is the old file. If the process is killed in this state, the next
// call on the tenant renames the WAL and journal back: their commits might be needed, for example if only the key was
// wrong. After acme.sqlite-restored has been renamed to acme.sqlite, the new file is the tenant, and the old WAL and
// journal are no longer needed.

extension TenantDirectory {
  private static let logs = ["-wal", "-journal"]

  private func replacedFile(of name: TenantName) -> String { file(of: name) + "-replaced" }

  private func restoredFile(of name: TenantName) -> String { file(of: name) + "-restored" }

  private func replacedFiles(of name: TenantName) -> [String] {
    let old = replacedFile(of: name)
    return TenantDirectory.logs.map { old + $0 } + [old, restoredFile(of: name)]
  }

  /// Gives a complete file the name of a tenant that exists, in one step. After an error, the old file keeps the name,
  /// or `checkIsSynced` throws. Call with the directory's lock held.
  ///
  /// - Parameter hasLogs: True for a damaged tenant, whose WAL or journal must not be applied to the new file.
  func replace(_ name: TenantName, by new: String, hasLogs: Bool = false) throws {
    let (path, old, restored) = (file(of: name), replacedFile(of: name), restoredFile(of: name))
    guard try !isBeingReplaced(name) else {
      throw SqlError(.io, message: "can't delete the files of an earlier restore, such as \(old)", label: name.text)
    }
    // Make earlier deletions durable before the replacement. Otherwise the WAL of an earlier replacement, or the
    // journal of the closed file, could exist again after a power failure, beside the new file.
    try OpenDirectories([directory(of: name)]).sync()
    // Give the old file a second name, so that the replacement can be undone.
    link(path, old)
    do {
      if hasLogs {
        // Sync each step before the next. Otherwise, after a power failure, the file system could have the later step
        // without the earlier step.
        try syncing([name]) {
          try renameToNew(new, restored)
        } undo: {
        }
        try syncing([name]) {
          try moveLogs(from: path, to: old)
          // SQLite creates this file again from the WAL.
          unlink(path + "-shm")
        } undo: {
        }
      }
      try syncing([name]) {
        try move(hasLogs ? restored : new, path)
      } undo: {
        if try hasLogs && isThere(old) {
          try move(path, restored)
          try OpenDirectories([directory(of: name)]).sync()
        }
        try move(old, path)
      }
    } catch {
      // If this attempt also fails, the next call on the tenant tries again.
      try? endReplacement(of: name)
      throw error
    }
    removeReplacedFiles(of: name)
  }

  /// True if a replacement is unfinished: a call is still running it, or its process was killed.
  func isBeingReplaced(_ name: TenantName) throws -> Bool { try replacedFiles(of: name).contains(where: isThere) }

  /// Ends an interrupted replacement. The tenant's name then belongs to the new file, or to the old file with its WAL
  /// or journal. Call with the lock.
  func endReplacement(of name: TenantName) throws {
    let (path, old, restored) = (file(of: name), replacedFile(of: name), restoredFile(of: name))
    try syncAgain(name)
    if try isThere(restored) {
      if try !isThere(path) {
        guard try isThere(old) else {
          throw SqlError(
            .io,
            message: "the file \(path) vanished during a restore; put the file back, or delete \(restored) "
              + "and \(old)-wal",
            label: name.text)
        }
        try renameToNew(old, path)
      }
      try moveLogs(from: old, to: path)
      try syncAgain(name)
    }
    removeReplacedFiles(of: name)
    // The file of an earlier restore must not stay: after a rename or deletion of the tenant's file, the next call
    // would use the old file again.
    guard try !isThere(restored) else {
      throw SqlError(.io, message: "can't delete the file of an earlier restore: \(restored)", label: name.text)
    }
    try syncAgain(name)
  }

  private func removeReplacedFiles(of name: TenantName) {
    for file in replacedFiles(of: name) { unlink(file) }
  }

  private func moveLogs(from path: String, to newPath: String) throws {
    for ending in TenantDirectory.logs where try isThere(path + ending) {
      try renameToNew(path + ending, newPath + ending)
    }
  }

  /// Renames a file, and replaces a file that exists at the new path.
  func move(_ path: String, _ newPath: String) throws {
    guard rename(path, newPath) == 0 else { throw SqlError.system("rename a file to", newPath, errno) }
  }

  /// True if a file exists. Throws if the file system can't tell.
  func isThere(_ path: String) throws -> Bool {
    var info = stat()
    guard lstat(path, &info) != 0 else { return true }
    guard errno == ENOENT || errno == ENAMETOOLONG else {
      throw SqlError.system("read the status of", path, errno, isRead: true)
    }
    return false
  }
}
