import Foundation
import Glibc
import SqlableCore

/// Directories that are opened before names in them change, and synced afterwards.
///
/// The kernel reports a failed write once: to each descriptor that was open when the write failed. To a descriptor that
/// is opened later, it might report nothing.
final class OpenDirectories: Sendable {
  private let directories: [(path: String, descriptor: Int32)]

  init(_ paths: [String]) throws {
    var directories: [(path: String, descriptor: Int32)] = []
    for path in paths where !directories.contains(where: { $0.path == path }) {
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        let error = SqlError.system("open", path, errno)
        for directory in directories { close(directory.descriptor) }
        throw error
      }
      directories.append((path, descriptor))
    }
    self.directories = directories
  }

  deinit { for directory in directories { close(directory.descriptor) } }

  /// Syncs the directories in the order in which they were opened, or in the reverse order.
  func sync(isReversed: Bool = false) throws {
    for (path, descriptor) in isReversed ? directories.reversed() : directories {
      // If the file system can't sync directories, fsync fails with EINVAL.
      while fsync(descriptor) != 0, errno != EINVAL {
        guard errno == EINTR else { throw SqlError.system("sync", path, errno) }
      }
    }
  }
}

/// Creates a directory if it is missing, and syncs its name. After a failed sync, the directory is deleted if it is
/// empty, and the next call creates it again.
func createDirectory(_ path: String) throws {
  let parent = try OpenDirectories([parent(of: path)])
  guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SqlError.system("create the directory", path, errno) }
  do { try parent.sync() } catch {
    rmdir(path)
    throw error
  }
}

/// Creates a directory and its missing parent directories. Syncs the name of the directory, but not the names of the
/// created parents.
func createDirectories(_ path: String) throws {
  let isMissing = FileIdentity.info(path) == nil
  do {
    let existing = isMissing ? parent(of: path) : path
    try FileManager.default.createDirectory(atPath: existing, withIntermediateDirectories: true)
  } catch {
    throw SqlError(.cannotOpen, message: "can't create the directory \(path)")
  }
  if isMissing { try createDirectory(path) }
}

func parent(of path: String) -> String {
  var path = path[...]
  while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
  guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return end == path.startIndex ? "/" : String(path[..<end])
}
