import Foundation

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
    // The kernel gives the list in pieces, between which locks come and go: one reading may miss some.
    for line in Set((0..<3).flatMap { _ in FileUsers.text("/proc/locks").split(separator: "\n").map(FileUsers.lock) }) {
      // 1: POSIX  ADVISORY  READ 1234 fd:01:5678 128 128
      let words = line.split(separator: " ").map(String.init)
      guard let kind = words.firstIndex(where: { $0 == "READ" || $0 == "WRITE" }), words.count > kind + 4,
        let process = Int(words[kind + 1]),
        let inode = words[kind + 2].split(separator: ":").last.flatMap({ UInt64($0) }),
        let file = files.first(where: { $0.inode == inode }), let start = Int(words[kind + 3])
      else { continue }
      let end = Int(words[kind + 4]) ?? .max
      let meaning = FileUsers.meaning(file.ending, start...max(start, end), isWriting: words[kind] == "WRITE")
      // The kernel has no process for a lock of an open file description, as that of a gate.
      locks[max(process, 0), default: []].formUnion(meaning)
    }
    for process in FileUsers.openers(of: Set(files.compactMap(\.inode))) where locks[process] == nil {
      locks[process] = []
    }
    let own = Int(getpid())
    users = locks.filter { $0.key != own }.sorted { $0.key < $1.key }.map { process, holds in
      let program = FileUsers.text("/proc/\(process)/comm").trimmingCharacters(in: .newlines)
      return User(process: process, program: program.isEmpty ? nil : program, holds: holds.sorted())
    }
  }

  /// A line without the number that it begins with, which changes.
  private static func lock(_ line: Substring) -> Substring { line.drop { $0 != " " } }

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

  /// The text of a file of the kernel, which gives a page at a time: Foundation takes the first for the whole.
  private static func text(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var (text, part): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
    while true {
      let count = read(descriptor, &part, part.count)
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += part[..<count]
    }
  }
}
