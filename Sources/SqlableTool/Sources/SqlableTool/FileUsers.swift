import Foundation
import Sqlable

/// The processes that have opened a database, and their locks, as reported by the kernel.
struct FileUsers {
  struct User: Encodable {
    let process: Int
    let program: String?
    /// Descriptions of the process's locks, such as `write lock`, in alphabetical order.
    var holds: [String]
  }

  private(set) var users: [User] = []

  /// - Parameter path: The path of the database. Processes that the caller is not allowed to inspect are omitted.
  init(of path: String) {
    var locks: [Int: Set<String>] = [:]
    let files = ["", "-shm", "-gate"].map { (ending: $0, inode: FileUsers.inode(path + $0)) }
    for lock in Set((0..<3).flatMap { _ in KernelLocks.all }) {
      guard let file = files.first(where: { $0.inode == lock.inode }) else { continue }
      let meaning = FileUsers.meaning(file.ending, lock.bytes, isWriting: lock.isWriting)
      locks[lock.process, default: []].formUnion(meaning)
    }
    for process in FileUsers.openers(of: Set(files.compactMap(\.inode))) where locks[process] == nil {
      locks[process] = []
    }
    let thisProcess = Int(getpid())
    users = locks.filter { $0.key != thisProcess }.sorted { $0.key < $1.key }.map { process, holds in
      let name = KernelLocks.text(ofFileAt: "/proc/\(process)/comm", upTo: 4_096) ?? ""
      let program = name.trimmingCharacters(in: .newlines)
      return User(process: process, program: program.isEmpty ? nil : program, holds: holds.sorted())
    }
  }

  /// Returns the descriptions of a lock on a byte range of a file. `ending` is the suffix of the file's path after the
  /// database's path. SQLite defines the byte ranges.
  private static func meaning(_ ending: String, _ range: ClosedRange<Int>, isWriting: Bool) -> [String] {
    switch ending {
    case "-gate": return ["a pool's turn to write"]
    case "":
      let pending = 0x4000_0000
      if range.contains(pending + 1), isWriting { return ["reserved: writing"] }
      return range.contains(pending) && isWriting ? ["pending: waiting to write"] : ["open"]
    default:
      return range.clamped(to: 120...128).compactMap { byte in
        switch byte {
        case 120: "write lock"
        case 121: "checkpoint"
        case 122: "recovery"
        case 123: isWriting ? nil : "reads the database file"
        case 124...127: isWriting ? nil : "reads a snapshot in the WAL"
        default: "open in WAL mode"
        }
      }
    }
  }

  private static func openers(of inodes: Set<UInt64>) -> Set<Int> {
    let manager = FileManager.default
    let processes = ((try? manager.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int($0) }
    return Set(
      processes.filter { process in
        let files = (try? manager.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
        return files.contains { inode("/proc/\(process)/fd/\($0)").map(inodes.contains) ?? false }
      })
  }

  private static func inode(_ path: String) -> UInt64? {
    var info = stat()
    return stat(path, &info) == 0 ? UInt64(info.st_ino) : nil
  }
}
