import Glibc

/// A file's device and inode. Both are read without opening the file, because closing the file would drop SQLite's
/// locks in this process.
package struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t

  package init(_ info: stat) { (device, inode) = (info.st_dev, info.st_ino) }

  package init?(_ path: String) {
    guard let info = FileIdentity.info(path) else { return nil }
    self.init(info)
  }

  /// Returns the status of a file, or of the target of a symbolic link; nil if the file does not exist.
  @inline(never)
  package static func info(_ path: String) -> stat? {
    var info = stat()
    return stat(path, &info) == 0 ? info : nil
  }

  /// Returns a file's absolute path without symbolic links; nil if the file does not exist. SQLite creates the WAL
  /// beside this path.
  package static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Returns the status of a file without following a symbolic link; nil if the file does not exist.
  package static func linkInfo(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
  }
}

extension stat {
  package var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
