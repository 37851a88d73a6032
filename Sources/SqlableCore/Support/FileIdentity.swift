import Glibc

/// The identity of a file, by device and inode, whatever the path. The file is not opened: closing a descriptor of a
/// database drops the locks that SQLite has on the database in this process.
package struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t

  package init(_ info: stat) { (device, inode) = (info.st_dev, info.st_ino) }

  /// Nil if there is no file.
  package init?(_ path: String) {
    guard let info = FileIdentity.info(path) else { return nil }
    self.init(info)
  }

  /// Returns the status of a file, or of the file that a symbolic link leads to; nil if there is no file.
  package static func info(_ path: String) -> stat? {
    var info = stat()
    return stat(path, &info) == 0 ? info : nil
  }

  /// Returns the absolute path of a file without symbolic links; nil if there is no file. SQLite keeps the WAL beside
  /// that path.
  package static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Returns the status of a file without following a symbolic link; nil if there is no file.
  package static func linkInfo(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
  }
}

extension stat {
  package var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
