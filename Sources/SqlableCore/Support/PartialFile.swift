import CSqlableSQLite
import Glibc

/// A temporary file that gets its final name when it is complete.
///
/// A lock on the file shows that its owner is alive, because the kernel releases the lock when the process ends. The
/// next owner of the name removes the file of a killed process.
///
/// The sticky bit, which Linux ignores for files, marks temporary files. A file without the bit belongs to another
/// program, and is not changed.
///
/// `PartialFile` is safe as `@unchecked Sendable`: only `isKept` is mutable, and only its owner's thread uses it.
package final class PartialFile: @unchecked Sendable {
  package let path: String
  package let descriptor: Int32
  private var isKept = false

  /// The suffixes of the files that SQLite can create beside the temporary file.
  private static let suffixes = ["-journal", "-wal", "-shm"]

  package enum Claim {
    case file(PartialFile)
    /// The file has another owner, which still runs.
    case inUse
    /// Another program's file has the temporary name, or that name with one of the `suffixes`. The value is the path of
    /// the other program's file.
    case taken(String)
  }

  /// Creates the temporary file. Throws `.busy` if the file exists and its owner is alive. Throws `.misuse` if another
  /// program's file has the name.
  ///
  /// - Parameter work: A noun for the messages, such as "backup".
  package static func make(at path: String, mode: mode_t, for work: String) throws -> PartialFile {
    switch try claim(path, mode) {
    case .file(let file): return file
    case .inUse: throw SqlError(.busy, message: "another \(work) to the same path is running: \(path)")
    case .taken(let other):
      throw SqlError.misuse(
        "can't create the temporary file of the \(work): another file has the name; move or delete \(other)")
    }
  }

  package static func claim(_ path: String, _ mode: mode_t) throws -> Claim {
    while true {
      var descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode | S_ISVTX)
      let isCreated = descriptor >= 0
      if !isCreated, errno == EEXIST {
        guard let info = FileIdentity.linkInfo(path) else { continue }
        guard info.isRegular, info.st_nlink == 1, info.st_mode & S_ISVTX != 0 else { return .taken(path) }
        descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { continue }
        if descriptor < 0, errno == EACCES { return .taken(path) }
      }
      guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK || code == EINTR else { throw SqlError.system("lock", path, code) }
        return .inUse
      }
      // Check the path again: the previous owner might have renamed or removed the file after this method opened it.
      var info = stat()
      guard fstat(descriptor, &info) == 0, FileIdentity.linkInfo(path).map({ FileIdentity($0) }) == FileIdentity(info)
      else {
        close(descriptor)
        continue
      }
      guard isCreated else {
        defer { close(descriptor) }
        try remove(path)
        continue
      }
      // A file with one of these suffixes belongs to another program. An earlier owner of the temporary file can't have
      // left it, because an owner removes such files before the temporary file.
      if let other = suffixes.lazy.map({ path + $0 }).first(where: { FileIdentity.linkInfo($0) != nil }) {
        unlink(path)
        close(descriptor)
        return .taken(other)
      }
      return .file(PartialFile(path, descriptor))
    }
  }

  private init(_ path: String, _ descriptor: Int32) { (self.path, self.descriptor) = (path, descriptor) }

  deinit {
    // Remove the file while holding the lock. Without the lock, the file might belong to another owner.
    if !isKept { try? PartialFile.remove(path) }
    close(descriptor)
  }

  /// Removes the journal, the WAL and the shared memory that a killed `VACUUM INTO` can leave, and then the file
  /// itself.
  private static func remove(_ path: String) throws {
    for suffix in suffixes + [""] where unlink(path + suffix) != 0 && errno != ENOENT {
      throw SqlError.system("remove", path + suffix, errno)
    }
  }

  package func setMode(_ mode: mode_t) throws {
    guard fchmod(descriptor, mode & 0o777 | S_ISVTX) == 0 else {
      throw SqlError.system("set the permissions of", path, errno)
    }
  }

  package func sync() throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  /// Renames the file to its final name in one step. With `replaces`, an older file of this name is replaced; without
  /// `replaces`, an older file is an error.
  package func rename(to name: String, replaces: Bool) throws {
    guard (replaces ? Glibc.rename(path, name) : sqlable_rename_to_new(path, name)) == 0 else {
      throw SqlError.system("rename a file to", name, errno)
    }
    isKept = true
    // The sticky bit marks temporary files only. Remove the bit last, because a killed process must leave a marked
    // file.
    var info = stat()
    if fstat(descriptor, &info) == 0 { fchmod(descriptor, info.st_mode & 0o777) }
  }

  /// Removes the file's name. The contents stay until the object is released.
  package func removeName() {
    unlink(path)
    isKept = true
  }
}
