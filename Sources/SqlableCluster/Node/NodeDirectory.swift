#if ClusterNode
import Sqlable
import FoundationEssentials
import Glibc

/// The directory of a node: dqlite's files, a lock against a second node, and a record of whose they are.
///
/// dqlite checks neither: it starts with any id, and two nodes in one directory destroy its log.
final class NodeDirectory: Sendable {
  /// What a directory says of its node.
  struct Record: Codable, Equatable {
    var id: UInt64
    var address: String
    /// Whether it is a member of a cluster, or was one.
    var hasJoined = false
    var hasLeft = false
  }

  static let recordName = "sqlable-node.json"
  private static let lockName = "sqlable-node.lock"

  let path: String
  private let lock: Int32
  /// The file of the lock: while it is at its path, so is the directory.
  private let identity: FileIdentity?
  /// The path without symbolic links, as the kernel has it.
  private let resolvedPath: String

  /// Makes the directory, unless it is there, and locks it.
  init(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw SqlError.misuse("a node needs a directory") }
    // Not those above it: a file system that is not mounted must not become a directory.
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SqlError.system("create", path, errno) }
    guard let info = FileIdentity.info(path), info.st_mode & S_IFMT == S_IFDIR else {
      throw SqlError(.cannotOpen, message: "the directory of the node is not a directory: \(path)")
    }
    self.path = path
    let name = path + "/" + NodeDirectory.lockName
    lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw SqlError.system("create", name, errno) }
    resolvedPath = FileIdentity.resolved(path) ?? path
    identity = FileIdentity(name)
    // A process that was just killed gives the lock back as it ends.
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

  /// Lets another node run in the directory, before the last one that watches it is gone.
  func unlock() { flock(lock, LOCK_UN) }

  private func names() throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: path) } catch {
      throw SqlError(.cannotOpen, message: "the directory can't be read: \(path)")
    }
  }

  /// Those of the files that stay as long as the node that are there.
  var lastingFiles: [String] {
    [NodeDirectory.recordName, "metadata1", "metadata2"].filter { FileIdentity.info(path + "/" + $0) != nil }
  }

  /// Why what the node writes is lost; nil if its directory and these files are at their paths, and can be written.
  func loss(of files: [String]) -> SqlError? {
    let name = path + "/" + NodeDirectory.lockName
    guard let identity, FileIdentity(name) == identity else {
      return SqlError(.io, message: "the directory of the node was removed or replaced: \(path)")
    }
    for file in files where FileIdentity.info(path + "/" + file) == nil {
      return SqlError(.io, message: "a file of the node was removed: \(path)/\(file)")
    }
    var byte: UInt8 = 0
    guard pwrite(lock, &byte, 1, 0) == 1, fsync(lock) == 0 else {
      return SqlError.system("write", name, errno)
    }
    return nil
  }

  /// The files in it that this process has open although they were deleted.
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

  /// Whether dqlite has begun to write here.
  func hasLog() throws -> Bool { try names().contains { $0.hasPrefix("metadata") } }

  /// The parts of the log that dqlite found damaged, and put aside.
  func damaged() throws -> [String] { try names().filter { $0.hasPrefix("corrupt-") }.sorted() }

  /// The size of the files, in bytes.
  func size() throws -> Int {
    try names().reduce(0) { $0 + Int(clamping: FileIdentity.linkInfo(path + "/" + $1)?.st_size ?? 0) }
  }

  /// The bytes that the node may still write; nil if the system does not tell.
  var freeBytes: Int? { FileSpace.free(at: path + "/" + NodeDirectory.recordName) }

  /// The term in which the node is: it grows with every vote for a leader. Nil if there is none yet.
  var term: Int? {
    // Two files take turns: the format, a counter, the term, the vote; 64 bits each.
    let words = ["metadata1", "metadata2"].compactMap { name -> [UInt64]? in
      guard let data = try? Data(contentsOf: URL(filePath: path + "/" + name)), data.count >= 32 else { return nil }
      return (0..<4).map { word in
        data.dropFirst(word * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
    }
    return words.max { $0[1] < $1[1] }.map { Int(clamping: $0[2]) }
  }

  /// The record of a directory that may be in use; throws if it has none.
  static func record(at path: String) throws -> Record {
    let name = path + "/" + NodeDirectory.recordName
    guard FileIdentity.linkInfo(name) != nil else {
      throw SqlError(.cannotOpen, message: "not the directory of a node: \(path)")
    }
    guard let data = try? Data(contentsOf: URL(filePath: name)),
      let record = try? JSONDecoder().decode(Record.self, from: data)
    else { throw SqlError(.corrupt, message: "can't read whose directory it is: \(name)") }
    return record
  }

  /// Nil if no node was here.
  func record() throws -> Record? {
    let name = path + "/" + NodeDirectory.recordName
    guard FileIdentity.linkInfo(name) != nil else {
      // What dqlite has left of a node of another program is taken for this node's.
      let others = try names().filter { $0 != NodeDirectory.lockName && $0 != "lost+found" }
      guard try others.isEmpty || hasLog() else {
        throw SqlError.misuse("the directory of a new node must be empty, and \(path) has other files")
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

  /// Replaces the record, so that a power failure leaves the old or the new one.
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
