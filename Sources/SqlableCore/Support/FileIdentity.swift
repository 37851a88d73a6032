import Glibc

/// What tells a file from all others, whatever its path, without opening it: closing a descriptor of a database drops
/// the locks that SQLite has on it in this process.
package struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t

  package init(_ info: stat) { (device, inode) = (info.st_dev, info.st_ino) }

  /// Nil if there is no file.
  package init?(_ path: String) {
    guard let info = FileIdentity.info(path) else { return nil }
    self.init(info)
  }

  /// What the system knows of a file, or of the one that a symbolic link leads to; nil if there is none.
  package static func info(_ path: String) -> stat? {
    var info = stat()
    return stat(path, &info) == 0 ? info : nil
  }

  /// The absolute path of a file without symbolic links; nil if there is none. SQLite has a log beside that one.
  package static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// What it knows of a symbolic link itself.
  package static func linkInfo(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
  }
}

extension stat {
  package var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
