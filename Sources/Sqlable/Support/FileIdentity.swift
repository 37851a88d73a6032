import Glibc

/// What tells a file from all others, whatever its path, without opening it: closing a descriptor of a database drops
/// the locks that SQLite has on it in this process.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t

  init(_ info: stat) { (device, inode) = (info.st_dev, info.st_ino) }

  /// Nil if there is no file.
  init?(_ path: String) {
    guard let info = FileIdentity.info(path) else { return nil }
    self.init(info)
  }

  /// What the system knows of a file, or of the one that a symbolic link leads to; nil if there is none.
  static func info(_ path: String) -> stat? {
    var info = stat()
    return stat(path, &info) == 0 ? info : nil
  }

  /// The absolute path of a file without symbolic links; nil if there is none. SQLite has a log beside that one.
  static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// What it knows of a symbolic link itself.
  static func linkInfo(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
  }
}

extension stat {
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
