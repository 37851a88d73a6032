import Glibc
import SqlableCore

extension PartialFile {
  static func name(beside target: String) -> String { target + ".sqlable-partial" }

  /// The directory for temporary files without a target: `TMPDIR`, or `/tmp`.
  static var temporaryDirectory: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

  /// Creates the temporary file of a target. Throws `.busy` if another backup to the same target is running.
  package static func make(
    beside target: String, mode: mode_t, for work: String = "backup"
  ) throws -> PartialFile {
    try make(at: name(beside: target), mode: mode, for: work)
  }

  /// Creates a temporary file beside the path, with the lowest unused number in its name.
  static func makeNumbered(beside path: String) throws -> PartialFile {
    var number = 1
    while true {
      if case .file(let file) = try claim(name(beside: path) + "-\(number)", 0o600) { return file }
      number += 1
    }
  }

  /// Changes the header so that the file does not require WAL mode. The first page of a WAL database marks the file as
  /// WAL, and the copy contains this page. SQLite can't open a file with this mark in a read-only directory.
  package func removeNeedForWAL(_ cipher: Cipher? = nil) throws {
    // Only SQLite can change the header of an encrypted file.
    if let cipher { return try Connection.closeWAL(ofFileAt: path, label: nil, cipher) }
    var versions: [UInt8] = [0, 0]
    guard pread(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("read", path, errno) }
    guard versions != [1, 1] else { return }
    versions = [1, 1]
    guard pwrite(descriptor, &versions, 2, 18) == 2 else { throw SqlError.system("write", path, errno) }
  }

  /// Gives the file the source's permissions and, if possible, the source's owner.
  func takePermissions(of source: stat) throws {
    // Only an administrator can change the owner, so ignore a failure. Set the owner before the mode, because `fchown`
    // would reset some bits of the mode.
    _ = fchown(descriptor, source.st_uid, source.st_gid)
    try setMode(source.st_mode)
  }

  package func rename(to target: BackupTarget) throws {
    try rename(to: target.path, replaces: true)
    try syncDirectory(target.directory)
  }
}
