import Foundation
import Sqlable

/// The processes that have a database open, and the locks that they hold, as the kernel tells it.
struct FileUsers {
  struct User: Encodable {
    let process: Int
    /// The name of its program; nil if it can't be read.
    let program: String?
    /// What its locks mean, in the order of their names.
    var holds: [String]
  }

  private(set) var users: [User] = []

  /// - Parameter path: The database. Without the right to see another user's process, that is left out.
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
    let own = Int(getpid())
    users = locks.filter { $0.key != own }.sorted { $0.key < $1.key }.map { process, holds in
      let name = KernelLocks.text(ofFileAt: "/proc/\(process)/comm", upTo: 4_096) ?? ""
      let program = name.trimmingCharacters(in: .newlines)
      return User(process: process, program: program.isEmpty ? nil : program, holds: holds.sorted())
    }
  }

  /// The bytes that SQLite locks.
  private static func meaning(_ ending: String, _ range: ClosedRange<Int>, isWriting: Bool) -> [String] {
    switch ending {
    case "-gate": return ["a pool's turn to write"]
    case "":
      let pending = 0x4000_0000
      if range.contains(pending + 1), isWriting { return ["reserved: it writes"] }
      return range.contains(pending) && isWriting ? ["pending: it waits to write"] : ["open"]
    default:
      return range.clamped(to: 120...128).compactMap { byte in
        switch byte {
        case 120: "write lock"
        case 121: "checkpoint"
        case 122: "recovery"
        case 123: isWriting ? nil : "reads the database file"
        case 124...127: isWriting ? nil : "reads a snapshot in the log"
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
