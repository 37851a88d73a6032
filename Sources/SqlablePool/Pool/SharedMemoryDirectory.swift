import CSqlableSQLite
import Glibc
import SqlableCore
import Synchronization

/// A directory on tmpfs that contains the database file of one pool. The directory is removed together with its owner.
///
/// A lock on the directory shows that its owner is alive, because the kernel releases the lock when the last process
/// with the directory's descriptor ends. When a process creates its first such directory, the process removes the
/// directories left by killed processes.
package final class SharedMemoryDirectory: Sendable {
  private static let parent = "/dev/shm"
  private static let prefix = "sqlable-"
  private static let number = Atomic(0)

  let path: String
  private let descriptor: Int32

  var file: String { path + "/memory.sqlite" }

  /// Creates the directory. Throws `.cannotOpen` if there is no tmpfs at `/dev/shm`, or if the directory can't be
  /// created.
  init() throws {
    guard sqlable_is_in_memory(SharedMemoryDirectory.parent) != 0 else {
      throw SqlError(
        .cannotOpen, message: "an in-memory pool needs a tmpfs file system at \(SharedMemoryDirectory.parent)")
    }
    _ = SharedMemoryDirectory.sweep
    while true {
      let number = SharedMemoryDirectory.number.add(1, ordering: .relaxed).newValue
      let path = "\(SharedMemoryDirectory.parent)/\(SharedMemoryDirectory.prefix)\(getpid())-\(number)"
      guard mkdir(path, 0o700) == 0 else {
        // Try another name, because a process in another PID namespace can have the same process id.
        if errno == EEXIST { continue }
        throw SharedMemoryDirectory.failure("create")
      }
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        rmdir(path)
        throw SharedMemoryDirectory.failure("open")
      }
      // An unlocked directory looks abandoned, so another process might have removed the directory.
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, access(path, F_OK) == 0 else {
        close(descriptor)
        continue
      }
      (self.path, self.descriptor) = (path, descriptor)
      return
    }
  }

  deinit {
    remove()
    close(descriptor)
  }

  /// Removes the directory and its files. The contents of open files stay until the files are closed.
  func remove() { SharedMemoryDirectory.remove(path) }

  private static func failure(_ step: String) -> SqlError {
    SqlError(.cannotOpen, message: "can't \(step) a directory in \(parent): \(String(cString: strerror(errno)))")
  }

  /// Removes abandoned directories, once per process.
  private static let sweep: Void = {
    for name in names(in: parent) where name.begins(with: prefix) {
      let path = "\(parent)/\(name)"
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { remove(path) }
    }
  }()

  private static func remove(_ path: String) {
    for name in names(in: path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
