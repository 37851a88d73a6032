import CSqlableSQLite
import Glibc

extension SqlError {
  /// Returns the error of a failed system call. If permission is denied, the kind is `.cannotOpen` for a call that only
  /// reads (`isRead`), and `.readOnly` for any other call.
  @inline(never)
  package static func system(_ action: String, _ path: String, _ code: Int32, isRead: Bool = false) -> SqlError {
    let kind: Kind =
      switch code {
      case ENOSPC, EDQUOT: .full
      case EACCES, EPERM: isRead ? .cannotOpen : .readOnly
      case EROFS: .readOnly
      case ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP, EMFILE, ENFILE, ENXIO: .cannotOpen
      default: .io
      }
    return SqlError(kind, message: "can't \(action) \(path): \(String(cString: strerror(code)))")
  }
}

func directory(ofFileAt path: String) -> String {
  guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return end == path.startIndex ? "/" : String(decoding: path.utf8[..<end], as: UTF8.self)
}

/// Renames a file. Throws if a file exists at the new path, unlike `rename`.
package func renameToNew(_ path: String, _ newPath: String) throws {
  guard sqlable_rename_to_new(path, newPath) == 0 else { throw SqlError.system("rename a file to", newPath, errno) }
}

/// Syncs a directory, so that its file names survive a power failure.
package func syncDirectory(_ path: String) throws {
  let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard descriptor >= 0 else { throw SqlError.system("open", path, errno) }
  defer { close(descriptor) }
  guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
}
