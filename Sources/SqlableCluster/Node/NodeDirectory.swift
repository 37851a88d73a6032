#if ClusterNode
import Sqlable
import FoundationEssentials
import Glibc

/// The directory of a node: dqlite's files, a lock against a second node, and a record of the owner.
///
/// dqlite itself has neither the lock nor the record: dqlite starts a node with any id, and two nodes in one directory
/// destroy the log.
final class NodeDirectory: Sendable {
  struct Record: Codable, Equatable {
    var id: UInt64
    var address: String
    var hasJoined = false
    var hasLeft = false
  }

  static let recordName = "sqlable-node.json"
  private static let lockName = "sqlable-node.lock"

  let path: String
  private let lock: Int32
  /// The identity of the lock file. While this file exists at its path, the directory has not been removed or replaced.
  /// If nil, the directory is treated as removed.
  private let identity: FileIdentity?
  /// The path without symbolic links, as the kernel reports it.
  private let resolvedPath: String

  /// Creates and locks the directory. Throws `.busy` if another node still holds the lock after 2 seconds.
  init(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a node's directory can't be empty or contain a NUL byte")
    }
    // Parent directories are not created, because a new directory must not replace an unmounted file system.
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SqlError.system("create", path, errno) }
    guard let info = FileIdentity.info(path), info.st_mode & S_IFMT == S_IFDIR else {
      throw SqlError(.cannotOpen, message: "the path of the node is not a directory: \(path)")
    }
    self.path = path
    let name = path + "/" + NodeDirectory.lockName
    lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw SqlError.system("create", name, errno) }
    resolvedPath = FileIdentity.resolved(path) ?? path
    identity = FileIdentity(name)
    // Retry for two seconds, because a killed process keeps the lock until it has ended completely.
    let end = ContinuousClock.now + .seconds(2)
    while flock(lock, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR || code == EWOULDBLOCK, .now < end {
        usleep(20_000)
        continue
      }
      close(lock)
      guard code == EWOULDBLOCK else { throw SqlError.system("lock", name, code) }
      throw SqlError(.busy, message: "another node runs in the directory \(path)")
    }
  }

  deinit { close(lock) }

  /// Releases the lock. Another node can then use the directory even if references to this object still exist.
  func unlock() { flock(lock, LOCK_UN) }

  private func names() throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: path) } catch {
      throw SqlError(.cannotOpen, message: "can't read the directory: \(path)")
    }
  }

  /// The node's permanent files that exist: the record and dqlite's metadata.
  var lastingFiles: [String] {
    [NodeDirectory.recordName, "metadata1", "metadata2"].filter { FileIdentity.info(path + "/" + $0) != nil }
  }

  /// Returns an error if writes would be lost: the directory or a file is gone, or writing is not allowed.
  func loss(of files: [String]) -> SqlError? {
    let name = path + "/" + NodeDirectory.lockName
    guard let identity, FileIdentity(name) == identity else {
      return SqlError(.io, message: "the directory of the node was removed or replaced: \(path)")
    }
    for file in files where FileIdentity.info(path + "/" + file) == nil {
      return SqlError(.io, message: "a file of the node was deleted: \(path)/\(file)")
    }
    var byte: UInt8 = 0
    guard pwrite(lock, &byte, 1, 0) == 1, fsync(lock) == 0 else {
      return SqlError.system("write", name, errno)
    }
    return nil
  }

  /// Returns the paths of deleted files in the directory that this process still has open.
  func openDeletedFiles() -> Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let end = " (deleted)"
    return Set(
      names.compactMap { name -> String? in
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name) else {
          return nil
        }
        return target.hasPrefix(resolvedPath + "/") && target.hasSuffix(end) ? String(target.dropLast(end.count)) : nil
      })
  }

  func hasLog() throws -> Bool { try names().contains { $0.hasPrefix("metadata") } }

  /// Returns the names of the damaged log files that dqlite has quarantined, sorted.
  func damaged() throws -> [String] { try names().filter { $0.hasPrefix("corrupt-") }.sorted() }

  func size() throws -> Int {
    try names().reduce(0) { $0 + Int(clamping: FileIdentity.linkInfo(path + "/" + $1)?.st_size ?? 0) }
  }

  /// The free space for the node's files, in bytes; nil if the system does not report it.
  var freeBytes: Int? { FileSpace.free(at: path + "/" + NodeDirectory.recordName) }

  /// The node's current term, which grows with every vote for a leader; nil if no term is stored.
  var term: Int? {
    // dqlite writes two files alternately. Each file starts with the format, a counter, the term and the vote, 64 bits
    // each.
    let words = ["metadata1", "metadata2"].compactMap { name -> [UInt64]? in
      guard let data = try? Data(contentsOf: URL(filePath: path + "/" + name)), data.count >= 32 else { return nil }
      return (0..<4).map { word in
        data.dropFirst(word * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
    }
    return words.max { $0[1] < $1[1] }.map { Int(clamping: $0[2]) }
  }

  /// Returns the record of a directory, even if the directory is in use. Throws `.cannotOpen` if the directory has no
  /// record, and `.corrupt` if the record can't be read.
  static func record(at path: String) throws -> Record {
    let name = path + "/" + NodeDirectory.recordName
    guard FileIdentity.linkInfo(name) != nil else {
      throw SqlError(.cannotOpen, message: "the directory does not belong to a node: \(path)")
    }
    guard let data = try? Data(contentsOf: URL(filePath: name)),
      let record = try? JSONDecoder().decode(Record.self, from: data)
    else { throw SqlError(.corrupt, message: "can't read the node's id and address from the file: \(name)") }
    return record
  }

  /// Returns the record; nil if the directory has no record. Throws `.misuse` if the directory has other files, but
  /// neither a record nor a dqlite log.
  func record() throws -> Record? {
    let name = path + "/" + NodeDirectory.recordName
    guard FileIdentity.linkInfo(name) != nil else {
      // If the directory has a dqlite log but no record, another program created the files. This node adopts them.
      let otherFiles = try names().filter { $0 != NodeDirectory.lockName && $0 != "lost+found" }
      guard try otherFiles.isEmpty || hasLog() else {
        throw SqlError.misuse("the directory of a new node must be empty, but \(path) has other files")
      }
      return nil
    }
    return try NodeDirectory.record(at: path)
  }

  func removeRecord() throws {
    let name = path + "/" + NodeDirectory.recordName
    guard unlink(name) == 0 || errno == ENOENT else { throw SqlError.system("remove", name, errno) }
    try syncDirectory(path)
  }

  /// Replaces the record atomically: after a power failure, either the old record or the new record exists.
  func write(_ record: Record) throws {
    let name = path + "/" + NodeDirectory.recordName
    let partial = name + ".partial"
    let bytes = [UInt8](try JSONEncoder().encode(record))
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", partial, errno) }
    do {
      defer { close(descriptor) }
      try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, at: 0, partial) }
      guard fsync(descriptor) == 0 else { throw SqlError.system("sync", partial, errno) }
    }
    guard rename(partial, name) == 0 else { throw SqlError.system("rename", partial, errno) }
    try syncDirectory(path)
  }
}
#endif
