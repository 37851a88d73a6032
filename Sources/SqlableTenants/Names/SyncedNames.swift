import Glibc
import SqlableCore

// Changes of tenants' file names that survive a power failure.
//
// After a failed sync of a directory, the next sync can succeed although the disk lacks the names: the kernel reports
// each failure only once. Calls therefore rely on a changed name only if the first sync after the change has succeeded.
// After a failed sync, the change is undone or made again, and the directory is synced again. If that also fails, calls
// on the tenant throw the error until the keeper is opened again. The directory is locked until the change or its
// undoing is synced. Until then, no other call relies on the name.
//
// Other processes don't detect the failed sync. If the undo also fails, or this process is killed before the undo,
// those processes use a name that the disk might lack. A power failure can then take their commits, unless the file
// system refuses all further writes. The guide says that the processes must end in this case. A note in the directory
// would not help: the note would remain after a kill and after a restart, so no process could tell whether the note is
// still true.

extension TenantDirectory {
  /// The names whose state on the disk is unknown.
  struct Unsynced {
    var tenants: Set<TenantName> = []
    /// The paths of small files that must be written again.
    var files: Set<String> = []
  }

  /// Renames a closed database file in one step. After an error, the file has its old name.
  ///
  /// - Parameter names: The tenant of the new path, and the tenant of the old one.
  func renameFile(_ path: String, to newPath: String, of names: [TenantName]) throws {
    // Delete these files before the rename, because another program can create a database at the old path afterwards.
    // SQLite has deleted the WAL, and a journal that still exists has no rows of this database.
    for ending in ["-journal", "-gate"] { unlink(path + ending) }
    try removeFiles(besideMissingFileAt: newPath)
    try syncing(names) {
      try renameToNew(path, newPath)
    } undo: {
      try renameToNew(newPath, path)
    }
  }

  /// Calls `change`, which changes the names of these tenants' files, and syncs the files' directories in order: if
  /// only the directory of the old name were synced, a power failure could lose the file. Calls `undo` after a failed
  /// sync. Call with the lock.
  func syncing(_ names: [TenantName], _ change: () throws -> Void, undo: () throws -> Void) throws {
    let directories = try OpenDirectories(names.map(directory(of:)))
    try change()
    do { try directories.sync() } catch {
      do {
        try undo()
        try directories.sync(isReversed: true)
      } catch { unsynced.withLock { $0.tenants.formUnion(names) } }
      throw error
    }
  }

  /// Syncs a tenant's name that another process might not have synced. Call with the lock.
  func syncAgain(_ name: TenantName) throws {
    try checkIsSynced([name])
    let directories = try OpenDirectories([directory(of: name)])
    do { try directories.sync() } catch {
      // The tenant can be in use, so its file can't be renamed away and back for another sync.
      unsynced.withLock { _ = $0.tenants.insert(name) }
      throw error
    }
  }

  func isSynced(_ name: TenantName) -> Bool { unsynced.withLock { !$0.tenants.contains(name) } }

  /// Throws `.io` if a sync of one of these names failed, so that it is unknown whether the disk has the name.
  func checkIsSynced(_ names: [TenantName]) throws {
    guard let name = names.first(where: { !isSynced($0) }) else { return }
    throw SqlError(
      .io,
      message: "the directory \(directory(of: name)) could not be synced, so the tenant might vanish or return after a "
        + "power failure; open the tenants again once the disk works", label: name.text)
  }

  // MARK: Small files

  /// Writes a small file in one step.
  func replace(_ path: String, with text: String) throws {
    let temporary = try newFile()
    let descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", temporary, errno) }
    defer { close(descriptor) }
    try writeSynced(text, to: descriptor, temporary)
    let directory = try OpenDirectories([parent(of: path)])
    try move(temporary, path)
    do { try directory.sync() } catch {
      unsynced.withLock { _ = $0.files.insert(path) }
      throw error
    }
    unsynced.withLock { _ = $0.files.remove(path) }
  }

  /// True if the file was replaced, but its directory could not be synced. The file must be replaced again.
  func isUnsynced(_ path: String) -> Bool { unsynced.withLock { $0.files.contains(path) } }
}

func writeSynced(_ text: String, to descriptor: Int32, _ path: String) throws {
  var text = text
  try text.withUTF8 { try writeAll(UnsafeRawBufferPointer($0), to: descriptor, at: 0, path) }
  guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
}
