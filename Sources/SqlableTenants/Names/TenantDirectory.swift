import FoundationEssentials
import Glibc
import SqlableCore
import Synchronization

/// The directory of the tenants' files.
///
/// ```text
/// tenants/3f/acme.sqlite        a tenant in one of 256 directories
/// tenants/.new/8c1f…/           the unfinished files of a process
/// ```
///
/// A file gets its name in one step, when it is complete, and loses its name in one step. A killed process therefore
/// leaves only complete tenants and unfinished files. A later process removes the unfinished files before it creates
/// its own first unfinished file.
final class TenantDirectory: Sendable {
  let path: String
  /// The directory of this process's unfinished files, and the descriptor of its lock; nil before the first use.
  private let work = LockedValue<(path: String, lock: Int32)?>(nil)
  private let count = Atomic(0)
  private let generation = ForkGuard.generation
  let unsynced = LockedValue(Unsynced())
  /// For each directory of tenants: true if the directory's own name is synced, false if it could not be synced.
  private let syncedDirectories = LockedValue<[Int: Bool]>([:])
  /// The maximum time that a call waits for other processes that create, rename or delete tenants.
  private let lockTimeout: Duration

  /// Creates the directory if it is missing.
  init(_ path: String, lockTimeout: Duration) throws {
    self.lockTimeout = lockTimeout
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the directory of the tenants can't be empty or contain a NUL byte")
    }
    try createDirectories(path)
    // Resolve the path now, because the working directory might change.
    self.path = FileIdentity.resolved(path) ?? path
  }

  deinit {
    work.withLock { work in
      // Leave the directory alone in a forked process: the directory belongs to the parent.
      guard let work, ForkGuard.generation == generation else { return }
      try? FileManager.default.removeItem(atPath: work.path)
      close(work.lock)
    }
  }

  func file(of name: TenantName) -> String { directory(name.directory) + "/" + name.fileName }

  func exists(_ name: TenantName) -> Bool { FileIdentity.info(file(of: name))?.isRegular == true }

  func directory(of name: TenantName) -> String { directory(name.directory) }

  /// True if a path is inside the directory, even if nothing exists at the path.
  func contains(_ other: String) -> Bool {
    var existing = other
    while FileIdentity.info(existing) == nil, let end = existing.utf8.lastIndex(of: UInt8(ascii: "/")) {
      existing = String(existing[..<end])
    }
    let resolved = FileIdentity.resolved(existing) ?? FileIdentity.resolved(other.begins(with: "/") ? "/" : ".")
    return ((resolved ?? "") + "/").begins(with: path + "/")
  }

  private func directory(_ index: Int) -> String {
    let digits = String(index, radix: 16)
    return path + (digits.utf8.count == 1 ? "/0" : "/") + digits
  }

  /// Returns the names of the tenants in one of the directories, in ascending order.
  func names(inDirectory index: Int) throws -> [String] {
    try fileNames(inDirectory: index).compactMap(TenantName.init(fileName:)).filter { $0.directory == index }
      .map(\.text).sorted()
  }

  func fileNames(inDirectory index: Int) throws -> [String] {
    let path = directory(index)
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      var info = stat()
      // A missing directory has no tenants yet: a directory is created with its first tenant.
      guard stat(path, &info) != 0, errno == ENOENT else {
        throw SqlError(.io, message: "can't read the directory \(path)")
      }
      return []
    }
  }

  // MARK: Unfinished files

  /// Returns a new path for an unfinished or deleted file.
  func newFile() throws -> String {
    let number = count.add(1, ordering: .relaxed).newValue
    return try work.withLock { work in
      let found = try work ?? claim()
      work = found
      return "\(found.path)/\(number)\(TenantName.ending)"
    }
  }

  // MARK: Locks

  enum Lock {
    /// Several processes can open files.
    case shared
    /// One process creates, renames or deletes a file.
    case exclusive
    /// Like `exclusive`, but first creates missing directories and syncs their names.
    case creating
  }

  /// Calls `body` while no other process creates, deletes or renames tenants in the tenants' directories.
  ///
  /// SQLite creates a missing file. With the lock, a file that `body` has found is not deleted before SQLite opens it.
  /// Once the file is open in WAL mode, its own lock keeps other processes from deleting it. Throws `.busy` if another
  /// process keeps its lock for too long, and `.io` if the names could not be synced.
  func withLock<Result>(_ lock: Lock, of names: [TenantName], _ body: () throws -> Result) throws -> Result {
    while true {
      // First complete an interrupted replacement. The completion changes file names, so it needs the exclusive lock.
      let kind = try lock == .shared && names.contains(where: isBeingReplaced) ? .exclusive : lock
      var locks: [Int32] = []
      defer {
        for lock in locks {
          // Unlock, because a forked process can keep the descriptor open.
          flock(lock, LOCK_UN)
          close(lock)
        }
      }
      // Each call takes the locks in the same order, so that two calls can't deadlock.
      for index in Set(names.map(\.directory)).sorted() {
        if let descriptor = try take(kind, index) { locks.append(descriptor) }
      }
      try checkIsSynced(names)
      let replaced = try names.filter(isBeingReplaced)
      // Start again: another process was killed after the check above, and left an unfinished replacement.
      guard replaced.isEmpty || kind != .shared else { continue }
      for name in replaced { try endReplacement(of: name) }
      return try body()
    }
  }

  /// Locks one of the directories; returns nil if it does not exist.
  private func take(_ lock: Lock, _ index: Int) throws -> Int32? {
    let (path, kind) = (directory(index), lock == .shared ? LOCK_SH : LOCK_EX)
    // Another process might have created the directory without syncing its name in the parent directory.
    var parent = try lock == .creating && !isSynced(index) ? OpenDirectories([self.path]) : nil
    while true {
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor < 0, errno == ENOENT {
        guard lock == .creating else { return nil }
        parent = try parent ?? OpenDirectories([self.path])
        let code = mkdir(path, 0o777) == 0 ? 0 : errno
        // If the path is a symbolic link to a missing directory, mkdir reports EEXIST, but the directory can't be
        // opened.
        guard code == 0 || code == EEXIST && FileIdentity.linkInfo(path)?.isLink != true else {
          throw SqlError.system("create the directory", path, code)
        }
        continue
      }
      guard descriptor >= 0 else { throw SqlError.system("open", path, errno, isRead: true) }
      do {
        if flock(descriptor, kind | LOCK_NB) != 0 {
          // Let another shared thread replace this one during the wait, which can be long: a stopped process can keep
          // its lock.
          try SharedThreads.whileBlocked { try wait(descriptor, kind, path) }
        }
        var info = stat()
        // Another process might have deleted the directory before this call got the lock.
        guard fstat(descriptor, &info) == 0, FileIdentity(path) == FileIdentity(info) else {
          close(descriptor)
          continue
        }
        if let parent { try sync(index, in: parent) }
        return descriptor
      } catch {
        flock(descriptor, LOCK_UN)
        close(descriptor)
        throw error
      }
    }
  }

  private func isSynced(_ index: Int) throws -> Bool {
    let isSynced = syncedDirectories.withLock { $0[index] }
    guard isSynced != false else {
      throw SqlError(
        .io, message: "the directory \(path) could not be synced; open the tenants again once the disk works")
    }
    return isSynced ?? false
  }

  /// Syncs the name of the directory with this index. Call with the directory's lock.
  private func sync(_ index: Int, in parent: OpenDirectories) throws {
    do { try parent.sync() } catch {
      // Remove the empty directory, so that the next call creates and syncs it again. No other call uses the directory,
      // because this call holds its lock. If the directory has files, the call that added the first file has synced it.
      let isUnknown = rmdir(directory(index)) != 0 && errno != ENOTEMPTY
      syncedDirectories.withLock { $0[index] = isUnknown ? false : nil }
      throw error
    }
    syncedDirectories.withLock { if $0[index] != false { $0[index] = true } }
  }

  private func wait(_ descriptor: Int32, _ kind: Int32, _ path: String) throws {
    let end = Deadline.after(lockTimeout)
    while flock(descriptor, kind | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw SqlError.system("lock", path, errno) }
      guard ContinuousClock.now < end else {
        throw SqlError(.busy, message: "another process changes tenants in the directory \(path)")
      }
      usleep(UInt32.random(in: 200...1_000))
    }
  }

  /// The endings of the files that SQLite and pools create beside a database.
  private static let endings = ["-wal", "-shm", "-journal", "-gate"]

  /// Moves a damaged tenant's files. Call with the lock.
  func moveDamaged(_ name: TenantName, to target: String) throws {
    let path = file(of: name)
    try syncing([name]) {
      guard rename(path, target) == 0 else { throw SqlError.system("delete", path, errno) }
      for ending in TenantDirectory.endings { rename(path + ending, target + ending) }
    } undo: {
      for ending in TenantDirectory.endings { rename(target + ending, path + ending) }
      try renameToNew(target, path)
    }
  }

  /// Deletes the files of a deleted tenant that a killed process has left. Call with the lock.
  func removeRemains(of name: TenantName) throws {
    guard try !isThere(file(of: name)) else { return }
    try removeFiles(besideMissingFileAt: file(of: name))
    try removeUnfinishedReceptions(of: name)
  }

  /// Deletes the WAL and journal of a missing file. SQLite would apply them to a new file at this path.
  func removeFiles(besideMissingFileAt path: String) throws {
    guard try !isThere(path) else { return }
    var isChanged = false
    for ending in TenantDirectory.endings {
      if unlink(path + ending) == 0 {
        isChanged = true
      } else if errno != ENOENT && errno != ENAMETOOLONG {
        throw SqlError.system("delete", path + ending, errno)
      }
    }
    // Sync, so that a power failure does not bring the deleted files back beside the file that gets this path.
    if isChanged { try OpenDirectories([parent(of: path)]).sync() }
  }

  /// Creates and locks the directory of this process, and removes the unlocked directories of killed processes.
  private func claim() throws -> (path: String, lock: Int32) {
    let parent = path + "/.new"
    try createDirectories(parent)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
      let path = parent + "/" + name
      let lock = open(path + "/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard lock >= 0 else {
        // The directory is abandoned, or its owner has not created the lock file yet. After this removal, such an owner
        // creates another directory.
        rmdir(path)
        continue
      }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
      close(lock)
    }
    while true {
      let path = parent + "/" + String(UInt64.random(in: .min ... .max), radix: 16)
      try createDirectories(path)
      let lock = open(path + "/lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if lock < 0, errno == EEXIST || errno == ENOENT { continue }
      guard lock >= 0 else { throw SqlError.system("create", path + "/lock", errno) }
      var info = stat()
      // Check that the lock file still exists: another process might have removed the directory before the lock was
      // taken.
      if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &info) == 0,
        FileIdentity(path + "/lock") == FileIdentity(info)
      {
        return (path, lock)
      }
      close(lock)
    }
  }
}
