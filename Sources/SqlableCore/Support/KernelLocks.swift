import Glibc

/// A lock of some bytes of a file.
package struct KernelLock: Hashable {
  /// 0 for the lock of an open file description, such as that of a gate: the kernel has no process for it.
  package let process: Int
  package let inode: UInt64
  package let bytes: ClosedRange<Int>
  package let isWriting: Bool

  /// Reads a line of the kernel's list; nil for one that waits for a lock.
  fileprivate init?(_ line: Substring) {
    // 1: POSIX  ADVISORY  WRITE 1234 fd:01:5678 120 120
    let words = line.split(separator: " ")
    guard let kind = words.firstIndex(where: { $0 == "READ" || $0 == "WRITE" }), words.count > kind + 4,
      !words.contains("->"), let process = Int(words[kind + 1]),
      let inode = words[kind + 2].split(separator: ":").last.flatMap({ UInt64($0) }), let start = Int(words[kind + 3])
    else { return nil }
    (self.process, self.inode, isWriting) = (max(process, 0), inode, words[kind] == "WRITE")
    bytes = start...max(start, Int(words[kind + 4]) ?? .max)
  }
}

/// The locks of files, as the kernel lists them.
package enum KernelLocks {
  /// All locks. The kernel gives the list in pieces, between which locks come and go: one reading may miss some.
  package static var all: [KernelLock] {
    (text(ofFileAt: "/proc/locks", upTo: 1 << 22) ?? "").split(separator: "\n").compactMap { KernelLock($0) }
  }

  /// The process that holds a write lock on a byte of a file; nil if none does, or the kernel does not tell.
  ///
  /// `fcntl` would tell it too, but needs the file open, and closing it again drops SQLite's own locks.
  static func writer(ofByte byte: Int, inFileAt path: String) -> Int? {
    guard let info = FileIdentity.info(path) else { return nil }
    return all.first { lock in
      lock.isWriting && lock.process > 0 && lock.inode == UInt64(info.st_ino) && lock.bytes.contains(byte)
    }?.process
  }

  /// A process, not this one, that has a database open in WAL mode, or reads or writes it in another; nil if none does,
  /// or the kernel does not tell.
  static func otherProcess(withFileAt path: String) -> Int? {
    let inodes = [path, path + "-shm"].compactMap { FileIdentity.info($0) }.map { UInt64($0.st_ino) }
    guard !inodes.isEmpty else { return nil }
    let thisProcess = Int(getpid())
    return all.first { lock in lock.process > 0 && lock.process != thisProcess && inodes.contains(lock.inode) }?.process
  }

  /// The text of a file of the kernel, which gives a page at a time, up to so many bytes; nil if it can't be read.
  package static func text(ofFileAt path: String, upTo limit: Int) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var (text, part): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: min(limit, 1 << 16)))
    while text.count < limit {
      let count = read(descriptor, &part, part.count)
      guard count > 0 else { break }
      text += part[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
