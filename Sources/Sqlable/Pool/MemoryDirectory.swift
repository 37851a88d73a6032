import CSqlableSQLite
import Glibc
import Synchronization

/// A directory of one pool in the memory of the machine, with its database file. It goes with its owner.
///
/// A lock on the directory says that its owner lives: the kernel gives it up with the last process that has it. What
/// was left behind by processes that were killed is removed by the next that makes one.
final class MemoryDirectory: Sendable {
  private static let parent = "/dev/shm"
  private static let prefix = "sqlable-"
  private static let number = Atomic(0)

  let path: String
  private let descriptor: Int32

  /// The path of the database file.
  var file: String { path + "/memory.sqlite" }

  /// Throws `.cannotOpen` on a machine that has no file system in memory.
  init() throws {
    guard sqlable_is_in_memory(MemoryDirectory.parent) != 0 else {
      throw SqlError(
        .cannotOpen, message: "a pool in memory needs a file system in memory at \(MemoryDirectory.parent)")
    }
    _ = MemoryDirectory.sweep
    while true {
      let number = MemoryDirectory.number.add(1, ordering: .relaxed).newValue
      let path = "\(MemoryDirectory.parent)/\(MemoryDirectory.prefix)\(getpid())-\(number)"
      guard mkdir(path, 0o700) == 0 else {
        // A process of another namespace may have the same number.
        if errno == EEXIST { continue }
        throw MemoryDirectory.failure("make")
      }
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        rmdir(path)
        throw MemoryDirectory.failure("open")
      }
      // Before it is locked it looks as if it had been left behind. Another process that sweeps may have taken it away.
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

  /// Removes it, with all that is in it. What is open stays until it is closed.
  func remove() { MemoryDirectory.remove(path) }

  private static func failure(_ step: String) -> SqlError {
    SqlError(.cannotOpen, message: "can't \(step) a directory in \(parent): \(String(cString: strerror(errno)))")
  }

  /// Once a process.
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
